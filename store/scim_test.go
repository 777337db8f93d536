package store_test

import (
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/scim"
)

// TestLimitedCallsOfSCIMDisplaceNoErrors: of the calls that were refused because of the limit, only the newest is listed.
func TestLimitedCallsOfSCIMDisplaceNoErrors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	record := func(path string, code fault.Code) {
		t.Helper()
		must(t, f.RecordSCIMCall(t.Context(), scim.Call{OrganizationID: f.a, Method: "GET", Path: path, Code: code}))
	}
	record("/Users/1", fault.NotFound)
	for range scim.MaxCalls {
		record("/Users", fault.RateLimited)
	}
	record("/Groups", fault.RateLimited)
	calls, err := f.SCIMCalls(t.Context(), f.a, true)
	must(t, err)
	if len(calls) != 2 || calls[0].Path != "/Groups" || calls[1].Code != fault.NotFound {
		t.Errorf("got %+v", calls)
	}
}
