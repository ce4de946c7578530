package member

import "github.com/rollcall-go/rollcall/heartbeat"

// siblingNews is what the members of one group and client tell each other.
type siblingNews = heartbeat.News

// sibling tells what an answer brought, or that the member has left.
func (m *machine) sibling(change, freed bool) {
	m.emit(outSibling, siblingNews{Epoch: m.epoch, Owned: m.own.owned.len(), Change: change, Freed: freed, Sent: m.trust.last, Interval: m.sched.Interval()})
}
