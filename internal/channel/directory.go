package channel

import "context"

// Directory is the side of a surface that says who is who: workspaces, people, and proofs of both. The adapter
// implements it. Its errors are faults: fault.Invalid for credentials that the surface refuses, fault.Unavailable if it
// cannot be reached.
type Directory interface {
	// Identify returns the workspace that a bot token was made for.
	Identify(ctx context.Context, c Credentials) (Workspace, error)
	// Profile returns a person as the surface knows them.
	Profile(ctx context.Context, in Installation, person string) (Profile, error)
	// Check tries what the installation needs, one thing at a time, and returns what works.
	Check(ctx context.Context, in Installation) []Check

	// InstallURL is where a browser asks an administrator of a workspace to install the app.
	InstallURL(c Credentials, redirect, state string) string
	// Install exchanges the code that the browser brings back for a bot token.
	Install(ctx context.Context, c Credentials, redirect, code string) (token string, err error)
	// SignInURL is where a browser has a person sign in to the installation's workspace (OpenID Connect).
	SignInURL(in Installation, redirect, state, nonce string) string
	// SignIn exchanges the code that the browser brings back for who has signed in. The nonce must be that of SignInURL.
	SignIn(ctx context.Context, in Installation, redirect, code, nonce string) (Identity, error)
}

// Workspace is what a bot token tells of its workspace.
type Workspace struct {
	TeamID       string // "" if the app is installed for a whole enterprise.
	EnterpriseID string // Of an enterprise's installation; "".
	AppID        string
	BotUserID    string
	Name         string
}

// Identity is somebody who has proved who they are on the surface.
type Identity struct {
	TeamID       string
	EnterpriseID string
	Person       string
}

// Profile is a person as a surface knows them.
type Profile struct {
	Name         string
	Email        string
	Confirmed    bool     // The surface has confirmed the address.
	Teams        []string // The workspaces that the person belongs to.
	EnterpriseID string
	Guest        bool // Invited to some channels only.
	Bot          bool
	Deleted      bool
	Stranger     bool // Of another company, in a shared channel.
}

// Check is one thing that an installation needs.
type Check struct {
	Name   string // "token", "workspace", "scopes", "socket", …
	OK     bool
	Detail string // For people, in Japanese: what was found, or what to do.
}
