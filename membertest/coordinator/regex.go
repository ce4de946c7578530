package coordinator

import (
	"regexp"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// resolved is what a subscribed regular expression matched, and when.
type resolved struct {
	topics []string // sorted
	at     time.Time
	image  int // image version it was matched against
}

// regexChange is what a heartbeat does to a member's regular expression.
type regexChange int

const (
	regexSame    regexChange = iota
	regexNew                 // nobody in the group had it
	regexPending             // others have it, but it is not resolved yet
	regexKnown               // others have it, and it is resolved
	regexDropped             // the member has none any more
)

// compareRegex compares a member before and after a heartbeat. A regular
// expression that is new to the group must compile. The broker uses RE2/J,
// whose language is that of Go's regexp.
func (g *group) compareRegex(old, next *member) (regexChange, *refusal) {
	switch {
	case old.regex == next.regex:
		return regexSame, nil
	case next.regex == "":
		return regexDropped, nil
	}
	if !g.subscribedRegexes()[next.regex] {
		if _, err := regexp.Compile(next.regex); err != nil {
			return regexSame, refuse(kerr.InvalidRegularExpression, "The regular expression is not valid: "+err.Error())
		}
		return regexNew, nil
	}
	if _, ok := g.regexes[next.regex]; ok {
		return regexKnown, nil
	}
	return regexPending, nil
}

// subscriptionChanged says whether the heartbeat changed what the member
// subscribes to.
func subscriptionChanged(old, next *member, regex regexChange) bool {
	return regex != regexSame || !slices.Equal(old.topics, next.topics)
}

// subscribedRegexes returns the regular expressions any member has.
func (g *group) subscribedRegexes() map[string]bool {
	out := make(map[string]bool)
	for _, m := range g.members {
		if m.regex != "" {
			out[m.regex] = true
		}
	}
	return out
}

// pruneRegexes forgets what nobody subscribes to any more.
func (g *group) pruneRegexes() {
	if len(g.regexes) == 0 {
		return
	}
	subscribed := g.subscribedRegexes()
	for regex := range g.regexes {
		if !subscribed[regex] {
			delete(g.regexes, regex)
		}
	}
}

// maybeResolve resolves the group's regular expressions if that is due
// (GroupMetadataManager, maybeUpdateRegularExpressions): one is unresolved or
// there are new topics, and the last time was long enough ago. A broker does
// it in the background after the heartbeat that starts it; here it is done
// when the heartbeat has its answer, so the next heartbeat sees the result.
func (c *Coordinator) maybeResolve(now time.Time, g *group, isNew bool) {
	if !isNew && len(g.regexes) == 0 && !g.anyRegex() {
		return
	}
	g.pruneRegexes()
	subscribed := g.subscribedRegexes()
	var last time.Time
	image := 0
	for _, r := range g.regexes {
		if r.at.After(last) {
			last = r.at
		}
		image = max(image, r.image)
	}
	if !last.IsZero() && now.Before(last.Add(c.cfg.RegexRefreshInterval)) {
		return
	}
	due := isNew || len(subscribed) != len(g.regexes) || image < c.image.newTopics
	if due && len(subscribed) > 0 {
		c.resolve(now, g, subscribed)
	}
}

// anyRegex says whether any member has a regular expression, without making a
// set of them for every keepalive of a group that has none.
func (g *group) anyRegex() bool {
	for _, m := range g.members {
		if m.regex != "" {
			return true
		}
	}
	return false
}

// resolve matches the regular expressions against all topics and bumps the
// group epoch if that changes anything.
func (c *Coordinator) resolve(now time.Time, g *group, subscribed map[string]bool) {
	bump := false
	for regex := range subscribed {
		topics := c.match(regex)
		if !slices.Equal(topics, g.regexes[regex].topics) {
			bump = true
		}
		g.regexes[regex] = resolved{topics: topics, at: now, image: c.image.version}
	}
	if c.refreshMetadata(g, true) {
		bump = true
	}
	if bump {
		g.epoch++
	}
}

// match returns the topics a regular expression matches in full. The leftmost
// longest match is the whole name exactly if there is a full match.
func (c *Coordinator) match(expr string) []string {
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil
	}
	re.Longest()
	var out []string
	for _, name := range c.Topics() {
		if at := re.FindStringIndex(name); at != nil && at[0] == 0 && at[1] == len(name) {
			out = append(out, name)
		}
	}
	return out
}
