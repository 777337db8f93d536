package pool

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"strings"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity/opaque"
	"github.com/tsumugi-ai/tsumugi/internal/mail"
	"github.com/tsumugi-ai/tsumugi/internal/timeout"
)

// Parameters of codes (RFC 6238). Authenticator apps support only the common ones.
const (
	totpPeriod = 30 // Seconds.
	totpDrift  = 1  // Time steps before and after the current one that are accepted.
	totpSecret = 20 // Bytes.
)

// Recovery codes have 80 random bits, so a plain hash is enough. The alphabet is Crockford's: O is read as 0, and
// I and L as 1.
const (
	recoveryCodes    = 10
	recoveryBytes    = 10
	recoveryGroup    = 4 // Characters between two hyphens.
	recoveryAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"
)

var (
	secretEncoding   = base32.StdEncoding.WithPadding(base32.NoPadding)
	recoveryEncoding = base32.NewEncoding(recoveryAlphabet).WithPadding(base32.NoPadding)
	recoveryTypos    = strings.NewReplacer("o", "0", "i", "1", "l", "1", "-", "", " ", "")
)

// totpStep returns the time step of a code, and whether the code is right for a secret at a time. Right codes of
// adjacent steps are accepted, because clocks differ.
func totpStep(secret, code string, now time.Time) (step int64, right bool) {
	code = strings.Join(strings.Fields(normalizePassword(code)), "") // A Japanese keyboard types full-width digits.
	options := hotp.ValidateOpts{Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1}
	current := now.Unix() / totpPeriod
	for candidate := current - totpDrift; candidate <= current+totpDrift; candidate++ {
		// An error means that the code does not have six digits.
		if valid, err := hotp.ValidateCustom(code, uint64(candidate), secret, options); err == nil && valid {
			step, right = candidate, true
		}
	}
	return step, right && secret != ""
}

// newRecoveryCode returns a random recovery code and the hash to store.
func newRecoveryCode() (code string, hash []byte) {
	b := make([]byte, recoveryBytes)
	rand.Read(b) // Never fails: crypto/rand crashes the program instead.
	text := recoveryEncoding.EncodeToString(b)
	var groups []string
	for ; text != ""; text = text[recoveryGroup:] {
		groups = append(groups, text[:recoveryGroup])
	}
	code = strings.Join(groups, "-")
	return code, hashRecoveryCode(code)
}

// hashRecoveryCode returns the hash of a recovery code as typed.
func hashRecoveryCode(typed string) []byte {
	return opaque.Hash(recoveryTypos.Replace(strings.ToLower(normalizePassword(typed))))
}

// factorHolder returns the user of an access token or, without one, of the session of a challenge MFA_SETUP, for a
// change of the second factor. It reads the member TsumugiPassword; the caller must have read all others.
func (p *Pool) factorHolder(ctx context.Context, in *input, token, session string) (User, Factor, error) {
	password := in.passwordText()
	if err := in.check(); err != nil {
		return User{}, Factor{}, err
	}
	if token == "" {
		return p.setupHolder(ctx, session)
	}
	held, err := p.holder(ctx, token)
	if err == nil {
		err = p.reauthenticate(ctx, held, password)
	}
	if err != nil {
		return User{}, Factor{}, err
	}
	factor, err := p.store.PoolFactor(timeout.Call(ctx), held.User.Sub)
	return held.User, factor, err
}

// setupHolder returns the user of the session of a challenge MFA_SETUP. A user with a factor cannot replace it by a
// session, which needs only the password.
func (p *Pool) setupHolder(ctx context.Context, session string) (User, Factor, error) {
	challenge, err := p.store.ChallengeByHash(timeout.Call(ctx), opaque.Hash(session))
	if fault.CodeOf(err) == fault.NotFound {
		return User{}, Factor{}, invalidSession()
	}
	if err != nil {
		return User{}, Factor{}, err
	}
	user, err := p.checkChallenge(ctx, challenge.Hash, challengeSetup, challenge.Sub.String())
	if err != nil {
		return User{}, Factor{}, err
	}
	factor, err := p.store.PoolFactor(timeout.Call(ctx), user.Sub)
	if err == nil && p.hasFactor(factor) {
		err = invalidSession()
	}
	return *user, factor, err
}

// recentSignIn is the maximum age of a session that changes the second factor without the password.
const recentSignIn = 15 * time.Minute

// memberPassword is the user's password in calls that change the second factor, an addition to Cognito's protocol.
const memberPassword = "TsumugiPassword"

// reauthenticate refuses a change of the second factor in a session that is older than recentSignIn, unless the password
// is right. A stolen session therefore cannot change it.
func (p *Pool) reauthenticate(ctx context.Context, held GrantUser, password string) error {
	switch {
	case p.now().Sub(held.Grant.AuthTime) <= recentSignIn:
		return nil
	case password == "":
		return notAuthorized("Sign in again, or send " + memberPassword + ", to change the second factor.")
	}
	return p.checkPassword(ctx, &held.User, held.User.Email, password, ActionSignInFailed)
}

// passwordText reads the member with the password.
func (in *input) passwordText() string {
	return in.text(memberPassword, rule{max: maxPassword, secret: true})
}

// confirmedHolder returns the user of an access token, and their grant, for a change of the second factor. It reads the
// members AccessToken and TsumugiPassword; the caller must have read all others.
func (p *Pool) confirmedHolder(ctx context.Context, in *input) (GrantUser, error) {
	password := in.passwordText()
	held, err := p.inputHolder(ctx, in)
	if err != nil {
		return GrantUser{}, err
	}
	return held, p.reauthenticate(ctx, held, password)
}

// readFactorHolder reads the members AccessToken and Session. It returns one of them.
func (in *input) readFactorHolder() (token, session string) {
	session = in.text("Session", sessionRule())
	if session != "" && isNull(in.members["AccessToken"]) {
		return "", session
	}
	return in.text("AccessToken", tokenRule()), ""
}

// associateSoftwareToken is the operation AssociateSoftwareToken: it returns a new secret for an authenticator app, which
// VerifySoftwareToken puts into effect.
func (p *Pool) associateSoftwareToken(ctx context.Context, in *input) (any, error) {
	token, session := in.readFactorHolder()
	user, _, err := p.factorHolder(ctx, in, token, session)
	if err != nil {
		return nil, err
	}
	b := make([]byte, totpSecret)
	rand.Read(b) // Never fails: crypto/rand crashes the program instead.
	secret := secretEncoding.EncodeToString(b)
	return struct {
		SecretCode string
		Session    string `json:",omitempty"`
	}{secret, session}, refusedIf(p.store.SetPendingTOTP(timeout.Call(ctx), user.Sub, secret), fault.NotFound, noUser())
}

// verifySoftwareToken is the operation VerifySoftwareToken: it puts the secret of AssociateSoftwareToken into effect if
// the code is right. With the session of a challenge, sign-ins require the app from now on, and the answer has the
// session that ends the challenge.
func (p *Pool) verifySoftwareToken(ctx context.Context, in *input) (any, error) {
	token, session := in.readFactorHolder()
	code := in.text("UserCode", rule{required: true, min: 6, max: 6, secret: true})
	in.text("FriendlyDeviceName", rule{})
	user, factor, err := p.factorHolder(ctx, in, token, session)
	if err != nil {
		return nil, err
	}
	if factor.Pending == "" {
		return nil, noSoftwareToken()
	}
	step, right := totpStep(factor.Pending, code, p.now())
	if !right {
		return nil, wrongFirstCode()
	}
	event := Event{At: p.now()}
	if session != "" || factor.Enabled { // Else SetUserMFAPreference is the change to report.
		event = p.event(ctx, actionFactorAdded, user.Sub)
	}
	user, err = p.store.VerifyTOTP(timeout.Call(ctx), user, factor.Pending, step, session != "", event)
	// Another call has replaced the secret, or the user was changed, meanwhile.
	if err := refusedIf(err, fault.Conflict, wrongFirstCode()); err != nil {
		return nil, err
	}
	if event.Action != "" {
		p.notify(ctx, user, mail.FactorAdded)
	}
	if session != "" {
		session, err = p.newChallenge(ctx, user, challengeSetup, p.cfg.ChallengeLifetime)
	}
	return struct {
		Status  string
		Session string `json:",omitempty"`
	}{"SUCCESS", session}, err
}

// setUserMFAPreference is the operation SetUserMFAPreference: the user of an access token enables the verified app, or
// removes it. Unlike Cognito's, it also removes the secret, so that a lost phone is useless, and without a passkey the
// recovery codes.
func (p *Pool) setUserMFAPreference(ctx context.Context, in *input) (any, error) {
	token, password := in.text("AccessToken", tokenRule()), in.passwordText()
	enabled, given, err := in.factorPreference()
	if err != nil {
		return nil, err
	}
	held, err := p.holder(ctx, token)
	if err != nil || !given {
		return empty{}, err
	}
	if err := p.reauthenticate(ctx, held, password); err != nil {
		return nil, err
	}
	return empty{}, p.setFactor(ctx, held.User, enabled, false)
}

// adminSetUserMFAPreference is the operation AdminSetUserMFAPreference. Like setUserMFAPreference, it removes the factor
// of a user whose app is disabled, even if the organization's policy requires one: the next sign-in sets up another.
func (p *Pool) adminSetUserMFAPreference(ctx context.Context, in *input) (any, error) {
	enabled, given, err := in.factorPreference()
	if err != nil {
		return nil, err
	}
	user, err := p.adminUser(ctx, in)
	if err != nil || !given {
		return empty{}, err
	}
	return empty{}, p.setFactor(ctx, user, enabled, true)
}

// factorPreference reads the settings of SetUserMFAPreference: whether the app is enabled, and whether that is given.
func (in *input) factorPreference() (enabled, given bool, err error) {
	enabled, given = in.flag("SoftwareTokenMfaSettings", "Enabled")
	for _, other := range []string{"SMSMfaSettings", "EmailMfaSettings", "WebAuthnMfaSettings"} {
		if on, _ := in.flag(other, "Enabled"); on {
			err = invalidParameter("%s cannot be enabled in this user pool", other)
		}
	}
	if checked := in.check(); checked != nil {
		err = checked
	}
	return enabled, given, err
}

func noSoftwareToken() *refusal {
	return &refusal{kind: "SoftwareTokenMFANotFoundException", message: "Software Token MFA has not been set up."}
}

func wrongFirstCode() *refusal {
	return &refusal{kind: "EnableSoftwareTokenMFAException", message: "Code mismatch"}
}

func factorRequired() *refusal { return notAuthorized("Your organization requires a second factor.") }

// setFactor enables a user's verified app, or removes the factor. An administrator also removes the passkeys.
func (p *Pool) setFactor(ctx context.Context, user User, enabled, byAdmin bool) error {
	factor, err := p.store.PoolFactor(timeout.Call(ctx), user.Sub)
	if err != nil {
		return err
	}
	switch {
	case enabled && factor.Enabled:
		return nil
	case enabled:
		err = p.store.EnableTOTP(timeout.Call(ctx), user.Sub, p.event(ctx, actionFactorAdded, user.Sub))
		if fault.CodeOf(err) == fault.Conflict {
			return invalidParameter("User has not verified software token mfa")
		}
		if err == nil {
			p.notify(ctx, user, mail.FactorAdded)
		}
		return err
	case factor.Required && !byAdmin:
		return factorRequired()
	}
	event := p.event(ctx, actionFactorRemoved, user.Sub)
	if byAdmin { // The caller writes the audit log.
		event = Event{At: event.At}
	}
	removed, err := p.store.RemoveFactor(timeout.Call(ctx), user.Sub, byAdmin, event)
	if err == nil && removed {
		p.notify(ctx, user, mail.FactorRemoved)
	}
	return err
}

// createRecoveryCodes is the operation TsumugiCreateRecoveryCodes, an addition to Cognito's protocol: it replaces the
// recovery codes of the user of an access token, and is the only answer that contains them.
func (p *Pool) createRecoveryCodes(ctx context.Context, in *input) (any, error) {
	held, err := p.confirmedHolder(ctx, in)
	if err != nil {
		return nil, err
	}
	var answer struct{ RecoveryCodes []string }
	var hashes [][]byte
	for range recoveryCodes {
		code, hash := newRecoveryCode()
		answer.RecoveryCodes, hashes = append(answer.RecoveryCodes, code), append(hashes, hash)
	}
	err = p.store.SetRecoveryCodes(timeout.Call(ctx), held.User.Sub, hashes,
		p.event(ctx, actionRecoveryCodes, held.User.Sub))
	return answer, refusedIf(err, fault.Conflict, noSoftwareToken())
}
