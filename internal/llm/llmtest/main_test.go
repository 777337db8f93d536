package llmtest_test

import (
	"testing"

	"github.com/tsumugi-ai/tsumugi/test/leak"
)

// Scripts whose client has gone leave nothing behind.
func TestMain(m *testing.M) { leak.Main(m) }
