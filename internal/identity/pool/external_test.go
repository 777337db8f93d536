package pool_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	cognito "github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"
	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

const outsider = "gaibu@example.com"

func wantFault(t *testing.T, err error, code fault.Code) {
	t.Helper()
	if got := fault.CodeOf(err); got != code {
		t.Errorf("error %v has code %q, want %q", err, got, code)
	}
}

func TestExternalUsers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	sub := must.Get(f.CreateExternalUser(ctx, uuid.Nil, " Gaibu@Example.com", " 外部 花子 "))(t)
	again, err := f.CreateExternalUser(ctx, uuid.Nil, outsider, "外部 花子")
	if err != nil || again != sub {
		t.Errorf("again: %v, %v", again, err)
	}
	again, err = f.CreateExternalUser(ctx, sub, outsider, "外部 花子")
	if err != nil || again != sub {
		t.Errorf("by sub: %v, %v", again, err)
	}
	user := must.Get(f.UserByEmail(ctx, outsider))(t)
	if user.Sub != sub || user.Name != "外部 花子" || user.Status != pool.StatusExternalProvider || !user.Enabled ||
		!user.EmailVerified || user.PasswordHash != "" {
		t.Errorf("user %+v", user)
	}
	// A user who already has a sub at another identity provider keeps it.
	known := uuid.New()
	got, err := f.CreateExternalUser(ctx, known, "aws@example.com", "既存")
	if err != nil || got != known {
		t.Errorf("known: %v, %v", got, err)
	}
	twice := uuid.New()
	var both sync.WaitGroup
	for range 8 {
		both.Go(func() {
			if got, err := f.CreateExternalUser(ctx, twice, "twice@example.com", "二人"); err != nil || got != twice {
				t.Errorf("at the same time: %v, %v", got, err)
			}
		})
	}
	both.Wait()
	for name, c := range map[string]struct {
		sub         uuid.UUID
		email, name string
		code        fault.Code
	}{
		"a user's address":      {uuid.Nil, email, "花子", fault.Conflict},
		"an address twice":      {uuid.New(), outsider, "花子", fault.Conflict},
		"no address":            {uuid.Nil, "x", "花子", fault.Invalid},
		"letters like others":   {uuid.Nil, "g\u0430ibu@example.com", "花子", fault.Invalid},
		"no name":               {uuid.Nil, "x@example.com", " ", fault.Invalid},
		"a sub of a pool's own": {f.sub, "ignored@example.com", "花子", ""},
	} {
		_, err := f.CreateExternalUser(ctx, c.sub, c.email, c.name)
		if got := fault.CodeOf(err); got != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	// No password matches.
	for _, password := range []string{"", password, temporary} {
		_, err = f.signIn(ctx, outsider, password)
		if err == nil {
			t.Errorf("signed in with %q", password)
		}
	}
}

func TestExternalSessions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	sub := must.Get(f.CreateExternalUser(ctx, uuid.Nil, outsider, "外部 花子"))(t)
	tokens := must.Get(f.SignInExternal(ctx, sub, pool.External{}))(t)
	if tokens.ExpiresIn != 3600 || tokens.TokenType != "Bearer" || tokens.RefreshToken == "" {
		t.Errorf("tokens %+v", tokens)
	}
	_, id := claims(t, &tokens.IDToken)
	_, access := claims(t, &tokens.AccessToken)
	if id["aud"] != ssoID || id["iss"] != issuer || id["token_use"] != "id" || id["sub"] != sub.String() ||
		id["email"] != outsider ||
		id["email_verified"] != true || id["name"] != "外部 花子" || id["cognito:username"] != sub.String() ||
		id["origin_jti"] == "" {
		t.Errorf("id token %v", id)
	}
	if access["client_id"] != ssoID || access["aud"] != nil || access["origin_jti"] != id["origin_jti"] {
		t.Errorf("access token %v", access)
	}
	// The tokens of both clients are signed with the same key.
	own := f.mustSignIn(t)
	for _, token := range []string{tokens.IDToken, *own.IdToken} {
		if _, err := jwt.Parse(token, f.Keyfunc(ctx), jwt.WithTimeFunc(f.clock.Now)); err != nil {
			t.Error(err)
		}
	}
	out, err := f.getUser(ctx, tokens.AccessToken)
	if err != nil || *out.Username != sub.String() {
		t.Errorf("user %+v, %v", out, err)
	}
	f.clock.Advance(10 * time.Minute)
	renewed := must.Get(f.RefreshExternal(ctx, ssoID, tokens.RefreshToken))(t)
	_, next := claims(t, &renewed.IDToken)
	if renewed.RefreshToken != "" || next["auth_time"] != id["auth_time"] || next["origin_jti"] != id["origin_jti"] ||
		next["jti"] == id["jti"] {
		t.Errorf("renewed %+v, %v", renewed, next)
	}
	session := uuid.MustParse(id["origin_jti"].(string))
	must.Succeed(t, f.RevokeSession(ctx, session))
	must.Succeed(t, f.RevokeSession(ctx, session))
	must.Succeed(t, f.RevokeSession(ctx, uuid.New()))
	_, err = f.RefreshExternal(ctx, ssoID, tokens.RefreshToken)
	wantFault(t, err, fault.Unauthenticated)
	_, err = f.getUser(ctx, tokens.AccessToken)
	wantNotAuthorized(t, err, "Access Token has been revoked")
	must.Get(f.getUser(ctx, *own.AccessToken))(t)
}

func TestSessionsBelongToOneClient(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	// A user with a password whose organization uses its own provider.
	external, err := f.SignInExternal(ctx, f.sub, pool.External{})
	must.Succeed(t, err)
	own := f.mustSignIn(t)

	for _, flow := range []string{"REFRESH_TOKEN_AUTH", "REFRESH_TOKEN", "USER_PASSWORD_AUTH"} {
		r := f.post(t, "InitiateAuth",
			`{"AuthFlow":"`+flow+`","ClientId":"`+ssoID+`","AuthParameters":{"REFRESH_TOKEN":"`+external.RefreshToken+
				`","USERNAME":"`+email+`","PASSWORD":"`+password+`"}}`)
		if r.status != 400 || r.fields["__type"] != "InvalidParameterException" ||
			r.fields["message"] != flow+" is not enabled for the client." {
			t.Errorf("%s: %d %s", flow, r.status, r.body)
		}
	}
	_, err = f.refresh(ctx, external.RefreshToken)
	wantNotAuthorized(t, err, "Invalid Refresh Token.")
	for name, c := range map[string]struct{ client, token string }{
		"the other client's token": {ssoID, *own.RefreshToken},
		"its own client":           {clientID, *own.RefreshToken},
		"in another name":          {clientID, external.RefreshToken},
		"no client":                {"", external.RefreshToken},
		"garbage":                  {ssoID, "garbage"},
		"nothing":                  {ssoID, ""},
		"huge":                     {ssoID, strings.Repeat("x", 1<<20)},
	} {
		if _, err := f.RefreshExternal(ctx, c.client, c.token); fault.CodeOf(err) != fault.Unauthenticated {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Only the client of a token can revoke it.
	revoke := func(client, token string) {
		must.Get(f.sdk.RevokeToken(ctx, &cognito.RevokeTokenInput{
			ClientId: aws.String(client),
			Token:    aws.String(token),
		}))(t)
	}
	revoke(clientID, external.RefreshToken)
	must.Get(f.RefreshExternal(ctx, ssoID, external.RefreshToken))(t)
	revoke(ssoID, external.RefreshToken)
	_, err = f.RefreshExternal(ctx, ssoID, external.RefreshToken)
	wantFault(t, err, fault.Unauthenticated)

	// Signing out everywhere ends the sessions of both clients, from either.
	external = must.Get(f.SignInExternal(ctx, f.sub, pool.External{}))(t)
	_, err = f.sdk.GlobalSignOut(ctx, &cognito.GlobalSignOutInput{AccessToken: aws.String(external.AccessToken)})
	must.Succeed(t, err)
	_, err = f.RefreshExternal(ctx, ssoID, external.RefreshToken)
	wantFault(t, err, fault.Unauthenticated)
	_, err = f.refresh(ctx, *own.RefreshToken)
	wantNotAuthorized(t, err, "Refresh Token has been revoked")
}

func TestR45_DisablingEndsExternalSessions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	tokens, err := f.SignInExternal(ctx, f.sub, pool.External{})
	must.Succeed(t, err)
	must.Succeed(t, f.DisableUser(ctx, f.sub))
	_, err = f.RefreshExternal(ctx, ssoID, tokens.RefreshToken)
	wantFault(t, err, fault.Unauthenticated)
	_, err = f.SignInExternal(ctx, f.sub, pool.External{})
	wantFault(t, err, fault.Forbidden)
	_, err = f.SignInExternal(ctx, uuid.New(), pool.External{})
	wantFault(t, err, fault.NotFound)
	must.Succeed(t, f.EnableUser(ctx, f.sub))
	tokens = must.Get(f.SignInExternal(ctx, f.sub, pool.External{}))(t)
	f.clock.Advance(30 * 24 * time.Hour)
	_, err = f.RefreshExternal(ctx, ssoID, tokens.RefreshToken)
	wantFault(t, err, fault.Unauthenticated)
}

// TestPoolWithoutAPasswordClient: a federated-only pool, used in addition to Cognito, does not accept passwords.
func TestPoolWithoutAPasswordClient(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	cfg := config(f.clock)
	cfg.ClientID = ""
	p := newPool(t, cfg, f.db)
	server := serve(t, p)
	r := post(t, server, "InitiateAuth", signInBody(email, password))
	if r.status != 400 || r.fields["__type"] != "ResourceNotFoundException" {
		t.Errorf("%d %s", r.status, r.body)
	}
	_, err := p.SignInExternal(t.Context(), f.sub, pool.External{})
	must.Succeed(t, err)
	cfg = config(f.clock)
	cfg.FederatedClientID = ""
	p = newPool(t, cfg, f.db)
	if _, err := p.SignInExternal(t.Context(), f.sub, pool.External{}); err == nil {
		t.Error("a session of no client")
	}
	_, err = p.RefreshExternal(t.Context(), "", "x")
	wantFault(t, err, fault.Unauthenticated)
}
