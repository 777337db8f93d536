package oidc

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
)

// Logout ends the sessions that a logout token of an organization's provider names. If the token is invalid or was used
// before, the error has the code fault.Invalid; if the provider's keys cannot be read, fault.Unavailable.
func (s *Service) Logout(ctx context.Context, organizationID uuid.UUID, raw string) error {
	if len(raw) > maxToken {
		return errLogoutToken(sso.Reject("the logout token is larger than 64 KiB", ""))
	}
	// Sessions of OpenID Connect continue after it was switched off, so the setting is not checked.
	settings, err := s.store.OIDCSettings(ctx, organizationID)
	if err != nil {
		return err
	}
	if settings.Issuer == "" {
		return errLogoutToken(errors.New("oidc: the organization has no provider"))
	}
	within, cancel := context.WithTimeout(ctx, providerTimeout)
	defer cancel()
	p, err := s.discover(within, settings, s.repeater)
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "IDプロバイダーの公開鍵を取得できません。")
	}
	token, err := p.verifier(within, s.sso.Now).VerifyLogout(within, raw)
	if err != nil {
		err = p.fail(err, "the logout token is invalid", "")
		if _, ok := errors.AsType[*unreachable](err); ok {
			return fault.Wrap(err, fault.Unavailable, "IDプロバイダーの公開鍵を取得できません。")
		}
		return errLogoutToken(err)
	}
	now := s.sso.Now()
	if token.IssuedAt.IsZero() || token.IssuedAt.After(now.Add(maxSkew)) {
		return errLogoutToken(errors.New("oidc: the logout token is not from the past"))
	}
	err = s.store.EndProviderSessions(ctx, Logout{
		OrganizationID: organizationID, Issuer: settings.Issuer, Subject: token.Subject, SessionID: token.SessionID,
		TokenID: token.TokenID, ExpiresAt: token.Expiry,
	}, now)
	if fault.CodeOf(err) == fault.Conflict {
		return errLogoutToken(err)
	}
	return err
}

func errLogoutToken(err error) error {
	return fault.Wrap(err, fault.Invalid, "ログアウトトークンを確認できません。")
}
