package llm_test

import (
	"testing"

	"github.com/tsumugi-ai/tsumugi/leaktest"
)

// Timers, streams and connections leave nothing behind.
func TestMain(m *testing.M) { leaktest.Main(m) }
