package scenarios

import (
	"slices"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

// The settings of every peer. They are short, so that timeouts can be waited
// for on a real broker.
const (
	HeartbeatInterval = 500 * time.Millisecond
	SessionTimeout    = 6 * time.Second
	RegexRefresh      = 10 * time.Second // fixed in a broker
	MaxGroupSize      = 14
)

// Topics are what every peer has from the start. Scenarios only read them, and
// make topics of their own where they change something.
var Topics = map[string]int32{"t12": 12, "u12": 12}

// Scenario is one thing that coordinators are known to do.
type Scenario struct {
	Name string // the section of the measurements and the fact
	Play func(p *Play)

	// Interval is the assignment interval of the group, from 4.3. Most
	// scenarios have none, so that a target is made at once on every version.
	Interval time.Duration

	// Needs is what a peer must have to play this.
	Needs Needs
}

// Needs says on which peers a scenario makes sense.
type Needs int

const (
	// Anything is a peer of any kind.
	Anything Needs = iota
	// Wire is a peer that takes requests of other kinds, too.
	Wire
	// RealBroker is a peer with group types that the model does not have.
	RealBroker
)

// All returns all scenarios, in the order of the sections.
func All() []Scenario {
	return slices.Concat(
		joins(), subscriptions(), intervals(),
		leaves(),
		lostAnswers(),
		epochZero(),
		statics(), staticReturns(), lockOuts(),
		offsets(),
		revocations(),
		lives(), topicChanges(), groupTypes(),
	)
}

// Run plays a scenario on a peer. The prefix keeps its groups and topics apart
// from those of others on the same peer.
func Run(t testing.TB, s Scenario, peer Peer, prefix string) {
	p := &Play{TB: t, Peer: peer, V: peer.Version(), prefix: prefix, group: prefix}
	s.Play(p)
}

// The versions, for short.
const (
	v41 = coordinator.V41
	v42 = coordinator.V42
	v43 = coordinator.V43
	v44 = coordinator.V44
)
