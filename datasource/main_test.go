package datasource_test

import (
	"testing"

	"github.com/tsumugi-ai/tsumugi/leaktest"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
)

func TestMain(m *testing.M) { leaktest.Main(storetest.Suite{M: m}) }
