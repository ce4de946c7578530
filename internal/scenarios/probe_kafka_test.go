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
			for _, bare := range []bool{false, true} {
				for range 2 {
					t.Run(iv.String()+" "+strconv.FormatBool(bare), func(t *testing.T) {
						prefix := unique()
						if iv != 0 && v >= v43 {
							configure(t, c, prefix, map[string]string{"consumer.assignment.interval.ms": strconv.Itoa(int(iv.Milliseconds()))})
						}
						p := &Play{TB: t, Peer: real(t, c, v), V: v, prefix: prefix, group: prefix}
						own := p.own("t")
						p.check(p.CreateTopic(own, 3))
						names := []string{own, "t12"}
						joined := p.join("A", topics(names...))
						e := joined.MemberEpoch
						p.Sleep(1500 * time.Millisecond)
						p.beat("A", e)
						p.check(p.Peer.(*wire).dropTopic(own))
						last := ""
						for i := range 80 {
							fs := []field{owns(given(joined))}
							if bare {
								fs = nil
							}
							_, a := p.send("A", e, fs)
							g := p.describe()
							if s := show(a) + " " + strconv.Itoa(int(g.Epoch)) + " " + g.State; s != last {
								last = s
								p.Log(i, s)
							}
							e = a.MemberEpoch
							p.Sleep(20 * time.Millisecond)
						}
						p.beat("A", e, whole, topics(names...), owns(given(joined)))
					})
				}
			}
		}
	})
}
