package member

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Partitions is a set of partitions: topic -> sorted, unique partitions; a topic
// without partitions is not in it. It is assignable to and from
// map[string][]int32. Callbacks own the value that they are given; a value from a
// [Snapshot] is shared and read-only.
type Partitions map[string][]int32

// Len is the number of partitions, over all topics.
func (p Partitions) Len() int {
	n := 0
	for _, ps := range p {
		n += len(ps)
	}
	return n
}

// Has reports whether the partition is in the set.
func (p Partitions) Has(topic string, partition int32) bool {
	_, ok := slices.BinarySearch(p[topic], partition)
	return ok
}

// All yields every topic and partition, sorted.
func (p Partitions) All() iter.Seq2[string, int32] {
	return func(yield func(string, int32) bool) {
		for _, t := range slices.Sorted(maps.Keys(p)) {
			for _, n := range p[t] {
				if !yield(t, n) {
					return
				}
			}
		}
	}
}

// String is compact and sorted: "orders[0-3 7] payments[1]"; "none" when empty.
func (p Partitions) String() string {
	if p.Len() == 0 {
		return "none"
	}
	var sb strings.Builder
	for _, t := range slices.Sorted(maps.Keys(p)) {
		if len(p[t]) == 0 {
			continue
		}
		if sb.Len() > 0 {
			sb.WriteByte(' ')
		}
		sb.WriteString(t)
		sb.WriteByte('[')
		writeRanges(&sb, p[t])
		sb.WriteByte(']')
	}
	return sb.String()
}

func writeRanges(sb *strings.Builder, ps []int32) {
	for i := 0; i < len(ps); {
		j := i
		for j+1 < len(ps) && ps[j+1] == ps[j]+1 {
			j++
		}
		if i > 0 {
			sb.WriteByte(' ')
		}
		sb.WriteString(strconv.Itoa(int(ps[i])))
		if j > i {
			sb.WriteByte('-')
			sb.WriteString(strconv.Itoa(int(ps[j])))
		}
		i = j + 1
	}
}
