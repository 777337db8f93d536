package store_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestModelSettings(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	actor := identity.Actor{User: identity.User{
		OrganizationID: f.a, ID: f.ann.UserID, OrganizationName: "紡株式会社",
	}}
	read := func(owner identity.Owner) chat.ModelSettings {
		t.Helper()
		got := must.Get(f.ModelSettings(t.Context(), owner.OrganizationID))(t)
		return got
	}
	if got := read(f.ann); got.DefaultID != "" || len(got.Models) != 0 {
		t.Errorf("at first: %+v", got)
	}
	if _, err := f.ModelSettings(t.Context(), newID()); !errors.Is(err, org.ErrNoOrganization) {
		t.Errorf("of no organization: %v", err)
	}
	first := chat.ModelSettings{DefaultID: "a", Models: []chat.ModelSetting{
		{ID: "a", Allowed: true, Name: "標準"}, {ID: "b", Allowed: true}, {ID: "c"},
	}}
	second := chat.ModelSettings{DefaultID: "b", Models: []chat.ModelSetting{
		{ID: "b", Allowed: true, Note: "速い"}, {ID: "c", Allowed: true},
	}}
	refused := errors.New("refused")
	err := f.SetModelSettings(t.Context(), actor, first, func(*org.Member, chat.ModelSettings) ([]org.Change, error) {
		return nil, refused
	})
	if !errors.Is(err, refused) {
		t.Errorf("refused: %v", err)
	}
	for _, settings := range []chat.ModelSettings{first, first, second} { // The second one changes nothing.
		must.Succeed(t, f.SetModelSettings(t.Context(), actor, settings, func(
			m *org.Member, before chat.ModelSettings,
		) ([]org.Change, error) {
			if m == nil || m.ID != f.ann.UserID {
				t.Errorf("checked %+v", m)
			}
			return []org.Change{{Field: "default_id", Before: before.DefaultID, After: settings.DefaultID}}, nil
		}))
	}
	if got := read(f.bob); !reflect.DeepEqual(got, second) {
		t.Errorf("got %+v, want %+v", got, second)
	}
	if got := read(f.mallory); len(got.Models) != 0 {
		t.Errorf("of the other organization: %+v", got)
	}
	thread := f.thread(t, f.ann)
	looked, err := f.LoadThreadState(t.Context(), f.ann, thread.ID, nil, newID(), [32]byte{}, chat.HistoryLimit{Messages: 1, Bytes: 1})
	if err != nil || !reflect.DeepEqual(looked.Models, second) {
		t.Errorf("looked %+v, %v", looked.Models, err)
	}
	events, total, err := f.ListEvents(t.Context(), org.AuditQuery{
		OrganizationID: &f.a, Action: org.ActionModels, Limit: 10,
	})
	want := []org.Change{{Field: "default_id", Before: "a", After: "b"}}
	if err != nil || total != 2 || !reflect.DeepEqual(events[0].Details, want) {
		t.Errorf("logged %+v, %d, %v", events, total, err)
	}
}
