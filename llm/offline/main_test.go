package offline_test

import (
	"testing"

	"go.uber.org/goleak"
)

// Answers that nobody reads to the end leave nothing behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
