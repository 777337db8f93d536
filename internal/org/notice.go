package org

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// Limits of a notice, in characters.
const (
	MaxNoticeTitle = 200
	MaxNoticeBody  = 2_000
	maxNoticeURL   = 2_000
)

// NoticeState is the state of a notice.
type NoticeState string

// The states of a notice.
const (
	noticeScheduled NoticeState = "scheduled" // It is published later.
	noticePublished NoticeState = "published"
	noticeEnded     NoticeState = "ended"
)

// State returns the state of a notice at a time.
func (n Notification) State(now time.Time) NoticeState {
	switch {
	case n.PublishedAt.After(now):
		return noticeScheduled
	case n.EndsAt != nil && !n.EndsAt.After(now):
		return noticeEnded
	}
	return noticePublished
}

// NoticeDraft is the input for a notice.
type NoticeDraft struct {
	Title       string
	Body        string
	URL         string // "" for no link.
	Level       Level
	Audience    Audience
	PublishedAt time.Time  // The zero time means now or, for a published notice, no change.
	EndsAt      *time.Time // Nil for never.
}

// NoticeCall is a call that adds a notice.
type NoticeCall struct {
	RequestID   uuid.UUID
	RequestHash [32]byte // Hash of the draft: the same request id with another hash is a conflict.
	Notice      Notification
}

// NoticeChange is a change to a notice.
type NoticeChange struct {
	Notice  Notification
	Remove  bool // Deletes the notice.
	Action  Action
	Details []Change // If empty, nothing is changed or logged.
}

// The errors of the notices.
var (
	ErrNoNotice       = fault.Errorf(fault.NotFound, "お知らせが見つかりません。")
	ErrNoticeEnded    = fault.Errorf(fault.Conflict, "掲載が終了したお知らせは変更できません。新しいお知らせを作成してください。")
	ErrNoticeNotBegun = fault.Errorf(fault.Conflict, "このお知らせはまだ掲載されていません。取りやめる場合は、削除してください。")
	ErrNoticeBegun    = fault.Errorf(fault.Conflict, "一度掲載したお知らせは削除できません。掲載を終了してください。")
)

// Notices returns a page of the notices for the administrators of the actor's organization, last published first, and
// their total number. For administrators.
func (s *Service) Notices(ctx context.Context, actor identity.Actor, offset, limit int) ([]Notification, int, error) {
	if err := administers(actor); err != nil {
		return nil, 0, err
	}
	return s.store.ListNotices(ctx, actor.OrganizationID, offset, limit)
}

// Notice returns one of these notices. For administrators.
func (s *Service) Notice(ctx context.Context, actor identity.Actor, id uuid.UUID) (Notification, error) {
	if err := administers(actor); err != nil {
		return Notification{}, err
	}
	return s.store.FindNotice(ctx, actor.OrganizationID, id)
}

// AddNotice adds a notice for the members of the actor's organization. A repeated call with the same request id returns
// the same notice. For administrators.
func (s *Service) AddNotice(ctx context.Context, actor identity.Actor, requestID uuid.UUID, draft NoticeDraft) (
	Notification, error,
) {
	if err := administers(actor); err != nil {
		return Notification{}, err
	}
	draft, err := draft.checked()
	if err != nil {
		return Notification{}, err
	}
	content, err := json.Marshal(draft)
	if err != nil {
		return Notification{}, err
	}
	notice := draft.in(Notification{
		ID: uuidv7.New(), OrganizationID: &actor.OrganizationID, PublishedAt: draft.PublishedAt,
	})
	call := NoticeCall{RequestID: requestID, RequestHash: sha256.Sum256(content), Notice: notice}
	return s.store.AddNotice(ctx, actor, call, func(actor *Member, known bool) error {
		if err := stillAdministers(actor); err != nil || known {
			return err
		}
		return draft.due(time.Now())
	})
}

// EditNotice changes a notice that has not ended. The audience and beginning of a published notice cannot be changed.
// For administrators.
func (s *Service) EditNotice(ctx context.Context, actor identity.Actor, id uuid.UUID, draft NoticeDraft) (Notification,
	error,
) {
	if err := administers(actor); err != nil {
		return Notification{}, err
	}
	draft, err := draft.checked()
	if err != nil {
		return Notification{}, err
	}
	return s.changeNotice(ctx, actor, id, func(n Notification, now time.Time) (NoticeChange, error) {
		return n.edit(draft, now)
	})
}

// EndNotice ends a published notice. It does not change one that has ended. For administrators.
func (s *Service) EndNotice(ctx context.Context, actor identity.Actor, id uuid.UUID) (Notification, error) {
	return s.changeNotice(ctx, actor, id, Notification.end)
}

// DeleteNotice deletes a notice that was never published. For administrators.
func (s *Service) DeleteNotice(ctx context.Context, actor identity.Actor, id uuid.UUID) error {
	_, err := s.changeNotice(ctx, actor, id, Notification.remove)
	return err
}

// changeNotice applies the change of an administrator to a notice.
func (s *Service) changeNotice(ctx context.Context, actor identity.Actor, id uuid.UUID,
	decide func(n Notification, now time.Time) (NoticeChange, error),
) (Notification, error) {
	if err := administers(actor); err != nil {
		return Notification{}, err
	}
	return s.store.ChangeNotice(ctx, actor, id, func(actor *Member, n Notification) (NoticeChange, error) {
		if err := stillAdministers(actor); err != nil {
			return NoticeChange{}, err
		}
		return decide(n, time.Now())
	})
}

// checked validates the texts and choices of a draft, and returns its stored form.
func (d NoticeDraft) checked() (NoticeDraft, error) {
	d.Title, d.Body, d.URL = strings.TrimSpace(d.Title), strings.TrimSpace(d.Body), strings.TrimSpace(d.URL)
	var wrong []fault.FieldError
	fail := func(field, message string) {
		wrong = append(wrong, fault.FieldError{Field: field, Message: message})
	}
	switch {
	case d.Title == "":
		fail("title", "タイトルを入力してください。")
	case strings.ContainsAny(d.Title, "\r\n"):
		fail("title", "改行は使えません。")
	case utf8.RuneCountInString(d.Title) > MaxNoticeTitle:
		fail("title", "200文字以内で入力してください。")
	}
	if utf8.RuneCountInString(d.Body) > MaxNoticeBody {
		fail("body", "2,000文字以内で入力してください。")
	}
	if d.URL != "" && !isLink(d.URL) {
		fail("url", "https:// または http:// で始まるURLを、2,000文字以内で入力してください。")
	}
	if d.Level != LevelInfo && d.Level != LevelWarning && d.Level != levelMaintenance {
		fail("level", "info、warning、maintenance のいずれかを指定してください。")
	}
	if d.Audience != AudienceAll && d.Audience != AudienceAdmins {
		fail("audience", "all または admins を指定してください。")
	}
	if wrong != nil {
		return d, &fault.Error{Code: fault.Invalid, Detail: "入力内容に誤りがあります。", Fields: wrong}
	}
	return d, nil
}

// isLink reports whether a text is an http or https address.
func isLink(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" &&
		utf8.RuneCountInString(text) <= maxNoticeURL
}

// due validates the times of a notice that is not yet published.
func (d NoticeDraft) due(now time.Time) error {
	if !d.PublishedAt.IsZero() && !d.PublishedAt.After(now) {
		return fault.InvalidField("published_at", "掲載の開始には、これからの日時を指定してください。")
	}
	return d.ends(now)
}

// ends validates the end of a notice.
func (d NoticeDraft) ends(now time.Time) error {
	switch {
	case d.EndsAt == nil:
		return nil
	case !d.EndsAt.After(d.PublishedAt):
		return fault.InvalidField("ends_at", "掲載の終了には、開始より後の日時を指定してください。")
	case !d.EndsAt.After(now):
		return fault.InvalidField("ends_at", "掲載の終了には、これからの日時を指定してください。")
	}
	return nil
}

// in returns a notice with the draft's texts, choices and end.
func (d NoticeDraft) in(n Notification) Notification {
	n.Title, n.Body, n.URL, n.Level, n.Audience, n.EndsAt = d.Title, d.Body, d.URL, d.Level, d.Audience, d.EndsAt
	return n
}

// edit decides on a change of a notice.
func (n Notification) edit(d NoticeDraft, now time.Time) (NoticeChange, error) {
	after := d.in(n)
	switch n.State(now) {
	case noticeEnded:
		return NoticeChange{}, ErrNoticeEnded
	case noticeScheduled:
		if err := d.due(now); err != nil {
			return NoticeChange{}, err
		}
		if after.PublishedAt = d.PublishedAt; d.PublishedAt.IsZero() {
			after.PublishedAt = now
		}
	case noticePublished:
		switch {
		case !d.PublishedAt.IsZero() && !d.PublishedAt.Equal(n.PublishedAt):
			return NoticeChange{}, fault.InvalidField("published_at", "すでに掲載されているため、開始日時は変更できません。")
		case d.Audience != n.Audience:
			return NoticeChange{}, fault.InvalidField("audience", "すでに掲載されているため、宛先は変更できません。")
		}
		if err := d.ends(now); err != nil {
			return NoticeChange{}, err
		}
	}
	return NoticeChange{Notice: after, Action: ActionNoticeEdit, Details: n.changes(after)}, nil
}

// end decides on the end of a notice.
func (n Notification) end(now time.Time) (NoticeChange, error) {
	switch n.State(now) {
	case noticeScheduled:
		return NoticeChange{}, ErrNoticeNotBegun
	case noticeEnded:
		return NoticeChange{Notice: n}, nil
	}
	after := n
	after.EndsAt = &now
	return NoticeChange{Notice: after, Action: actionNoticeEnd, Details: []Change{
		{Field: "ends_at", Before: formatTime(n.EndsAt), After: formatTime(after.EndsAt)},
	}}, nil
}

// remove decides on the removal of a notice.
func (n Notification) remove(now time.Time) (NoticeChange, error) {
	if n.State(now) != noticeScheduled {
		return NoticeChange{}, ErrNoticeBegun
	}
	return NoticeChange{Remove: true, Action: ActionNoticeDelete, Details: []Change{
		{Field: "published_at", Before: formatTime(&n.PublishedAt)},
	}}, nil
}

// changes returns the differences for the log. It does not include the text of the body.
func (n Notification) changes(after Notification) []Change {
	var list []Change
	for _, c := range []Change{
		{Field: "title", Before: n.Title, After: after.Title},
		{Field: "url", Before: n.URL, After: after.URL},
		{Field: "level", Before: string(n.Level), After: string(after.Level)},
		{Field: "audience", Before: string(n.Audience), After: string(after.Audience)},
		{Field: "published_at", Before: formatTime(&n.PublishedAt), After: formatTime(&after.PublishedAt)},
		{Field: "ends_at", Before: formatTime(n.EndsAt), After: formatTime(after.EndsAt)},
	} {
		if c.Before != c.After {
			list = append(list, c)
		}
	}
	if n.Body != after.Body {
		list = append(list, Change{Field: "body", Before: "former", After: "changed"})
	}
	return list
}

func formatTime(at *time.Time) string {
	if at == nil {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}
