package org_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// wall is a store with one notice. It records changes.
type wall struct {
	org.Store
	member *org.Member // The actor's current state.
	notice org.Notification
	known  bool // Whether the call that adds a notice is a repeated one.
	added  *org.Notification
	change org.NoticeChange
}

func (w *wall) AddNotice(_ context.Context, _ identity.Actor, call org.NoticeCall,
	check func(*org.Member, bool) error,
) (org.Notification, error) {
	if err := check(w.member, w.known); err != nil {
		return org.Notification{}, err
	}
	w.added = &call.Notice
	return call.Notice, nil
}

func (w *wall) ChangeNotice(_ context.Context, _ identity.Actor, _ uuid.UUID,
	decide func(*org.Member, org.Notification) (org.NoticeChange, error),
) (org.Notification, error) {
	var err error
	w.change, err = decide(w.member, w.notice)
	return w.notice, err
}

// newWall returns a store, a service on it, and an administrator.
func newWall(notice org.Notification) (*wall, *org.Service, identity.Actor) {
	actor := identity.Actor{User: identity.User{ID: uuid.New(), OrganizationID: uuid.New(), Role: admin}}
	w := &wall{notice: notice, member: &org.Member{ID: actor.ID, Role: admin, State: identity.StateActive}}
	return w, org.NewService(w, nil, nil, slog.New(slog.DiscardHandler)), actor
}

func draft(change func(*org.NoticeDraft)) org.NoticeDraft {
	d := org.NoticeDraft{Title: "休業日", Body: "本文", Level: org.LevelInfo, Audience: org.AudienceAll}
	if change != nil {
		change(&d)
	}
	return d
}

func fieldsOf(err error) (fields []string) {
	for _, f := range fault.FieldsOf(err) {
		fields = append(fields, f.Field)
	}
	return fields
}

func TestNoticesAreChecked(t *testing.T) {
	t.Parallel()
	past, soon, later := time.Now().Add(-time.Minute), time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)
	for name, c := range map[string]struct {
		change func(*org.NoticeDraft)
		wrong  []string
	}{
		"a plain one":        {nil, nil},
		"for later":          {func(d *org.NoticeDraft) { d.PublishedAt, d.EndsAt = soon, &later }, nil},
		"with an end":        {func(d *org.NoticeDraft) { d.EndsAt = &soon }, nil},
		"with an address":    {func(d *org.NoticeDraft) { d.URL = "https://example.com/通知?a=1" }, nil},
		"the longest":        {func(d *org.NoticeDraft) { d.Title = strings.Repeat("題", 200) }, nil},
		"without a title":    {func(d *org.NoticeDraft) { d.Title = "　 " }, []string{"title"}},
		"two lines of title": {func(d *org.NoticeDraft) { d.Title = "一\n二" }, []string{"title"}},
		"too long": {func(d *org.NoticeDraft) {
			d.Title, d.Body = strings.Repeat("題", 201), strings.Repeat("文", 2001)
		}, []string{"title", "body"}},
		"a script":          {func(d *org.NoticeDraft) { d.URL = "javascript:alert(1)" }, []string{"url"}},
		"no host":           {func(d *org.NoticeDraft) { d.URL = "https:///x" }, []string{"url"}},
		"another level":     {func(d *org.NoticeDraft) { d.Level = "loud" }, []string{"level"}},
		"another people":    {func(d *org.NoticeDraft) { d.Audience = "" }, []string{"audience"}},
		"from the past":     {func(d *org.NoticeDraft) { d.PublishedAt = past }, []string{"published_at"}},
		"to the past":       {func(d *org.NoticeDraft) { d.EndsAt = &past }, []string{"ends_at"}},
		"ends as it begins": {func(d *org.NoticeDraft) { d.PublishedAt, d.EndsAt = soon, &soon }, []string{"ends_at"}},
	} {
		w, service, actor := newWall(org.Notification{})
		_, err := service.AddNotice(t.Context(), actor, uuid.New(), draft(c.change))
		if got := fieldsOf(err); !slices.Equal(got, c.wrong) || (w.added == nil) != (err != nil) {
			t.Errorf("%s: %v names %q, want %q", name, err, got, c.wrong)
		}
	}
	w, service, actor := newWall(org.Notification{})
	w.known = true
	if _, err := service.AddNotice(t.Context(), actor, uuid.New(), draft(func(d *org.NoticeDraft) {
		d.PublishedAt = past
	})); err != nil {
		t.Errorf("a repeated call whose notice has begun meanwhile: %v", err)
	}
}

// TestNoticesChangeByTheirState tests the allowed changes of scheduled, published and ended notices.
func TestNoticesChangeByTheirState(t *testing.T) {
	t.Parallel()
	now := time.Now()
	past, soon, later := now.Add(-time.Hour), now.Add(time.Hour), now.Add(2*time.Hour)
	notice := func(from time.Time, to *time.Time) org.Notification {
		return org.Notification{
			ID: uuid.New(), Title: "休業日", Body: "本文", Level: org.LevelInfo, Audience: org.AudienceAll, PublishedAt: from,
			EndsAt: to,
		}
	}
	edit := func(change func(*org.NoticeDraft)) func(*org.Service, identity.Actor, uuid.UUID) error {
		return func(s *org.Service, actor identity.Actor, id uuid.UUID) error {
			_, err := s.EditNotice(t.Context(), actor, id, draft(change))
			return err
		}
	}
	end := func(s *org.Service, actor identity.Actor, id uuid.UUID) error {
		_, err := s.EndNotice(t.Context(), actor, id)
		return err
	}
	remove := func(s *org.Service, actor identity.Actor, id uuid.UUID) error {
		return s.DeleteNotice(t.Context(), actor, id)
	}
	scheduled, published, ended := notice(soon, nil), notice(past, nil), notice(past, &past)
	for name, c := range map[string]struct {
		notice  org.Notification
		do      func(*org.Service, identity.Actor, uuid.UUID) error
		err     error  // The expected error, or
		field   string // the invalid field, or
		details string // the logged details.
	}{
		"scheduled, postponed": {
			scheduled, edit(func(d *org.NoticeDraft) { d.PublishedAt = later }), nil, "", "published_at",
		},
		"scheduled, at once": {scheduled, edit(nil), nil, "", "published_at"},
		"scheduled, for administrators": {scheduled, edit(func(d *org.NoticeDraft) {
			d.PublishedAt, d.Audience = soon, org.AudienceAdmins
		}), nil, "", "audience"},
		"scheduled, into the past": {
			scheduled, edit(func(d *org.NoticeDraft) { d.PublishedAt = past }), nil, "published_at", "",
		},
		"scheduled, ended":   {scheduled, end, org.ErrNoticeNotBegun, "", ""},
		"scheduled, deleted": {scheduled, remove, nil, "", "published_at"},
		"published, reworded": {published, edit(func(d *org.NoticeDraft) {
			d.Title, d.Body, d.URL, d.Level = "臨時休業", "新しい本文", "https://example.com", org.LevelWarning
		}), nil, "", "title url level body"},
		"published, unchanged":   {published, edit(func(d *org.NoticeDraft) { d.PublishedAt = past }), nil, "", ""},
		"published, with an end": {published, edit(func(d *org.NoticeDraft) { d.EndsAt = &soon }), nil, "", "ends_at"},
		"published, ends in the past": {published, edit(func(d *org.NoticeDraft) {
			at := now.Add(-time.Minute)
			d.EndsAt = &at
		}), nil, "ends_at", ""},
		"published, postponed": {
			published, edit(func(d *org.NoticeDraft) { d.PublishedAt = soon }), nil, "published_at", "",
		},
		"published, for administrators": {
			published, edit(func(d *org.NoticeDraft) { d.Audience = org.AudienceAdmins }), nil, "audience", "",
		},
		"published, ended":   {published, end, nil, "", "ends_at"},
		"published, deleted": {published, remove, org.ErrNoticeBegun, "", ""},
		"ended, reworded":    {ended, edit(nil), org.ErrNoticeEnded, "", ""},
		"ended, again":       {ended, end, nil, "", ""},
		"ended, deleted":     {ended, remove, org.ErrNoticeBegun, "", ""},
	} {
		w, service, actor := newWall(c.notice)
		err := c.do(service, actor, c.notice.ID)
		var details []string
		for _, d := range w.change.Details {
			details = append(details, d.Field)
		}
		if !errors.Is(err, c.err) && c.field == "" || strings.Join(fieldsOf(err), " ") != c.field ||
			strings.Join(details, " ") != c.details {
			t.Errorf("%s: %v, logged %q", name, err, details)
		}
	}
}

// TestNoticesAreWrittenByAdministrators: the current role matters, not the role in the token.
func TestNoticesAreWrittenByAdministrators(t *testing.T) {
	t.Parallel()
	calls := map[string]func(*org.Service, identity.Actor) error{
		"add": func(s *org.Service, actor identity.Actor) error {
			_, err := s.AddNotice(t.Context(), actor, uuid.New(), draft(nil))
			return err
		},
		"edit": func(s *org.Service, actor identity.Actor) error {
			_, err := s.EditNotice(t.Context(), actor, uuid.New(), draft(nil))
			return err
		},
		"end": func(s *org.Service, actor identity.Actor) error {
			_, err := s.EndNotice(t.Context(), actor, uuid.New())
			return err
		},
		"delete": func(s *org.Service, actor identity.Actor) error {
			return s.DeleteNotice(t.Context(), actor, uuid.New())
		},
	}
	for name, do := range calls {
		w, service, actor := newWall(org.Notification{PublishedAt: time.Now().Add(time.Hour)})
		for who, member := range map[string]*org.Member{
			"gone":     nil,
			"demoted":  {Role: general, State: identity.StateActive},
			"disabled": {Role: admin, State: identity.StateInactive},
		} {
			w.member = member
			if err := do(service, actor); !errors.Is(err, org.ErrForbidden) {
				t.Errorf("%s by somebody %s: %v", name, who, err)
			}
		}
		actor.Role = general
		w.member = nil
		if err := do(service, actor); !errors.Is(err, org.ErrForbidden) {
			t.Errorf("%s by a member: %v", name, err)
		}
	}
}
