package pool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// How often a forgotten password may be asked about. Six digits are not many: all of this together lets somebody who
// tries day and night guess right once in five years, for one account, whose owner gets 120 messages a day meanwhile.
const (
	codesPerWindow = 5
	codeWindow     = time.Hour
	triesPerCode   = 5
	codeDigits     = 6
	codeRange      = 1_000_000
)

// deliveryAnswer says where a code went.
type deliveryAnswer struct {
	CodeDeliveryDetails struct {
		AttributeName  string
		DeliveryMedium string
		Destination    string
	}
}

// delivery returns the answer for a name, an address or not: its first letters. A name that is nobody's looks like one
// of somebody.
func delivery(name string) (answer deliveryAnswer) {
	local, domain, found := strings.Cut(NormalizeEmail(name), "@")
	if !found || local == "" || domain == "" {
		sum := sha256.Sum256([]byte(name))
		letters := "abcdefghijklmnopqrstuvwxyz"
		local, domain = letters[sum[0]%26:], letters[sum[1]%26:]
	}
	first := func(s string) string { return string([]rune(s)[:1]) }
	answer.CodeDeliveryDetails.AttributeName, answer.CodeDeliveryDetails.DeliveryMedium = "email", "EMAIL"
	answer.CodeDeliveryDetails.Destination = first(local) + "***@" + first(domain) + "***"
	return answer
}

func codeRule() rule {
	return rule{required: true, min: 1, max: 2048, chars: isNotSpace, pattern: `[\S]+`, secret: true}
}

func attemptLimit() *refusal {
	return &refusal{kind: "LimitExceededException", message: "Attempt limit exceeded, please try after some time."}
}

func expiredCode() *refusal {
	return &refusal{kind: "ExpiredCodeException", message: "Invalid code provided, please request a code again."}
}

func codeMismatch() *refusal {
	return &refusal{kind: "CodeMismatchException", message: "Invalid verification code provided, please try again."}
}

// forgotPassword is the operation ForgotPassword: it sends a code to the user with that name. For a name that is
// nobody's, or of somebody who cannot have a new password, it does the same, but for the message.
func (p *Pool) forgotPassword(ctx context.Context, in *input) (any, error) {
	clientID := in.text("ClientId", clientIDRule())
	name := in.text("Username", usernameRule())
	secret := in.text("SecretHash", rule{secret: true})
	in.texts("ClientMetadata")
	if err := in.check(); err != nil {
		return nil, err
	}
	if err := p.checkClient(clientID, map[string]string{paramSecretHash: secret}); err != nil {
		return nil, err
	}
	if p.cfg.Mailer == nil {
		p.cfg.Logger.WarnContext(ctx, "pool: a code for a new password was not delivered: there is no mail")
		return nil, undelivered()
	}
	if !p.outbox.enter() {
		return nil, tooManyRequests()
	}
	user, code, err := p.makeCode(ctx, name)
	if err == nil {
		p.refused(ctx, ActionCodeRequested, user, "")
	}
	if err != nil || user == nil {
		p.outbox.leave()
		return delivery(name), err
	}
	p.outbox.send(func(ctx context.Context) {
		message := ResetCode{Email: user.Email, Name: user.Name, Code: code, ValidFor: p.cfg.CodeLifetime}
		if err := p.cfg.Mailer.SendResetCode(ctx, message); err != nil {
			p.cfg.Logger.WarnContext(ctx, "pool: a code for a new password was not delivered", "sub", user.Sub, "error",
				err)
		}
	})
	return delivery(user.Email), nil
}

// makeCode makes and keeps a code for a name. It returns the user whom it is to be sent to, or nil.
func (p *Pool) makeCode(ctx context.Context, name string) (*User, string, error) {
	user, err := p.findUser(ctx, name)
	if err != nil {
		return nil, "", err
	}
	kept := Code{Key: attemptsKey(user, normalizeName(name))}
	sum := sha256.Sum256(append([]byte("codes "), kept.Key...))
	made, err := p.store.PoolAttempts(ctx, sum[:])
	if err == nil {
		_, err = made[0].coded(p.now()) // Hashing is for those who get a code.
	}
	if err != nil {
		return nil, "", err
	}
	code := fmt.Sprintf("%0*d", codeDigits, randomBelow(codeRange))
	if kept.Hash, err = p.hasher.hash(ctx, code); err != nil {
		return nil, "", err
	}
	now := p.now()
	kept.ExpiresAt = now.Add(p.cfg.CodeLifetime)
	if user != nil && !user.mayReset() {
		user = nil
	}
	if user != nil {
		kept.Sub, kept.Version = &user.Sub, user.Version
	}
	err = p.store.SavePoolCode(ctx, kept, sum[:], now, func(a Attempts) (Attempts, error) { return a.coded(now) })
	if fault.CodeOf(err) == fault.NotFound { // Deleted since.
		return nil, "", nil
	}
	return user, code, err
}

// mayReset reports whether a code that was sent to a user's address may replace the password. Somebody who was invited
// and has not signed in yet needs the invitation for it, and somebody of another identity provider has none.
func (u *User) mayReset() bool {
	return u.Enabled && u.EmailVerified && (u.Status == StatusConfirmed || u.Status == StatusResetRequired)
}

// coded returns the attempts after one more code, or refuses it where too many were made.
func (a Attempts) coded(now time.Time) (Attempts, error) {
	a = a.at(now)
	if a.Failures >= codesPerWindow {
		return a, attemptLimit()
	}
	if a.Failures == 0 {
		a.LockedUntil, a.ForgottenAt = now, now.Add(codeWindow)
	}
	a.Failures++
	return a, nil
}

// confirmForgotPassword is the operation ConfirmForgotPassword: the code proves the right to set the password. It signs
// out everywhere, and lifts a lock-out.
func (p *Pool) confirmForgotPassword(ctx context.Context, in *input) (any, error) {
	clientID := in.text("ClientId", clientIDRule())
	name := in.text("Username", usernameRule())
	code := in.text("ConfirmationCode", codeRule())
	password := in.text("Password", rule{required: true, secret: true})
	secret := in.text("SecretHash", rule{secret: true})
	in.texts("ClientMetadata")
	if err := in.check(); err != nil {
		return nil, err
	}
	if err := p.checkClient(clientID, map[string]string{paramSecretHash: secret}); err != nil {
		return nil, err
	}
	// What needs no knowledge of the account uses no try up: the user has another go.
	if err := p.checkNew(ctx, password, User{Email: NormalizeEmail(name)}); err != nil {
		return nil, err
	}
	user, err := p.findUser(ctx, name)
	if err != nil {
		return nil, err
	}
	key := attemptsKey(user, normalizeName(name))
	kept, err := p.tryCode(ctx, key, code)
	if _, wrong := errors.AsType[*refusal](err); wrong {
		p.refused(ctx, ActionPasswordFailed, user, "code")
	}
	if err != nil {
		return nil, err
	}
	if user == nil || user.Version != kept.Version || !user.mayReset() { // Deleted and added again, or changed since.
		return nil, expiredCode()
	}
	if err := p.checkNew(ctx, password, *user); err != nil {
		return nil, err
	}
	encoded, err := p.hasher.hash(ctx, password)
	if err != nil {
		return nil, err
	}
	err = p.store.UsePoolCode(ctx, kept, Password{Hash: encoded, Status: StatusConfirmed},
		p.event(ctx, ActionPasswordReset, *kept.Sub))
	if fault.CodeOf(err) == fault.Conflict { // Used, replaced, or overtaken by a change of the account.
		return nil, expiredCode()
	}
	if err != nil {
		return nil, err
	}
	p.cfg.Logger.InfoContext(ctx, "pool: a forgotten password was replaced", "account", hex.EncodeToString(key[:8]))
	keys := attemptsKeys(ctx, user, normalizeName(name))
	lift := func(a []Attempts) []Attempts { return make([]Attempts, len(a)) }
	if err := p.store.UpdatePoolAttempts(ctx, keys, p.now(), lift); err != nil {
		// The code has been used.
		p.cfg.Logger.WarnContext(ctx, "pool: a lock-out was not lifted; it ends by itself", "error", err)
	}
	p.notify(ctx, *user, Mailer.SendPasswordChanged)
	return empty{}, nil
}

// tryCode returns the code that is kept under a key if it is the given one. Codes that arrive together are checked
// together, but count one after the other before anything is said of them: trying many at once tells no more than
// trying one by one, and a try that could not be checked does not count.
func (p *Pool) tryCode(ctx context.Context, key []byte, code string) (Code, error) {
	kept, err := p.store.PoolCode(ctx, key, p.now())
	if err == nil && kept.Tries >= triesPerCode {
		return Code{}, attemptLimit()
	}
	var right bool
	if err == nil {
		// Normalized: a Japanese keyboard types full-width digits.
		right, _, err = p.hasher.verify(ctx, kept.Hash, code)
	}
	if err == nil {
		kept, err = p.store.TryPoolCode(ctx, kept, p.now())
	}
	switch {
	case fault.CodeOf(err) == fault.NotFound: // Or replaced since.
		return Code{}, expiredCode()
	case err != nil:
		return Code{}, err
	case kept.Tries > triesPerCode:
		return Code{}, attemptLimit()
	case !right || kept.Sub == nil:
		return Code{}, codeMismatch()
	}
	return kept, nil
}
