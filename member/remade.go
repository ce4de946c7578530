package member

import (
	"slices"
	"time"
)

// remadePatience bounds the look-up below: the coordinator waits for the acknowledgement
// meanwhile, and so does the member that may be next to own the partitions.
const remadePatience = time.Second

// remade is the question whether topics that were taken back as a whole were deleted
// and made again under their names. Coordinators do not say so: they take the old
// ID away first, and give the new one in answer to the acknowledgement (Kafka 4.0 to
// 4.4). The difference is OnLost or OnRevoked: there is nothing left to commit to,
// and a commit by name would be one for the new topic.
type remade struct {
	again map[topicID]bool // answered: its name has another ID now
	asked []topicID
	by    time.Time // until then an answer is waited for; zero: no question is open
}

// askRemade asks about the topics of gone, and reports whether to wait for the answer.
func (m *machine) askRemade(now time.Time, gone topicSet) (wait bool) {
	r := &m.own.remade
	var ids []topicID
	var names []string
	for _, t := range gone {
		_, answered := r.again[t.id]
		if name := m.own.names[t.id]; !answered && !m.own.target.has(t.id) && m.subscribed(name) {
			ids, names = append(ids, t.id), append(names, name)
		}
	}
	if len(ids) == 0 {
		return false
	}
	if r.by.IsZero() {
		r.asked, r.by = ids, now.Add(remadePatience)
		m.emit(outTopicIDs, names)
	}
	return now.Before(r.by)
}

// subscribed reports whether the coordinator may give us a topic of that name again.
func (m *machine) subscribed(name string) bool {
	return name != "" && (text(m.vals.Regex) != "" || slices.Contains(m.vals.Names, name))
}

// remadeAnswered takes the answer: what is known by now. A name that is not in it was not
// found, or not in time; then the topic is revoked like any other.
func (m *machine) remadeAnswered(v inTopicIDs) {
	r := &m.own.remade
	if r.by.IsZero() {
		return
	}
	if r.again == nil {
		r.again = map[topicID]bool{}
	}
	for _, id := range r.asked {
		name := m.own.names[id]
		if !slices.Contains(v.asked, name) {
			return // an answer to a question from before a fence
		}
		now, ok := v.ids[name]
		r.again[id] = ok && now != id
	}
	r.asked, r.by = nil, time.Time{}
}
