package channel

import (
	"context"
	"log/slog"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// Source says where an installation is configured.
type Source string

// The sources of installations.
const (
	SourceStored      Source = "stored"      // By its organization's super-admin.
	SourceEnvironment Source = "environment" // By the server's settings. Its row has no credentials.
)

// Installation is the assistant in one workspace of a surface, for one organization.
type Installation struct {
	ID             uuid.UUID // Also of one from the environment: it has a row.
	OrganizationID uuid.UUID
	Surface        string
	TeamID         string
	EnterpriseID   string // Of an organization-wide installation; "".
	AppID          string
	BotUserID      string
	TeamName       string
	Source         Source
	Policy         Policy
	Credentials    Credentials
}

// Connected reports whether the workspace is known. Before, some of the credentials may be.
func (in Installation) Connected() bool { return in.TeamID != "" || in.EnterpriseID != "" }

// Policy is what an organization allows its installation.
type Policy struct {
	AutoLink       bool     // People are linked by their confirmed mail address.
	SharedChannels bool     // Questions in channels that are shared with other organizations are answered.
	Channels       []string // The channels in which questions are answered; empty for all.
}

// Credentials are the secrets of an installation. They are stored sealed and never shown.
type Credentials struct {
	BotToken      string
	SigningSecret string
	AppToken      string // For sockets; "".
	ClientID      string // For installing and linking.
	ClientSecret  string
}

// String shows nothing.
func (Credentials) String() string { return "[secret]" }

// GoString shows nothing.
func (Credentials) GoString() string { return "[secret]" }

// LogValue shows nothing.
func (Credentials) LogValue() slog.Value { return slog.StringValue("[secret]") }

// MarshalJSON refuses: credentials are stored sealed.
func (Credentials) MarshalJSON() ([]byte, error) {
	return nil, fault.Errorf(fault.Internal, "credentials are not encoded")
}

// ErrNotInstalled says that there is no such installation.
var ErrNotInstalled = fault.Errorf(fault.NotFound, "接続されていないワークスペースです。")

// Installations finds installations.
type Installations interface {
	// FindInstallation returns the installation for a workspace, else the one for its enterprise, with its credentials
	// opened, or ErrNotInstalled.
	FindInstallation(ctx context.Context, surface, enterpriseID, teamID string) (Installation, error)
	// Installation returns an installation by its id, with its credentials opened, or ErrNotInstalled.
	Installation(ctx context.Context, id uuid.UUID) (Installation, error)
	// EraseInstallation deletes an installation whose credentials were revoked, with its links and all that is stored of
	// its conversations. Of one from the environment only the latter.
	EraseInstallation(ctx context.Context, id uuid.UUID) error
}

// LinkState says whether a person of a surface is a member.
type LinkState string

// The states of a link.
const (
	LinkNone    LinkState = "none"    // The person is not linked.
	LinkActive  LinkState = "active"  // With an active member.
	LinkRemoved LinkState = "removed" // With a member who was removed or disabled.
	LinkRefused LinkState = "refused" // The person cannot be linked: a guest, an app, somebody of another workspace.
)

// Linked is the member whom a person of a surface is linked with.
type Linked struct {
	State LinkState
	Owner chat.Owner // Of LinkActive, as is the rest.
	Name  string
	Email string
}

// Links finds the members whom people of a surface are linked with. Linking a person automatically is a part of it.
type Links interface {
	// FindLink returns the member of Target.Person.
	FindLink(ctx context.Context, to Target) (Linked, error)
	// Invite returns an address at which only Target.Person can be linked with a member.
	Invite(ctx context.Context, to Target) (url string, err error)
	// RemoveLink removes the link of Target.Person, and reports whether there was one.
	RemoveLink(ctx context.Context, to Target) (bool, error)
}
