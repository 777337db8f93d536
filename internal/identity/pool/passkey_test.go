package pool_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	cognito "github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"
	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider/document"
	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider/types"
	"github.com/descope/virtualwebauthn"

	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/internal/mail"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

const notThePasskey = "Incorrect passkey."

// site is the pool's relying party, as browsers see it.
var site = virtualwebauthn.RelyingParty{ID: "chat.example", Name: "Tsumugi", Origin: "https://chat.example"}

// authenticator is a virtual authenticator with one passkey.
type authenticator struct {
	site   virtualwebauthn.RelyingParty
	device virtualwebauthn.Authenticator
	key    virtualwebauthn.Credential
}

func newAuthenticator() *authenticator {
	key := newKey()
	key.Counter = 1
	return &authenticator{site, virtualwebauthn.NewAuthenticator(), key}
}

// newKey returns a passkey whose public key is valid. The library omits leading zeros of coordinates, which makes one of
// 128 keys shorter than RFC 9053, section 7.1.1, allows.
func newKey() virtualwebauthn.Credential {
	const full = 77 // Bytes of a COSE_Key of P-256.
	for {
		if key := virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2); len(key.Key.AttestationData()) == full {
			return key
		}
	}
}

// creationOptions begins the registration of a passkey in a session.
func (f *fixture) creationOptions(t *testing.T, token *string) *virtualwebauthn.AttestationOptions {
	t.Helper()
	out, err := f.sdk.StartWebAuthnRegistration(t.Context(), &cognito.StartWebAuthnRegistrationInput{AccessToken: token})
	must.Succeed(t, err)
	text := must.Get(out.CredentialCreationOptions.MarshalSmithyDocument())(t)
	options := must.Get(virtualwebauthn.ParseAttestationOptions(string(text)))(t)
	return options
}

// create answers a registration.
func (a *authenticator) create(options *virtualwebauthn.AttestationOptions) string {
	a.device.Options.UserHandle = []byte(options.UserID)
	return virtualwebauthn.CreateAttestationResponse(a.site, a.device, a.key, *options)
}

// complete ends the registration of a passkey.
func (f *fixture) complete(ctx context.Context, t *testing.T, token *string, credential string) error {
	t.Helper()
	var value any
	must.Succeed(t, json.Unmarshal([]byte(credential), &value))
	_, err := f.sdk.CompleteWebAuthnRegistration(ctx, &cognito.CompleteWebAuthnRegistrationInput{
		AccessToken: token, Credential: document.NewLazyDocument(value),
	})
	return err
}

// addPasskey registers a passkey in a session.
func (f *fixture) addPasskey(t *testing.T, token *string) *authenticator {
	t.Helper()
	a := newAuthenticator()
	must.Succeed(t, f.complete(t.Context(), t, token, a.create(f.creationOptions(t, token))))
	return a
}

// passkeys returns the descriptions of the passkeys of a session's user.
func (f *fixture) passkeys(t *testing.T, token *string) []types.WebAuthnCredentialDescription {
	t.Helper()
	out, err := f.sdk.ListWebAuthnCredentials(t.Context(), &cognito.ListWebAuthnCredentialsInput{AccessToken: token})
	must.Succeed(t, err)
	return out.Credentials
}

// passkeyChallenge begins a sign-in with a passkey of any user.
func (f *fixture) passkeyChallenge(t *testing.T) (session *string, options string) {
	t.Helper()
	out := must.Get(f.sdk.InitiateAuth(t.Context(), &cognito.InitiateAuthInput{
		AuthFlow: types.AuthFlowTypeUserAuth, ClientId: aws.String(clientID),
		AuthParameters: map[string]string{"PREFERRED_CHALLENGE": "WEB_AUTHN"},
	}))(t)
	if out.ChallengeName != types.ChallengeNameTypeWebAuthn || out.AuthenticationResult != nil {
		t.Fatalf("got %+v", out)
	}
	return out.Session, out.ChallengeParameters["CREDENTIAL_REQUEST_OPTIONS"]
}

// sign answers the options of a sign-in. The authenticator counts the signature.
func (a *authenticator) sign(t *testing.T, options string) string {
	t.Helper()
	parsed := must.Get(virtualwebauthn.ParseAssertionOptions(options))(t)
	a.key.Counter++
	return virtualwebauthn.CreateAssertionResponse(a.site, a.device, a.key, *parsed)
}

// giveSignature answers the challenge of a passkey.
func (f *fixture) giveSignature(
	ctx context.Context, session *string, credential string,
) (*cognito.RespondToAuthChallengeOutput, error) {
	return f.respond(ctx, types.ChallengeNameTypeWebAuthn, session, map[string]string{"CREDENTIAL": credential})
}

// signInWith signs in with a passkey.
func (f *fixture) signInWith(t *testing.T, a *authenticator) (*cognito.RespondToAuthChallengeOutput, error) {
	t.Helper()
	session, options := f.passkeyChallenge(t)
	return f.giveSignature(t.Context(), session, a.sign(t, options))
}

func (f *fixture) mustSignInWith(t *testing.T, a *authenticator) *types.AuthenticationResultType {
	t.Helper()
	out := must.Get(f.signInWith(t, a))(t)
	return out.AuthenticationResult
}

func TestPasskey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	token := f.mustSignIn(t).AccessToken
	f.enrol(t, token) // A passkey satisfies the second factor.
	arrived(t, f.mail.factors)

	options := f.creationOptions(t, token)
	if options.RelyingPartyID != "chat.example" || options.UserName != email || options.UserID != string(f.sub[:]) {
		t.Errorf("got %+v", options)
	}
	a := newAuthenticator()
	created := a.create(options)
	r := f.post(t, "CompleteWebAuthnRegistration",
		`{"AccessToken":"`+*token+`","TsumugiName":"仕事のPC","Credential":`+created+`}`)
	if r.status != 200 {
		t.Fatalf("got %d %s", r.status, r.body)
	}
	if kind := arrived(t, f.mail.factors); kind != mail.PasskeyAdded {
		t.Errorf("mail: %s", kind)
	}
	err := f.complete(ctx, t, token, created)
	wantRefusal(t, err, "WebAuthnChallengeNotFoundException", "The registration has expired or was completed already.")
	if excluded := f.creationOptions(t, token); !a.key.IsExcludedForAttestation(*excluded) {
		t.Errorf("a registered passkey is not excluded: %+v", excluded)
	}

	f.clock.Advance(time.Minute)
	result := f.mustSignInWith(t, a)
	if user, err := f.getUser(ctx, *result.AccessToken); err != nil || aws.ToString(user.Username) != f.sub.String() {
		t.Errorf("got %+v, %v", user, err)
	}
	factors, err := f.sdk.GetUserAuthFactors(ctx, &cognito.GetUserAuthFactorsInput{AccessToken: result.AccessToken})
	must.Succeed(t, err)
	if !slices.Equal(factors.ConfiguredUserAuthFactors, []types.AuthFactorType{"PASSWORD", "WEB_AUTHN"}) ||
		!slices.Equal(factors.UserMFASettingList, []string{"SOFTWARE_TOKEN_MFA"}) {
		t.Errorf("got %+v", factors)
	}
	list := f.passkeys(t, result.AccessToken)
	if len(list) != 1 || aws.ToString(list[0].FriendlyCredentialName) != "仕事のPC" ||
		aws.ToString(list[0].RelyingPartyId) != "chat.example" || !list[0].CreatedAt.Before(f.clock.Now()) {
		t.Fatalf("got %+v", list)
	}
	if r := f.post(t, "ListWebAuthnCredentials", `{"AccessToken":"`+*token+`"}`); !strings.Contains(r.body,
		`"TsumugiLastUsedAt":`) {
		t.Errorf("got %s", r.body)
	}

	f.rename(t, *token, *list[0].CredentialId, strings.Repeat("名", 50), 200)
	for _, invalid := range []string{"", " ", strings.Repeat("名", 51), `\u0007`} {
		f.rename(t, *token, *list[0].CredentialId, invalid, 400)
	}
	f.create(t, pool.NewUser{Email: "taro@example.com", Name: "鈴木 太郎", PermanentPassword: password})
	other := must.Get(f.signIn(ctx, "taro@example.com", password))(t)
	f.rename(t, *other.AuthenticationResult.AccessToken, *list[0].CredentialId, "鈴木のPC", 400)
	if list := f.passkeys(t, token); aws.ToString(list[0].FriendlyCredentialName) != strings.Repeat("名", 50) {
		t.Errorf("got %+v", list)
	}

	must.Get(f.sdk.DeleteWebAuthnCredential(ctx, &cognito.DeleteWebAuthnCredentialInput{
		AccessToken: token, CredentialId: list[0].CredentialId,
	}))(t)
	if kind := arrived(t, f.mail.factors); kind != mail.PasskeyRemoved {
		t.Errorf("mail: %s", kind)
	}
	if list := f.passkeys(t, token); len(list) != 0 {
		t.Errorf("got %+v", list)
	}
	_, err = f.signInWith(t, a)
	wantNotAuthorized(t, err, notThePasskey)
	_, err = f.sdk.DeleteWebAuthnCredential(ctx, &cognito.DeleteWebAuthnCredentialInput{
		AccessToken: token, CredentialId: list[0].CredentialId,
	})
	wantRefusal(t, err, "ResourceNotFoundException", "The passkey does not exist.")
}

// TestR108_PasskeySignInsAreVerified: signatures for other sites, other sessions or other users, and copied keys, do not
// sign in, and every refusal is the same.
func TestR108_PasskeySignInsAreVerified(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	other := f.create(t, pool.NewUser{Email: "taro@example.com", Name: "鈴木 太郎", PermanentPassword: password})
	a := f.addPasskey(t, f.mustSignIn(t).AccessToken)

	for name, change := range map[string]func(*authenticator){
		"another origin":       func(a *authenticator) { a.site.Origin = "https://evil.example" },
		"another site's key":   func(a *authenticator) { a.site.ID = "evil.example" },
		"no user verification": func(a *authenticator) { a.device.Options.UserNotVerified = true },
		"no user":              func(a *authenticator) { a.device.Options.UserNotPresent = true },
		"another user":         func(a *authenticator) { a.device.Options.UserHandle = other[:] },
		"no user handle":       func(a *authenticator) { a.device.Options.UserHandle = nil },
		"an unknown passkey":   func(a *authenticator) { a.key.ID = []byte("0123456789abcdef") },
		"another key": func(a *authenticator) {
			a.key.Key = newKey().Key
		},
		"a copy with an old counter": func(a *authenticator) { a.key.Counter = 0 },
	} {
		f.clock.Advance(time.Hour) // Ends a lock-out.
		changed := *a
		change(&changed)
		_, err := f.signInWith(t, &changed)
		t.Log(name)
		wantNotAuthorized(t, err, notThePasskey)
	}
	for _, malformed := range []string{"{}", "[]", "null", `{"id":"!"}`, strings.Repeat("x", 10_000)} {
		session, _ := f.passkeyChallenge(t)
		_, err := f.giveSignature(ctx, session, malformed)
		wantNotAuthorized(t, err, notThePasskey)
	}

	f.clock.Advance(time.Hour)
	session, options := f.passkeyChallenge(t)
	unused, _ := f.passkeyChallenge(t)
	signed := a.sign(t, options)
	_, err := f.giveSignature(ctx, unused, signed)
	wantNotAuthorized(t, err, notThePasskey)
	_, err = f.respond(ctx, types.ChallengeNameTypeWebAuthn, session, map[string]string{
		"USERNAME": "taro@example.com", "CREDENTIAL": signed,
	})
	wantNotAuthorized(t, err, notThePasskey)
	if _, err = f.giveSignature(ctx, session, signed); err != nil {
		t.Fatal(err)
	}
	_, err = f.giveSignature(ctx, session, signed)
	wantNotAuthorized(t, err, "Invalid session for the user, session can only be used once.")
	expired, options := f.passkeyChallenge(t)
	f.clock.Advance(3 * time.Minute)
	_, err = f.giveSignature(ctx, expired, a.sign(t, options))
	wantNotAuthorized(t, err, "Invalid session for the user, session is expired.")
	_, err = f.give(ctx, session, "000000")
	wantNotAuthorized(t, err, badSession)

	// Wrong signatures lock, as wrong codes do.
	wrong := *a
	wrong.site.Origin = "https://evil.example"
	for range 5 {
		_, err = f.signInWith(t, &wrong)
		wantNotAuthorized(t, err, notThePasskey)
	}
	_, err = f.signInWith(t, a)
	wantNotAuthorized(t, err, "Attempts exceeded")
	f.clock.Advance(time.Hour)
	f.mustSignInWith(t, a)

	must.Succeed(t, f.DisableUser(ctx, f.sub))
	_, err = f.signInWith(t, a)
	wantNotAuthorized(t, err, "User is disabled.")
	must.Succeed(t, f.EnableUser(ctx, f.sub))
	must.Succeed(t, f.SetPassword(ctx, f.sub, temporary, false))
	_, err = f.signInWith(t, a)
	wantRefusal(t, err, "UserNotConfirmedException", "User is not confirmed.")
	must.Succeed(t, f.DeleteUser(ctx, f.sub))
	_, err = f.signInWith(t, a)
	wantNotAuthorized(t, err, notThePasskey)
}

func TestPasskeyRegistrationsAreVerified(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	token := f.mustSignIn(t).AccessToken
	for name, change := range map[string]func(*authenticator){
		"another origin":       func(a *authenticator) { a.site.Origin = "https://evil.example" },
		"another site":         func(a *authenticator) { a.site.ID = "evil.example" },
		"no user verification": func(a *authenticator) { a.device.Options.UserNotVerified = true },
	} {
		a := newAuthenticator()
		change(a)
		t.Log(name)
		err := f.complete(ctx, t, token, a.create(f.creationOptions(t, token)))
		wantRefusal(t, err, "WebAuthnCredentialNotSupportedException", "The passkey could not be verified.")
	}

	const over = "The registration has expired or was completed already."
	f.create(t, pool.NewUser{Email: "taro@example.com", Name: "鈴木 太郎", PermanentPassword: password})
	out, err := f.signIn(ctx, "taro@example.com", password)
	must.Succeed(t, err)
	a, others := newAuthenticator(), out.AuthenticationResult.AccessToken
	options := f.creationOptions(t, token)
	err = f.complete(ctx, t, others, a.create(options))
	wantRefusal(t, err, "WebAuthnChallengeNotFoundException", over)
	f.clock.Advance(3 * time.Minute)
	err = f.complete(ctx, t, token, a.create(options))
	wantRefusal(t, err, "WebAuthnChallengeNotFoundException", over)
	// The challenge of a sign-in is not one of a registration.
	_, requested := f.passkeyChallenge(t)
	parsed := must.Get(virtualwebauthn.ParseAssertionOptions(requested))(t)
	options.Challenge = parsed.Challenge
	err = f.complete(ctx, t, token, a.create(options))
	wantRefusal(t, err, "WebAuthnChallengeNotFoundException", over)

	must.Succeed(t, f.complete(ctx, t, token, a.create(f.creationOptions(t, token))))
	err = f.complete(ctx, t, others, a.create(f.creationOptions(t, others)))
	wantRefusal(t, err, "InvalidParameterException", "The passkey is registered already, or the user has too many.")
	for range pool.MaxPasskeys - 1 {
		f.addPasskey(t, token)
	}
	start := func() error {
		_, err := f.sdk.StartWebAuthnRegistration(ctx, &cognito.StartWebAuthnRegistrationInput{AccessToken: token})
		return err
	}
	wantRefusal(t, start(), "LimitExceededException", "The user has the maximum number of passkeys.")

	// Changes need a recent sign-in, or the password.
	f.clock.Advance(16 * time.Minute)
	const refusal = "Sign in again, or send TsumugiPassword, to change the second factor."
	wantNotAuthorized(t, start(), refusal)
	id := f.passkeys(t, token)[0].CredentialId
	_, err = f.sdk.DeleteWebAuthnCredential(ctx, &cognito.DeleteWebAuthnCredentialInput{AccessToken: token, CredentialId: id})
	wantNotAuthorized(t, err, refusal)
	r := f.post(t, "DeleteWebAuthnCredential",
		`{"AccessToken":"`+*token+`","CredentialId":"`+*id+`","TsumugiPassword":"`+password+`"}`)
	if r.status != 200 {
		t.Errorf("got %d %s", r.status, r.body)
	}
}

// rename calls TsumugiRenameWebAuthnCredential.
func (f *fixture) rename(t *testing.T, token, id, name string, want int) {
	t.Helper()
	r := f.post(t, "TsumugiRenameWebAuthnCredential",
		`{"AccessToken":"`+token+`","CredentialId":"`+id+`","TsumugiName":"`+name+`"}`)
	if r.status != want {
		t.Errorf("%q: got %d %s", name, r.status, r.body)
	}
}

// TestR108_NobodyLearnsWhoHasAPasskey: the answers before the proof are the same for every name.
func TestPoolsWithoutADomainHaveNoPasskeys(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	cfg := config(f.clock)
	cfg.Issuer = "http://192.0.2.1/pool/" + poolID
	f.server = serve(t, newPool(t, cfg, f.db))
	f.sdk = newSDK(f.server)
	token := f.mustSignIn(t).AccessToken
	_, err := f.sdk.ListWebAuthnCredentials(t.Context(), &cognito.ListWebAuthnCredentialsInput{AccessToken: token})
	wantRefusal(t, err, "WebAuthnConfigurationMissingException", "This user pool does not support passkeys.")
}
