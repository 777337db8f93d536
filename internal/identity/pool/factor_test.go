package pool_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	cognito "github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"
	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider/types"
	"github.com/google/uuid"
	"github.com/pquerna/otp/totp"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/mail"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

const (
	notTheCode = "Invalid code received for user"
	usedOnce   = "Your software token has already been used once."
)

// code returns the authenticator app's code at a time.
func code(t *testing.T, secret string, at time.Time) string {
	t.Helper()
	text := must.Get(totp.GenerateCode(secret, at))(t)
	return text
}

// enrol sets up an authenticator app in a session and returns its secret. The current code is then used.
func (f *fixture) enrol(t *testing.T, token *string) (secret string) {
	t.Helper()
	ctx := t.Context()
	associated, err := f.sdk.AssociateSoftwareToken(ctx, &cognito.AssociateSoftwareTokenInput{AccessToken: token})
	must.Succeed(t, err)
	secret = aws.ToString(associated.SecretCode)
	verified := must.Get(f.sdk.VerifySoftwareToken(ctx, &cognito.VerifySoftwareTokenInput{
		AccessToken: token, UserCode: aws.String(code(t, secret, f.clock.Now())), FriendlyDeviceName: aws.String("電話"),
	}))(t)
	if verified.Status != types.VerifySoftwareTokenResponseTypeSuccess || verified.Session != nil {
		t.Fatalf("got %+v", verified)
	}
	must.Succeed(t, f.prefer(ctx, token, true))
	return secret
}

func (f *fixture) prefer(ctx context.Context, token *string, enabled bool) error {
	_, err := f.sdk.SetUserMFAPreference(ctx, &cognito.SetUserMFAPreferenceInput{
		AccessToken: token, SoftwareTokenMfaSettings: &types.SoftwareTokenMfaSettingsType{
			Enabled: enabled, PreferredMfa: enabled,
		},
	})
	return err
}

// factorChallenge signs in with the password and returns the session of the challenge for the second factor.
func (f *fixture) factorChallenge(t *testing.T) *string {
	t.Helper()
	out := must.Get(f.signIn(t.Context(), email, password))(t)
	if out.ChallengeName != types.ChallengeNameTypeSoftwareTokenMfa || out.AuthenticationResult != nil ||
		out.ChallengeParameters["USER_ID_FOR_SRP"] != f.sub.String() {
		t.Fatalf("no challenge for the second factor: %+v", out)
	}
	return out.Session
}

// give answers the challenge for the second factor with a code.
func (f *fixture) give(ctx context.Context, session *string, code string) (*cognito.RespondToAuthChallengeOutput, error) {
	return f.respond(ctx, types.ChallengeNameTypeSoftwareTokenMfa, session, map[string]string{
		"USERNAME": email, "SOFTWARE_TOKEN_MFA_CODE": code,
	})
}

// recover answers the challenge for the second factor with a recovery code.
func (f *fixture) recover(ctx context.Context, session *string, code string) (*cognito.RespondToAuthChallengeOutput, error) {
	return f.respond(ctx, types.ChallengeNameTypeSoftwareTokenMfa, session, map[string]string{
		"USERNAME": email, "TSUMUGI_RECOVERY_CODE": code,
	})
}

// recoveryCodes creates recovery codes.
func (f *fixture) recoveryCodes(t *testing.T, token *string) []string {
	t.Helper()
	r := f.post(t, "TsumugiCreateRecoveryCodes", `{"AccessToken":"`+*token+`"}`)
	var answer struct{ RecoveryCodes []string }
	must.Succeed(t, json.Unmarshal([]byte(r.body), &answer))
	if r.status != 200 || len(answer.RecoveryCodes) != 10 {
		t.Fatalf("got %d %s", r.status, r.body)
	}
	return answer.RecoveryCodes
}

// setPolicy sets the policy for second factors of the user's organization.
func (f *fixture) setPolicy(t *testing.T, organization uuid.UUID, policy org.FactorPolicy) {
	t.Helper()
	actor := identity.Actor{User: identity.User{OrganizationID: organization}}
	must.Succeed(t, f.db.SetFactorPolicy(t.Context(), actor, policy, func(*org.Member) error { return nil }))
}

func TestTOTP(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	here := f.mustSignIn(t)
	user, err := f.getUser(ctx, *here.AccessToken)
	if must.Succeed(t, err); len(user.UserMFASettingList) != 0 || user.PreferredMfaSetting != nil {
		t.Fatalf("a factor before the enrolment: %+v", user)
	}
	secret := f.enrol(t, here.AccessToken)
	if kind := arrived(t, f.mail.factors); kind != mail.FactorAdded {
		t.Errorf("mail: %s", kind)
	}
	user, err = f.getUser(ctx, *here.AccessToken)
	if must.Succeed(t, err); !slices.Equal(user.UserMFASettingList, []string{"SOFTWARE_TOKEN_MFA"}) ||
		aws.ToString(user.PreferredMfaSetting) != "SOFTWARE_TOKEN_MFA" {
		t.Errorf("got %+v", user)
	}

	// The code of the enrolment is used. Codes of the next step are accepted, each once, in all sessions together.
	session, other := f.factorChallenge(t), f.factorChallenge(t)
	now := f.clock.Now()
	_, err = f.give(ctx, session, code(t, secret, now))
	wantRefusal(t, err, "ExpiredCodeException", usedOnce)
	_, err = f.give(ctx, session, code(t, secret, now.Add(-time.Minute)))
	wantRefusal(t, err, "CodeMismatchException", notTheCode)
	_, err = f.give(ctx, session, code(t, secret, now.Add(time.Minute)))
	wantRefusal(t, err, "CodeMismatchException", notTheCode)
	early := code(t, secret, now.Add(30*time.Second))
	full := strings.Map(func(r rune) rune { return r - '0' + '０' }, early[:3]) + " " + early[3:]
	done := must.Get(f.give(ctx, session, full))(t)
	if aws.ToString(done.AuthenticationResult.RefreshToken) == "" {
		t.Errorf("got %+v", done)
	}
	_, err = f.give(ctx, session, code(t, secret, now))
	wantNotAuthorized(t, err, "Invalid session for the user, session can only be used once.")
	_, err = f.give(ctx, other, early)
	wantRefusal(t, err, "ExpiredCodeException", usedOnce)
	f.clock.Advance(time.Minute)
	late := code(t, secret, f.clock.Now().Add(-30*time.Second))
	_, err = f.give(ctx, other, late)
	wantRefusal(t, err, "ExpiredCodeException", usedOnce)
	if _, err := f.give(ctx, other, code(t, secret, f.clock.Now())); err != nil {
		t.Errorf("the next code: %v", err)
	}

	// Sessions are bound to their challenge and expire.
	expired := f.factorChallenge(t)
	_, err = f.answer(ctx, expired, answers(email, chosen))
	wantNotAuthorized(t, err, badSession)
	_, err = f.respond(ctx, types.ChallengeNameTypeMfaSetup, expired, map[string]string{"USERNAME": email})
	wantNotAuthorized(t, err, badSession)
	_, err = f.sdk.AssociateSoftwareToken(ctx, &cognito.AssociateSoftwareTokenInput{Session: expired})
	wantNotAuthorized(t, err, badSession)
	f.clock.Advance(3 * time.Minute)
	_, err = f.give(ctx, expired, code(t, secret, f.clock.Now()))
	wantNotAuthorized(t, err, "Invalid session for the user, session is expired.")

	// A wrong password reveals nothing about the factor.
	_, err = f.signIn(ctx, email, "wrong")
	wantNotAuthorized(t, err, incorrect)

	must.Succeed(t, f.prefer(ctx, here.AccessToken, false))
	f.mustSignIn(t)
	if kind := arrived(t, f.mail.factors); kind != mail.FactorRemoved {
		t.Errorf("mail: %s", kind)
	}
	err = f.prefer(ctx, here.AccessToken, true)
	wantRefusal(t, err, "InvalidParameterException", "User has not verified software token mfa")
}

func TestTOTPIsReplacedOnlyByAVerifiedOne(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	token := f.mustSignIn(t).AccessToken
	secret := f.enrol(t, token)
	f.clock.Advance(time.Minute)
	associated, err := f.sdk.AssociateSoftwareToken(ctx, &cognito.AssociateSoftwareTokenInput{AccessToken: token})
	must.Succeed(t, err)
	_, err = f.sdk.VerifySoftwareToken(ctx, &cognito.VerifySoftwareTokenInput{
		AccessToken: token, UserCode: aws.String(code(t, secret, f.clock.Now())),
	})
	wantRefusal(t, err, "EnableSoftwareTokenMFAException", "Code mismatch")
	pending := f.factorChallenge(t)
	if _, err := f.give(ctx, pending, code(t, secret, f.clock.Now())); err != nil {
		t.Errorf("the old app before the verification: %v", err)
	}
	// A sign-in in progress does not survive the replacement.
	pending = f.factorChallenge(t)
	replaced := aws.ToString(associated.SecretCode)
	must.Get(f.sdk.VerifySoftwareToken(ctx, &cognito.VerifySoftwareTokenInput{
		AccessToken: token, UserCode: aws.String(code(t, replaced, f.clock.Now())),
	}))(t)
	f.clock.Advance(time.Minute)
	_, err = f.give(ctx, pending, code(t, replaced, f.clock.Now()))
	wantNotAuthorized(t, err, badSession)
	session := f.factorChallenge(t)
	_, err = f.give(ctx, session, code(t, secret, f.clock.Now()))
	wantRefusal(t, err, "CodeMismatchException", notTheCode)
	if _, err := f.give(ctx, session, code(t, replaced, f.clock.Now())); err != nil {
		t.Errorf("the new app: %v", err)
	}
}

func TestConcurrentCodesAreAcceptedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	secret := f.enrol(t, f.mustSignIn(t).AccessToken)
	f.clock.Advance(time.Minute)
	now := code(t, secret, f.clock.Now())
	var accepted atomic.Int32
	var calls sync.WaitGroup
	for range 8 {
		session := f.factorChallenge(t)
		calls.Go(func() {
			if _, err := f.give(t.Context(), session, now); err == nil {
				accepted.Add(1)
			}
		})
	}
	calls.Wait()
	if n := accepted.Load(); n != 1 {
		t.Errorf("accepted %d times", n)
	}
}

func TestWrongCodesLockTheFactor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	secret := f.enrol(t, f.mustSignIn(t).AccessToken)
	f.clock.Advance(time.Minute)
	session := f.factorChallenge(t)
	for range 4 {
		_, err := f.give(ctx, session, "000000")
		wantRefusal(t, err, "CodeMismatchException", notTheCode)
	}
	// Neither the right password nor a recovery code resets or evades the count.
	session = f.factorChallenge(t)
	_, err := f.recover(ctx, session, "0000-0000-0000-0000")
	wantRefusal(t, err, "CodeMismatchException", notTheCode)
	right := code(t, secret, f.clock.Now())
	for _, give := range []func(context.Context, *string, string) (*cognito.RespondToAuthChallengeOutput, error){f.give, f.recover} {
		_, err = give(ctx, session, right)
		wantNotAuthorized(t, err, "Attempts exceeded")
	}
	f.clock.Advance(time.Second)
	if _, err := f.give(ctx, session, right); err != nil {
		t.Errorf("after the lock-out: %v", err)
	}
}

func TestRecoveryCodes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	token := f.mustSignIn(t).AccessToken
	if r := f.post(t, "TsumugiCreateRecoveryCodes", `{"AccessToken":"`+*token+`"}`); r.fields["__type"] != "SoftwareTokenMFANotFoundException" {
		t.Errorf("without a factor: %d %s", r.status, r.body)
	}
	f.enrol(t, token)
	arrived(t, f.mail.factors)
	old := f.recoveryCodes(t, token)
	codes := f.recoveryCodes(t, token)
	session := f.factorChallenge(t)
	_, err := f.recover(ctx, session, old[0])
	wantRefusal(t, err, "CodeMismatchException", notTheCode)
	typed := strings.ToUpper(strings.NewReplacer("-", " ", "0", "O", "1", "l").Replace(codes[0]))
	done, err := f.recover(ctx, session, typed)
	if must.Succeed(t, err); done.AuthenticationResult == nil {
		t.Fatalf("got %+v", done)
	}
	if kind := arrived(t, f.mail.factors); kind != mail.RecoveryCodeUsed {
		t.Errorf("mail: %s", kind)
	}
	_, err = f.recover(ctx, f.factorChallenge(t), codes[0])
	wantRefusal(t, err, "CodeMismatchException", notTheCode)
	r := f.post(t, "GetUser", `{"AccessToken":"`+*token+`"}`)
	if !strings.Contains(r.body, `"Tsumugi":{"RecoveryCodes":9,"FactorRequired":false,"Passkeys":0}`) {
		t.Errorf("got %s", r.body)
	}
}

// TestRecoveryCodesExistAsLongAsAFactor: recovery codes are deleted with the last second factor, whichever it is.
func TestRecoveryCodesExistAsLongAsAFactor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	token := f.mustSignIn(t).AccessToken
	left := func() int {
		t.Helper()
		factor := must.Get(f.db.PoolFactor(t.Context(), f.sub))(t)
		return factor.RecoveryCodes
	}
	deletePasskey := func() {
		t.Helper()
		must.Get(f.sdk.DeleteWebAuthnCredential(t.Context(), &cognito.DeleteWebAuthnCredentialInput{
			AccessToken: token, CredentialId: f.passkeys(t, token)[0].CredentialId,
		}))(t)
	}
	f.addPasskey(t, token)
	f.addPasskey(t, token)
	f.enrol(t, token)
	f.recoveryCodes(t, token)
	must.Succeed(t, f.prefer(t.Context(), token, false))
	if n := left(); n != 10 {
		t.Errorf("%d recovery codes with two passkeys and no app", n)
	}
	deletePasskey()
	if n := left(); n != 10 {
		t.Errorf("%d recovery codes with a passkey", n)
	}
	deletePasskey()
	if n := left(); n != 0 {
		t.Errorf("%d recovery codes after the last passkey", n)
	}
	f.enrol(t, token)
	f.recoveryCodes(t, token)
	must.Succeed(t, f.prefer(t.Context(), token, false))
	if n := left(); n != 0 {
		t.Errorf("%d recovery codes after the app, without a passkey", n)
	}
}

// TestPolicyForcesEnrolment: the challenge MFA_SETUP is that of a Cognito pool that requires a second factor.
func TestPolicyForcesEnrolment(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	organization := f.member(t)
	f.setPolicy(t, organization, org.FactorAdministrators)
	f.mustSignIn(t) // Not an administrator.
	f.setPolicy(t, organization, org.FactorEverybody)
	out, err := f.signIn(ctx, email, password)
	must.Succeed(t, err)
	if out.ChallengeName != types.ChallengeNameTypeMfaSetup || out.AuthenticationResult != nil ||
		out.ChallengeParameters["MFAS_CAN_SETUP"] != `["SOFTWARE_TOKEN_MFA","WEB_AUTHN"]` {
		t.Fatalf("got %+v", out)
	}
	setup := func(session *string) (*cognito.RespondToAuthChallengeOutput, error) {
		return f.respond(ctx, types.ChallengeNameTypeMfaSetup, session, map[string]string{"USERNAME": email})
	}
	_, err = setup(out.Session)
	wantRefusal(t, err, "SoftwareTokenMFANotFoundException", "Software Token MFA has not been set up.")
	associated, err := f.sdk.AssociateSoftwareToken(ctx, &cognito.AssociateSoftwareTokenInput{Session: out.Session})
	must.Succeed(t, err)
	f.clock.Advance(14 * time.Minute) // People may have to install the app.
	verify := func(code string) (*cognito.VerifySoftwareTokenOutput, error) {
		return f.sdk.VerifySoftwareToken(ctx, &cognito.VerifySoftwareTokenInput{
			Session: associated.Session, UserCode: aws.String(code),
		})
	}
	_, err = verify("000000")
	wantRefusal(t, err, "EnableSoftwareTokenMFAException", "Code mismatch")
	secret := aws.ToString(associated.SecretCode)
	verified := must.Get(verify(code(t, secret, f.clock.Now())))(t)
	// The session before the enrolment is void: it proves only the password.
	_, err = setup(out.Session)
	wantNotAuthorized(t, err, badSession)
	done := must.Get(setup(verified.Session))(t)
	token := done.AuthenticationResult.AccessToken
	err = f.prefer(ctx, token, false)
	wantNotAuthorized(t, err, "Your organization requires a second factor.")
	f.clock.Advance(time.Minute)
	if _, err := f.give(ctx, f.factorChallenge(t), code(t, secret, f.clock.Now())); err != nil {
		t.Errorf("after the enrolment: %v", err)
	}

	// An administrator's reset makes the next sign-in an enrolment again.
	must.Get(f.admin.AdminSetUserMFAPreference(ctx, &cognito.AdminSetUserMFAPreferenceInput{
		UserPoolId: aws.String(poolID), Username: aws.String(f.sub.String()),
		SoftwareTokenMfaSettings: &types.SoftwareTokenMfaSettingsType{Enabled: false},
	}))(t)
	out, err = f.signIn(ctx, email, password)
	if must.Succeed(t, err); out.ChallengeName != types.ChallengeNameTypeMfaSetup {
		t.Errorf("after the reset: %+v", out)
	}
	f.setPolicy(t, organization, org.FactorOptional)
	f.mustSignIn(t)
}

func TestForcedEnrolmentFollowsATemporaryPassword(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	f.setPolicy(t, f.member(t), org.FactorEverybody)
	must.Succeed(t, f.SetPassword(ctx, f.sub, temporary, false))
	done, err := f.answer(ctx, f.challenge(t, email, temporary), answers(email, chosen))
	if must.Succeed(t, err); done.ChallengeName != types.ChallengeNameTypeMfaSetup || done.AuthenticationResult != nil {
		t.Errorf("got %+v", done)
	}
}

// TestOldSessionsNeedThePasswordToChangeTheFactor: a session that began more than 15 minutes ago, as after the theft of
// a refresh token, cannot set up, replace or remove an app, or create recovery codes, without the password.
func TestOldSessionsNeedThePasswordToChangeTheFactor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	token := *f.mustSignIn(t).AccessToken
	f.enrol(t, &token)
	f.clock.Advance(16 * time.Minute)
	for operation, members := range map[string]string{
		"AssociateSoftwareToken":     "",
		"TsumugiCreateRecoveryCodes": "",
		"SetUserMFAPreference":       `,"SoftwareTokenMfaSettings":{"Enabled":false}`,
	} {
		send := func(password string) int {
			return f.post(t, operation, `{"AccessToken":"`+token+`"`+members+password+`}`).status
		}
		for _, password := range []string{"", `,"TsumugiPassword":""`, `,"TsumugiPassword":"wrong"`} {
			if status := send(password); status != 400 {
				t.Errorf("%s with %q: %d", operation, password, status)
			}
		}
		if operation == "SetUserMFAPreference" {
			continue // The last change, below.
		}
		if status := send(`,"TsumugiPassword":"` + password + `"`); status != 200 {
			t.Errorf("%s with the password: %d", operation, status)
		}
	}
	remove := `{"AccessToken":"` + token + `","SoftwareTokenMfaSettings":{"Enabled":false},"TsumugiPassword":"` + password + `"}`
	if r := f.post(t, "SetUserMFAPreference", remove); r.status != 200 {
		t.Errorf("removal with the password: %d %s", r.status, r.body)
	}
	f.mustSignIn(t) // Without a challenge.
}
