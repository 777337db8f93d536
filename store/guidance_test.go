package store_test

import (
	"errors"
	"testing"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestGuidance(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	guidance := func(owner identity.Owner) org.Guidance {
		t.Helper()
		g := must.Get(f.Guidance(t.Context(), owner.OrganizationID, owner.UserID))(t)
		return g
	}
	if got := guidance(f.ann); got != (org.Guidance{}) {
		t.Errorf("at first: %+v", got)
	}
	if _, err := f.Guidance(t.Context(), newID(), f.ann.UserID); !errors.Is(err, org.ErrNoOrganization) {
		t.Errorf("of no organization: %v", err)
	}
	about := org.About{Name: "アン", Department: "総務部", Tone: "丁寧に", Signature: "紡株式会社\nアン"}
	must.Succeed(t, f.SetAbout(t.Context(), f.a, f.ann.UserID, org.About{Name: "前の名"}))
	must.Succeed(t, f.SetAbout(t.Context(), f.a, f.ann.UserID, about))
	must.Succeed(t, f.SetAbout(t.Context(), f.b, f.mallory.UserID, org.About{Name: "マロリー"}))
	// Bob is not a member of the other organization.
	if err := f.SetAbout(t.Context(), f.b, f.bob.UserID, about); err == nil {
		t.Error("stored for a member of another organization")
	}
	must.Succeed(t, f.SetAbout(t.Context(), f.b, f.ann.UserID, org.About{Name: "上書き"}))

	actor := identity.Actor{User: identity.User{
		OrganizationID: f.a, ID: f.ann.UserID, OrganizationName: "紡株式会社",
	}}
	refused := errors.New("refused")
	if err := f.SetInstructions(t.Context(), actor, "書けない", func(*org.Member) error { return refused }); !errors.Is(err,
		refused) {
		t.Errorf("refused: %v", err)
	}
	for range 2 { // The second call changes nothing.
		must.Succeed(t, f.SetInstructions(t.Context(), actor, "敬語で書く。", func(m *org.Member) error {
			if m == nil || m.ID != f.ann.UserID {
				t.Errorf("checked %+v", m)
			}
			return nil
		}))
	}
	if got, want := guidance(f.ann), (org.Guidance{Instructions: "敬語で書く。", About: about}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := guidance(f.bob); got != (org.Guidance{Instructions: "敬語で書く。"}) {
		t.Errorf("a colleague's: %+v", got)
	}
	if got := guidance(f.mallory); got != (org.Guidance{About: org.About{Name: "マロリー"}}) {
		t.Errorf("of the other organization: %+v", got)
	}
	thread := f.thread(t, f.ann)
	looked, err := f.LoadThreadState(t.Context(), f.ann, thread.ID, nil, newID(), [32]byte{}, chat.HistoryLimit{Messages: 1, Bytes: 1})
	if err != nil || looked.Guidance != guidance(f.ann) {
		t.Errorf("looked %+v, %v", looked.Guidance, err)
	}
	events, total, err := f.ListEvents(t.Context(), org.AuditQuery{
		OrganizationID: &f.a, Action: org.ActionInstructions, Limit: 10,
	})
	if err != nil || total != 1 || events[0].TargetLabel != "紡株式会社" {
		t.Errorf("logged %+v, %d, %v", events, total, err)
	}
}
