package channel

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// Source is the place where an installation is configured.
type Source string

// The sources of installations.
const (
	SourceStored      Source = "stored"      // Configured by the organization's super-admin.
	SourceEnvironment Source = "environment" // Configured by the server's settings. Its row has no credentials.
)

// Installation is the assistant in one workspace of a surface, for one organization.
type Installation struct {
	ID             uuid.UUID // Set for environment installations too: they have a row.
	OrganizationID uuid.UUID
	Surface        string
	TeamID         string
	EnterpriseID   string // For an enterprise-wide installation, else "".
	AppID          string
	BotUserID      string
	TeamName       string
	ChangedAt      time.Time // When it was last connected or configured.
	Source         Source
	Policy         Policy
	Credentials    Credentials
}

// Connected reports whether the workspace is known. Some credentials may be stored before that.
func (in Installation) Connected() bool { return in.TeamID != "" || in.EnterpriseID != "" }

// Policy is an organization's configuration of its installation.
type Policy struct {
	AutoLink       bool     // People are linked by their confirmed mail address.
	SharedChannels bool     // Questions in channels that are shared with other organizations are answered.
	Channels       []string // The channels in which questions are answered; empty for all.
}

// Credentials are the secrets of an installation. They are stored encrypted and never shown.
type Credentials struct {
	BotToken      string
	SigningSecret string
	AppToken      string // For Socket Mode; may be "".
	ClientID      string // For installing and linking.
	ClientSecret  string
}

// String hides the values.
func (Credentials) String() string { return "[secret]" }

// GoString hides the values.
func (Credentials) GoString() string { return "[secret]" }

// LogValue hides the values.
func (Credentials) LogValue() slog.Value { return slog.StringValue("[secret]") }

// MarshalJSON returns an error, because credentials must be stored encrypted.
func (Credentials) MarshalJSON() ([]byte, error) {
	return nil, fault.Errorf(fault.Internal, "credentials are not encoded")
}

// ErrNotInstalled is the error for a missing installation.
var ErrNotInstalled = fault.Errorf(fault.NotFound, "接続されていないワークスペースです。")

// Installations finds installations.
type Installations interface {
	// FindInstallation returns the installation for a workspace, else the installation for its enterprise, with
	// decrypted credentials, or ErrNotInstalled.
	FindInstallation(ctx context.Context, surface, enterpriseID, teamID string) (Installation, error)
	// Installation returns an installation by its id, with decrypted credentials, or ErrNotInstalled.
	Installation(ctx context.Context, id uuid.UUID) (Installation, error)
	// EraseInstallation deletes an installation whose credentials were revoked, with its links and the stored data of
	// its conversations. For an environment installation it deletes only the data of the conversations.
	EraseInstallation(ctx context.Context, id uuid.UUID) error
}

// LinkState is the state of a person's link to a member.
type LinkState string

// The states of a link.
const (
	LinkNone    LinkState = "none"    // The person is not linked.
	LinkActive  LinkState = "active"  // Linked to an active member.
	LinkRemoved LinkState = "removed" // Linked to a removed or disabled member.
	LinkRefused LinkState = "refused" // The person cannot be linked: a guest, an app or a person of another workspace.
)

// LinkedMember is the member linked to a person of a surface.
type LinkedMember struct {
	State LinkState
	Owner identity.Owner // Set for LinkActive, like the fields below.
	Name  string
	Email string
}

// InvitationLifetime is how long an address of Links.Invite can be used.
const InvitationLifetime = time.Hour

// Links finds the members linked to people of a surface. FindLink also links people automatically.
type Links interface {
	// FindLink returns the member linked to Target.Person.
	FindLink(ctx context.Context, to Target) (LinkedMember, error)
	// Invite returns an address at which only Target.Person can link a member's account.
	Invite(ctx context.Context, to Target) (url string, err error)
	// RemoveLink removes the link of Target.Person, and reports whether it existed.
	RemoveLink(ctx context.Context, to Target) (bool, error)
}
