package pool

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity/opaque"
	"github.com/tsumugi-ai/tsumugi/internal/mail"
	"github.com/tsumugi-ai/tsumugi/internal/timeout"
)

// Names of the flow and the challenges of passkeys, and their parameters.
const (
	flowChoice = "USER_AUTH"

	challengeSelect   = "SELECT_CHALLENGE"
	challengeWebAuthn = "WEB_AUTHN"
	// The challenge of a registration, which the protocol does not name.
	challengeRegistration = "WEB_AUTHN_REGISTRATION"

	paramPreferred      = "PREFERRED_CHALLENGE"
	paramAnswer         = "ANSWER"
	paramRequestOptions = "CREDENTIAL_REQUEST_OPTIONS"
	paramCredential     = "CREDENTIAL"
)

// MaxPasskeys is the maximum number of passkeys of a user.
const MaxPasskeys = 10

const (
	maxPasskeyName = 50 // In characters.
	unnamedKey     = "パスキー"
)

// newRelyingParty returns the relying party for passkeys (WebAuthn Level 3). Its id is the host of the issuer. It is nil
// without a client for passwords, and with an IP address as host, because browsers then refuse passkeys.
func newRelyingParty(cfg Config) (*webauthn.WebAuthn, error) {
	issuer, err := url.Parse(cfg.Issuer)
	if err != nil || cfg.ClientID == "" || protocol.ValidateRPID(issuer.Hostname()) != nil {
		return nil, err
	}
	limit := webauthn.TimeoutConfig{Timeout: cfg.ChallengeLifetime}
	return webauthn.New(&webauthn.Config{
		RPID: issuer.Hostname(), RPDisplayName: "Tsumugi", RPOrigins: []string{issuer.Scheme + "://" + issuer.Host},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, RequireResidentKey: protocol.ResidentKeyRequired(),
			UserVerification: protocol.VerificationRequired,
		},
		Timeouts: webauthn.TimeoutsConfig{Login: limit, Registration: limit},
		// Some password managers return results of extensions without a request. The pool uses no extensions.
		ExtensionsUnsolicitedOutputPolicy: protocol.UnsolicitedOutputPolicyIgnore,
	})
}

// SupportsPasskeys reports whether users can sign in with passkeys.
func (p *Pool) SupportsPasskeys() bool { return p.relyingParty != nil }

// passkeyOperation returns an operation that is refused unless the pool supports passkeys.
func (p *Pool) passkeyOperation(run func(context.Context, *input) (any, error)) operation {
	return operation{run: func(ctx context.Context, in *input) (any, error) {
		if p.relyingParty == nil {
			return nil, &refusal{
				kind: "WebAuthnConfigurationMissingException", message: "This user pool does not support passkeys.",
			}
		}
		return run(ctx, in)
	}}
}

// passkeyHolder implements webauthn.User.
type passkeyHolder struct {
	user     User
	passkeys []Passkey
}

func (h passkeyHolder) WebAuthnID() []byte          { return h.user.Sub[:] }
func (h passkeyHolder) WebAuthnName() string        { return h.user.Email }
func (h passkeyHolder) WebAuthnDisplayName() string { return h.user.Name }

func (h passkeyHolder) WebAuthnCredentials() []webauthn.Credential {
	credentials := make([]webauthn.Credential, len(h.passkeys))
	for i, key := range h.passkeys {
		credentials[i] = webauthn.Credential{
			ID: key.ID, PublicKey: key.PublicKey,
			Flags:         webauthn.CredentialFlags{BackupEligible: key.BackupEligible},
			Authenticator: webauthn.Authenticator{SignCount: key.SignCount},
		}
	}
	return credentials
}

// startPasskey is the operation StartWebAuthnRegistration: it returns a browser's options to create a passkey for the
// user of an access token or, an addition to Cognito's protocol, of the session of a challenge MFA_SETUP.
func (p *Pool) startPasskey(ctx context.Context, in *input) (any, error) {
	token, session := in.readFactorHolder()
	user, _, err := p.factorHolder(ctx, in, token, session)
	if err != nil {
		return nil, err
	}
	if user.Status != StatusConfirmed {
		return nil, notAuthorized("Only users with a password can have passkeys.")
	}
	passkeys, err := p.store.Passkeys(timeout.Call(ctx), user.Sub)
	if err != nil {
		return nil, err
	}
	if len(passkeys) >= MaxPasskeys {
		return nil, &refusal{kind: "LimitExceededException", message: "The user has the maximum number of passkeys."}
	}
	holder := passkeyHolder{user, passkeys}
	creation, registration, err := p.relyingParty.BeginRegistration(holder,
		webauthn.WithExclusions(webauthn.Credentials(holder.WebAuthnCredentials()).CredentialDescriptors()))
	if err != nil {
		return nil, err
	}
	return struct {
		CredentialCreationOptions protocol.PublicKeyCredentialCreationOptions
	}{creation.Response}, p.saveChallenge(ctx, registration.Challenge, user, challengeRegistration, p.cfg.ChallengeLifetime)
}

// completePasskey is the operation CompleteWebAuthnRegistration: it stores a passkey that a browser has created. The
// member TsumugiName, an addition to Cognito's protocol, is its name. With the session of a challenge, the answer has the
// session that ends the challenge.
func (p *Pool) completePasskey(ctx context.Context, in *input) (any, error) {
	token, session := in.readFactorHolder()
	name := in.passkeyName(false)
	credential := in.members["Credential"]
	if isNull(credential) {
		in.violate("Credential", "null", rule{}, "Member must not be null")
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	user, err := p.registrant(ctx, token, session)
	if err == nil {
		user, err = p.registerPasskey(ctx, user, cmp.Or(name, unnamedKey), credential)
	}
	if err == nil && session != "" {
		session, err = p.newChallenge(ctx, user, challengeSetup, p.cfg.ChallengeLifetime)
	}
	return struct {
		Session string `json:",omitempty"`
	}{session}, err
}

// passkeyName reads the member TsumugiName: the name that the user gives to a passkey.
func (in *input) passkeyName(required bool) string {
	name := strings.TrimSpace(in.text("TsumugiName", rule{required: required, max: maxPasskeyName}))
	if !validName(name) && (required || name != "") {
		in.violate("TsumugiName", "'"+name+"'", rule{}, "Member must be a name without control characters")
	}
	return name
}

// registrant returns the user of an access token or, without one, of the session of a challenge MFA_SETUP. The
// registration of the passkey has verified that the sign-in is a recent one.
func (p *Pool) registrant(ctx context.Context, token, session string) (User, error) {
	if token == "" {
		user, _, err := p.setupHolder(ctx, session)
		return user, err
	}
	held, err := p.holder(ctx, token)
	return held.User, err
}

// registerPasskey verifies a passkey that a browser has created, and stores it. It returns the user after the change.
func (p *Pool) registerPasskey(ctx context.Context, user User, name string, credential []byte) (User, error) {
	parsed, err := protocol.ParseCredentialCreationResponseBytes(credential)
	if err != nil {
		return User{}, p.unsupportedPasskey(ctx, user, err)
	}
	session := parsed.Response.CollectedClientData.Challenge
	hash := opaque.Hash(session)
	challenge, err := p.openChallenge(ctx, hash, challengeRegistration)
	if _, refused := errors.AsType[*refusal](err); refused || err == nil && challenge.Sub != user.Sub {
		return User{}, noPasskeyChallenge()
	}
	if err != nil {
		return User{}, err
	}
	created, err := p.relyingParty.CreateCredential(passkeyHolder{user: user}, webauthn.SessionData{
		Challenge: session, UserID: user.Sub[:], UserVerification: protocol.VerificationRequired,
		CredParams: webauthn.CredentialParametersDefault(),
	}, parsed)
	if err != nil {
		return User{}, p.unsupportedPasskey(ctx, user, err)
	}
	event := p.event(ctx, actionPasskeyAdded, user.Sub)
	user, err = p.store.AddPasskey(timeout.Call(ctx), hash, user, Passkey{
		ID: created.ID, Sub: user.Sub, Name: name, PublicKey: created.PublicKey,
		SignCount: created.Authenticator.SignCount, BackupEligible: created.Flags.BackupEligible, CreatedAt: event.At,
	}, event)
	switch fault.CodeOf(err) {
	case fault.NotFound: // The challenge was used, or the user was disabled or changed, after the check.
		return User{}, noPasskeyChallenge()
	case fault.Conflict:
		return User{}, invalidParameter("The passkey is registered already, or the user has too many.")
	}
	if err == nil {
		p.notify(ctx, user, mail.PasskeyAdded)
	}
	return user, err
}

func noPasskeyChallenge() *refusal {
	return &refusal{
		kind: "WebAuthnChallengeNotFoundException", message: "The registration has expired or was completed already.",
	}
}

// unsupportedPasskey logs why a passkey cannot be registered, and returns the refusal.
func (p *Pool) unsupportedPasskey(ctx context.Context, user User, cause error) *refusal {
	p.cfg.Logger.InfoContext(ctx, "pool: passkey not registered", "sub", user.Sub, "err", cause)
	return &refusal{
		kind: "WebAuthnCredentialNotSupportedException", message: "The passkey could not be verified.",
	}
}

// credentialDescription is the shape WebAuthnCredentialDescription of the protocol.
type credentialDescription struct {
	AuthenticatorTransports []string
	CreatedAt               timestamp
	CredentialId            string //nolint:revive // The protocol's spelling.
	FriendlyCredentialName  string
	RelyingPartyId          string     //nolint:revive // The protocol's spelling.
	TsumugiLastUsedAt       *timestamp `json:",omitempty"` // An addition to Cognito's protocol.
}

// listPasskeys is the operation ListWebAuthnCredentials. There are so few that it needs no pages.
func (p *Pool) listPasskeys(ctx context.Context, held GrantUser) (any, error) {
	passkeys, err := p.store.Passkeys(timeout.Call(ctx), held.User.Sub)
	answer := struct{ Credentials []credentialDescription }{[]credentialDescription{}}
	for _, key := range passkeys {
		answer.Credentials = append(answer.Credentials, credentialDescription{
			[]string{},
			timestamp(key.CreatedAt), base64.RawURLEncoding.EncodeToString(key.ID), key.Name,
			p.relyingParty.Config.RPID, (*timestamp)(key.LastUsedAt),
		})
	}
	return answer, err
}

// credentialID reads the member CredentialId. A malformed one matches no passkey.
func (in *input) credentialID() []byte {
	id, _ := base64.RawURLEncoding.DecodeString(in.text("CredentialId", rule{required: true, min: 1, max: 2048}))
	return id
}

// renamePasskey is the operation TsumugiRenameWebAuthnCredential, an addition to Cognito's protocol. A name is only for
// the user, so the change needs no recent sign-in.
func (p *Pool) renamePasskey(ctx context.Context, in *input) (any, error) {
	id, name := in.credentialID(), in.passkeyName(true)
	held, err := p.inputHolder(ctx, in)
	if err != nil {
		return nil, err
	}
	err = p.store.RenamePasskey(timeout.Call(ctx), held.User.Sub, id, name)
	return empty{}, refusedIf(err, fault.NotFound, noPasskey())
}

// deletePasskey is the operation DeleteWebAuthnCredential.
func (p *Pool) deletePasskey(ctx context.Context, in *input) (any, error) {
	id := in.credentialID()
	held, err := p.confirmedHolder(ctx, in)
	if err != nil {
		return nil, err
	}
	user := held.User
	err = p.store.RemovePasskey(timeout.Call(ctx), user.Sub, id, p.event(ctx, actionPasskeyRemoved, user.Sub))
	switch fault.CodeOf(err) {
	case fault.NotFound:
		return nil, noPasskey()
	case fault.Conflict:
		return nil, factorRequired()
	}
	if err == nil {
		p.notify(ctx, user, mail.PasskeyRemoved)
	}
	return empty{}, err
}

func noPasskey() *refusal {
	return &refusal{kind: "ResourceNotFoundException", message: "The passkey does not exist."}
}

// getUserAuthFactors is the operation GetUserAuthFactors.
func (p *Pool) getUserAuthFactors(ctx context.Context, held GrantUser) (any, error) {
	factor, err := p.store.PoolFactor(timeout.Call(ctx), held.User.Sub)
	factors := []string{paramPassword}
	if factor.Passkeys > 0 {
		factors = append(factors, challengeWebAuthn)
	}
	preferred, list := factor.mfaSettings()
	return struct {
		ConfiguredUserAuthFactors []string
		PreferredMfaSetting       string   `json:",omitempty"`
		UserMFASettingList        []string `json:",omitempty"`
		Username                  string
	}{factors, preferred, list, held.User.Sub.String()}, err
}

// choiceFlow begins a sign-in by the challenge that the client chooses. It answers everyone alike, and reads no account.
// With the preference WEB_AUTHN the user name may be missing, an addition to Cognito's protocol.
func (p *Pool) choiceFlow(ctx context.Context, params map[string]string) (any, error) {
	if p.relyingParty == nil {
		return nil, invalidParameter("%s is not enabled for the client.", flowChoice)
	}
	if params[paramPreferred] == challengeWebAuthn {
		return p.passkeyChallenge(ctx, User{}, nil)
	}
	session, _ := opaque.New() // Nothing has been proved yet that a stored session would have to record.
	return struct {
		authAnswer
		AvailableChallenges []string
	}{
		authAnswer{ChallengeName: challengeSelect, ChallengeParameters: map[string]string{}, Session: session},
		[]string{paramPassword, challengeWebAuthn},
	}, nil
}

// selectChallenge answers the challenge SELECT_CHALLENGE.
func (p *Pool) selectChallenge(ctx context.Context, params map[string]string) (any, error) {
	switch {
	case params[paramAnswer] == paramPassword:
		return p.passwordFlow(ctx, params, false)
	case params[paramAnswer] == challengeWebAuthn && p.relyingParty != nil:
		return p.passkeyChallenge(ctx, User{}, nil)
	}
	return nil, invalidParameter("%s is not an available challenge.", paramAnswer)
}

// passkeyChallenge sets the challenge WEB_AUTHN: for any user, or as the second factor of one whose password was
// verified. The challenge to sign is the session itself.
func (p *Pool) passkeyChallenge(ctx context.Context, user User, params map[string]string) (any, error) {
	assertion, session, err := p.relyingParty.BeginDiscoverableLogin()
	if err != nil {
		return nil, err
	}
	options, err := json.Marshal(assertion.Response)
	if err != nil {
		return nil, err
	}
	answer := authAnswer{
		ChallengeName: challengeWebAuthn, Session: session.Challenge,
		ChallengeParameters: map[string]string{paramRequestOptions: string(options)},
	}
	for name, value := range params {
		answer.ChallengeParameters[name] = value
	}
	return answer, p.saveChallenge(ctx, session.Challenge, user, challengeWebAuthn, p.cfg.ChallengeLifetime)
}

// answerPasskey answers the challenge WEB_AUTHN with the signature of a passkey. As the second factor, a recovery code
// replaces it.
func (p *Pool) answerPasskey(ctx context.Context, session string, params map[string]string) (any, error) {
	if params[paramRecoveryCode] != "" {
		return p.answerFactor(ctx, challengeWebAuthn, session, params)
	}
	if params[paramCredential] == "" {
		return nil, missingParameter(paramCredential)
	}
	hash := opaque.Hash(session)
	challenge, err := p.openChallenge(ctx, hash, challengeWebAuthn)
	if err != nil {
		return nil, err
	}
	user, used, err := p.provePasskey(ctx, session, params)
	if err != nil {
		return nil, err
	}
	begun := newSession{client: p.cfg.ClientID, method: byPasskey}
	if !challenge.anyUser() {
		if challenge.Sub != user.Sub || challenge.Version != user.Version {
			return nil, invalidSession()
		}
		begun.method, begun.factor = byPassword, factorPasskey
	}
	if err := p.checkState(ctx, user); err != nil {
		return nil, err
	}
	err = p.store.UsePasskey(timeout.Call(ctx), hash, used, p.now())
	switch fault.CodeOf(err) {
	case fault.Conflict: // The session was used after the check.
		return nil, invalidSession()
	case fault.NotFound: // The passkey was deleted, or its counter was used, after the check.
		return nil, incorrectPasskey()
	}
	if err != nil {
		return nil, err
	}
	return signedIn(p.signIn(ctx, user, begun))
}

// provePasskey verifies the signature of a passkey and returns its user, and the passkey after its use. Wrong signatures
// are counted like wrong codes.
func (p *Pool) provePasskey(
	ctx context.Context, session string, params map[string]string,
) (user User, used Passkey, err error) {
	parsed, err := protocol.ParseCredentialRequestResponseBytes([]byte(params[paramCredential]))
	if err != nil {
		return user, used, incorrectPasskey()
	}
	used, err = p.store.PasskeyByID(timeout.Call(ctx), parsed.RawID)
	if err == nil {
		user, err = p.store.PoolUserBySub(timeout.Call(ctx), used.Sub)
	}
	if fault.CodeOf(err) == fault.NotFound {
		p.refused(ctx, ActionSignInFailed, nil, "passkey")
		return user, used, incorrectPasskey()
	}
	if err != nil {
		return user, used, err
	}
	if name := params[paramUsername]; name != "" {
		named, err := p.findUser(ctx, name)
		if err != nil {
			return user, used, err
		}
		if named == nil || named.Sub != user.Sub {
			return user, used, incorrectPasskey()
		}
	}
	right, err := p.try(ctx, &user, factorKeys(ctx, user), ActionSignInFailed, "passkey", func() (bool, error) {
		return p.verifyPasskey(ctx, user, &used, session, parsed), nil
	})
	switch {
	case errors.Is(err, errLocked):
		return user, used, notAuthorized("Attempts exceeded")
	case err == nil && !right:
		err = incorrectPasskey()
	}
	return user, used, err
}

// verifyPasskey reports whether a passkey has signed a session's challenge, and updates its counter. It refuses a
// counter that did not increase, because another authenticator may contain a copy of the key.
func (p *Pool) verifyPasskey(
	ctx context.Context, user User, used *Passkey, session string, parsed *protocol.ParsedCredentialAssertionData,
) bool {
	holder := passkeyHolder{user, []Passkey{*used}}
	_, credential, err := p.relyingParty.ValidatePasskeyLogin(
		func(_, handle []byte) (webauthn.User, error) {
			if !bytes.Equal(handle, holder.WebAuthnID()) {
				return nil, errors.New("another user's passkey")
			}
			return holder, nil
		},
		webauthn.SessionData{Challenge: session, UserVerification: protocol.VerificationRequired}, parsed)
	if err == nil && credential.Authenticator.CloneWarning {
		err = errors.New("the signature counter did not increase; the passkey may have been copied")
	}
	if err != nil {
		p.cfg.Logger.InfoContext(ctx, "pool: passkey refused", "sub", user.Sub, "err", err)
		return false
	}
	used.SignCount = credential.Authenticator.SignCount
	return true
}

func incorrectPasskey() *refusal { return notAuthorized("Incorrect passkey.") }
