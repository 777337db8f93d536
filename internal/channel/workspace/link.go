package workspace

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/opaque"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// Person is a person of a surface.
type Person struct {
	ID   string
	Name string
}

// MemberLink is a link as shown to its member and to administrators.
type MemberLink struct {
	UserID    uuid.UUID
	UserName  string
	UserEmail string
	Person    string
	Name      string // The person's name on the surface.
	Automatic bool   // Linked by the confirmed address.
	CreatedAt time.Time
}

// Proof is the state of proving that a person of a surface and a member are the same. It begins with an address that is
// shown to the person only. The member who opens the address is bound to the proof, together with their browser. In
// that browser the person then signs in to the surface.
type Proof struct {
	Hash           []byte // SHA-256 of the state.
	BrowserHash    []byte // SHA-256 of the browser's cookie; nil until a member opens the address.
	InstallationID uuid.UUID
	OrganizationID uuid.UUID
	Person         string     // The person who must sign in; "" for any person if the member has begun the proof.
	UserID         *uuid.UUID // The member; nil until a member opens the address.
	Nonce          string
	ExpiresAt      time.Time
}

// The codes and errors of linking. The app's page has a text for each code.
const (
	CodeOtherPerson fault.Code = "slack_other_person"
	CodeNotMember   fault.Code = "slack_not_member"
	CodeTaken       fault.Code = "slack_taken"
	CodeDenied      fault.Code = "slack_denied"
	CodeState       fault.Code = "slack_state"
	CodeSetup       fault.Code = "slack_setup"
)

// Errors of linking.
var (
	ErrNotLinked   = fault.Errorf(fault.NotFound, "Slackと連携していません。")
	ErrOtherPerson = fault.Errorf(CodeOtherPerson,
		"連携の案内を受け取った人と、Slackにログインした人が違うため、連携しませんでした。ご自分に届いた案内から操作してください。")
	ErrNotMember = fault.Errorf(CodeNotMember,
		"ゲスト、ほかの会社の方、アプリは連携できません。このワークスペースのメンバーのアカウントでSlackにログインしてください。")
	ErrPersonTaken = fault.Errorf(CodeTaken,
		"このSlackアカウントは、別のメンバーと連携しています。先にその連携を解除してください。")
	ErrMemberTaken = fault.Errorf(CodeTaken,
		"すでに別のSlackアカウントと連携しています。先にその連携を解除してください。")
	ErrDenied     = fault.Errorf(CodeDenied, "Slackで許可されなかったため、連携しませんでした。")
	ErrProofState = fault.Errorf(CodeState,
		"連携の案内の有効期限が切れたか、別のブラウザーで操作されています。Slackでもう一度案内を表示するか、この画面からやり直してください。")
	errNoSignIn = fault.Errorf(CodeSetup,
		"Slackの設定が完了していないため、連携できません。管理者にお問い合わせください。")
)

const (
	proofLifetime = 10 * time.Minute // From a member's confirmation to the browser's return.
	maxLinkPage   = 100
)

// LinkerConfig configures a Linker.
type LinkerConfig struct {
	Surface   string
	PublicURL string // The server's public URL, without a trailing slash.
	Clock     func() time.Time
}

// Linker links people of a surface with members. It implements channel.Links.
//
// A wrong link shows one person's threads to another, so both sides must sign in, in one browser: the member to the
// app, and the person to the surface. The address that a person receives is not enough, because it can be forwarded.
// With the browser's cookie and the person in the surface's id token, neither a colleague who opens a forwarded address
// nor a sender who wants a colleague to confirm it is linked. A code to type was rejected, because people can be
// persuaded to type one. Linking by mail address is off by default: the administrator of a workspace can set any
// address. It requires an address that the surface has confirmed, and exactly one member with the same confirmed
// address.
type Linker struct {
	cfg       LinkerConfig
	store     Store
	setup     *Setup
	directory Directory
	log       *slog.Logger
}

var (
	_ channel.Links         = (*Linker)(nil)
	_ channel.Installations = (*Setup)(nil)
)

// NewLinker returns a Linker.
func NewLinker(cfg LinkerConfig, store Store, setup *Setup, directory Directory, log *slog.Logger) *Linker {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	return &Linker{cfg: cfg, store: store, setup: setup, directory: directory, log: log}
}

// linkable reports whether a person may be linked: a full member of the installation's workspace or enterprise.
func (p Profile) linkable(in channel.Installation) bool {
	if p.Guest || p.Bot || p.Deleted || p.External {
		return false
	}
	if in.TeamID == "" {
		return in.EnterpriseID != "" && p.EnterpriseID == in.EnterpriseID
	}
	return slices.Contains(p.Teams, in.TeamID)
}

func (l *Linker) FindLink(ctx context.Context, to channel.Target) (channel.LinkedMember, error) {
	in := to.Installation
	if in.TeamID != "" && to.PersonTeam != "" && to.PersonTeam != in.TeamID {
		return channel.LinkedMember{State: channel.LinkRefused}, nil
	}
	found, err := l.store.PersonLink(ctx, in, to.Person)
	if err != nil || found.State != channel.LinkNone {
		return found, err
	}
	profile, err := l.directory.Profile(ctx, in, to.Person)
	switch {
	case err != nil:
		return channel.LinkedMember{}, err
	case !profile.linkable(in):
		return channel.LinkedMember{State: channel.LinkRefused}, nil
	case !in.Policy.AutoLink || !profile.Confirmed || profile.Email == "":
		return found, nil
	}
	linked, err := l.store.LinkByEmail(ctx, in, Person{ID: to.Person, Name: profile.Name}, profile.Email)
	if err != nil {
		return channel.LinkedMember{}, err
	}
	if linked {
		l.log.InfoContext(ctx, "channel: person linked by email address", "installation", in.ID)
	}
	return l.store.PersonLink(ctx, in, to.Person) // A concurrent event of the person may have added the link.
}

func (l *Linker) Invite(ctx context.Context, to channel.Target) (string, error) {
	state, hash := opaque.New()
	if err := l.store.AddProof(ctx, Proof{
		Hash: hash, InstallationID: to.Installation.ID, OrganizationID: to.Installation.OrganizationID,
		Person: to.Person, ExpiresAt: l.cfg.Clock().Add(channel.InvitationLifetime),
	}); err != nil {
		return "", err
	}
	return l.cfg.PublicURL + "/setting/slack?" + url.Values{"state": {state}}.Encode(), nil
}

func (l *Linker) RemoveLink(ctx context.Context, to channel.Target) (bool, error) {
	return l.store.RemovePersonLink(ctx, to.Installation, to.Person)
}

// OwnLink is a link as its member sees it.
type OwnLink struct {
	Workspace     string      // "" if the organization has no workspace.
	CanLink       bool        // The installation supports sign-in.
	Link          *MemberLink // Nil without a link.
	PendingPerson *Person     // The person of the opened notice; nil without a notice.
}

// OwnLink returns the actor's link. state is the state of a notice that the actor has opened, or "".
func (l *Linker) OwnLink(ctx context.Context, actor identity.Actor, state string) (OwnLink, error) {
	in, err := l.setup.own(ctx, actor)
	if errors.Is(err, channel.ErrNotInstalled) || err == nil && !in.Connected() {
		return OwnLink{}, nil
	}
	if err != nil {
		return OwnLink{}, err
	}
	own := OwnLink{Workspace: in.TeamName, CanLink: in.Credentials.ClientID != "" && in.Credentials.ClientSecret != ""}
	link, err := l.store.MemberLink(ctx, actor.OrganizationID, actor.ID, l.cfg.Surface)
	switch {
	case err == nil:
		own.Link = &link
	case !errors.Is(err, ErrNotLinked):
		return OwnLink{}, err
	}
	if state == "" {
		return own, nil
	}
	proof, err := l.store.PendingProof(ctx, actor.OrganizationID, opaque.Hash(state), l.cfg.Clock())
	if err != nil {
		return OwnLink{}, err
	}
	profile, err := l.directory.Profile(ctx, in, proof.Person)
	if err != nil {
		return OwnLink{}, err
	}
	own.PendingPerson = &Person{ID: proof.Person, Name: profile.Name}
	return own, nil
}

// Begin binds a proof to the actor and to their browser. It returns the sign-in address of the surface and the value of
// the browser's cookie until the browser returns. state is the state of a notice, or "". If state is "", any person who
// signs in is linked.
func (l *Linker) Begin(ctx context.Context, actor identity.Actor, state string) (address, browser string, err error) {
	in, err := l.setup.own(ctx, actor)
	if err != nil && !errors.Is(err, channel.ErrNotInstalled) {
		return "", "", err
	}
	if !in.Connected() || in.Credentials.ClientID == "" || in.Credentials.ClientSecret == "" {
		return "", "", errNoSignIn
	}
	next, hash := opaque.New()
	browser, browserHash := opaque.New()
	nonce, _ := opaque.New()
	proof := Proof{
		Hash: hash, BrowserHash: browserHash, InstallationID: in.ID, OrganizationID: in.OrganizationID,
		UserID: &actor.ID, Nonce: nonce, ExpiresAt: l.cfg.Clock().Add(proofLifetime),
	}
	if state != "" {
		pending, err := l.store.PendingProof(ctx, actor.OrganizationID, opaque.Hash(state), l.cfg.Clock())
		if err != nil {
			return "", "", err
		}
		proof.Person = pending.Person
	}
	if err := l.store.AddProof(ctx, proof); err != nil {
		return "", "", err
	}
	return l.directory.SignInURL(in, l.redirect(), next, nonce), browser, nil
}

func (l *Linker) redirect() string { return l.cfg.PublicURL + "/external/slack/v1/link/callback" }

// Finish links the member of a proof with the person who has signed in to the surface in the same browser. It returns
// ErrProofState for another browser, and ErrOtherPerson if another person than the recipient of the notice signed in.
func (l *Linker) Finish(ctx context.Context, state, browser, code string) error {
	proof, err := l.store.TakeProof(ctx, opaque.Hash(state), opaque.Hash(browser), l.cfg.Clock())
	if err != nil {
		return err
	}
	in, err := l.setup.Installation(ctx, proof.InstallationID)
	if err != nil {
		return err
	}
	if code == "" {
		return ErrDenied
	}
	who, err := l.directory.SignIn(ctx, in, l.redirect(), code, proof.Nonce)
	if err != nil {
		return err
	}
	switch {
	case proof.Person != "" && who.Person != proof.Person:
		return ErrOtherPerson
	case in.TeamID != "" && who.TeamID != in.TeamID, in.TeamID == "" && who.EnterpriseID != in.EnterpriseID:
		return ErrNotMember
	}
	profile, err := l.directory.Profile(ctx, in, who.Person)
	if err != nil {
		return err
	}
	if !profile.linkable(in) {
		return ErrNotMember
	}
	return l.store.AddLink(ctx, proof, Person{ID: who.Person, Name: profile.Name})
}

// Unlink removes the actor's link.
func (l *Linker) Unlink(ctx context.Context, actor identity.Actor) error {
	return l.store.RemoveMemberLink(ctx, org.AuditActorOf(actor), actor.OrganizationID, actor.ID, l.cfg.Surface)
}

// List returns a page of the links of the actor's organization, for its administrators, and their total number.
func (l *Linker) List(ctx context.Context, actor identity.Actor, offset, limit int) ([]MemberLink, int, error) {
	if !actor.Role.IsAdmin() {
		return nil, 0, org.ErrForbidden
	}
	return l.store.ListLinks(ctx, actor.OrganizationID, l.cfg.Surface, offset, min(limit, maxLinkPage))
}

// UnlinkMember removes the link of a member of the actor's organization. The actor must be a super-admin.
func (l *Linker) UnlinkMember(ctx context.Context, actor identity.Actor, userID uuid.UUID) error {
	if err := actor.RequireSuperAdmin(); err != nil {
		return err
	}
	return l.store.RemoveMemberLink(ctx, org.AuditActorOf(actor), actor.OrganizationID, userID, l.cfg.Surface)
}
