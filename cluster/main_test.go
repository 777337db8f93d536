package cluster_test

import (
	"testing"

	"github.com/tsumugi-ai/tsumugi/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }
