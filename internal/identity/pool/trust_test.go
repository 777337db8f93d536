package pool_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	cognito "github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"
	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// onDevice makes the SDK a browser that sends the cookie of a device.
func onDevice(device string) func(*cognito.Options) {
	return func(o *cognito.Options) {
		o.APIOptions = append(o.APIOptions, smithyhttp.SetHeaderValue("Test-Device", device),
			smithyhttp.SetHeaderValue("User-Agent",
				"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"))
	}
}

// signInOn signs in with the password on a device, and reports whether it asked for a code.
func (f *fixture) signInOn(t *testing.T, name, device string) (asked bool, session *string) {
	t.Helper()
	out := must.Get(f.sdk.InitiateAuth(t.Context(), &cognito.InitiateAuthInput{
		AuthFlow: types.AuthFlowTypeUserPasswordAuth, ClientId: aws.String(clientID),
		AuthParameters: map[string]string{"USERNAME": name, "PASSWORD": password},
	}, onDevice(device)))(t)
	return out.ChallengeName == types.ChallengeNameTypeSoftwareTokenMfa, out.Session
}

// trust signs in on a device with a code, and trusts the device.
func (f *fixture) trust(t *testing.T, name, secret, device string) {
	t.Helper()
	f.clock.Advance(time.Minute) // To an unused code.
	asked, session := f.signInOn(t, name, device)
	if !asked {
		t.Fatal("no challenge for the second factor")
	}
	must.Get(f.sdk.RespondToAuthChallenge(t.Context(), &cognito.RespondToAuthChallengeInput{
		ChallengeName: types.ChallengeNameTypeSoftwareTokenMfa, ClientId: aws.String(clientID), Session: session,
		ChallengeResponses: map[string]string{
			"USERNAME": name, "SOFTWARE_TOKEN_MFA_CODE": code(t, secret, f.clock.Now()), "TSUMUGI_TRUST_DEVICE": "true",
		},
	}, onDevice(device)))(t)
	if asked, _ := f.signInOn(t, name, device); asked {
		t.Fatal("a trusted device is asked for a code")
	}
}

func TestTrustedDevices(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	organization := f.member(t)
	token := f.mustSignIn(t).AccessToken
	secret := f.enrol(t, token)
	const other = "taro@example.com"
	f.create(t, pool.NewUser{Email: other, Name: "鈴木 太郎", PermanentPassword: password})
	out := must.Get(f.signIn(ctx, other, password))(t)
	f.enrol(t, out.AuthenticationResult.AccessToken)
	asked := func(name, device string) bool {
		asked, _ := f.signInOn(t, name, device)
		return asked
	}

	f.trust(t, email, secret, "browser")
	// A sign-in on a trusted device is as old as its trust, unless it asks for the second factor.
	trusted := f.clock.Now()
	f.clock.Advance(20 * time.Minute)
	again := &cognito.InitiateAuthInput{
		AuthFlow: types.AuthFlowTypeUserPasswordAuth, ClientId: aws.String(clientID),
		AuthParameters: map[string]string{"USERNAME": email, "PASSWORD": password},
	}
	got := must.Get(f.sdk.InitiateAuth(ctx, again, onDevice("browser")))(t)
	_, payload := claims(t, got.AuthenticationResult.AccessToken)
	status := must.Get(f.db.UserBySubject(ctx, identity.Claims{
		Subject: f.sub.String(), Session: uuid.MustParse(payload["origin_jti"].(string)), AuthType: identity.AuthCognito,
		AuthTime: f.clock.Now(),
	}))(t)
	if at := status.AuthenticatedAt; at == nil || at.UnixMilli() != trusted.UnixMilli() {
		t.Errorf("authenticated at %v, want %s", at, trusted)
	}
	again.ClientMetadata = map[string]string{"TSUMUGI_ASK_FACTOR": "true"}
	got = must.Get(f.sdk.InitiateAuth(ctx, again, onDevice("browser")))(t)
	if got.ChallengeName != types.ChallengeNameTypeSoftwareTokenMfa {
		t.Errorf("a sign-in that asks for the second factor got %+v", got)
	}
	if !asked(email, "another browser") || !asked(email, "") || !asked(other, "browser") {
		t.Error("the trust is not bound to the device and the user")
	}
	list := func() []types.DeviceType {
		out := must.Get(f.sdk.ListDevices(ctx, &cognito.ListDevicesInput{AccessToken: token}))(t)
		return out.Devices
	}
	devices := list()
	if len(devices) != 1 || aws.ToString(devices[0].DeviceAttributes[0].Value) != "Chrome（Windows）" ||
		devices[0].DeviceCreateDate.UnixMilli() != trusted.UnixMilli() {
		t.Fatalf("got %+v", devices)
	}
	forget := func(token *string) error {
		_, err := f.sdk.ForgetDevice(ctx, &cognito.ForgetDeviceInput{AccessToken: token, DeviceKey: devices[0].DeviceKey})
		return err
	}
	wantRefusal(t, forget(out.AuthenticationResult.AccessToken), "ResourceNotFoundException", "Device does not exist.")
	must.Succeed(t, forget(token))
	if !asked(email, "browser") || len(list()) != 0 {
		t.Error("a forgotten device is trusted")
	}

	f.trust(t, email, secret, "browser")
	f.setPolicy(t, organization, org.FactorEverybody)
	if !asked(email, "browser") {
		t.Error("a device is trusted after a change of the policy")
	}

	f.trust(t, email, secret, "browser")
	f.clock.Advance(30*24*time.Hour - time.Second)
	if asked(email, "browser") {
		t.Error("the trust ends early")
	}
	f.clock.Advance(time.Second)
	if !asked(email, "browser") {
		t.Error("the trust lasts for more than 30 days")
	}

	f.trust(t, email, secret, "browser")
	must.Succeed(t, f.SetPassword(ctx, f.sub, password, true))
	if !asked(email, "browser") {
		t.Error("a device is trusted after a new password")
	}

	f.trust(t, email, secret, "browser")
	must.Get(f.admin.AdminSetUserMFAPreference(ctx, &cognito.AdminSetUserMFAPreferenceInput{
		UserPoolId: aws.String(poolID), Username: aws.String(f.sub.String()),
		SoftwareTokenMfaSettings: &types.SoftwareTokenMfaSettingsType{Enabled: false},
	}))(t)
	f.setPolicy(t, organization, org.FactorOptional)
	token = f.mustSignIn(t).AccessToken
	if devices := list(); len(devices) != 0 {
		t.Errorf("after the reset: %+v", devices)
	}
	f.enrol(t, token)
	if !asked(email, "browser") {
		t.Error("a device is trusted after a reset")
	}
}

// TestProgramsAreNotTrusted: a program without cookies is recognized by its address, which others share.
func TestProgramsAreNotTrusted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	secret := f.enrol(t, f.mustSignIn(t).AccessToken)
	f.clock.Advance(time.Minute)
	r := f.post(t, "RespondToAuthChallenge", `{"ChallengeName":"SOFTWARE_TOKEN_MFA","ClientId":"`+clientID+`","Session":"`+
		*f.factorChallenge(t)+`","ChallengeResponses":{"USERNAME":"`+email+`","TSUMUGI_TRUST_DEVICE":"true",`+
		`"SOFTWARE_TOKEN_MFA_CODE":"`+code(t, secret, f.clock.Now())+`"}}`, "Test-Address", "192.0.2.1")
	if r.status != http.StatusOK {
		t.Fatalf("got %d %s", r.status, r.body)
	}
	r = f.post(t, "InitiateAuth", `{"AuthFlow":"USER_PASSWORD_AUTH","ClientId":"`+clientID+`","AuthParameters":{"USERNAME":"`+
		email+`","PASSWORD":"`+password+`"}}`, "Test-Address", "192.0.2.1")
	if r.fields["ChallengeName"] != "SOFTWARE_TOKEN_MFA" {
		t.Errorf("got %d %s", r.status, r.body)
	}
}
