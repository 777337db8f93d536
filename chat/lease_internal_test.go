package chat

import (
	"testing"
	"time"
)

// TestLateRenewalsPreventTakeover: if a renewal of this server was slow, or came after the lease had expired, the
// renewals of other servers may be late for the same reason.
func TestLateRenewalsPreventTakeover(t *testing.T) {
	t.Parallel()
	const duration = 3 * time.Second
	for name, test := range map[string]struct {
		before, took time.Duration // From the previous renewal, and of this one.
		want         bool
	}{
		"in time":                 {400 * time.Millisecond, 50 * time.Millisecond, false},
		"slow":                    {400 * time.Millisecond, 1100 * time.Millisecond, true},
		"after the lease expired": {10 * time.Second, 50 * time.Millisecond, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Now()
			l := lease{began: now.Add(-time.Minute)}
			l.renewed(now.Add(-test.before), 0, duration)
			l.renewed(now, test.took, duration)
			if got := l.recentlyTroubled(duration); got != test.want {
				t.Errorf("recentlyTroubled = %v", got)
			}
			if !l.valid() {
				t.Error("the lease is not valid after its renewal")
			}
		})
	}
	var l lease
	l.began = time.Now()
	l.renewed(l.began, 0, duration)
	if l.recentlyTroubled(duration) {
		t.Error("the first renewal is late")
	}
}
