package store_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestTheAuditLogIsCountedUpToALimit: an exact total would require reading all entries of a year.
func TestTheAuditLogIsCountedUpToALimit(t *testing.T) {
	t.Parallel()
	f := &fixture{dsn: storetest.DSN(t)}
	f.connect(t)
	organization := uuid.New()
	f.exec(t, `
		INSERT INTO audit_events (id, organization_id, at, actor_kind, action, target_label)
		SELECT gen_random_uuid(), $1, now() - i * interval '1 minute', 'user', CASE WHEN i % 1000 = 0 THEN 'member.edit'
		    ELSE 'session.begin' END,
		       'ＵＳＥＲ' || i || '@example.com'
		FROM generate_series(1, $2::integer + 100) i`, organization, org.MaxEvents)
	for name, c := range map[string]struct {
		query org.AuditQuery
		total int
	}{
		"all":            {org.AuditQuery{}, org.MaxEvents},
		"sign-ins":       {org.AuditQuery{Kind: org.SignIns}, org.MaxEvents},
		"administration": {org.AuditQuery{Kind: org.Administration}, 10},
		"an action":      {org.AuditQuery{Action: "member.edit"}, 10},
		"both":           {org.AuditQuery{Kind: org.SignIns, Action: "member.edit"}, 0},
		"search":         {org.AuditQuery{Search: "user7@"}, 1},
	} {
		c.query.OrganizationID, c.query.Limit = &organization, 5
		events, total, err := f.ListEvents(t.Context(), c.query)
		must.Succeed(t, err)
		if total != c.total || len(events) != min(5, total) {
			t.Errorf("%s: %d of %d, want %d", name, len(events), total, c.total)
		}
	}
}
