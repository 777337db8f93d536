package scim

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/opaque"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

const (
	tokenPrefix  = "tsumugi_scim_" //nolint:gosec // Only the prefix, so that secret scanners recognize a token.
	maxTokenName = 50              // In characters.
)

// View is the state of provisioning as shown to administrators.
type View struct {
	BaseURL string
	Tokens  []Token
}

// View returns the state of provisioning of the actor's organization. If the actor is not an administrator, the error
// has the code fault.Forbidden.
func (s *Service) View(ctx context.Context, actor identity.Actor) (View, error) {
	if !actor.Role.IsAdmin() {
		return View{}, identity.ErrForbidden
	}
	tokens, err := s.store.SCIMTokens(ctx, actor.OrganizationID)
	return View{BaseURL: s.baseURL, Tokens: tokens}, err
}

// Calls returns the last calls of the actor's organization, the newest first: all, or only refused ones. If the actor is
// not an administrator, the error has the code fault.Forbidden.
func (s *Service) Calls(ctx context.Context, actor identity.Actor, refused bool) ([]Call, error) {
	if !actor.Role.IsAdmin() {
		return nil, identity.ErrForbidden
	}
	return s.store.SCIMCalls(ctx, actor.OrganizationID, refused)
}

// AddToken adds a token to the actor's organization, and returns it with its secret, which is not stored. The actor must
// be a super-admin. Errors: fault.Forbidden, fault.Invalid for the name, and fault.Conflict if there are MaxTokens.
func (s *Service) AddToken(ctx context.Context, actor identity.Actor, name string) (token Token, secret string, err error) {
	if err := actor.RequireSuperAdmin(); err != nil {
		return Token{}, "", err
	}
	name = strings.TrimSpace(name)
	switch {
	case runes.Blank(name):
		return Token{}, "", fault.InvalidField("name", "トークンの名前を入力してください。")
	case utf8.RuneCountInString(name) > maxTokenName:
		return Token{}, "", fault.InvalidField("name", "トークンの名前は%d文字以内で入力してください。", maxTokenName)
	case strings.ContainsFunc(name, runes.NotInName):
		return Token{}, "", fault.InvalidField("name", "トークンの名前に使えない文字が含まれています。")
	}
	random, _ := opaque.New()
	secret = tokenPrefix + random
	token = Token{ID: uuidv7.New(), Name: name, CreatedBy: actor.Name, CreatedAt: time.Now().UTC()}
	return token, secret, s.store.AddSCIMToken(ctx, actor, token, opaque.Hash(secret))
}

// RevokeToken deletes a token of the actor's organization. The actor must be a super-admin. Errors: fault.Forbidden,
// fault.NotFound.
func (s *Service) RevokeToken(ctx context.Context, actor identity.Actor, id uuid.UUID) error {
	return s.store.RevokeSCIMToken(ctx, actor, id)
}

// authenticate returns the client of a bearer token.
func (s *Service) authenticate(ctx context.Context, authorization string) (Client, error) {
	scheme, token, _ := strings.Cut(authorization, " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || !strings.HasPrefix(token, tokenPrefix) {
		return Client{}, ErrToken
	}
	return s.store.SCIMClient(ctx, opaque.Hash(token))
}

// ErrToken refuses a token.
var ErrToken = fault.Errorf(fault.Unauthenticated, "トークンが正しくないか、失効しています。管理者画面で作成したトークンを設定してください。")
