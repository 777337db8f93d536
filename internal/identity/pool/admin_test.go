package pool_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	cognito "github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"
	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider/types"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// invitation returns the call with which the server invites a user.
func invitation(address, name string) *cognito.AdminCreateUserInput {
	return &cognito.AdminCreateUserInput{
		UserPoolId: aws.String(poolID), Username: aws.String(address),
		DesiredDeliveryMediums: []types.DeliveryMediumType{types.DeliveryMediumTypeEmail},
		UserAttributes: []types.AttributeType{
			{Name: aws.String("email"), Value: aws.String(address)},
			{Name: aws.String("email_verified"), Value: aws.String("true")},
			{Name: aws.String("name"), Value: aws.String(name)},
		},
	}
}

// described returns attributes by name.
func described(list []types.AttributeType) map[string]string {
	known := map[string]string{}
	for _, a := range list {
		known[aws.ToString(a.Name)] = aws.ToString(a.Value)
	}
	return known
}

func (f *fixture) adminGet(t *testing.T, name string) *cognito.AdminGetUserOutput {
	t.Helper()
	out := must.Get(f.admin.AdminGetUser(t.Context(), &cognito.AdminGetUserInput{
		UserPoolId: aws.String(poolID),
		Username:   aws.String(name),
	}))(t)
	return out
}

func TestR34_AnInvitationFromItsMailToTheFirstSignIn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	out, err := f.admin.AdminCreateUser(ctx, invitation(newcomer, "新人"))
	must.Succeed(t, err)
	u := out.User
	known := described(u.Attributes)
	if !u.Enabled || u.UserStatus != types.UserStatusTypeForceChangePassword || *u.Username != known["sub"] ||
		known["email"] != newcomer ||
		known["email_verified"] != "true" || known["name"] != "新人" || !u.UserCreateDate.Equal(f.clock.Now()) ||
		!u.UserLastModifiedDate.Equal(f.clock.Now()) {
		t.Errorf("made %+v %v", u, known)
	}
	sent := arrived(t, f.mail.invitations)
	if sent.Email != newcomer || sent.Name != "新人" || sent.ValidFor != 7*24*time.Hour ||
		pool.CheckPolicy(sent.TemporaryPassword) != "" {
		t.Errorf("sent %+v", sent)
	}
	_, err = f.admin.AdminCreateUser(ctx, invitation("Shinjin@EXAMPLE.com", "別人"))
	wantRefusal(t, err, "UsernameExistsException", "User account already exists")

	f.clock.Advance(24 * time.Hour)
	resend := &cognito.AdminCreateUserInput{
		UserPoolId: aws.String(poolID), Username: aws.String(newcomer),
		MessageAction: types.MessageActionTypeResend,
	}
	again := must.Get(f.admin.AdminCreateUser(ctx, resend))(t)
	resent := arrived(t, f.mail.invitations)
	if *again.User.Username != *u.Username || resent.TemporaryPassword == sent.TemporaryPassword ||
		resent.Name != "新人" {
		t.Errorf("again %+v", again.User)
	}
	_, err = f.signIn(ctx, newcomer, sent.TemporaryPassword)
	wantNotAuthorized(t, err, incorrect) // Replaced.
	f.clock.Advance(7*24*time.Hour - time.Millisecond)
	must.Get(f.answer(ctx, f.challenge(t, newcomer, resent.TemporaryPassword), answers(newcomer, chosen)))(t)
	_, err = f.admin.AdminCreateUser(ctx, resend)
	wantRefusal(t, err, "UnsupportedUserStateException",
		"Resend not possible. User status is not FORCE_CHANGE_PASSWORD.")
	resend.Username = aws.String("nobody@example.com")
	_, err = f.admin.AdminCreateUser(ctx, resend)
	wantRefusal(t, err, "UserNotFoundException", "User does not exist.")
	if got := f.adminGet(t, newcomer); got.UserStatus != types.UserStatusTypeConfirmed {
		t.Errorf("status %s", got.UserStatus)
	}
}

func TestAdminCreateUserVariants(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	in := &cognito.AdminCreateUserInput{
		UserPoolId: aws.String(poolID), Username: aws.String("Shizuka@example.com"),
		MessageAction:     types.MessageActionTypeSuppress,
		TemporaryPassword: aws.String(temporary),
	}
	out, err := f.admin.AdminCreateUser(ctx, in)
	must.Succeed(t, err)
	known := described(out.User.Attributes)
	if known["email"] != "shizuka@example.com" || known["email_verified"] != "false" ||
		known["name"] != "shizuka@example.com" {
		t.Errorf("made %v", known)
	}
	f.challenge(t, "shizuka@example.com", temporary)

	// An external user keeps the sub, and their sessions end.
	sub, err := f.CreateExternalUser(ctx, uuid.Nil, outsider, "外部 花子")
	must.Succeed(t, err)
	tokens, err := f.SignInExternal(ctx, sub, pool.External{})
	must.Succeed(t, err)
	out, err = f.admin.AdminCreateUser(ctx, invitation(outsider, "外部"))
	must.Succeed(t, err)
	if *out.User.Username != sub.String() || out.User.UserStatus != types.UserStatusTypeForceChangePassword {
		t.Errorf("made %+v", out.User)
	}
	if _, err = f.RefreshExternal(ctx, ssoID, tokens.RefreshToken); err == nil {
		t.Error("a session goes on")
	}
	sent := arrived(t, f.mail.invitations)
	if sent.Name != "外部" || described(out.User.Attributes)["name"] != "外部" {
		t.Errorf("called %s", sent.Name)
	}
	f.challenge(t, outsider, sent.TemporaryPassword)

	// An invitation that cannot be delivered leaves no user.
	f.mail.setFailure(errors.New("no such mailbox"))
	_, err = f.admin.AdminCreateUser(ctx, invitation("typo@example.com", "誤り"))
	wantRefusal(t, err, "CodeDeliveryFailureException", "Unable to deliver message to user.")
	_, err = f.admin.AdminGetUser(ctx, &cognito.AdminGetUserInput{
		UserPoolId: aws.String(poolID),
		Username:   aws.String("typo@example.com"),
	})
	wantRefusal(t, err, "UserNotFoundException", "User does not exist.")
	server := serve(t, newPool(t, config(f.clock), f.db))
	_, err = newAdmin(server, f.clock, credentials).AdminCreateUser(ctx, invitation("typo@example.com", "誤り"))
	wantRefusal(t, err, "CodeDeliveryFailureException", "Unable to deliver message to user.")
}

func TestAdminCreateUserRefusals(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const schema = "Attributes did not conform to the schema: "
	for name, c := range map[string]struct {
		change        func(*cognito.AdminCreateUserInput)
		kind, message string
	}{
		"other pool": {
			func(in *cognito.AdminCreateUserInput) { in.UserPoolId = aws.String("ap-northeast-1_Other") },
			"ResourceNotFoundException", "User pool ap-northeast-1_Other does not exist.",
		},
		"no address": {
			func(in *cognito.AdminCreateUserInput) { in.Username = aws.String("taro") },
			"InvalidParameterException", "Username should be an email.",
		},
		"look-alike": {
			func(in *cognito.AdminCreateUserInput) { in.Username = aws.String("h\u0430nako@example.com") },
			"InvalidParameterException", "Username should be an email.",
		},
		"two": {
			func(in *cognito.AdminCreateUserInput) { in.UserAttributes[0].Value = aws.String("x@example.com") },
			"InvalidParameterException",
			"User email should be empty or same as username, since username attribute is email",
		},
		"unknown": {
			func(in *cognito.AdminCreateUserInput) { in.UserAttributes[2].Name = aws.String("custom:role") },
			"InvalidParameterException", schema + "custom:role: Attribute does not exist in the schema.",
		},
		"not boolean": {
			func(in *cognito.AdminCreateUserInput) { in.UserAttributes[1].Value = aws.String("1") },
			"InvalidParameterException", schema + "email_verified: Value must be true or false",
		},
		"long name": {func(in *cognito.AdminCreateUserInput) {
			in.UserAttributes[2].Value = aws.String(strings.Repeat("あ", 101))
		}, "InvalidParameterException", schema + "name: String must be no longer than 100 characters"},
		"a sub": {
			func(in *cognito.AdminCreateUserInput) { in.UserAttributes[2].Name = aws.String("sub") },
			"InvalidParameterException", "Cannot modify the non-mutable attribute sub",
		},
		"weak": {
			func(in *cognito.AdminCreateUserInput) { in.TemporaryPassword = aws.String("password") },
			"InvalidPasswordException", "Password did not conform with policy: Password must have uppercase characters",
		},
		"other action": {
			func(in *cognito.AdminCreateUserInput) { in.MessageAction = "SHOUT" },
			"InvalidParameterException",
			"1 validation error detected: Value 'SHOUT' at 'messageAction' failed to satisfy constraint: Member must " +
				"satisfy enum value set: [RESEND, SUPPRESS]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := invitation(newcomer, "新人")
			c.change(in)
			_, err := f.admin.AdminCreateUser(t.Context(), in)
			wantRefusal(t, err, c.kind, c.message)
		})
	}
	if len(f.mail.invitations) != 0 {
		t.Error("somebody was invited")
	}
}

func TestR45_AdministrationEndsSessions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	id, name := aws.String(poolID), aws.String(f.sub.String())
	tokens := f.mustSignIn(t)
	_, err := f.admin.AdminUserGlobalSignOut(ctx, &cognito.AdminUserGlobalSignOutInput{UserPoolId: id, Username: name})
	must.Succeed(t, err)
	_, err = f.refresh(ctx, *tokens.RefreshToken)
	wantNotAuthorized(t, err, "Refresh Token has been revoked")

	tokens = f.mustSignIn(t)
	for range 2 {
		must.Get(f.admin.AdminDisableUser(ctx, &cognito.AdminDisableUserInput{UserPoolId: id, Username: name}))(t)
	}
	if f.adminGet(t, email).Enabled {
		t.Error("still enabled")
	}
	_, err = f.refresh(ctx, *tokens.RefreshToken)
	wantNotAuthorized(t, err, "Refresh Token has been revoked")
	_, err = f.signIn(ctx, email, password)
	wantNotAuthorized(t, err, "User is disabled.")
	must.Get(f.admin.AdminEnableUser(ctx, &cognito.AdminEnableUserInput{UserPoolId: id, Username: name}))(t)
	tokens = f.mustSignIn(t)

	must.Get(f.admin.AdminDeleteUser(ctx, &cognito.AdminDeleteUserInput{UserPoolId: id, Username: name}))(t)
	_, err = f.getUser(ctx, *tokens.AccessToken)
	wantRefusal(t, err, "UserNotFoundException", "User does not exist.")
	_, err = f.signIn(ctx, email, password)
	wantNotAuthorized(t, err, incorrect)
	for operation, call := range map[string]func() error{
		"AdminDeleteUser": func() error {
			_, err := f.admin.AdminDeleteUser(ctx, &cognito.AdminDeleteUserInput{UserPoolId: id, Username: name})
			return err
		},
		"AdminDisableUser": func() error {
			_, err := f.admin.AdminDisableUser(ctx, &cognito.AdminDisableUserInput{UserPoolId: id, Username: name})
			return err
		},
		"AdminUserGlobalSignOut": func() error {
			_, err := f.admin.AdminUserGlobalSignOut(ctx, &cognito.AdminUserGlobalSignOutInput{
				UserPoolId: id,
				Username:   name,
			})
			return err
		},
		"AdminUpdateUserAttributes": func() error { return f.update(t, name, "name", "x") },
	} {
		t.Run(operation, func(t *testing.T) { wantRefusal(t, call(), "UserNotFoundException", "User does not exist.") })
	}
}

// update sets one attribute.
func (f *fixture) update(t *testing.T, name *string, attribute, value string) error {
	t.Helper()
	_, err := f.admin.AdminUpdateUserAttributes(t.Context(), &cognito.AdminUpdateUserAttributesInput{
		UserPoolId: aws.String(poolID), Username: name,
		UserAttributes: []types.AttributeType{{Name: aws.String(attribute), Value: aws.String(value)}},
	})
	return err
}

func TestAdminUpdateUserAttributes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	f.create(t, pool.NewUser{Email: newcomer, Name: "新人", PermanentPassword: password})
	name := aws.String(f.sub.String())
	tokens := f.mustSignIn(t)
	code := f.code(t, email)
	must.Succeed(t, f.update(t, name, "name", "山田 太郎"))
	got := described(f.adminGet(t, email).UserAttributes)
	if got["name"] != "山田 太郎" || got["email"] != email || got["email_verified"] != "true" {
		t.Errorf("attributes %v", got)
	}
	out := must.Get(f.refresh(ctx, *tokens.RefreshToken))(t)
	if _, id := claims(t, out.AuthenticationResult.IdToken); id["name"] != "山田 太郎" {
		t.Errorf("id token %v", id)
	}

	wantRefusal(t, f.update(t, name, "email", newcomer), "AliasExistsException",
		"An account with the given email already exists.")
	wantRefusal(t, f.update(t, name, "email", "x"), "InvalidParameterException", "Invalid email address format.")
	must.Succeed(t, f.update(t, name, "email", "Taro@Example.com"))
	got = described(f.adminGet(t, f.sub.String()).UserAttributes)
	if got["email"] != "taro@example.com" || got["email_verified"] != "false" {
		t.Errorf("attributes %v", got)
	}
	// A code sent to the old address is void, and the new address is unverified.
	wantRefusal(t, f.confirm(ctx, f.sub.String(), code, fresh), "ExpiredCodeException", askAgain)
	must.Succeed(t, f.update(t, name, "email_verified", "true"))
	must.Succeed(t, f.confirm(ctx, "taro@example.com", f.code(t, "taro@example.com"), fresh))
}
