package oauth

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/japan"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// maxName bounds the name of a personal access token, in characters.
const maxName = 100

// CreateToken creates a personal access token of the actor. Only this call returns the token.
func (s *Service) CreateToken(ctx context.Context, actor identity.Actor, n NewToken) (Connection, string, error) {
	n.Name = strings.TrimSpace(n.Name)
	now := s.cfg.Now()
	switch {
	case runes.Blank(n.Name) || utf8.RuneCountInString(n.Name) > maxName:
		return Connection{}, "", fault.InvalidField("name", "名前は1文字以上%d文字以内で入力してください。", maxName)
	case strings.ContainsFunc(n.Name, runes.NotInName):
		return Connection{}, "", fault.InvalidField("name", "名前に使えない文字が含まれています。")
	case len(n.Scopes) == 0 || slices.ContainsFunc(n.Scopes, unknownScope):
		return Connection{}, "", fault.InvalidField("scopes", "使える範囲を一つ以上選んでください。")
	case !n.ExpiresAt.After(now) || n.ExpiresAt.After(now.Add(maxPersonal)):
		return Connection{}, "", fault.InvalidField("expires_on", "有効期限は、今日から1年以内の日付を指定してください。")
	}
	n.Scopes = inOrder(n.Scopes)
	token, stored := newToken(personalPrefix, personalKey, n.ExpiresAt)
	created, err := s.store.AddPersonal(ctx, actor, n, NewConnection{
		ID: uuidv7.New(), Tokens: []Token{stored}, Address: actor.Address,
	})
	return created, token, err
}

func unknownScope(scope identity.Scope) bool { return !slices.Contains(AllScopes(), scope) }

// inOrder returns scopes in display order without duplicates.
func inOrder(scopes []identity.Scope) []identity.Scope {
	return slices.DeleteFunc(AllScopes(), func(s identity.Scope) bool { return !slices.Contains(scopes, s) })
}

// Connections returns the actor's active connections, last used first.
func (s *Service) Connections(ctx context.Context, actor identity.Actor) ([]Connection, error) {
	return s.store.ListConnections(ctx, actor)
}

// End ends a connection of the actor: its next call and refresh are refused, and its streams are closed.
func (s *Service) End(ctx context.Context, actor identity.Actor, id uuid.UUID) error {
	return s.store.EndConnection(ctx, actor, id, false)
}

// ListAll returns a page of the active connections of the actor's organization, and their number. For administrators.
func (s *Service) ListAll(ctx context.Context, actor identity.Actor, offset, limit int) ([]Connection, int, error) {
	if !actor.Role.IsAdmin() {
		return nil, 0, identity.ErrForbidden
	}
	return s.store.ListAllConnections(ctx, actor.OrganizationID, offset, limit)
}

// EndMemberConnection ends a connection of a member of the actor's organization. For administrators; the connections of
// other administrators, for super-admins only.
func (s *Service) EndMemberConnection(ctx context.Context, actor identity.Actor, id uuid.UUID) error {
	if !actor.Role.IsAdmin() {
		return identity.ErrForbidden
	}
	return s.store.EndConnection(ctx, actor, id, true)
}

// PersonalTokens reports whether the actor's organization allows personal access tokens.
func (s *Service) PersonalTokens(ctx context.Context, actor identity.Actor) (bool, error) {
	return s.store.PersonalTokens(ctx, actor.OrganizationID)
}

// SetPersonalTokens allows or forbids personal access tokens in the actor's organization. Forbidding them ends all
// existing ones. For administrators.
func (s *Service) SetPersonalTokens(ctx context.Context, actor identity.Actor, allowed bool) error {
	if !actor.Role.IsAdmin() {
		return identity.ErrForbidden
	}
	return s.store.SetPersonalTokens(ctx, actor, allowed)
}

// EndOfDay returns the end of a day in Japan. A token with that expiry date expires then.
func EndOfDay(date time.Time) time.Time {
	return time.Date(date.Year(), date.Month(), date.Day()+1, 0, 0, 0, 0, japan.Zone)
}
