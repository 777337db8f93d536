package stream_test

import (
	"testing"

	"github.com/tsumugi-ai/tsumugi/test/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }
