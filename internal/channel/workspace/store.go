package workspace

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// Store stores installations, and the links between people of a surface and members. It encrypts credentials. Without a
// key, storing credentials fails with secret.ErrNoKey.
type Store interface {
	channel.Installations

	// OrganizationInstallation returns the installation of an organization, or channel.ErrNotInstalled.
	OrganizationInstallation(ctx context.Context, organizationID uuid.UUID, surface string) (channel.Installation, error)
	// ListInstallations returns all installations of a surface, with decrypted credentials if there are keys.
	ListInstallations(ctx context.Context, surface string) ([]channel.Installation, error)
	// ChangeInstallation applies a change to the installation of the actor's organization. It calls change with the
	// stored installation, or with one that has only its ID, organization and surface. The actor must be a super-admin
	// at that time. It returns ErrWorkspaceTaken for a workspace of another organization. A change of the workspace
	// deletes the data of the former workspace.
	ChangeInstallation(
		ctx context.Context, actor identity.Actor, surface string, change func(*channel.Installation) error,
	) error
	// RemoveInstallation deletes an organization's installation with all its data, or returns channel.ErrNotInstalled.
	RemoveInstallation(ctx context.Context, by org.AuditActor, organizationID uuid.UUID, surface string) error
	// AdoptInstallation stores the row of an environment installation for the only organization, and keeps an existing
	// row. Errors: ErrManyOrganizations, ErrConfigured, ErrWorkspaceTaken, org.ErrNoOrganization.
	AdoptInstallation(ctx context.Context, surface string, w Workspace) error

	// AddInstall stores the begun installation of a browser. TakeInstall returns once, for that browser only, the actor
	// who began it, in their current state. Otherwise it returns ErrState.
	AddInstall(ctx context.Context, p Install) error
	TakeInstall(ctx context.Context, surface string, hash, browserHash []byte, at time.Time) (identity.Actor, error)

	// PersonLink returns the member linked to a person. A missing link is not an error.
	PersonLink(ctx context.Context, in channel.Installation, person string) (channel.LinkedMember, error)
	// MemberLink returns the link of a member, or ErrNotLinked.
	MemberLink(ctx context.Context, organizationID, userID uuid.UUID, surface string) (MemberLink, error)
	// LinkByEmail links a person with the member who has the email address, and reports whether it did. It requires
	// exactly one such member: active, of the installation's organization, with a confirmed address and without a link.
	LinkByEmail(ctx context.Context, in channel.Installation, person Person, email string) (bool, error)
	// RemovePersonLink removes the link of a person, and reports whether it existed.
	RemovePersonLink(ctx context.Context, in channel.Installation, person string) (bool, error)
	// RemoveMemberLink removes the link of a member, or returns ErrNotLinked.
	RemoveMemberLink(ctx context.Context, by org.AuditActor, organizationID, userID uuid.UUID, surface string) error
	// ListLinks returns a page of an organization's links, newest first, and their total number.
	ListLinks(ctx context.Context, organizationID uuid.UUID, surface string, offset, limit int) ([]MemberLink, int, error)

	// AddProof stores a new proof. PendingProof returns it, or ErrProofState.
	AddProof(ctx context.Context, p Proof) error
	PendingProof(ctx context.Context, organizationID uuid.UUID, hash []byte, at time.Time) (Proof, error)
	// TakeProof deletes and returns the proof that is bound to the browser, or returns ErrProofState.
	TakeProof(ctx context.Context, hash, browserHash []byte, at time.Time) (Proof, error)
	// AddLink links the person of a proof with its member. Errors: ErrPersonTaken, ErrMemberTaken, ErrProofState if the
	// member is no longer active.
	AddLink(ctx context.Context, p Proof, person Person) error
}
