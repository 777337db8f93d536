package pool

import (
	"context"
	"errors"
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity/opaque"
	"github.com/tsumugi-ai/tsumugi/internal/mail"
	"github.com/tsumugi-ai/tsumugi/internal/timeout"
)

// inputHolder returns the user and the grant of the access token in the input of an operation without other members.
func (p *Pool) inputHolder(ctx context.Context, in *input) (GrantUser, error) {
	token := in.text("AccessToken", tokenRule())
	if err := in.check(); err != nil {
		return GrantUser{}, err
	}
	return p.holder(ctx, token)
}

// ofHolder returns an operation on the user of an access token, which has no other members.
func (p *Pool) ofHolder(do func(context.Context, GrantUser) (any, error)) func(context.Context, *input) (any, error) {
	return func(ctx context.Context, in *input) (any, error) {
		held, err := p.inputHolder(ctx, in)
		if err != nil {
			return nil, err
		}
		return do(ctx, held)
	}
}

// getUser is the operation GetUser: it returns the attributes and the second factor of the user of an
// access token.
func (p *Pool) getUser(ctx context.Context, held GrantUser) (any, error) {
	factor, err := p.store.PoolFactor(timeout.Call(ctx), held.User.Sub)
	if err != nil {
		return nil, err
	}
	answer := struct {
		PreferredMfaSetting string `json:",omitempty"`
		UserAttributes      []attribute
		UserMFASettingList  []string `json:",omitempty"`
		Username            string

		// An addition to Cognito's protocol.
		Tsumugi struct {
			RecoveryCodes  int
			FactorRequired bool
			Passkeys       int
		}
	}{UserAttributes: attributes(held.User), Username: held.User.Sub.String()}
	answer.PreferredMfaSetting, answer.UserMFASettingList = factor.mfaSettings()
	answer.Tsumugi.RecoveryCodes, answer.Tsumugi.FactorRequired = factor.RecoveryCodes, factor.Required
	answer.Tsumugi.Passkeys = factor.Passkeys
	return answer, nil
}

// mfaSettings returns the members PreferredMfaSetting and UserMFASettingList of the protocol.
func (f Factor) mfaSettings() (preferred string, list []string) {
	if !f.Enabled {
		return "", nil
	}
	return challengeTOTP, []string{challengeTOTP}
}

// globalSignOut is the operation GlobalSignOut: it ends all sessions of the user of an access token.
func (p *Pool) globalSignOut(ctx context.Context, held GrantUser) (any, error) {
	return empty{}, p.store.RevokeGrants(timeout.Call(ctx), held.User.Sub, p.event(ctx, actionSignOutAll, held.User.Sub))
}

// revokeToken is the operation RevokeToken: it ends the session of a refresh token, with the access tokens issued from
// it. A token that is unknown or already revoked counts as revoked (RFC 7009, section 2.2).
func (p *Pool) revokeToken(ctx context.Context, in *input) (any, error) {
	token := in.text("Token", tokenRule())
	clientID := in.text("ClientId", clientIDRule())
	secret := in.text("ClientSecret", rule{min: 1, max: 64, secret: true})
	if err := in.check(); err != nil {
		return nil, err
	}
	if !p.hasClient(clientID) || secret != "" {
		return nil, &refusal{kind: "UnauthorizedException", message: "Invalid client."}
	}
	if strings.Count(token, ".") == 2 { // An id or access token. These cannot be revoked.
		return nil, &refusal{kind: "UnsupportedTokenTypeException", message: "Unsupported token type."}
	}
	held, err := p.store.GrantByToken(timeout.Call(ctx), opaque.Hash(token))
	if fault.CodeOf(err) == fault.NotFound || err == nil && held.Grant.ClientID != clientID {
		return empty{}, nil
	}
	if err != nil {
		return nil, err
	}
	return empty{}, p.store.RevokeGrant(timeout.Call(ctx), held.Grant.ID, p.event(ctx, actionSignOut, held.User.Sub))
}

// changePassword is the operation ChangePassword: the user of an access token sets another password, and must know the
// current one. Their other sessions end, and the current one continues.
func (p *Pool) changePassword(ctx context.Context, in *input) (any, error) {
	token := in.text("AccessToken", tokenRule())
	previous := in.text("PreviousPassword", rule{required: true, secret: true})
	proposed := in.text("ProposedPassword", rule{required: true, secret: true})
	if err := in.check(); err != nil {
		return nil, err
	}
	held, err := p.holder(ctx, token)
	if err != nil {
		return nil, err
	}
	user := held.User
	if err := p.checkNew(ctx, proposed, User{Email: user.Email, Name: user.Name}); err != nil {
		return nil, err
	}
	err = p.checkPassword(ctx, &user, "", previous, actionPasswordFailed)
	if errors.Is(err, errLocked) {
		return nil, attemptLimit()
	}
	if err != nil {
		return nil, err
	}
	if err := user.checkTemporary(p.now()); err != nil {
		return nil, err
	}
	if normalizePassword(proposed) == normalizePassword(previous) {
		return nil, invalidPassword(notNew)
	}
	encoded, err := p.hasher.hash(ctx, proposed)
	if err != nil {
		return nil, err
	}
	err = p.store.ChangePoolPassword(timeout.Call(ctx), user.Sub, user.Version,
		Password{Hash: encoded, Status: StatusConfirmed}, held.Grant.ID, p.event(ctx, actionPasswordChanged, user.Sub))
	// The user was disabled, or their password changed, after the check.
	if err := refusedIf(err, fault.Conflict, incorrectPassword()); err != nil {
		return nil, err
	}
	p.notify(ctx, user, mail.PasswordChanged)
	return empty{}, nil
}
