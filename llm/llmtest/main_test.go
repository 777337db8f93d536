package llmtest_test

import (
	"testing"

	"go.uber.org/goleak"
)

// Scripts whose client has gone leave nothing behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
