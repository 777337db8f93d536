package llmtest_test

import (
	"testing"

	"github.com/tsumugi-ai/tsumugi/leaktest"
)

// Scripts whose client has gone leave nothing behind.
func TestMain(m *testing.M) { leaktest.Main(m) }
