package member_test

import (
	"github.com/rollcall-go/rollcall/member"
)

func timing(f func(*member.Timing)) option {
	return func(c *member.ConsumerConfig) { f(&c.Timing) }
}
