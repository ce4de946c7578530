//go:build kafka

package main

import (
	"os"
	"testing"

	"github.com/rollcall-go/rollcall/internal/kafkatest"
)

func TestMain(m *testing.M) { os.Exit(kafkatest.Main(m)) }
