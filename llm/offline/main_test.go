package offline_test

import (
	"testing"

	"github.com/tsumugi-ai/tsumugi/leaktest"
)

// Answers that nobody reads to the end leave nothing behind.
func TestMain(m *testing.M) { leaktest.Main(m) }
