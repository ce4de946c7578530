//go:build kafka

package member_test

import (
	"flag"
	"os"
	"testing"

	"github.com/rollcall-go/rollcall/internal/kafkatest"
)

// Tests on real brokers mostly wait, so more of them run side by side than there
// are processors. The flag of go test wins, as it is parsed later.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "24")
	os.Exit(kafkatest.Main(m))
}
