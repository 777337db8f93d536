package llmtest_test

import (
	"testing"

	"github.com/tsumugi-ai/tsumugi/test/leak"
)

// Scripts whose client has gone must not leak goroutines.
func TestMain(m *testing.M) { leak.Main(m) }
