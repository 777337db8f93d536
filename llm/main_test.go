package llm_test

import (
	"testing"

	"go.uber.org/goleak"
)

// Timers, streams and connections leave nothing behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
