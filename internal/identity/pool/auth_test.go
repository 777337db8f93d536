package pool_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	cognito "github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"
	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider/types"
	"github.com/aws/smithy-go"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestR34_RoundTripWithTheGoSDK(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()

	first := f.mustSignIn(t)
	if aws.ToString(first.TokenType) != "Bearer" || first.ExpiresIn != 3600 || aws.ToString(first.RefreshToken) == "" {
		t.Errorf("tokens: %+v", first)
	}
	user, err := f.getUser(ctx, *first.AccessToken)
	must.Succeed(t, err)
	got := map[string]string{}
	for _, a := range user.UserAttributes {
		got[*a.Name] = *a.Value
	}
	want := map[string]string{"sub": f.sub.String(), "email": email, "email_verified": "true", "name": "山田 花子"}
	if *user.Username != f.sub.String() || len(got) != len(want) {
		t.Errorf("user %s: %v", *user.Username, got)
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s = %q, want %q", name, got[name], value)
		}
	}

	second := f.mustSignIn(t)
	must.Get(f.sdk.RevokeToken(ctx, &cognito.RevokeTokenInput{
		ClientId: aws.String(clientID),
		Token:    first.RefreshToken,
	}))(t)
	_, err = f.refresh(ctx, *first.RefreshToken)
	wantNotAuthorized(t, err, "Refresh Token has been revoked")
	_, err = f.getUser(ctx, *first.AccessToken)
	wantNotAuthorized(t, err, "Access Token has been revoked")
	_, err = f.getUser(ctx, *second.AccessToken)
	must.Succeed(t, err) // Another device.

	third := f.mustSignIn(t)
	must.Get(f.sdk.GlobalSignOut(ctx, &cognito.GlobalSignOutInput{AccessToken: second.AccessToken}))(t)
	for _, result := range []*types.AuthenticationResultType{second, third} {
		_, err = f.refresh(ctx, *result.RefreshToken)
		wantNotAuthorized(t, err, "Refresh Token has been revoked")
		_, err = f.getUser(ctx, *result.AccessToken)
		wantNotAuthorized(t, err, "Access Token has been revoked")
	}
	f.mustSignIn(t) // The user can sign in again after signing out.
}

func TestSignInAcceptsEveryFormOfTheName(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, name := range []string{
		email, "Hanako@Example.COM", " hanako@example.com ", "ｈａｎａｋｏ＠ｅｘａｍｐｌｅ．ｃｏｍ", f.sub.String(),
	} {
		if _, err := f.signIn(t.Context(), name, password); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{
		"hanako", "hanako@example.com\x00", "һanako@example.com" /* Cyrillic */, "{" + f.sub.String() + "}",
		strings.ToUpper(f.sub.String()), "urn:uuid:" + f.sub.String(), strings.Repeat("a", 3000) + "@example.com",
		"hanako@example.com'--", "\ufeff", "%", uuid.NewString(),
	} {
		_, err := f.signIn(t.Context(), name, password)
		wantNotAuthorized(t, err, incorrect)
	}
}

func TestR37_Lifetimes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	result := f.mustSignIn(t)
	for _, token := range []*string{result.IdToken, result.AccessToken} {
		_, c := claims(t, token)
		if c["exp"].(float64)-c["iat"].(float64) != 3600 || result.ExpiresIn != 3600 {
			t.Errorf("exp − iat = %v, ExpiresIn = %d", c["exp"].(float64)-c["iat"].(float64), result.ExpiresIn)
		}
		if c["iat"].(float64) != float64(f.clock.Now().Unix()) || c["auth_time"] != c["iat"] {
			t.Errorf("iat %v, auth_time %v", c["iat"], c["auth_time"])
		}
	}
	f.clock.Advance(time.Hour - 2*time.Second)
	_, err := f.getUser(ctx, *result.AccessToken)
	must.Succeed(t, err)
	f.clock.Advance(2 * time.Second)
	_, err = f.getUser(ctx, *result.AccessToken)
	wantNotAuthorized(t, err, "Access Token has expired")

	f.clock.Advance(30*24*time.Hour - time.Hour - time.Millisecond)
	must.Get(f.refresh(ctx, *result.RefreshToken))(t)
	f.clock.Advance(time.Millisecond)
	_, err = f.refresh(ctx, *result.RefreshToken)
	wantNotAuthorized(t, err, "Refresh Token has expired")
}

func TestR38_RefreshKeepsTheSignInAndItsToken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.mustSignIn(t)
	f.clock.Advance(10 * time.Minute)
	for _, flow := range []string{"REFRESH_TOKEN_AUTH", "REFRESH_TOKEN"} {
		r := f.post(t, "InitiateAuth",
			`{"AuthFlow":"`+flow+`","ClientId":"`+clientID+`","AuthParameters":{"REFRESH_TOKEN":"`+
				*first.RefreshToken+`","DEVICE_KEY":"ignored"}}`)
		result, ok := r.fields["AuthenticationResult"].(map[string]any)
		if r.status != 200 || !ok {
			t.Fatalf("%s: %d %s", flow, r.status, r.body)
		}
		names := make([]string, 0, len(result))
		for name := range result {
			names = append(names, name)
		}
		slices.Sort(names)
		if !slices.Equal(names, []string{"AccessToken", "ExpiresIn", "IdToken", "TokenType"}) {
			t.Errorf("%s: %v", flow, names)
		}
		for name, old := range map[string]*string{"IdToken": first.IdToken, "AccessToken": first.AccessToken} {
			_, before := claims(t, old)
			_, after := claims(t, aws.String(result[name].(string)))
			for _, claim := range []string{"auth_time", "origin_jti", "event_id", "sub", "iss"} {
				if after[claim] != before[claim] {
					t.Errorf("%s: %s changed from %v to %v", name, claim, before[claim], after[claim])
				}
			}
			if after["jti"] == before["jti"] || after["iat"].(float64) != before["iat"].(float64)+600 {
				t.Errorf("%s: jti %v, iat %v", name, after["jti"], after["iat"])
			}
		}
	}
	for _, token := range []string{"unknown", *first.AccessToken, strings.Repeat("x", 5000), "\x00"} {
		_, err := f.refresh(t.Context(), token)
		wantNotAuthorized(t, err, "Invalid Refresh Token.")
	}
}

// TestR39_LockOut: wrong passwords are counted in the same way for existing and unknown accounts.
func TestR39_LockOut(t *testing.T) {
	t.Parallel()
	for _, name := range []string{email, "nobody@example.com", "not an address"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			try := func(want string) {
				t.Helper()
				_, err := f.signIn(t.Context(), name, "wrong")
				wantNotAuthorized(t, err, want)
			}
			for range 5 {
				try(incorrect)
			}
			lock := time.Second
			for range 14 {
				f.clock.Advance(lock - time.Millisecond)
				for range 3 { // Attempts while locked don't extend it, and the right password is rejected too.
					try(exceeded)
					_, err := f.signIn(t.Context(), name, password)
					wantNotAuthorized(t, err, exceeded)
				}
				f.clock.Advance(time.Millisecond)
				try(incorrect)
				lock = min(2*lock, 15*time.Minute)
			}
			// A quarter of an hour without an attempt resets the count.
			f.clock.Advance(lock + 15*time.Minute)
			for range 5 {
				try(incorrect)
			}
			try(exceeded)
		})
	}
}

func TestR39_SuccessResets(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for range 3 {
		for range 4 {
			_, err := f.signIn(t.Context(), email, "wrong")
			wantNotAuthorized(t, err, incorrect)
		}
		f.mustSignIn(t)
	}
	for range 5 {
		_, err := f.signIn(t.Context(), f.sub.String(), "wrong") // The count is per account, under any of its names.
		wantNotAuthorized(t, err, incorrect)
	}
	f.clock.Advance(time.Second)
	f.mustSignIn(t)
	for range 5 {
		_, err := f.signIn(t.Context(), email, "wrong")
		wantNotAuthorized(t, err, incorrect)
	}
	_, err := f.signIn(t.Context(), email, password)
	wantNotAuthorized(t, err, exceeded)
	// Another user is not affected.
	f.create(t, pool.NewUser{Email: "jiro@example.com", Name: "次郎", PermanentPassword: password})
	must.Get(f.signIn(t.Context(), "jiro@example.com", password))(t)
}

// TestR39_FloodOfAttempts: concurrent attempts reveal the result of no more than five passwords.
func TestR39_FloodOfAttempts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const attempts = 60
	messages := make(chan string, attempts)
	var wg sync.WaitGroup
	for range attempts {
		wg.Go(func() {
			_, err := f.signIn(context.WithoutCancel(t.Context()), email, "wrong")
			api, ok := errors.AsType[smithy.APIError](err)
			if !ok {
				t.Errorf("got %v", err)
				return
			}
			messages <- api.ErrorMessage()
		})
	}
	wg.Wait()
	close(messages)
	count := map[string]int{}
	for message := range messages {
		count[message]++
	}
	if count[incorrect] != 5 || count[exceeded] != attempts-5 {
		t.Errorf("answers: %v", count)
	}
}

// TestManySignInsAtOnce: the right password never causes a lock-out, even in many concurrent sign-ins.
func TestManySignInsAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.signIn(t.Context(), email, "wrong")
	wantNotAuthorized(t, err, incorrect)
	tokens := sync.Map{}
	var wg sync.WaitGroup
	for range 30 {
		wg.Go(func() {
			out, err := f.signIn(context.WithoutCancel(t.Context()), email, password)
			if err != nil {
				t.Error(err)
				return
			}
			if _, twice := tokens.LoadOrStore(*out.AuthenticationResult.RefreshToken, true); twice {
				t.Error("the same refresh token twice")
			}
		})
	}
	wg.Wait()
}

// TestUnknownAndKnownAccountsAnswerAlike: neither the response nor its timing reveals whether an address is known. For
// every name, the pool verifies a password or lets it wait.
func TestUnknownAndKnownAccountsAnswerAlike(t *testing.T) {
	t.Parallel()
	c := newClock()
	cfg := config(c)
	cfg.Hash.Concurrent, cfg.Hash.Patience = 1, time.Nanosecond
	f := &fixture{clock: c, db: storetest.New(t)}
	f.Pool = newPool(t, cfg, f.db)
	f.server = serve(t, f.Pool)
	f.sdk = newSDK(f.server)
	f.create(t, pool.NewUser{Email: email, Name: "花子", PermanentPassword: password})
	disabled := f.create(t, pool.NewUser{Email: "off@example.com", Name: "停止", PermanentPassword: password})
	must.Succeed(t, f.DisableUser(t.Context(), disabled))
	f.create(t, pool.NewUser{Email: newcomer, Name: "新人", TemporaryPassword: temporary})
	none := f.create(t, pool.NewUser{Email: "none@example.com", Name: "無し", PermanentPassword: password})
	must.Succeed(t, f.db.SetPoolPassword(t.Context(), none, pool.Password{Status: pool.StatusConfirmed}, c.Now()))

	names := []string{
		email, "nobody@example.com", uuid.NewString(), "no address", "off@example.com", newcomer, "none@example.com",
		none.String(),
	}
	for _, name := range names {
		_, err := f.signIn(t.Context(), name, "wrong")
		wantNotAuthorized(t, err, incorrect)
	}
	release := pool.Occupy(f.Pool)
	for _, name := range names {
		_, err := f.signIn(t.Context(), name, "wrong")
		wantRefusal(t, err, "TooManyRequestsException", "Rate exceeded")
	}
	release()
	for range 4 { // Passwords that were not verified were not counted.
		_, err := f.signIn(t.Context(), email, "wrong")
		wantNotAuthorized(t, err, incorrect)
	}
	_, err := f.signIn(t.Context(), email, "wrong")
	wantNotAuthorized(t, err, exceeded)
	release = pool.Occupy(f.Pool)
	defer release()
	// While it is locked, no password is verified or waits to be.
	_, err = f.signIn(t.Context(), email, password)
	wantNotAuthorized(t, err, exceeded)
}

// TestR39_LongNamesAnswerAlike: attempts on long names are counted in the same way for known and unknown names.
func TestR39_LongNamesAnswerAlike(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	blanks := strings.Repeat(" ", 3000)
	var want []string
	for _, name := range []string{"nobody@example.com", email, "somebody@example.com"} {
		var got []string
		for range 6 {
			_, err := f.signIn(t.Context(), blanks+name, "wrong")
			got = append(got, refusalOf(err))
		}
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// refusalOf returns the text of an exception.
func refusalOf(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorMessage()
	}
	return ""
}

func TestAccountStateIsRevealedOnlyWithTheRightPassword(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	must.Succeed(t, f.DisableUser(ctx, f.sub))
	_, err := f.signIn(ctx, email, password)
	wantNotAuthorized(t, err, "User is disabled.")
	_, err = f.signIn(ctx, email, "wrong")
	wantNotAuthorized(t, err, incorrect)
	must.Succeed(t, f.EnableUser(ctx, f.sub))
	f.mustSignIn(t)

	hash := must.Get(pool.NewHasher(pool.HashConfig{MemoryKiB: 64, Passes: 1}).Hash(ctx, password))(t)
	must.Succeed(t, f.db.SetPoolPassword(ctx, f.sub, pool.Password{Hash: hash, Status: pool.StatusResetRequired},
		f.clock.Now()))
	_, err = f.signIn(ctx, email, password)
	wantRefusal(t, err, "PasswordResetRequiredException", "Password reset required for the user")
	must.Succeed(t,
		f.db.SetPoolPassword(ctx, f.sub, pool.Password{Hash: hash, Status: pool.StatusUnconfirmed}, f.clock.Now()))
	_, err = f.signIn(ctx, email, password)
	wantRefusal(t, err, "UserNotConfirmedException", "User is not confirmed.")
	_, err = f.signIn(ctx, email, "wrong")
	wantNotAuthorized(t, err, incorrect)
}

func TestR45_DisablingAndNewPasswordsEndSessions(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(f *fixture, ctx context.Context) error{
		"disable": func(f *fixture, ctx context.Context) error { return f.DisableUser(ctx, f.sub) },
		"disable and enable": func(f *fixture, ctx context.Context) error {
			return errors.Join(f.DisableUser(ctx, f.sub), f.EnableUser(ctx, f.sub))
		},
		"new password": func(f *fixture, ctx context.Context) error {
			return f.SetPassword(ctx, f.sub, "Another-1-word",
				true)
		},
		"temporary": func(f *fixture, ctx context.Context) error {
			return f.SetPassword(ctx, f.sub, temporary,
				false)
		},
		"sign out": func(f *fixture, ctx context.Context) error { return f.SignOutUser(ctx, f.sub) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			result := f.mustSignIn(t)
			must.Succeed(t, end(f, t.Context()))
			_, err := f.refresh(t.Context(), *result.RefreshToken)
			wantNotAuthorized(t, err, "Refresh Token has been revoked")
			_, err = f.getUser(t.Context(), *result.AccessToken)
			wantNotAuthorized(t, err, "Access Token has been revoked")
		})
	}
}

func TestDeletedUserIsGone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	result := f.mustSignIn(t)
	must.Succeed(t, f.DeleteUser(t.Context(), f.sub))
	_, err := f.refresh(t.Context(), *result.RefreshToken)
	wantNotAuthorized(t, err, "Invalid Refresh Token.")
	_, err = f.getUser(t.Context(), *result.AccessToken)
	wantRefusal(t, err, "UserNotFoundException", "User does not exist.")
	_, err = f.signIn(t.Context(), email, password)
	wantNotAuthorized(t, err, incorrect)
}

func (f *fixture) changePassword(ctx context.Context, token *string, previous, proposed string) error {
	_, err := f.sdk.ChangePassword(ctx, &cognito.ChangePasswordInput{
		AccessToken: token, PreviousPassword: aws.String(previous), ProposedPassword: aws.String(proposed),
	})
	return err
}

func TestChangePassword(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	here, elsewhere := f.mustSignIn(t), f.mustSignIn(t)
	const next = "Momiji-2026-aki"

	err := f.changePassword(ctx, here.AccessToken, password, "short")
	wantRefusal(t, err, "InvalidPasswordException", "Password does not conform to policy: Password not long enough")
	wantNotAuthorized(t, f.changePassword(ctx, here.IdToken, password, next), "Invalid Access Token")
	must.Succeed(t, f.changePassword(ctx, here.AccessToken, password, next))
	_, err = f.signIn(ctx, email, password)
	wantNotAuthorized(t, err, incorrect)
	must.Get(f.signIn(ctx, email, next))(t)
	must.Get(f.refresh(ctx, *here.RefreshToken))(t)
	_, err = f.refresh(ctx, *elsewhere.RefreshToken)
	wantNotAuthorized(t, err, "Refresh Token has been revoked")

	// A stolen access token must not allow unlimited guessing: attempts count as at sign-in.
	for range 5 {
		wantNotAuthorized(t, f.changePassword(ctx, here.AccessToken, "wrong", password), incorrect)
	}
	err = f.changePassword(ctx, here.AccessToken, next, password)
	wantRefusal(t, err, "LimitExceededException", "Attempt limit exceeded, please try after some time.")
	_, err = f.signIn(ctx, email, next)
	wantNotAuthorized(t, err, exceeded)
	f.clock.Advance(time.Second)
	must.Succeed(t, f.changePassword(ctx, here.AccessToken, next, password))

	r := f.post(t, "ChangePassword", `{"AccessToken":"a.b.c"}`)
	if r.status != 400 || r.fields["message"] != "2 validation errors detected: "+
		"Value at 'previousPassword' failed to satisfy constraint: Member must not be null; "+
		"Value at 'proposedPassword' failed to satisfy constraint: Member must not be null" {
		t.Errorf("got %d %s", r.status, r.body)
	}
}

// late is a store that disables users, or changes their password, just after the check.
type late struct{ pool.Store }

func (late) CreateGrant(context.Context, pool.Grant, int64, pool.Event) (bool, error) {
	return false, fault.Errorf(fault.Conflict, "")
}

func (late) ChangePoolPassword(context.Context, uuid.UUID, int64, pool.Password, uuid.UUID, pool.Event) error {
	return fault.Errorf(fault.Conflict, "")
}

func (late) CreateChallenge(context.Context, pool.Challenge, time.Time) error {
	return fault.Errorf(fault.Conflict, "")
}

func (late) CompleteChallenge(context.Context, []byte, pool.Password, string, pool.Event) (pool.User, error) {
	return pool.User{}, fault.Errorf(fault.Conflict, "")
}

func TestR45_ChangesDuringASignInCount(t *testing.T) {
	t.Parallel()
	f := withNewcomer(t)
	session := f.challenge(t, newcomer, temporary)
	result := f.mustSignIn(t)
	f.sdk = newSDK(serve(t, newPool(t, config(f.clock), late{f.db})))
	_, err := f.signIn(t.Context(), email, password)
	wantNotAuthorized(t, err, incorrect)
	_, err = f.signIn(t.Context(), newcomer, temporary)
	wantNotAuthorized(t, err, incorrect)
	_, err = f.answer(t.Context(), session, answers(newcomer, chosen))
	wantNotAuthorized(t, err, badSession)
	wantNotAuthorized(t, f.changePassword(t.Context(), result.AccessToken, password, chosen), incorrect)
}
