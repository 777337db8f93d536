package pool_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	cognito "github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"
	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider/types"
	"github.com/aws/smithy-go"

	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/internal/mail"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

const (
	limitReached = "Attempt limit exceeded, please try after some time."
	askAgain     = "Invalid code provided, please request a code again."
	wrongCode    = "Invalid verification code provided, please try again."
	fresh        = "Atarashii-2026"
)

func (f *fixture) forgot(ctx context.Context, name string) (*cognito.ForgotPasswordOutput, error) {
	return f.sdk.ForgotPassword(ctx, &cognito.ForgotPasswordInput{
		ClientId: aws.String(clientID),
		Username: aws.String(name),
	})
}

func (f *fixture) confirm(ctx context.Context, name, code, password string) error {
	_, err := f.sdk.ConfirmForgotPassword(ctx, &cognito.ConfirmForgotPasswordInput{
		ClientId: aws.String(clientID), Username: aws.String(name), ConfirmationCode: aws.String(code),
		Password: aws.String(password),
	})
	return err
}

// code requests a code and returns it.
func (f *fixture) code(t *testing.T, name string) string {
	t.Helper()
	must.Get(f.forgot(t.Context(), name))(t)
	return arrived(t, f.mail.codes).Code
}

// other returns a code that differs from the given one.
func other(code string, n int) string {
	var number int
	_, _ = fmt.Sscanf(code, "%d", &number)
	return fmt.Sprintf("%06d", (number+1+n)%1_000_000)
}

func TestR42_ResetCode(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	before := f.mustSignIn(t)
	_, err := f.forgot(ctx, " Hanako@Example.com ")
	wantRefusal(t, err, "InvalidParameterException",
		`1 validation error detected: Value ' Hanako@Example.com ' at 'username' failed `+
			`to satisfy constraint: Member must satisfy regular expression pattern: [\p{L}\p{M}\p{S}\p{N}\p{P}]+`)
	out := must.Get(f.forgot(ctx, "Hanako@Example.com"))(t)
	details := out.CodeDeliveryDetails
	if details == nil || *details.Destination != "h***@e***" ||
		details.DeliveryMedium != types.DeliveryMediumTypeEmail || *details.AttributeName != "email" {
		t.Errorf("details: %+v", details)
	}
	sent := arrived(t, f.mail.codes)
	if sent.Email != email || sent.Name != "山田 花子" || sent.ValidFor != time.Hour ||
		!regexp.MustCompile(`^\d{6}$`).MatchString(sent.Code) {
		t.Errorf("sent: %+v", sent)
	}
	f.mustSignIn(t) // The old password stays valid until the new one is set.

	err = f.confirm(ctx, email, sent.Code, "short")
	wantRefusal(t, err, "InvalidPasswordException", "Password does not conform to policy: Password not long enough")
	err = f.confirm(ctx, email, other(sent.Code, 0), fresh)
	wantRefusal(t, err, "CodeMismatchException", wrongCode)
	must.Succeed(t, f.confirm(ctx, "HANAKO@example.com", sent.Code, fresh))
	err = f.confirm(ctx, email, sent.Code, fresh)
	wantRefusal(t, err, "ExpiredCodeException", askAgain) // Used.

	_, err = f.signIn(ctx, email, password)
	wantNotAuthorized(t, err, incorrect)
	must.Get(f.signIn(ctx, email, fresh))(t)
	// R45: all sessions have ended.
	_, err = f.refresh(ctx, *before.RefreshToken)
	wantNotAuthorized(t, err, "Refresh Token has been revoked")
	_, err = f.getUser(ctx, *before.AccessToken)
	wantNotAuthorized(t, err, "Access Token has been revoked")
}

func TestR42_ResetCodeExpiresAndIsReplaced(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	first := f.code(t, email)
	second := f.code(t, email)
	if first == second { // One in a million.
		second = f.code(t, email)
	}
	wantRefusal(t, f.confirm(ctx, email, first, fresh), "CodeMismatchException", wrongCode)
	f.clock.Advance(time.Hour)
	wantRefusal(t, f.confirm(ctx, email, second, fresh), "ExpiredCodeException", askAgain)
	third := f.code(t, email)
	f.clock.Advance(time.Hour - time.Millisecond)
	// Typed with a Japanese keyboard and the user's other name.
	wide := strings.Map(func(r rune) rune { return r - '0' + '０' }, third)
	must.Succeed(t, f.confirm(ctx, f.sub.String(), wide, fresh))

	// A code becomes invalid when the account changes.
	for name, change := range map[string]func() error{
		"another password": func() error { return f.SetPassword(ctx, f.sub, password, true) },
		"disabled":         func() error { return f.DisableUser(ctx, f.sub) },
	} {
		f.clock.Advance(2 * time.Hour)
		code := f.code(t, email)
		must.Succeed(t, change())
		if err := f.confirm(ctx, email, code, fresh); err == nil {
			t.Errorf("%s: the code still holds", name)
		}
		must.Succeed(t, f.EnableUser(ctx, f.sub))
		wantRefusal(t, f.confirm(ctx, email, code, fresh), "ExpiredCodeException", askAgain)
	}
}

func TestR42_TriesAreLimited(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	code := f.code(t, email)
	for i := range 5 {
		wantRefusal(t, f.confirm(ctx, email, other(code, i), fresh), "CodeMismatchException", wrongCode)
	}
	wantRefusal(t, f.confirm(ctx, email, code, fresh), "LimitExceededException", limitReached)
	must.Succeed(t, f.confirm(ctx, email, f.code(t, email), fresh)) // Another code has its own tries.

	// However many tries are concurrent, only about five are verified.
	code = f.code(t, email)
	var looked, right atomic.Int32
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			try := other(code, i)
			if i == 29 {
				try = code
			}
			err := f.confirm(context.WithoutCancel(ctx), email, try, password)
			if api, ok := errors.AsType[smithy.APIError](err); err == nil || ok &&
				api.ErrorCode() == "CodeMismatchException" {
				looked.Add(1)
			}
			if err == nil {
				right.Add(1)
			}
		})
	}
	wg.Wait()
	if looked.Load() > 5 || right.Load() > 1 {
		t.Errorf("%d tries were looked at, %d of them right", looked.Load(), right.Load())
	}
}

func TestR42_CodesAreLimited(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	for range 5 {
		f.code(t, email)
	}
	for _, name := range []string{email, f.sub.String()} {
		_, err := f.forgot(ctx, name)
		wantRefusal(t, err, "LimitExceededException", limitReached)
	}
	f.clock.Advance(time.Hour - time.Millisecond)
	_, err := f.forgot(ctx, email)
	wantRefusal(t, err, "LimitExceededException", limitReached)
	f.clock.Advance(time.Millisecond)
	f.code(t, email)
}

func TestR42_CodeIsUsedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	code := f.code(t, email)
	var done atomic.Int32
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			if f.confirm(context.WithoutCancel(t.Context()), email, code, fresh) == nil {
				done.Add(1)
			}
		})
	}
	wg.Wait()
	if done.Load() != 1 {
		t.Errorf("used %d times", done.Load())
	}
}

// TestR42_UnknownAddressesAreAnsweredAlike: neither the response nor its timing reveals whether an address is known. It
// compares an unknown address, a known one, and those of users who may not reset their password.
func TestR42_UnknownAddressesAreAnsweredAlike(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	f.create(t, pool.NewUser{Email: "invited@example.com", Name: "招待", TemporaryPassword: temporary})
	must.Succeed(t, f.DisableUser(ctx, f.create(t, pool.NewUser{
		Email: "disabled@example.com", Name: "無効",
		PermanentPassword: password,
	})))
	must.Get(f.CreateExternalUser(ctx, [16]byte{}, "external@example.com", "外部"))(t)
	f.create(t, pool.NewUser{Email: "unverified@example.com", Name: "未確認", PermanentPassword: password})
	must.Succeed(t, f.update(t, aws.String("unverified@example.com"), "email_verified", "false"))
	walk := func(name string) (said []string) {
		note := func(operation, body string) {
			r := f.post(t, operation, body)
			said = append(said, fmt.Sprintf("%s: %d %s", operation, r.status, r.body))
		}
		client := `{"ClientId":"` + clientID + `","Username":"` + name + `"`
		confirm := client + `,"ConfirmationCode":"not it","Password":"` + fresh + `"}`
		note("ConfirmForgotPassword", confirm)
		note("ForgotPassword", client+"}")
		for range 7 {
			note("ConfirmForgotPassword", confirm)
		}
		for range 5 {
			note("ForgotPassword", client+"}")
		}
		note("ConfirmForgotPassword", confirm)
		note("ResendConfirmationCode", client+"}")
		note("ConfirmSignUp", client+`,"ConfirmationCode":"123456"}`)
		note("SignUp", client+`,"Password":"`+fresh+`"}`)
		return said
	}
	want := walk(email)
	if !strings.Contains(want[1],
		`200 {"CodeDeliveryDetails":{"AttributeName":"email","DeliveryMedium":"EMAIL","Destination":"h***@e***"}}`) {
		t.Errorf("asked: %s", want[1])
	}
	for _, name := range []string{
		"nobody@example.com", "invited@example.com", "disabled@example.com", "external@example.com",
		"unverified@example.com",
	} {
		got := walk(name)
		for i := range want {
			expected := strings.ReplaceAll(want[i], "h***@e***", name[:1]+"***@e***")
			if got[i] != expected {
				t.Errorf("%s, step %d: %s\nwant %s", name, i, got[i], expected)
			}
		}
	}
	f.Stop(context.WithoutCancel(ctx))
	for range 5 {
		if sent := <-f.mail.codes; sent.Email != email {
			t.Errorf("sent to %s", sent.Email)
		}
	}
	if len(f.mail.codes) != 0 {
		t.Errorf("%d more", len(f.mail.codes))
	}
}

// TestR42_CodeOfAnUnknownUserIsNeverRight: a guess at the code of an unknown name gets the same response as any other.
func TestR42_CodeOfAnUnknownUserIsNeverRight(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	hash := must.Get(pool.NewHasher(pool.HashConfig{MemoryKiB: 64, Passes: 1}).Hash(t.Context(), "123456"))(t)
	key := sha256.Sum256([]byte("name nobody@example.com"))
	code := pool.Code{Key: key[:], Hash: hash, ExpiresAt: f.clock.Now().Add(time.Hour)}
	uncounted := func(pool.Attempts) (pool.Attempts, error) { return pool.Attempts{}, nil }
	must.Succeed(t, f.db.SavePoolCode(t.Context(), code, key[:], f.clock.Now(), uncounted))
	for range 5 {
		err := f.confirm(t.Context(), "nobody@example.com", "123456", fresh)
		wantRefusal(t, err, "CodeMismatchException", "Invalid verification code provided, please try again.")
	}
}

// TestR42_MailIsSentInTheBackground: a slow or failing mail server has no effect on responses.
func TestR42_MailIsSentInTheBackground(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mail.setFailure(errors.New("the mail server is down"))
	f.code(t, email)
	hanging := &hangingMailer{began: make(chan struct{}, 1), ended: make(chan struct{})}
	cfg := config(f.clock)
	cfg.Mailer = hanging
	p := newPool(t, cfg, f.db)
	server := serve(t, p)
	r := post(t, server, "ForgotPassword", `{"ClientId":"`+clientID+`","Username":"`+email+`"}`)
	if r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	<-hanging.began
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.Stop(ctx) // Cancels the message.
	select {
	case <-hanging.ended:
	default:
		t.Error("a message is still under way")
	}
}

type hangingMailer struct {
	began, ended chan struct{}
}

func (h *hangingMailer) Send(ctx context.Context, _ mail.Message) error {
	h.began <- struct{}{}
	<-ctx.Done()
	close(h.ended)
	return ctx.Err()
}

func TestForgotPasswordWithoutMail(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server := serve(t, newPool(t, config(f.clock), f.db))
	for _, name := range []string{email, "nobody@example.com"} {
		r := post(t, server, "ForgotPassword", `{"ClientId":"`+clientID+`","Username":"`+name+`"}`)
		if r.status != 400 || r.fields["__type"] != "CodeDeliveryFailureException" {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
}

func TestR39_ANewPasswordLiftsTheLockOut(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	for range 8 {
		_, _ = f.signIn(ctx, email, "wrong")
	}
	_, err := f.signIn(ctx, email, password)
	wantNotAuthorized(t, err, exceeded)
	must.Succeed(t, f.confirm(ctx, email, f.code(t, email), fresh))
	must.Get(f.signIn(ctx, email, fresh))(t)
}

// forgetful is a store that fails to end a lock-out.
type forgetful struct {
	pool.Store
	used atomic.Bool // A code was used.
}

func (s *forgetful) UsePoolCode(ctx context.Context, code pool.Code, set pool.Password, event pool.Event) error {
	err := s.Store.UsePoolCode(ctx, code, set, event)
	s.used.Store(err == nil)
	return err
}

func (s *forgetful) UpdatePoolAttempts(
	ctx context.Context, keys [][]byte, at time.Time, update func([]pool.Attempts) []pool.Attempts,
) error {
	if s.used.Load() {
		return errors.New("the database is away")
	}
	return s.Store.UpdatePoolAttempts(ctx, keys, at, update)
}

// TestR42_ReplacedPasswordIsASuccess: a failed response would make the client repeat the used code in vain.
func TestR42_ReplacedPasswordIsASuccess(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server := serve(t, newPool(t, config(f.clock), &forgetful{Store: f.db}))
	code := f.code(t, email)
	r := post(t, server, "ConfirmForgotPassword",
		`{"ClientId":"`+clientID+`","Username":"`+email+`","ConfirmationCode":"`+code+`","Password":"`+fresh+`"}`)
	if r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	must.Get(f.signIn(t.Context(), email, fresh))(t)
}

func TestForgotPasswordRefusals(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const invalid = "InvalidParameterException"
	client := `"ClientId":"` + clientID + `"`
	for name, c := range map[string]struct{ operation, body, kind, message string }{
		"empty": {
			"ForgotPassword", `{}`, invalid,
			"2 validation errors detected: Value null at 'clientId' failed to satisfy constraint: " +
				"Member must not be null; Value null at 'username' failed to satisfy constraint: Member must " +
				"not be null",
		},
		"other client": {
			"ForgotPassword", `{"ClientId":"other","Username":"a"}`, "ResourceNotFoundException",
			"User pool client other does not exist.",
		},
		"the client of others": {
			"ForgotPassword", `{"ClientId":"` + ssoID + `","Username":"a"}`, "ResourceNotFoundException",
			"User pool client " + ssoID + " does not exist.",
		},
		"secret": {
			"ForgotPassword", `{` + client + `,"Username":"a","SecretHash":"x"}`, "NotAuthorizedException",
			"Client " + clientID + " is not configured for secret but secret hash was received",
		},
		"long name": {
			"ForgotPassword", `{` + client + `,"Username":"` + strings.Repeat("あ", 129) + `"}`, invalid,
			"1 validation error detected: Value '" + strings.Repeat("あ",
				129) + "' at 'username' failed to satisfy constraint: " +
				"Member must have length less than or equal to 128",
		},
		"no code": {
			"ConfirmForgotPassword", `{` + client + `,"Username":"a","Password":"` + fresh + `"}`, invalid,
			"1 validation error detected: Value at 'confirmationCode' failed to satisfy constraint: Member must " +
				"not be null",
		},
		"code with a space": {
			"ConfirmForgotPassword", `{` + client + `,"Username":"a","ConfirmationCode":"12 34","Password":"` + fresh +
				`"}`, invalid,
			`1 validation error detected: Value at 'confirmationCode' failed to satisfy constraint: Member must ` +
				`satisfy regular expression pattern: [\S]+`,
		},
		"weak password": {
			"ConfirmForgotPassword", `{` + client +
				`,"Username":"a","ConfirmationCode":"123456","Password":"alllower-1"}`,
			"InvalidPasswordException", "Password does not conform to policy: Password must have uppercase characters",
		},
		"signing up": {
			"SignUp", `{` + client + `,"Username":"a@example.com","Password":"` + fresh + `"}`,
			"NotAuthorizedException",
			"SignUp is not permitted for this user pool",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := f.post(t, c.operation, c.body)
			if r.status != 400 || r.fields["__type"] != c.kind || r.fields["message"] != c.message {
				t.Errorf("got %d %s\nwant %s: %s", r.status, r.body, c.kind, c.message)
			}
		})
	}
}
