package workspace

import (
	"context"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
)

// Directory identifies workspaces and people of a surface. The adapter implements it. Its errors are faults:
// fault.Invalid for credentials that the surface refuses, fault.Unavailable if the surface cannot be reached.
type Directory interface {
	// Identify returns the workspace of a bot token.
	Identify(ctx context.Context, c channel.Credentials) (Workspace, error)
	// Profile returns the surface's profile of a person.
	Profile(ctx context.Context, in channel.Installation, person string) (Profile, error)
	// Check tests the requirements of the installation one by one and returns the results.
	Check(ctx context.Context, in channel.Installation) []Check

	// InstallURL returns the address at which an administrator of a workspace installs the app.
	InstallURL(c channel.Credentials, redirect, state string) string
	// Install exchanges the code of the redirect for a bot token.
	Install(ctx context.Context, c channel.Credentials, redirect, code string) (token string, err error)
	// SignInURL returns the address at which a person signs in to the installation's workspace (OpenID Connect).
	SignInURL(in channel.Installation, redirect, state, nonce string) string
	// SignIn exchanges the code of the redirect for the signed-in person. nonce must be the nonce of SignInURL.
	SignIn(ctx context.Context, in channel.Installation, redirect, code, nonce string) (Identity, error)
}

// Workspace describes the workspace of a bot token.
type Workspace struct {
	TeamID       string // "" if the app is installed for a whole enterprise.
	EnterpriseID string // For an enterprise's installation, else "".
	AppID        string
	BotUserID    string
	Name         string
}

// Apply stores the workspace of a bot token in its installation.
func (w Workspace) Apply(in *channel.Installation) {
	in.TeamID, in.EnterpriseID, in.AppID, in.BotUserID, in.TeamName = w.TeamID, "", w.AppID, w.BotUserID, w.Name
	if w.TeamID == "" {
		in.EnterpriseID = w.EnterpriseID // The team id suffices for the installation of a workspace.
	}
}

// Identity is an authenticated person of the surface.
type Identity struct {
	TeamID       string
	EnterpriseID string
	Person       string
}

// Profile is a surface's profile of a person.
type Profile struct {
	Name         string
	Email        string
	Confirmed    bool     // The surface has confirmed the address.
	Teams        []string // The workspaces that the person belongs to.
	EnterpriseID string
	Guest        bool // A member of some channels only.
	Bot          bool
	Deleted      bool
	External     bool // Of another company, in a shared channel.
}

// Check is the result of one test of an installation.
type Check struct {
	Name   string // "token", "workspace", "scopes", "socket", …
	OK     bool
	Detail string // For people, in Japanese: the result or a remedy.
}
