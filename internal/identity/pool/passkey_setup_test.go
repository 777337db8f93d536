package pool_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	cognito "github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"
	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider/types"
	"github.com/descope/virtualwebauthn"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/internal/mail"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestR108_PasskeySatisfiesThePolicy: where a second factor is required, the password alone does not sign in a member whose
// only other factor is a passkey.
func TestR108_PasskeySatisfiesThePolicy(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	organization := f.member(t)
	token := f.mustSignIn(t).AccessToken
	a, second := f.addPasskey(t, token), f.addPasskey(t, token)
	f.mustSignIn(t) // The policy is optional.
	codes := f.recoveryCodes(t, token)
	f.setPolicy(t, organization, org.FactorEverybody)
	f.mustSignInWith(t, a)

	begin := func() *cognito.InitiateAuthOutput {
		out := must.Get(f.signIn(ctx, email, password))(t)
		if out.ChallengeName != types.ChallengeNameTypeWebAuthn || out.AuthenticationResult != nil {
			t.Fatalf("got %+v", out)
		}
		return out
	}
	out := begin()
	options := out.ChallengeParameters["CREDENTIAL_REQUEST_OPTIONS"]
	done, err := f.giveSignature(ctx, out.Session, a.sign(t, options))
	if must.Succeed(t, err); done.AuthenticationResult == nil {
		t.Errorf("got %+v", done)
	}
	// Another user's passkey is refused as the second factor.
	f.create(t, pool.NewUser{Email: "taro@example.com", Name: "鈴木 太郎", PermanentPassword: password})
	other := must.Get(f.signIn(ctx, "taro@example.com", password))(t)
	foreign := f.addPasskey(t, other.AuthenticationResult.AccessToken)
	out = begin()
	_, err = f.giveSignature(ctx, out.Session, foreign.sign(t, out.ChallengeParameters["CREDENTIAL_REQUEST_OPTIONS"]))
	wantNotAuthorized(t, err, badSession)
	recover := func(session *string) error {
		_, err := f.respond(ctx, types.ChallengeNameTypeWebAuthn, session, map[string]string{
			"USERNAME": email, "TSUMUGI_RECOVERY_CODE": codes[0],
		})
		return err
	}
	must.Succeed(t, recover(out.Session))
	session, _ := f.passkeyChallenge(t)
	wantNotAuthorized(t, recover(session), badSession) // The password was not verified.

	remove := func(id *string) error {
		_, err := f.sdk.DeleteWebAuthnCredential(ctx, &cognito.DeleteWebAuthnCredentialInput{
			AccessToken: token, CredentialId: id,
		})
		return err
	}
	list := f.passkeys(t, token)
	// Two calls at the same time: the other one deletes its passkey after the check of this one.
	first := must.Get(base64.RawURLEncoding.DecodeString(*list[0].CredentialId))(t)
	sdk := f.sdk
	f.sdk = newSDK(serve(t, newPool(t, config(f.clock), deletingAnother{f.db, first})))
	wantNotAuthorized(t, remove(list[1].CredentialId), "Your organization requires a second factor.")
	f.sdk = sdk
	if left := f.passkeys(t, token); len(left) != 1 {
		t.Errorf("%d passkeys are left", len(left))
	}
	wantNotAuthorized(t, remove(list[1].CredentialId), "Your organization requires a second factor.")

	// An administrator's reset removes the passkeys.
	must.Get(f.admin.AdminSetUserMFAPreference(ctx, &cognito.AdminSetUserMFAPreferenceInput{
		UserPoolId: aws.String(poolID), Username: aws.String(f.sub.String()),
		SoftwareTokenMfaSettings: &types.SoftwareTokenMfaSettingsType{Enabled: false},
	}))(t)
	for _, reset := range []*authenticator{a, second} {
		_, err = f.signInWith(t, reset)
		wantNotAuthorized(t, err, notThePasskey)
	}
	if out, err := f.signIn(ctx, email, password); err != nil || out.ChallengeName != types.ChallengeNameTypeMfaSetup {
		t.Errorf("got %+v, %v", out, err)
	}
}

// deletingAnother is a store that deletes another passkey of the user before each deletion.
type deletingAnother struct {
	pool.Store
	other []byte
}

func (d deletingAnother) RemovePasskey(ctx context.Context, sub uuid.UUID, id []byte, event pool.Event) error {
	return errors.Join(d.Store.RemovePasskey(ctx, sub, d.other, event), d.Store.RemovePasskey(ctx, sub, id, event))
}

// startSetup begins the registration of a passkey with the session of a challenge MFA_SETUP, and answers it.
func (f *fixture) startSetup(t *testing.T, session *string, a *authenticator) (credential string) {
	t.Helper()
	r := f.post(t, "StartWebAuthnRegistration", `{"Session":"`+*session+`"}`)
	var answer struct{ CredentialCreationOptions json.RawMessage }
	must.Succeed(t, json.Unmarshal([]byte(r.body), &answer))
	if r.status != 200 {
		t.Fatalf("got %d %s", r.status, r.body)
	}
	options := must.Get(virtualwebauthn.ParseAttestationOptions(string(answer.CredentialCreationOptions)))(t)
	return a.create(options)
}

// TestR108_PasskeyAtAForcedSetup: a member without a second factor, where the policy requires one, sets up a passkey after
// the password. The first factor voids the sessions that prove only the password.
func TestR108_PasskeyAtAForcedSetup(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	token := f.mustSignIn(t).AccessToken
	f.setPolicy(t, f.member(t), org.FactorEverybody)
	begin := func() *string {
		out := must.Get(f.signIn(ctx, email, password))(t)
		if out.ChallengeName != types.ChallengeNameTypeMfaSetup {
			t.Fatalf("got %+v", out)
		}
		return out.Session
	}
	finish := func(session *string) (*cognito.RespondToAuthChallengeOutput, error) {
		return f.respond(ctx, types.ChallengeNameTypeMfaSetup, session, map[string]string{"USERNAME": email})
	}
	complete := func(session *string, credential string) reply {
		return f.post(t, "CompleteWebAuthnRegistration", `{"Session":"`+*session+`","Credential":`+credential+`}`)
	}

	session, stolen := begin(), begin()
	a, thief := newAuthenticator(), newAuthenticator()
	credential, foreign := f.startSetup(t, session, a), f.startSetup(t, stolen, thief)
	_, err := finish(session)
	wantRefusal(t, err, "SoftwareTokenMFANotFoundException", "Software Token MFA has not been set up.")
	r := complete(session, credential)
	if r.status != 200 {
		t.Fatalf("got %d %s", r.status, r.body)
	}
	if kind := arrived(t, f.mail.factors); kind != mail.PasskeyAdded {
		t.Errorf("mail: %s", kind)
	}
	if r := complete(stolen, foreign); r.fields["__type"] != "NotAuthorizedException" {
		t.Errorf("a second passkey with the password alone: %d %s", r.status, r.body)
	}
	for _, before := range []*string{session, stolen} {
		_, err = finish(before)
		wantNotAuthorized(t, err, badSession)
	}
	proved := r.fields["Session"].(string)
	_, err = f.sdk.AssociateSoftwareToken(ctx, &cognito.AssociateSoftwareTokenInput{Session: &proved})
	wantNotAuthorized(t, err, badSession)
	done := must.Get(finish(&proved))(t)
	if codes := f.recoveryCodes(t, done.AuthenticationResult.AccessToken); len(codes) != 10 {
		t.Errorf("got %d recovery codes", len(codes))
	}
	f.mustSignInWith(t, a)

	// So does a first passkey that is added in a session.
	must.Get(f.admin.AdminSetUserMFAPreference(ctx, &cognito.AdminSetUserMFAPreferenceInput{
		UserPoolId: aws.String(poolID), Username: aws.String(f.sub.String()),
		SoftwareTokenMfaSettings: &types.SoftwareTokenMfaSettingsType{Enabled: false},
	}))(t)
	stolen = begin()
	f.addPasskey(t, token)
	_, err = finish(stolen)
	wantNotAuthorized(t, err, badSession)
}
