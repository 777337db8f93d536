package pool

import "context"

// operation implements one of the protocol's calls.
type operation struct {
	// run returns the answer, to be encoded as JSON. Its error is a refusal, or a fault that is not revealed.
	run    func(ctx context.Context, in *input) (any, error)
	signed bool // Requires the administrator's signature.
}

// empty is the answer {}.
type empty struct{}

// noBody is an answer without a body.
type noBody struct{}

// table returns the protocol's calls by their names in X-Amz-Target.
func (p *Pool) table() map[string]operation {
	return map[string]operation{
		"AssociateSoftwareToken":    {run: p.associateSoftwareToken},
		"ChangePassword":            {run: p.changePassword},
		"ConfirmForgotPassword":     {run: p.confirmForgotPassword},
		"ForgetDevice":              {run: p.forgetDevice},
		"ForgotPassword":            {run: p.forgotPassword},
		"GetTokensFromRefreshToken": {run: p.getTokensFromRefreshToken},
		"GetUser":                   {run: p.ofHolder(p.getUser)},
		"GetUserAuthFactors":        {run: p.ofHolder(p.getUserAuthFactors)},
		"GlobalSignOut":             {run: p.ofHolder(p.globalSignOut)},
		"InitiateAuth":              {run: p.initiateAuth},
		"ListDevices":               {run: p.ofHolder(p.listDevices)},
		"RespondToAuthChallenge":    {run: p.respondToAuthChallenge},
		"RevokeToken":               {run: p.revokeToken},
		"SetUserMFAPreference":      {run: p.setUserMFAPreference},
		"VerifySoftwareToken":       {run: p.verifySoftwareToken},

		"CompleteWebAuthnRegistration": p.passkeyOperation(p.completePasskey),
		"DeleteWebAuthnCredential":     p.passkeyOperation(p.deletePasskey),
		"ListWebAuthnCredentials":      p.passkeyOperation(p.ofHolder(p.listPasskeys)),
		"StartWebAuthnRegistration":    p.passkeyOperation(p.startPasskey),

		// Additions to Cognito's protocol.
		"TsumugiCreateRecoveryCodes":      {run: p.createRecoveryCodes},
		"TsumugiRenameWebAuthnCredential": p.passkeyOperation(p.renamePasskey),

		// Users cannot sign up. The responses are those of a Cognito pool where only administrators add users.
		"ConfirmSignUp":          {run: p.confirmSignUp},
		"ResendConfirmationCode": {run: p.resendConfirmationCode},
		"SignUp":                 {run: p.signUp},

		"AdminCreateUser":           {p.adminCreateUser, true},
		"AdminDeleteUser":           {p.onUser(p.DeleteUser, noBody{}), true},
		"AdminDisableUser":          {p.onUser(p.DisableUser, empty{}), true},
		"AdminEnableUser":           {p.onUser(p.EnableUser, empty{}), true},
		"AdminGetUser":              {p.adminGetUser, true},
		"AdminSetUserMFAPreference": {p.adminSetUserMFAPreference, true},
		"AdminUpdateUserAttributes": {p.adminUpdateUserAttributes, true},
		"AdminUserGlobalSignOut":    {p.onUser(p.SignOutUser, empty{}), true},
	}
}

// signUp is the operation SignUp, which is always rejected.
func (p *Pool) signUp(_ context.Context, in *input) (any, error) {
	clientID := in.text("ClientId", clientIDRule())
	in.text("Username", usernameRule())
	if err := p.checkInput(in, clientID, ""); err != nil {
		return nil, err
	}
	return nil, notAuthorized("SignUp is not permitted for this user pool")
}

// confirmSignUp is the operation ConfirmSignUp. No code is ever valid, because users cannot sign up.
func (p *Pool) confirmSignUp(_ context.Context, in *input) (any, error) {
	clientID := in.text("ClientId", clientIDRule())
	in.text("Username", usernameRule())
	in.text("ConfirmationCode", codeRule())
	if err := p.checkInput(in, clientID, ""); err != nil {
		return nil, err
	}
	return nil, expiredCode()
}

// resendConfirmationCode is the operation ResendConfirmationCode. No user has such a code. Like Cognito, it sends the
// same response for every name.
func (p *Pool) resendConfirmationCode(_ context.Context, in *input) (any, error) {
	clientID := in.text("ClientId", clientIDRule())
	name := in.text("Username", usernameRule())
	return delivery(name), p.checkInput(in, clientID, "")
}
