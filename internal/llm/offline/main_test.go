package offline_test

import (
	"testing"

	"github.com/tsumugi-ai/tsumugi/test/leak"
)

// Answers that are not read to the end must not leak goroutines.
func TestMain(m *testing.M) { leak.Main(m) }
