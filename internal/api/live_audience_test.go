package api_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestNoticesForAdministratorsReachOnlyThem: neither other members of the organization nor administrators of other
// organizations receive such a notice.
func TestNoticesForAdministratorsReachOnlyThem(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	admin := func(organizationID uuid.UUID, name string, role identity.Role) identity.NewUser {
		u := identity.NewUser{
			ID: uuid.Must(uuid.NewV7()), OrganizationID: organizationID, Subject: name, Email: name + "@example.com",
			Name: name, Role: role,
			AuthType: identity.AuthCognito,
		}
		must.Succeed(t, f.db.CreateUser(t.Context(), u))
		return u
	}
	people := []identity.NewUser{
		admin(f.alice.OrganizationID, "admin", identity.RoleOrganizationAdmin),
		admin(f.alice.OrganizationID, "super", identity.RoleOrganizationSuperAdmin),
		admin(f.stranger.OrganizationID, "other", identity.RoleOrganizationSuperAdmin),
		f.bob,
	}
	tabs := make([]*socketClient, len(people))
	for i, u := range people {
		tabs[i] = f.join(u.Subject)
	}
	ours, everywhere := uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7())
	for _, n := range []org.Notification{{ID: ours, OrganizationID: &f.alice.OrganizationID}, {ID: everywhere}} {
		n.Title, n.Level, n.Audience = "x", org.LevelWarning, org.AudienceAdmins
		must.Succeed(t, f.db.PublishNotification(t.Context(), n))
	}
	for i, want := range [][]uuid.UUID{{ours, everywhere}, {ours, everywhere}, {everywhere}, nil} {
		for _, id := range want {
			if event, frame := tabs[i].next(); event.Notification == nil || event.Notification.ID != id {
				t.Errorf("%s saw %s, want %s", people[i].Email, frame, id)
			}
		}
	}
	// All recipients have received the first notice, so the next event is the first one for the others.
	for i, u := range people {
		marker := uuid.Must(uuid.NewV7())
		f.events.NotificationsRead(u.ID, []uuid.UUID{marker})
		if event, frame := tabs[i].next(); len(event.Read) != 1 || event.Read[0] != marker {
			t.Errorf("%s saw %s", u.Email, frame)
		}
	}
}
