package membertest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/member"
)

// The rules of how many heartbeats there are, and when.

// The numbers of rules 15 and 21, restated: a verifier that took them from the member's
// own code would not notice when they change.
const (
	floor        = 50 * time.Millisecond
	budget       = 20
	budgetWindow = 10 * time.Second
	maxEarly     = 10 // per member and change
)

// paceLife is when heartbeats were sent and what they brought.
type paceLife struct {
	sends     []time.Time // of joins and beats without an accepted answer since
	target    string      // the last assignment
	targets   []time.Time // when an answer had another assignment than before; those that no HeartbeatInfo was seen for
	early     int         // early heartbeats since the last change
	lastEpoch int32       // the epoch in the last HeartbeatInfo
}

// ruleOneInFlight: rule 0, the loop. The heartbeat just before a -2 may follow one
// that was given up (rule 3).
func (w *watch) ruleOneInFlight(a *attempt) {
	if len(w.flying) > 0 {
		w.doubt(a, 0, "a %v was sent while another heartbeat was in flight for %v", a.call.Kind, a.at.Sub(w.flying[0].at))
	}
}

// doubt is fail for what the leave excuses: a beat of a static member that -2 follows.
func (w *watch) doubt(a *attempt, rule int, format string, args ...any) {
	w.fail(rule, format, args...)
	if a.call.Kind != CallBeat || a.call.InstanceID == "" {
		return
	}
	last := len(w.v.found) - 1
	w.doubts = append(w.doubts, w.v.found[last])
	w.v.found = w.v.found[:last]
}

// ruleFloor: rule 15, nothing makes a hot loop.
func (w *watch) ruleFloor(a *attempt) {
	slack := w.v.lag() / 5
	if w.beat == nil {
		return
	}
	if gap := a.at.Sub(w.beat.at); gap < floor-slack {
		w.doubt(a, 15, "a %v only %v after the heartbeat before", a.call.Kind, gap)
	}
}

// ruleBudget: rule 15, 20 requests in 10 s without progress.
func (w *watch) ruleBudget(a *attempt) {
	w.sends = append(w.sends, a.at)
	if len(w.sends) <= budget {
		return
	}
	if d := a.at.Sub(w.sends[0]); d < budgetWindow-w.v.lag() {
		w.fail(15, "%d heartbeats in %v, and none was accepted", len(w.sends), d)
	}
	w.sends = w.sends[1:]
}

func (w *watch) paceEnd(a *attempt, resp kmsg.Response) {
	if a.outcome != accepted {
		return
	}
	w.sends = nil
	asg := resp.(*kmsg.ConsumerGroupHeartbeatResponse).Assignment
	if asg == nil {
		return
	}
	if t := targetOf(asg); t != w.target || a.call.Kind == CallJoin { // full heartbeats have it repeated
		w.target, w.targets = t, append(w.targets, a.done)
	}
}

// targetOf is an assignment as text, the same in whatever order it comes.
func targetOf(asg *kmsg.ConsumerGroupHeartbeatResponseAssignment) string {
	var parts []string
	for _, t := range asg.Topics {
		for _, n := range t.Partitions {
			parts = append(parts, fmt.Sprintf("%x/%d", t.TopicID, n))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

// ruleEarly: rule 21. A new epoch or an assignment is a change that the member takes part in.
func (w *watch) ruleEarly(i member.HeartbeatInfo) {
	if i.Reason == member.ReasonEarly {
		if w.early++; w.early == maxEarly+1 {
			w.fail(21, "more than %d early heartbeats since the last change", maxEarly)
		}
	}
	for len(w.targets) > 0 && !w.targets[0].After(i.At) {
		w.early, w.targets = 0, w.targets[1:]
	}
	if i.Err == nil && i.Code == 0 && (i.Epoch == 0 || i.AnsweredEpoch != w.lastEpoch) {
		w.early, w.lastEpoch = 0, i.AnsweredEpoch
	}
}

// onNotice: rule 0. A member tells of a transition that its own table forbids.
func (w *watch) onNotice(i member.NoticeInfo) {
	if strings.HasPrefix(i.Text, "illegal transition") {
		w.fail(0, "%s", i.Text)
	}
}
