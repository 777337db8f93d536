package pool

import "context"

// operation answers one of the protocol's calls.
type operation struct {
	// run returns what becomes the JSON of the answer. Its error is a refusal, or a fault that is not shown.
	run    func(ctx context.Context, in *input) (any, error)
	signed bool // Only with the administrator's signature.
}

// empty is the answer of operations that have nothing to say: {}.
type empty struct{}

// nothing is the answer of those that have no body at all.
type nothing struct{}

// table returns the protocol's calls by the name in X-Amz-Target.
func (p *Pool) table() map[string]operation {
	return map[string]operation{
		"ChangePassword":            {run: p.changePassword},
		"ConfirmForgotPassword":     {run: p.confirmForgotPassword},
		"ForgotPassword":            {run: p.forgotPassword},
		"GetTokensFromRefreshToken": {run: p.getTokensFromRefreshToken},
		"GetUser":                   {run: p.getUser},
		"GlobalSignOut":             {run: p.globalSignOut},
		"InitiateAuth":              {run: p.initiateAuth},
		"RespondToAuthChallenge":    {run: p.respondToAuthChallenge},
		"RevokeToken":               {run: p.revokeToken},

		// Users cannot sign up. These answer as a pool to which only its administrator adds users.
		"ConfirmSignUp":          {run: p.confirmSignUp},
		"ResendConfirmationCode": {run: p.resendConfirmationCode},
		"SignUp":                 {run: p.signUp},

		"AdminCreateUser":           {p.adminCreateUser, true},
		"AdminDeleteUser":           {p.onUser(p.DeleteUser, nothing{}), true},
		"AdminDisableUser":          {p.onUser(p.DisableUser, empty{}), true},
		"AdminEnableUser":           {p.onUser(p.EnableUser, empty{}), true},
		"AdminGetUser":              {p.adminGetUser, true},
		"AdminUpdateUserAttributes": {p.adminUpdateUserAttributes, true},
		"AdminUserGlobalSignOut":    {p.onUser(p.SignOutUser, empty{}), true},
	}
}

// signUp is the operation SignUp, which is refused.
func (p *Pool) signUp(_ context.Context, in *input) (any, error) {
	clientID := in.text("ClientId", clientIDRule())
	in.text("Username", usernameRule())
	if err := in.check(); err != nil {
		return nil, err
	}
	if err := p.checkClient(clientID, nil); err != nil {
		return nil, err
	}
	return nil, notAuthorized("SignUp is not permitted for this user pool")
}

// confirmSignUp is the operation ConfirmSignUp: there never is a code to confirm with.
func (p *Pool) confirmSignUp(_ context.Context, in *input) (any, error) {
	clientID := in.text("ClientId", clientIDRule())
	in.text("Username", usernameRule())
	in.text("ConfirmationCode", codeRule())
	if err := in.check(); err != nil {
		return nil, err
	}
	if err := p.checkClient(clientID, nil); err != nil {
		return nil, err
	}
	return nil, expiredCode()
}

// resendConfirmationCode is the operation ResendConfirmationCode. Nobody waits for such a code; Cognito says so of no
// name.
func (p *Pool) resendConfirmationCode(_ context.Context, in *input) (any, error) {
	clientID := in.text("ClientId", clientIDRule())
	name := in.text("Username", usernameRule())
	if err := in.check(); err != nil {
		return nil, err
	}
	if err := p.checkClient(clientID, nil); err != nil {
		return nil, err
	}
	return delivery(name), nil
}
