//go:build kafka

package scenarios

import (
	"strconv"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/kafkatest"
)

func TestProbe(t *testing.T) {
	kafkatest.EachConfig(t, kafkatest.Config{Props: props}, func(t *testing.T, c *kafkatest.Cluster) {
		v := start(t, c)
		for _, iv := range []time.Duration{0, time.Second} {
			for _, kind := range []string{"two", "regex", "only", "static", "commit", "twice", "twelve"} {
					t.Run(iv.String()+" "+kind, func(t *testing.T) {
						prefix := unique()
						if iv != 0 && v >= v43 {
							configure(t, c, prefix, map[string]string{"consumer.assignment.interval.ms": strconv.Itoa(int(iv.Milliseconds()))})
						}
						p := &Play{TB: t, Peer: real(t, c, v), V: v, prefix: prefix, group: prefix}
						own := p.own("t")
						n := int32(4)
						if kind == "twelve" { n = 12 }
						p.check(p.CreateTopic(own, n))
						var fs []field
						names := []string{own, "t12"}
						if kind == "only" { names = names[:1] }
						fs = append(fs, topics(names...))
						if kind == "regex" { fs = []field{topics(), regex(own)} }
						if kind == "static" { fs = append(fs, i1) }
						joined := p.join("A", fs...)
						e := joined.MemberEpoch
						if kind == "regex" { joined = p.until("A", e); e = joined.MemberEpoch }
						p.Sleep(1500 * time.Millisecond)
						p.beat("A", e)
						if kind == "two" {
							p.join("B", topics(names...))
							joined = p.beat("A", e)
							a := p.beat("A", e, owns(given(joined)))
							e = a.MemberEpoch
							p.until("B", e)
							p.Sleep(1500 * time.Millisecond)
							p.beat("A", e)
						}
						if kind == "commit" {
							p.OffsetCommit(p.group, "A", e, own, 1)
						}
						p.check(p.Peer.(*wire).dropTopic(own))
						last := ""
						for i := range 80 {
							fs := []field{owns(given(joined))}
							_, a := p.send("A", e, fs)
							g := p.describe()
							if s := show(a) + " " + strconv.Itoa(int(g.Epoch)) + " " + g.State; s != last {
								last = s
								p.Log(i, s)
							}
							e = a.MemberEpoch
							if a.Assignment != nil { joined = a }
							if kind == "twice" && i == 30 {
								p.check(p.CreateTopic(own, n))
								p.check(p.Peer.(*wire).dropTopic(own))
							}
							p.Sleep(20 * time.Millisecond)
						}
					})
			}
		}
	})
}
