package llmtest_test

import (
	"testing"

	"github.com/tsumugi-ai/tsumugi/test/leak"
)

// Scripts with disconnected clients must not leak goroutines.
func TestMain(m *testing.M) { leak.Main(m) }
