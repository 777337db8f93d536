package system_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestLimitsHoldForAllServers: searches at one server count for the limit at the other one.
func TestLimitsHoldForAllServers(t *testing.T) {
	t.Parallel()
	const limit = 20
	r := newRig(t, 2, "TSUMUGI_LIMITS=search=20")
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	for server := range 2 {
		await(t, "the servers exchange counts", waitLimit, func() bool {
			return strings.Contains(metrics(ctx, t, r.at(server)()), "\ntsumugi_limit_servers 1\n")
		})
	}
	for range 5 {
		// The window moves with the clock, so that the limit is exact only within one minute.
		minute := time.Now().Truncate(time.Minute)
		for range limit {
			if !r.search(ctx, t, r.at(0)()) {
				break
			}
		}
		accepted := 0
		tick := time.NewTicker(time.Second)
		for accepted < limit && r.search(ctx, t, r.at(1)()) { // The counts arrive after a moment.
			accepted++
			<-tick.C
		}
		tick.Stop()
		if accepted < limit/2 {
			return
		}
		if time.Now().Truncate(time.Minute).Equal(minute) {
			t.Fatalf("the second server accepted %d searches after the limit was reached at the first", accepted)
		}
	}
	t.Skip("this machine is too busy: the searches never fit into a minute")
}

// search searches threads and reports whether the server accepted the call.
func (c *client) search(ctx context.Context, t *testing.T, base string) bool {
	t.Helper()
	err := c.call(ctx, http.MethodGet, base+"/v1/thread?q=a", nil, nil)
	if p, ok := errors.AsType[*problem](err); ok && p.Status == http.StatusTooManyRequests {
		return false
	}
	must.Succeed(t, err)
	return true
}

// metrics returns a server's metrics page.
func metrics(ctx context.Context, t *testing.T, base string) string {
	t.Helper()
	req := must.Get(http.NewRequestWithContext(ctx, http.MethodGet, base+"/metrics", nil))(t)
	resp := must.Get(http.DefaultClient.Do(req))(t)
	defer resp.Body.Close()
	text := must.Get(io.ReadAll(resp.Body))(t)
	return string(text)
}
