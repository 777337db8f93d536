package offline_test

import (
	"testing"

	"github.com/tsumugi-ai/tsumugi/test/leak"
)

// Answers with a disconnected reader must not leak goroutines.
func TestMain(m *testing.M) { leak.Main(m) }
