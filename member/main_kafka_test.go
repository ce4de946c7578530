//go:build kafka

package member_test

import (
	"os"
	"testing"

	"github.com/rollcall-go/rollcall/internal/kafkatest"
)

func TestMain(m *testing.M) { os.Exit(kafkatest.Main(m)) }
