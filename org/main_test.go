package org_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/tsumugi-ai/tsumugi/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(storetest.Suite{M: m}) }
