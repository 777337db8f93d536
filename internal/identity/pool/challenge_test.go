package pool_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	cognito "github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"
	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider/types"

	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

const (
	newcomer   = "shinjin@example.com"
	chosen     = "Jibun-de-3randa"
	badSession = "Invalid session for the user."
)

// withNewcomer adds a user with a temporary password.
func withNewcomer(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	f.create(t, pool.NewUser{Email: newcomer, Name: "新人", TemporaryPassword: temporary})
	return f
}

func answers(name, password string) map[string]string {
	return map[string]string{"USERNAME": name, "NEW_PASSWORD": password}
}

func TestR43_NewPasswordRequired(t *testing.T) {
	t.Parallel()
	f := withNewcomer(t)
	ctx := t.Context()
	out, err := f.signIn(ctx, newcomer, temporary)
	must.Succeed(t, err)
	if out.AuthenticationResult != nil || out.ChallengeName != types.ChallengeNameTypeNewPasswordRequired {
		t.Fatalf("got %+v", out)
	}
	user := must.Get(f.UserByEmail(ctx, newcomer))(t)
	if out.ChallengeParameters["USER_ID_FOR_SRP"] != user.Sub.String() ||
		out.ChallengeParameters["requiredAttributes"] != "[]" {
		t.Errorf("parameters: %v", out.ChallengeParameters)
	}
	var known map[string]string
	must.Succeed(t, json.Unmarshal([]byte(out.ChallengeParameters["userAttributes"]), &known))
	if known["email"] != newcomer || known["name"] != "新人" || known["email_verified"] != "true" || len(known) != 3 {
		t.Errorf("attributes: %v", known)
	}

	params := answers(newcomer, chosen)
	params["userAttributes.name"] = " 新人 太郎 "
	done := must.Get(f.answer(ctx, out.Session, params))(t)
	if aws.ToString(done.AuthenticationResult.RefreshToken) == "" || done.AuthenticationResult.ExpiresIn != 3600 {
		t.Fatalf("got %+v", done.AuthenticationResult)
	}
	_, id := claims(t, done.AuthenticationResult.IdToken)
	if id["name"] != "新人 太郎" || id["sub"] != user.Sub.String() {
		t.Errorf("id token: %v", id)
	}
	_, err = f.signIn(ctx, newcomer, temporary)
	wantNotAuthorized(t, err, incorrect)
	again := must.Get(f.signIn(ctx, newcomer, chosen))(t)
	if again.AuthenticationResult == nil {
		t.Errorf("still challenged: %v", again.ChallengeName)
	}
	_, err = f.answer(ctx, out.Session, params)
	wantNotAuthorized(t, err, "Invalid session for the user, session can only be used once.")
}

func TestR43_SessionIsBoundToItsUserAndClientAndTime(t *testing.T) {
	t.Parallel()
	f := withNewcomer(t)
	ctx := t.Context()
	session := f.challenge(t, newcomer, temporary)

	for _, name := range []string{email, "nobody@example.com", f.sub.String()} {
		_, err := f.answer(ctx, session, answers(name, chosen))
		wantNotAuthorized(t, err, badSession)
	}
	_, err := f.answer(ctx, aws.String(strings.Repeat("x", 43)), answers(newcomer, chosen))
	wantNotAuthorized(t, err, badSession)

	// Another client on the same database.
	cfg := config(f.clock)
	cfg.ClientID = "another7client"
	other := newSDK(serve(t, newPool(t, cfg, f.db)))
	_, err = other.RespondToAuthChallenge(ctx, &cognito.RespondToAuthChallengeInput{
		ChallengeName: types.ChallengeNameTypeNewPasswordRequired, ClientId: aws.String(cfg.ClientID), Session: session,
		ChallengeResponses: answers(newcomer, chosen),
	})
	wantNotAuthorized(t, err, badSession)

	f.clock.Advance(3*time.Minute - time.Millisecond)
	_, err = f.answer(ctx, session, answers(newcomer, "short"))
	wantRefusal(t, err, "InvalidPasswordException", "Password does not conform to policy: Password not long enough")
	f.clock.Advance(time.Millisecond)
	_, err = f.answer(ctx, session, answers(newcomer, chosen))
	wantNotAuthorized(t, err, "Invalid session for the user, session is expired.")
}

func TestR43_SessionEndsWithThePasswordThatItReplaces(t *testing.T) {
	t.Parallel()
	f := withNewcomer(t)
	ctx := t.Context()
	user, err := f.UserByEmail(ctx, newcomer)
	must.Succeed(t, err)
	first, second := f.challenge(t, newcomer, temporary), f.challenge(t, newcomer, temporary)
	must.Get(f.answer(ctx, first, answers(newcomer, chosen)))(t)
	_, err = f.answer(ctx, second, answers(newcomer, "Someone-else-1"))
	wantNotAuthorized(t, err, badSession)

	must.Succeed(t, f.SetPassword(ctx, user.Sub, temporary, false))
	third := f.challenge(t, newcomer, temporary)
	must.Succeed(t, f.SetPassword(ctx, user.Sub, "Another-kari-2", false))
	_, err = f.answer(ctx, third, answers(newcomer, chosen))
	wantNotAuthorized(t, err, badSession)

	fourth := f.challenge(t, newcomer, "Another-kari-2")
	must.Succeed(t, f.DisableUser(ctx, user.Sub))
	_, err = f.answer(ctx, fourth, answers(newcomer, chosen))
	wantNotAuthorized(t, err, "User is disabled.")
	must.Succeed(t, f.EnableUser(ctx, user.Sub))
	_, err = f.answer(ctx, fourth, answers(newcomer, chosen))
	wantNotAuthorized(t, err, badSession)
}

func TestR43_SessionIsUsedOnce(t *testing.T) {
	t.Parallel()
	f := withNewcomer(t)
	session := f.challenge(t, newcomer, temporary)
	var successes atomic.Int32
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := f.answer(context.WithoutCancel(t.Context()), session, answers(newcomer, chosen)); err == nil {
				successes.Add(1)
			}
		})
	}
	wg.Wait()
	if n := successes.Load(); n != 1 {
		t.Errorf("%d answers succeeded", n)
	}
}

func TestTemporaryPasswordExpires(t *testing.T) {
	t.Parallel()
	f := withNewcomer(t)
	f.clock.Advance(7*24*time.Hour - time.Millisecond)
	f.challenge(t, newcomer, temporary)
	f.clock.Advance(time.Millisecond)
	_, err := f.signIn(t.Context(), newcomer, temporary)
	wantNotAuthorized(t, err, "Temporary password has expired and must be reset by an administrator.")
	_, err = f.signIn(t.Context(), newcomer, "wrong")
	wantNotAuthorized(t, err, incorrect)
}

// An invited user may sign in with another identity provider: this, too, ends the temporary password.
func TestTemporaryPasswordExpiresForExternalUsers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	sub := f.create(t, pool.NewUser{Email: newcomer, Name: "新人", TemporaryPassword: temporary})
	change := func() error {
		tokens, err := f.SignInExternal(ctx, sub, pool.External{})
		must.Succeed(t, err)
		_, err = f.sdk.ChangePassword(ctx, &cognito.ChangePasswordInput{
			AccessToken: &tokens.AccessToken, PreviousPassword: aws.String(temporary),
			ProposedPassword: aws.String(fresh),
		})
		return err
	}
	f.clock.Advance(7 * 24 * time.Hour)
	wantNotAuthorized(t, change(), "Temporary password has expired and must be reset by an administrator.")
	must.Succeed(t, f.SetPassword(ctx, sub, temporary, false))
	must.Succeed(t, change())
}

func TestChallengeRefusals(t *testing.T) {
	t.Parallel()
	f := withNewcomer(t)
	session := f.challenge(t, newcomer, temporary)
	for name, c := range map[string]struct {
		params        map[string]string
		kind, message string
	}{
		"no user": {
			map[string]string{"NEW_PASSWORD": chosen},
			"InvalidParameterException",
			"Missing required parameter USERNAME",
		},
		"no password": {
			map[string]string{"USERNAME": newcomer},
			"InvalidParameterException",
			"Missing required parameter NEW_PASSWORD",
		},
		"short": {
			answers(newcomer, "Aa1-567"), "InvalidPasswordException",
			"Password does not conform to policy: Password not long enough",
		},
		"no upper case": {
			answers(newcomer, "aaaa-1234"), "InvalidPasswordException",
			"Password does not conform to policy: Password must have uppercase characters",
		},
		"no lower case": {
			answers(newcomer, "AAAA-1234"), "InvalidPasswordException",
			"Password does not conform to policy: Password must have lowercase characters",
		},
		"no digit": {
			answers(newcomer, "AAAA-aaaa"), "InvalidPasswordException",
			"Password does not conform to policy: Password must have numeric characters",
		},
		"no symbol": {
			answers(newcomer, "AAAAaaaa1"), "InvalidPasswordException",
			"Password does not conform to policy: Password must have symbol characters",
		},
		"another email": {
			map[string]string{
				"USERNAME": newcomer, "NEW_PASSWORD": chosen,
				"userAttributes.email": "x@example.com",
			},
			"NotAuthorizedException",
			"Cannot modify an already provided email",
		},
		"verifies": {
			map[string]string{
				"USERNAME": newcomer, "NEW_PASSWORD": chosen,
				"userAttributes.email_verified": "true",
			},
			"NotAuthorizedException",
			"A client attempted to write unauthorized attribute",
		},
		"a group": {
			map[string]string{
				"USERNAME": newcomer, "NEW_PASSWORD": chosen,
				"userAttributes.cognito:groups": "admin",
			},
			"NotAuthorizedException",
			"A client attempted to write unauthorized attribute",
		},
		"name with NUL": {
			map[string]string{
				"USERNAME": newcomer, "NEW_PASSWORD": chosen,
				"userAttributes.name": "a\x00b",
			},
			"InvalidParameterException",
			"Attributes did not conform to the schema: name: String must be no longer than 100 characters",
		},
		"name in another order": {
			map[string]string{
				"USERNAME": newcomer, "NEW_PASSWORD": chosen,
				"userAttributes.name": "a\u202eb",
			},
			"InvalidParameterException",
			"Attributes did not conform to the schema: name: String must be no longer than 100 characters",
		},
		"secret of none": {
			map[string]string{"USERNAME": newcomer, "NEW_PASSWORD": chosen, "SECRET_HASH": "x"},
			"NotAuthorizedException",
			"Client " + clientID + " is not configured for secret but secret hash was received",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := f.answer(t.Context(), session, c.params)
			wantRefusal(t, err, c.kind, c.message)
		})
	}
	// No attempt consumed the session.
	must.Get(f.answer(t.Context(), session, answers(newcomer, chosen)))(t)
}
