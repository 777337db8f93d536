package llm_test

import (
	"testing"

	"github.com/tsumugi-ai/tsumugi/test/leak"
)

// Timers, streams and connections must not leak goroutines.
func TestMain(m *testing.M) { leak.Main(m) }
