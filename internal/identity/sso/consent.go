package sso

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/opaque"
)

// PendingLink returns the pending link between a member and a person. If it is unknown, used, expired
// or another browser's, the error has the code CodeState.
func (s *Service) PendingLink(
	ctx context.Context, organizationID uuid.UUID, link, browser string,
) (PendingLink, error) {
	pending, err := s.store.FindPendingLink(ctx, organizationID, opaque.Hash(link), opaque.Hash(browser), s.Now())
	if fault.CodeOf(err) == fault.NotFound {
		return PendingLink{}, errLinkOver(err)
	}
	return pending, err
}

// Link links the actor to the person of a pending link, and returns a code like Admit. The actor must have entered their
// password since the response of the identity provider arrived. If the actor is not the member of the pending link, the
// error has the code fault.Forbidden. Other errors are those of PendingLink and Admit.
func (s *Service) Link(
	ctx context.Context, actor identity.Actor, organizationID uuid.UUID, link, browser string, origin Origin,
) (code string, err error) {
	pending, err := s.PendingLink(ctx, organizationID, link, browser)
	if err != nil {
		return "", err
	}
	switch {
	case actor.ID != pending.UserID || actor.AuthType != identity.AuthCognito:
		return "", fault.Errorf(fault.Forbidden, "連携するアカウントのパスワードでログインしてください。")
	case actor.AuthTime.Before(pending.CreatedAt.Truncate(time.Second)): // auth_time has whole seconds.
		return "", fault.Errorf(fault.Forbidden, "もう一度パスワードを入力してください。")
	}
	provider, err := s.Provider(ctx, organizationID)
	if err != nil {
		return "", err
	}
	if provider != pending.Person.Provider {
		return "", errLinkOver(nil)
	}
	now := s.Now()
	code, hash := opaque.New()
	err = s.store.AcceptPerson(ctx, Acceptance{
		OrganizationID: organizationID, Person: pending.Person, Origin: origin, ConsentHash: opaque.Hash(link),
		Code: Code{
			Hash: hash, BrowserHash: opaque.Hash(browser), OrganizationID: organizationID, Next: pending.Next,
			SessionUntil: pending.SessionUntil, ExpiresAt: now.Add(CodeLifetime),
		},
	}, now, func(found Candidates) (Decision, error) {
		decision, err := decide(organizationID, pending.Person, uuid.Nil, found)
		if err == nil && decision.Member != actor.ID {
			err = errNotLinked()
		}
		return decision, err
	})
	if fault.CodeOf(err) == fault.NotFound { // Another tab completed it first.
		err = errLinkOver(err)
	}
	return code, err
}

func errLinkOver(err error) error {
	return fault.Wrap(err, CodeState, "連携の確認の有効期限が切れました。もう一度ログインしてください。")
}
