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
	"github.com/tsumugi-ai/tsumugi/internal/mail"
	"github.com/tsumugi-ai/tsumugi/internal/timeout"
)

// Limits on codes for forgotten passwords. Six digits are few. With these limits, continuous guesses for one account
// are right about once in five years, while the account's owner receives 120 messages a day.
const (
	codesPerWindow = 5
	codeWindow     = time.Hour
	triesPerCode   = 5
	codeDigits     = 6
	codeRange      = 1_000_000
)

// deliveryAnswer is the masked destination of a code.
type deliveryAnswer struct {
	CodeDeliveryDetails struct {
		AttributeName  string
		DeliveryMedium string
		Destination    string
	}
}

// delivery returns the response for a name. It shows its first letters, as if the name were an address, because
// responses for unknown and known names must look alike.
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

// forgotPassword is the operation ForgotPassword: it sends a code to the named user. If the name is unknown, or the
// user may not reset the password, it does the same work without sending a code, so that the response reveals nothing.
func (p *Pool) forgotPassword(ctx context.Context, in *input) (any, error) {
	clientID := in.text("ClientId", clientIDRule())
	name := in.text("Username", usernameRule())
	secret := in.text("SecretHash", rule{secret: true})
	in.texts("ClientMetadata")
	if err := p.checkInput(in, clientID, secret); err != nil {
		return nil, err
	}
	if p.cfg.Mailer == nil {
		p.cfg.Logger.WarnContext(ctx, "pool: code for a new password not delivered: no mailer")
		return nil, undelivered()
	}
	if !p.outbox.enter() {
		return nil, tooManyRequests()
	}
	user, code, err := p.makeCode(ctx, name)
	if err == nil {
		p.refused(ctx, actionCodeRequested, user, "")
	}
	if err != nil || user == nil {
		p.outbox.leave()
		return delivery(name), err
	}
	p.outbox.send(func(ctx context.Context) {
		message := mail.ResetCode{Email: user.Email, Name: user.Name, Code: code, ValidFor: p.cfg.CodeLifetime}
		if err := p.cfg.Mailer.Send(ctx, message); err != nil {
			p.cfg.Logger.WarnContext(ctx, "pool: code for a new password not delivered", "sub", user.Sub, "err",
				err)
		}
	})
	return delivery(user.Email), nil
}

// makeCode generates and stores a code for a name. It returns the recipient, or nil.
func (p *Pool) makeCode(ctx context.Context, name string) (*User, string, error) {
	user, err := p.findUser(ctx, name)
	if err != nil {
		return nil, "", err
	}
	kept := Code{Key: attemptsKey(user, normalizeName(name))}
	sum := sha256.Sum256(append([]byte("codes "), kept.Key...))
	made, err := p.store.PoolAttempts(timeout.Call(ctx), sum[:])
	if err == nil {
		_, err = made[0].withCode(p.now()) // Checked first, because hashing is expensive.
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
	err = p.store.SavePoolCode(timeout.Call(ctx), kept, sum[:], now,
		func(a Attempts) (Attempts, error) { return a.withCode(now) })
	if fault.CodeOf(err) == fault.NotFound { // The user was deleted meanwhile.
		return nil, "", nil
	}
	return user, code, err
}

// mayReset reports whether a code sent to a user's address may replace the password. An invited user who has not signed
// in yet needs the invitation instead, and an external user has no password.
func (u *User) mayReset() bool {
	return u.Enabled && u.EmailVerified && (u.Status == StatusConfirmed || u.Status == StatusResetRequired)
}

// withCode returns the attempts after one more code, or an error if too many were requested.
func (a Attempts) withCode(now time.Time) (Attempts, error) {
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

// confirmForgotPassword is the operation ConfirmForgotPassword: it sets a new password for a valid code. It ends all of
// the user's sessions and any lock-out.
func (p *Pool) confirmForgotPassword(ctx context.Context, in *input) (any, error) {
	clientID := in.text("ClientId", clientIDRule())
	name := in.text("Username", usernameRule())
	code := in.text("ConfirmationCode", codeRule())
	password := in.text("Password", rule{required: true, secret: true})
	secret := in.text("SecretHash", rule{secret: true})
	in.texts("ClientMetadata")
	if err := p.checkInput(in, clientID, secret); err != nil {
		return nil, err
	}
	// Checks that do not depend on the account come first and do not count as a try, so that the user can correct the
	// password.
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
		p.refused(ctx, actionPasswordFailed, user, "code")
	}
	if err != nil {
		return nil, err
	}
	// The user was deleted and added again, or changed, since the code was made.
	if user == nil || user.Version != kept.Version || !user.mayReset() {
		return nil, expiredCode()
	}
	if err := p.checkNew(ctx, password, *user); err != nil {
		return nil, err
	}
	encoded, err := p.hasher.hash(ctx, password)
	if err != nil {
		return nil, err
	}
	err = p.store.UsePoolCode(timeout.Call(ctx), kept, Password{Hash: encoded, Status: StatusConfirmed},
		p.event(ctx, actionPasswordReset, *kept.Sub))
	// The code was used or replaced, or the account changed, meanwhile.
	if err := refusedIf(err, fault.Conflict, expiredCode()); err != nil {
		return nil, err
	}
	p.cfg.Logger.InfoContext(ctx, "pool: forgotten password replaced", "account", hex.EncodeToString(key[:8]))
	keys := attemptsKeys(ctx, user, normalizeName(name))
	lift := func(a []Attempts) []Attempts { return make([]Attempts, len(a)) }
	if err := p.store.UpdatePoolAttempts(timeout.Call(ctx), keys, p.now(), lift); err != nil {
		// The password is already set, so an error must not fail the call.
		p.cfg.Logger.WarnContext(ctx, "pool: lock-out not removed, it expires", "err", err)
	}
	p.notify(ctx, *user, mail.PasswordChanged)
	return empty{}, nil
}

// tryCode returns the code stored under a key if it equals the given one. Concurrent tries are verified concurrently,
// but counted one after the other before the result is returned, so that concurrent tries reveal no more than
// sequential ones. A try that could not be verified is not counted.
func (p *Pool) tryCode(ctx context.Context, key []byte, code string) (Code, error) {
	kept, err := p.store.PoolCode(timeout.Call(ctx), key, p.now())
	if err == nil && kept.Tries >= triesPerCode {
		return Code{}, attemptLimit()
	}
	var right bool
	if err == nil {
		// Normalized, because a Japanese keyboard types full-width digits.
		right, _, err = p.hasher.verify(ctx, kept.Hash, code)
	}
	if err == nil {
		kept, err = p.store.TryPoolCode(timeout.Call(ctx), kept, p.now())
	}
	switch {
	case fault.CodeOf(err) == fault.NotFound: // The code may have been replaced meanwhile.
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
