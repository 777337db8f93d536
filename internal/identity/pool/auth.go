package pool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity/opaque"
	"github.com/tsumugi-ai/tsumugi/internal/timeout"
)

// Names of flows, challenges and their parameters in the protocol.
const (
	flowPassword     = "USER_PASSWORD_AUTH"
	flowRefresh      = "REFRESH_TOKEN_AUTH"
	flowRefreshAlias = "REFRESH_TOKEN"

	challengeNewPassword = "NEW_PASSWORD_REQUIRED"

	paramUsername    = "USERNAME"
	paramPassword    = "PASSWORD"
	paramNewPassword = "NEW_PASSWORD"
	paramRefresh     = "REFRESH_TOKEN"
	paramSecretHash  = "SECRET_HASH"
	paramAttribute   = "userAttributes."
)

// authAnswer is the answer to InitiateAuth and RespondToAuthChallenge: tokens, or a challenge.
type authAnswer struct {
	AuthenticationResult *authenticationResult `json:",omitempty"`
	ChallengeName        string                `json:",omitempty"`
	ChallengeParameters  map[string]string
	Session              string `json:",omitempty"`
}

func signedIn(result authenticationResult, err error) (any, error) {
	return authAnswer{AuthenticationResult: &result, ChallengeParameters: map[string]string{}}, err
}

// initiateAuth is the operation InitiateAuth.
func (p *Pool) initiateAuth(ctx context.Context, in *input) (any, error) {
	flow := in.text("AuthFlow", rule{required: true, values: []string{
		"ADMIN_NO_SRP_AUTH", "ADMIN_USER_PASSWORD_AUTH", "CUSTOM_AUTH", flowRefresh, flowRefreshAlias, flowChoice,
		flowPassword, "USER_SRP_AUTH",
	}})
	clientID := in.text("ClientId", clientIDRule())
	in.text("Session", sessionRule())
	metadata := in.texts("ClientMetadata")
	params := in.texts("AuthParameters")
	if err := in.check(); err != nil {
		return nil, err
	}
	// Users of the federated client sign in and refresh only through package saml.
	if p.hasClient(clientID) && clientID != p.cfg.ClientID {
		return nil, invalidParameter("%s is not enabled for the client.", flow)
	}
	if err := p.checkClient(clientID, params[paramSecretHash]); err != nil {
		return nil, err
	}
	switch flow {
	case flowPassword:
		return p.passwordFlow(ctx, params, metadata[metadataAskFactor] == "true")
	case flowChoice:
		return p.choiceFlow(ctx, params)
	case flowRefresh, flowRefreshAlias:
		return p.refreshFlow(ctx, params)
	case "ADMIN_NO_SRP_AUTH", "ADMIN_USER_PASSWORD_AUTH":
		return nil, invalidParameter("Initiate Auth method not supported.")
	default:
		return nil, invalidParameter("%s is not enabled for the client.", flow)
	}
}

// checkInput returns the errors of the members that were read, or of checkClient.
func (p *Pool) checkInput(in *input, clientID, secretHash string) error {
	if err := in.check(); err != nil {
		return err
	}
	return p.checkClient(clientID, secretHash)
}

// checkClient rejects clients other than the password client, and a SECRET_HASH: the client has no secret.
func (p *Pool) checkClient(clientID, secretHash string) error {
	if clientID != p.cfg.ClientID {
		return &refusal{kind: "ResourceNotFoundException", message: "User pool client " + clientID + " does not exist."}
	}
	if secretHash != "" {
		return notAuthorized("Client " + clientID + " is not configured for secret but secret hash was received")
	}
	return nil
}

// passwordFlow signs in with a password, or sets the challenge to replace a temporary one. The state of the account is
// revealed only after the password was verified.
func (p *Pool) passwordFlow(ctx context.Context, params map[string]string, askFactor bool) (any, error) {
	name, password := params[paramUsername], params[paramPassword]
	if name == "" {
		return nil, missingParameter(paramUsername)
	}
	if password == "" {
		return nil, missingParameter(paramPassword)
	}
	user, err := p.authenticate(ctx, name, password)
	if errors.Is(err, errLocked) {
		return nil, notAuthorized("Password attempts exceeded")
	}
	if err != nil {
		return nil, err
	}
	if user.Enabled && user.Status == StatusForceChangePassword {
		return p.askForNewPassword(ctx, user)
	}
	if err := p.checkState(ctx, user); err != nil {
		return nil, err
	}
	return p.finishSignIn(ctx, user, askFactor)
}

// checkState refuses the sign-in of an authenticated user who is disabled or has no permanent password.
func (p *Pool) checkState(ctx context.Context, user User) error {
	switch {
	case !user.Enabled:
		p.refused(ctx, ActionSignInFailed, &user, "disabled")
		return notAuthorized("User is disabled.")
	case user.Status == StatusConfirmed:
		return nil
	case user.Status == StatusResetRequired:
		p.refused(ctx, ActionSignInFailed, &user, "reset_required")
		return &refusal{kind: "PasswordResetRequiredException", message: "Password reset required for the user"}
	default:
		p.refused(ctx, ActionSignInFailed, &user, "unconfirmed")
		return &refusal{kind: "UserNotConfirmedException", message: "User is not confirmed."}
	}
}

// checkTemporary rejects an expired temporary password.
func (u *User) checkTemporary(now time.Time) error {
	if u.TemporaryUntil != nil && !now.Before(*u.TemporaryUntil) {
		return notAuthorized("Temporary password has expired and must be reset by an administrator.")
	}
	return nil
}

// askForNewPassword sets the challenge NEW_PASSWORD_REQUIRED.
func (p *Pool) askForNewPassword(ctx context.Context, user User) (any, error) {
	if err := user.checkTemporary(p.now()); err != nil {
		p.refused(ctx, ActionSignInFailed, &user, "temporary_expired")
		return nil, err
	}
	known := map[string]string{}
	for _, a := range attributes(user) {
		if a.Name != "sub" {
			known[a.Name] = a.Value
		}
	}
	userAttributes, err := json.Marshal(known)
	if err != nil {
		return nil, err
	}
	return p.challenge(ctx, user, challengeNewPassword, p.cfg.ChallengeLifetime, map[string]string{
		paramUserID:          user.Sub.String(),
		"requiredAttributes": "[]",
		"userAttributes":     string(userAttributes),
	})
}

// refreshFlow exchanges a refresh token for new id and access tokens.
func (p *Pool) refreshFlow(ctx context.Context, params map[string]string) (any, error) {
	token := params[paramRefresh]
	if token == "" {
		return nil, missingParameter(paramRefresh)
	}
	return signedIn(p.refresh(ctx, token, p.cfg.ClientID))
}

// getTokensFromRefreshToken is the operation GetTokensFromRefreshToken: the flow REFRESH_TOKEN_AUTH as a separate
// operation.
func (p *Pool) getTokensFromRefreshToken(ctx context.Context, in *input) (any, error) {
	token := in.text("RefreshToken", tokenRule())
	clientID := in.text("ClientId", clientIDRule())
	secret := in.text("ClientSecret", rule{min: 1, max: 64, secret: true})
	in.text("DeviceKey", rule{min: 1, max: 55})
	in.texts("ClientMetadata")
	if err := p.checkInput(in, clientID, secret); err != nil {
		return nil, err
	}
	result, err := p.refresh(ctx, token, clientID)
	return struct{ AuthenticationResult authenticationResult }{result}, err
}

// respondToAuthChallenge is the operation RespondToAuthChallenge.
func (p *Pool) respondToAuthChallenge(ctx context.Context, in *input) (any, error) {
	name := in.text("ChallengeName", rule{required: true, values: []string{
		"ADMIN_NO_SRP_AUTH", "CUSTOM_CHALLENGE", "DEVICE_PASSWORD_VERIFIER", "DEVICE_SRP_AUTH", "EMAIL_OTP",
		challengeSetup,
		challengeNewPassword, "PASSWORD", "PASSWORD_SRP", "PASSWORD_VERIFIER", challengeSelect, "SELECT_MFA_TYPE",
		"SMS_MFA", "SMS_OTP", challengeTOTP, challengeWebAuthn,
	}})
	clientID := in.text("ClientId", clientIDRule())
	session := in.text("Session", sessionRule())
	in.texts("ClientMetadata")
	params := in.texts("ChallengeResponses")
	if err := p.checkInput(in, clientID, params[paramSecretHash]); err != nil {
		return nil, err
	}
	if session == "" {
		return nil, missingParameter("Session")
	}
	switch name {
	case challengeNewPassword:
		return p.setNewPassword(ctx, session, params)
	case challengeTOTP:
		return p.answerFactor(ctx, challengeTOTP, session, params)
	case challengeWebAuthn:
		return p.answerPasskey(ctx, session, params)
	case challengeSelect:
		return p.selectChallenge(ctx, params)
	case challengeSetup:
		return p.finishSetup(ctx, session, params)
	default: // The pool sets no other challenge.
		return nil, invalidSession()
	}
}

func invalidSession() *refusal { return notAuthorized("Invalid session for the user.") }

// setNewPassword replaces a temporary password and signs in. A password rejected by the policy does not consume the
// session, so that the user can try another one.
func (p *Pool) setNewPassword(ctx context.Context, session string, params map[string]string) (any, error) {
	if params[paramUsername] == "" {
		return nil, missingParameter(paramUsername)
	}
	password := params[paramNewPassword]
	if password == "" {
		return nil, missingParameter(paramNewPassword)
	}
	name, err := newName(params)
	if err != nil {
		return nil, err
	}
	hash := opaque.Hash(session)
	holder, err := p.checkChallenge(ctx, hash, challengeNewPassword, params[paramUsername])
	if err != nil {
		return nil, err
	}
	chosen := *holder
	chosen.Name = cmp.Or(name, holder.Name)
	if err := p.checkNew(ctx, password, chosen); err != nil {
		return nil, err
	}
	encoded, err := p.hasher.hash(ctx, password)
	if err != nil {
		return nil, err
	}
	user, err := p.store.CompleteChallenge(timeout.Call(ctx), hash,
		Password{Hash: encoded, Status: StatusConfirmed}, name, p.event(ctx, actionPasswordSet, holder.Sub))
	// The session was used, or became invalid, after the check.
	if err := refusedIf(err, fault.Conflict, invalidSession()); err != nil {
		return nil, err
	}
	return p.finishSignIn(ctx, user, false)
}

// checkChallenge returns the user of the session of a challenge with that name. It rejects a session that belongs to
// another client or user, was used, or has expired.
func (p *Pool) checkChallenge(ctx context.Context, hash []byte, name, username string) (*User, error) {
	challenge, err := p.openChallenge(ctx, hash, name)
	if err != nil {
		return nil, err
	}
	user, err := p.findUser(ctx, username)
	if err != nil {
		return nil, err
	}
	switch {
	case user == nil || user.Sub != challenge.Sub:
		return nil, invalidSession()
	case !user.Enabled:
		return nil, notAuthorized("User is disabled.")
	case challenge.Version != user.Version:
		return nil, invalidSession()
	}
	return user, nil
}

// openChallenge returns a challenge with that name. It rejects a challenge of another client, and one that was used or
// has expired.
func (p *Pool) openChallenge(ctx context.Context, hash []byte, name string) (Challenge, error) {
	challenge, err := p.store.ChallengeByHash(timeout.Call(ctx), hash)
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return Challenge{}, invalidSession()
	case err != nil:
		return Challenge{}, err
	case challenge.ClientID != p.cfg.ClientID || challenge.Name != name:
		return Challenge{}, invalidSession()
	case challenge.UsedAt != nil:
		return Challenge{}, notAuthorized("Invalid session for the user, session can only be used once.")
	case !p.now().Before(challenge.ExpiresAt):
		return Challenge{}, notAuthorized("Invalid session for the user, session is expired.")
	}
	return challenge, nil
}

// newName returns the name that a user sets together with the new password, or "". Users may set no other attribute.
func newName(params map[string]string) (string, error) {
	name := ""
	for param, value := range params {
		attribute, ok := strings.CutPrefix(param, paramAttribute)
		switch {
		case !ok:
		case attribute == "name":
			if name = strings.TrimSpace(value); !validName(name) {
				return "", invalidParameter(
					"Attributes did not conform to the schema: name: String must be no longer than %d characters",
					maxName,
				)
			}
		case attribute == "email":
			return "", notAuthorized("Cannot modify an already provided email")
		default:
			return "", notAuthorized("A client attempted to write unauthorized attribute")
		}
	}
	return name, nil
}
