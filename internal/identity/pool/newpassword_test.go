package pool_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	cognito "github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// The texts for rules that a new password violates.
const (
	tooCommon   = "Password does not conform to policy: Password must not be a commonly used one"
	tooPersonal = "Password does not conform to policy: Password must not contain your email address or name"
	notNew      = "Password does not conform to policy: Password must not be the previous one"
)

func TestNewPasswords(t *testing.T) {
	t.Parallel()
	user := pool.User{Email: "hanako.yamada@example.com", Name: "山田 Hanako ジョン"}
	for password, want := range map[string]string{
		"Sakura-2026-haru": "", "Ｓａｋｕｒａ-２０２６-haru": "", // Full-width letters count as letters.
		"Password1!": tooCommon, "!!Qwerty123": tooCommon, "P@ssw0rd": tooCommon, "ABCD1234abcd!": "",
		"Ｐassword１！":                     tooCommon,
		"Hanako.Yamada-1":                tooPersonal,
		"x-HANAKO.yamada@example.com-1X": tooPersonal, "Hanako-2026": tooPersonal, "ＨＡＮＡＫＯ-2026a": tooPersonal,
		"山田hanako-A1":  tooPersonal,
		"Yama-da-2026": "", "山田-Sakura-1": "", "ジョン-Sakura-1": "", // Too short to be personal.
		"Sakura": "Password does not conform to policy: Password not long enough",
	} {
		got := must.Get(pool.CheckNewPassword(password, user))(t)
		if got != "" {
			got = "Password does not conform to policy: " + got
		}
		if got != want {
			t.Errorf("%s: %q, want %q", password, got, want)
		}
	}
	if short, err := pool.CheckNewPassword("Tsumugi-Demo-1",
		pool.User{Email: "taro@example.com", Name: "demo"}); short == "" || err != nil {
		t.Errorf("a name of four letters: %q, %v", short, err)
	}
	if list, err := pool.CommonPasswords(); err != nil || len(list) != 56_110 {
		t.Errorf("%d common passwords, %v", len(list), err)
	}
}

// TestNewPasswordsAreCheckedWhereverTheyAreSet: a new password is checked when it is set by a challenge, by a code,
// with the current password, and by an operator.
func TestNewPasswordsAreCheckedWhereverTheyAreSet(t *testing.T) {
	t.Parallel()
	f := withNewcomer(t)
	ctx := t.Context()
	refused := map[string]string{
		"Password1!": tooCommon, "Shinjin-2026": tooPersonal, temporary: notNew, "Ｋari-pass-2026": notNew,
	}
	session := f.challenge(t, newcomer, temporary)
	for bad, why := range refused {
		_, err := f.answer(ctx, session, answers(newcomer, bad))
		wantRefusal(t, err, "InvalidPasswordException", why)
	}
	out, err := f.answer(ctx, session, answers(newcomer, password)) // The session is still valid.
	must.Succeed(t, err)
	for bad, why := range map[string]string{
		"Password1!": tooCommon, "Shinjin-2026": tooPersonal, password: notNew,
		"Ｓakura-2026-haru": notNew,
	} {
		err := f.changePassword(ctx, out.AuthenticationResult.AccessToken, password, bad)
		wantRefusal(t, err, "InvalidPasswordException", why)
	}
	code := f.code(t, newcomer)
	for range 10 { // Rejections that do not need the code do not consume it either.
		wantRefusal(t, f.confirm(ctx, newcomer, code, "Password1!"), "InvalidPasswordException", tooCommon)
		wantRefusal(t, f.confirm(ctx, newcomer, code, "Shinjin-2026"), "InvalidPasswordException", tooPersonal)
	}
	// Rejections that depend on the account need the right code.
	wantRefusal(t, f.confirm(ctx, newcomer, other(code, 1), password), "CodeMismatchException",
		"Invalid verification code provided, please try again.")
	wantRefusal(t, f.confirm(ctx, newcomer, code, password), "InvalidPasswordException", notNew)
	must.Succeed(t, f.confirm(ctx, newcomer, code, fresh))
	for _, bad := range []string{"Password1!", "Shinjin-2026"} {
		_, err := f.CreateUser(ctx, pool.NewUser{Email: "shinjin@other.example", Name: "新人", PermanentPassword: bad})
		wantFault(t, err, fault.Invalid)
		user := must.Get(f.UserByEmail(ctx, newcomer))(t)
		wantFault(t, f.SetPassword(ctx, user.Sub, bad, true), fault.Invalid)
	}
}

// TestOldHashesAreReplaced starts with the hash of a password as typed, in full-width letters. Such hashes were made
// before passwords were normalized.
func TestOldHashesAreReplaced(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	const typed, plain = "Ｓａｋｕｒａ-２０２６-Haru", "Sakura-2026-Haru"
	old := pool.HashAsTyped(t, typed)
	user, err := f.UserByEmail(ctx, email)
	must.Succeed(t, err)
	must.Succeed(t, f.db.RehashPoolPassword(ctx, f.sub, user.PasswordHash, old))
	_, err = f.signIn(ctx, email, plain)
	wantNotAuthorized(t, err, incorrect)
	tokens := must.Get(f.signIn(ctx, email, typed))(t)
	replaced := must.Get(f.UserByEmail(ctx, email))(t)
	if replaced.PasswordHash == old || replaced.Version != user.Version {
		t.Errorf("hash %s, version %d after %d", replaced.PasswordHash, replaced.Version, user.Version)
	}
	for _, form := range []string{plain, typed} {
		must.Get(f.signIn(ctx, email, form))(t)
	}
	must.Get(f.refresh(ctx, *tokens.AuthenticationResult.RefreshToken))(t)
}

func TestGetTokensFromRefreshToken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	first := f.mustSignIn(t)
	get := func(client, token string) (*cognito.GetTokensFromRefreshTokenOutput, error) {
		return f.sdk.GetTokensFromRefreshToken(ctx,
			&cognito.GetTokensFromRefreshTokenInput{ClientId: aws.String(client), RefreshToken: aws.String(token)})
	}
	f.clock.Advance(time.Minute)
	out, err := get(clientID, *first.RefreshToken)
	must.Succeed(t, err)
	got := out.AuthenticationResult
	if got.RefreshToken != nil || got.ExpiresIn != 3600 || aws.ToString(got.TokenType) != "Bearer" {
		t.Errorf("got %+v", got)
	}
	_, before := claims(t, first.IdToken)
	_, after := claims(t, got.IdToken)
	if before["origin_jti"] != after["origin_jti"] || before["auth_time"] != after["auth_time"] ||
		before["jti"] == after["jti"] {
		t.Errorf("claims %v after %v", after, before)
	}
	if _, err := f.getUser(ctx, *got.AccessToken); err != nil {
		t.Error(err)
	}
	_, err = get(clientID, "unknown")
	wantNotAuthorized(t, err, "Invalid Refresh Token.")
	_, err = get("other", *first.RefreshToken)
	wantRefusal(t, err, "ResourceNotFoundException", "User pool client other does not exist.")
	_, err = get(ssoID, *first.RefreshToken)
	wantRefusal(t, err, "ResourceNotFoundException", "User pool client "+ssoID+" does not exist.")
	must.Get(f.sdk.RevokeToken(ctx, &cognito.RevokeTokenInput{
		ClientId: aws.String(clientID),
		Token:    first.RefreshToken,
	}))(t)
	_, err = get(clientID, *first.RefreshToken)
	wantNotAuthorized(t, err, "Refresh Token has been revoked")
	if r := f.post(t, "GetTokensFromRefreshToken", `{"ClientId":"`+clientID+`"}`); r.status != 400 ||
		r.fields["__type"] != "InvalidParameterException" {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// TestOpenIDConfiguration reads the provider metadata of OpenID Connect like libraries that verify tokens.
func TestOpenIDConfiguration(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	path := f.server.URL + "/pool/" + poolID + "/.well-known/openid-configuration"
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		req := must.Get(http.NewRequestWithContext(t.Context(), method, path, http.NoBody))(t)
		r := do(t, f.server, req)
		switch method {
		case http.MethodGet:
			if r.status != 200 || r.fields["issuer"] != issuer ||
				r.fields["jwks_uri"] != issuer+"/.well-known/jwks.json" ||
				fmt.Sprint(r.fields["id_token_signing_alg_values_supported"]) != "[RS256]" ||
				r.header.Get("Content-Type") != "application/json" ||
				!strings.HasPrefix(r.header.Get("Cache-Control"), "public, max-age=") {
				t.Errorf("%d %v %s", r.status, r.header, r.body)
			}
		case http.MethodHead:
			if r.status != 200 || r.body != "" {
				t.Errorf("HEAD: %d %s", r.status, r.body)
			}
		default:
			if r.status != 405 || r.header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s: %d %v", method, r.status, r.header)
			}
		}
	}
}
