package toolserver_test

import (
	"testing"

	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/leak"
)

func TestMain(m *testing.M) { leak.Main(storetest.Suite{M: m}) }
