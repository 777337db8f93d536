package channel

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/opaque"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// InstallationStore stores installations. Credentials are sealed there; without a key, storing them fails with
// secret.ErrNoKey.
type InstallationStore interface {
	Installations

	// OrganizationInstallation returns the installation of an organization, or ErrNotInstalled.
	OrganizationInstallation(ctx context.Context, organizationID uuid.UUID, surface string) (Installation, error)
	// ListInstallations returns all installations of a surface, with their credentials opened, as far as there are keys.
	ListInstallations(ctx context.Context, surface string) ([]Installation, error)
	// ChangeInstallation applies a change to the installation of the actor's organization, which change is given as it
	// is, or with only its ID, organization and surface if there is none. The actor must be a super-admin then. A
	// workspace of another organization is ErrWorkspaceTaken. What belongs to another workspace than before is deleted.
	ChangeInstallation(ctx context.Context, actor identity.Actor, surface string, change func(*Installation) error) error
	// RemoveInstallation deletes an organization's installation with all that belongs to it, or returns
	// ErrNotInstalled.
	RemoveInstallation(ctx context.Context, by org.Doer, organizationID uuid.UUID, surface string) error
	// AdoptInstallation stores the row of an installation from the environment for the only organization there is, and
	// keeps the one that it has. Errors: ErrManyOrganizations, ErrConfigured, ErrWorkspaceTaken, org.ErrNoOrganization.
	AdoptInstallation(ctx context.Context, surface string, w Workspace) error

	// AddInstall stores an installation that a browser has begun. TakeInstall returns once, and to that browser alone,
	// who has begun it, in their current state; else ErrState.
	AddInstall(ctx context.Context, p Install) error
	TakeInstall(ctx context.Context, surface string, hash, browserHash []byte, at time.Time) (identity.Actor, error)
}

// Install is the installation of the app by a browser, from its beginning until the browser comes back.
type Install struct {
	Hash        []byte // SHA-256 of the state.
	BrowserHash []byte // SHA-256 of the browser's cookie.
	Actor       identity.Actor
	Surface     string
	ExpiresAt   time.Time
}

// Errors of installing.
var (
	ErrWorkspaceTaken = fault.Errorf(fault.Conflict,
		"このワークスペースは、すでに別の組織と接続されています。接続を解除してから、もう一度お試しください。")
	ErrFromEnvironment = fault.Errorf(fault.Conflict,
		"Slackとの接続は、サーバーの設定（SLACK_BOT_TOKENなど）で行われています。変更はサーバーの運用担当者に依頼してください。")
	ErrIncomplete = fault.Errorf(fault.Conflict,
		"Client IDとClient Secretが登録されていません。SlackのアプリのBasic Informationで確認して、登録してください。")
	ErrState = fault.Errorf(CodeState,
		"手続きの有効期限が切れたか、別のブラウザーで始められています。もう一度、最初から操作してください。")
	ErrInstallDenied = fault.Errorf(CodeDenied, "Slackで許可されなかったため、接続しませんでした。")

	ErrManyOrganizations = errors.New("there are several organizations: set Slack up at /admin/slack, as each super-admin")
	ErrConfigured        = errors.New("the organization has set Slack up at /admin/slack, and this is what counts")
)

// Lifetimes and limits of the setup.
const (
	installLifetime = 10 * time.Minute
	maxCredential   = 512 // Bytes.
	maxChannels     = 200
	signersFresh    = 5 * time.Second // Then the signing secrets are read again;
	signersRetry    = time.Second     // sooner if a signature fits none of them.
	adoptPause      = 5 * time.Second // Between attempts to find out the workspace of the environment, at first,
	adoptMaxPause   = time.Minute     // and at most.
	adoptTimeout    = 15 * time.Second
)

// SetupConfig configures a Setup.
type SetupConfig struct {
	Surface     string
	PublicURL   string      // The server's, without a slash at its end.
	Environment Credentials // Of the one workspace that the server's settings name; zero for none.
	Sealing     bool        // There is a key, so that credentials can be stored.
	Clock       func() time.Time
}

// Setup connects workspaces with organizations. It implements Installations.
type Setup struct {
	cfg       SetupConfig
	store     InstallationStore
	directory Directory
	log       *slog.Logger

	cancel context.CancelFunc // Of the goroutine that adopts; nil without one.
	done   chan struct{}

	mu      sync.Mutex // Guards the following; held while the signing secrets are read.
	signers []Signer
	readAt  time.Time
}

// Signer is a signing secret and what it speaks for.
type Signer struct {
	InstallationID uuid.UUID // Nil before the workspace of the environment is known.
	Secret         string
}

// NewSetup returns a Setup, whose Start must be called.
func NewSetup(cfg SetupConfig, store InstallationStore, directory Directory, log *slog.Logger) *Setup {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	return &Setup{cfg: cfg, store: store, directory: directory, log: log}
}

// fromEnvironment reports whether the server's settings name a workspace.
func (s *Setup) fromEnvironment() bool { return s.cfg.Environment.BotToken != "" }

// FindInstallation implements Installations.
func (s *Setup) FindInstallation(ctx context.Context, surface, enterpriseID, teamID string) (Installation, error) {
	return s.complete(s.store.FindInstallation(ctx, surface, enterpriseID, teamID))
}

// Installation implements Installations.
func (s *Setup) Installation(ctx context.Context, id uuid.UUID) (Installation, error) {
	return s.complete(s.store.Installation(ctx, id))
}

// EraseInstallation implements Installations.
func (s *Setup) EraseInstallation(ctx context.Context, id uuid.UUID) error {
	s.forget()
	return s.store.EraseInstallation(ctx, id)
}

// complete gives an installation from the environment its credentials. Its row is ignored if the settings were removed.
func (s *Setup) complete(in Installation, err error) (Installation, error) {
	if err != nil || in.Source != SourceEnvironment {
		return in, err
	}
	if !s.fromEnvironment() {
		return Installation{}, ErrNotInstalled
	}
	in.Credentials = s.cfg.Environment
	return in, nil
}

// Signers returns the signing secrets with which events may be signed. fresh asks for those of this second: a signature
// fits none of those that were returned before. If the database cannot be read, it returns the known ones.
func (s *Setup) Signers(ctx context.Context, fresh bool) ([]Signer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	age := s.cfg.Clock().Sub(s.readAt)
	if age < signersRetry || !fresh && age < signersFresh {
		return s.signers, nil
	}
	all, err := s.store.ListInstallations(ctx, s.cfg.Surface)
	if err != nil {
		if s.signers == nil {
			return nil, err
		}
		return s.signers, nil
	}
	signers := make([]Signer, 0, len(all)+1)
	if s.fromEnvironment() {
		signers = append(signers, Signer{Secret: s.cfg.Environment.SigningSecret})
	}
	for _, in := range all {
		in, err := s.complete(in, nil)
		switch {
		case err != nil:
		case in.Source == SourceEnvironment:
			signers[0].InstallationID = in.ID
		case in.Credentials.SigningSecret != "":
			signers = append(signers, Signer{InstallationID: in.ID, Secret: in.Credentials.SigningSecret})
		}
	}
	s.signers, s.readAt = signers, s.cfg.Clock()
	return signers, nil
}

// forget has the signing secrets read again.
func (s *Setup) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readAt = time.Time{}
}

// Sockets returns the installations that are reached by sockets, with the app token.
func (s *Setup) Sockets(ctx context.Context) ([]Installation, error) {
	all, err := s.store.ListInstallations(ctx, s.cfg.Surface)
	if err != nil {
		return nil, err
	}
	var found []Installation
	for _, in := range all {
		if in, err := s.complete(in, nil); err == nil && in.Connected() && in.Credentials.AppToken != "" {
			found = append(found, in)
		}
	}
	return found, nil
}

// View is an organization's installation as its administrators see it.
type View struct {
	Installation Installation // Zero if there is none.
	Sealing      bool         // The server can store credentials.
	SocketOnly   bool         // The public URL is not https://: Slack sends events in Socket Mode alone.
}

// View returns what administrators see.
func (s *Setup) View(ctx context.Context, actor identity.Actor) (View, error) {
	if !org.IsAdmin(actor.Role) {
		return View{}, org.ErrForbidden
	}
	in, err := s.own(ctx, actor)
	if errors.Is(err, ErrNotInstalled) {
		err = nil
	}
	return View{Installation: in, Sealing: s.cfg.Sealing, SocketOnly: s.socketOnly()}, err
}

// own returns the installation of the actor's organization.
func (s *Setup) own(ctx context.Context, actor identity.Actor) (Installation, error) {
	return s.complete(s.store.OrganizationInstallation(ctx, actor.OrganizationID, s.cfg.Surface))
}

// Edit is a change of the setup. Nil leaves a value as it is; an empty credential removes it.
type Edit struct {
	BotToken, SigningSecret, AppToken, ClientID, ClientSecret *string
	Policy                                                    *Policy
}

// fields are the credentials of an edit, by the names that the API gives them.
func (e Edit) fields() map[string]*string {
	return map[string]*string{
		"bot_token": e.BotToken, "signing_secret": e.SigningSecret, "app_token": e.AppToken,
		"client_id": e.ClientID, "client_secret": e.ClientSecret,
	}
}

// Save changes the setup of the actor's organization. A bot token is tried at the surface first, which names its
// workspace.
func (s *Setup) Save(ctx context.Context, actor identity.Actor, e Edit) (View, error) {
	if err := requireSuper(actor); err != nil {
		return View{}, err
	}
	credentials := false
	for name, value := range e.fields() {
		if value == nil {
			continue
		}
		credentials = true
		*value = strings.TrimSpace(*value)
		if len(*value) > maxCredential || strings.ContainsFunc(*value, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return View{}, fault.InvalidField(name, "使えない文字が含まれているか、長すぎます。Slackの画面からコピーし直してください。")
		}
	}
	if e.Policy != nil && len(e.Policy.Channels) > maxChannels {
		return View{}, fault.InvalidField("policy.channels", "チャンネルは%d件まで指定できます。", maxChannels)
	}
	var found Workspace
	if e.BotToken != nil && *e.BotToken != "" {
		var err error
		if found, err = s.directory.Identify(ctx, Credentials{BotToken: *e.BotToken}); err != nil {
			return View{}, err
		}
	}
	err := s.store.ChangeInstallation(ctx, actor, s.cfg.Surface, func(in *Installation) error {
		if credentials && in.Source == SourceEnvironment && s.fromEnvironment() {
			return ErrFromEnvironment
		}
		e.apply(in, found)
		return nil
	})
	if err != nil {
		return View{}, err
	}
	s.forget()
	return s.View(ctx, actor)
}

// apply changes an installation. found is the workspace of a new bot token.
func (e Edit) apply(in *Installation, found Workspace) {
	c := &in.Credentials
	for _, f := range []struct {
		to   *string
		from *string
	}{
		{&c.BotToken, e.BotToken},
		{&c.SigningSecret, e.SigningSecret},
		{&c.AppToken, e.AppToken},
		{&c.ClientID, e.ClientID},
		{&c.ClientSecret, e.ClientSecret},
	} {
		if f.from != nil {
			*f.to = *f.from
			in.Source = SourceStored
		}
	}
	if e.BotToken != nil {
		in.Settle(found)
	}
	if e.Policy != nil {
		in.Policy = *e.Policy
		in.Policy.Channels = slices.Compact(slices.Sorted(slices.Values(in.Policy.Channels)))
	}
}

// Settle takes over what a bot token has told of its workspace.
func (in *Installation) Settle(w Workspace) {
	in.TeamID, in.EnterpriseID, in.AppID, in.BotUserID, in.TeamName = w.TeamID, "", w.AppID, w.BotUserID, w.Name
	if w.TeamID == "" {
		in.EnterpriseID = w.EnterpriseID // Of its workspaces' installations, the workspace is enough.
	}
}

// Remove ends the installation of the actor's organization and deletes its credentials, links and conversations.
func (s *Setup) Remove(ctx context.Context, actor identity.Actor) error {
	if err := requireSuper(actor); err != nil {
		return err
	}
	in, err := s.own(ctx, actor)
	if err != nil {
		return err
	}
	if in.Source == SourceEnvironment {
		return ErrFromEnvironment
	}
	defer s.forget()
	return s.store.RemoveInstallation(ctx, org.DoerOf(actor), actor.OrganizationID, s.cfg.Surface)
}

// socketOnly reports whether Slack cannot send events to the server's public URL.
func (s *Setup) socketOnly() bool { return strings.HasPrefix(s.cfg.PublicURL, "http://") }

// Test tries what the installation of the actor's organization needs.
func (s *Setup) Test(ctx context.Context, actor identity.Actor) ([]Check, error) {
	if err := requireSuper(actor); err != nil {
		return nil, err
	}
	in, err := s.own(ctx, actor)
	if err != nil {
		return nil, err
	}
	checks := s.directory.Check(ctx, in)
	if s.socketOnly() && in.Credentials.AppToken == "" {
		checks = append(checks, Check{Name: "address", Detail: "公開URLがhttp://のため、Slackからイベントを受け取れません。" +
			"https://のURLにするか、アプリレベルトークンを登録してSocket Modeを使ってください。"})
	}
	return checks, nil
}

// BeginInstall returns where a browser goes to have the app installed, and the value of its cookie until it comes back.
func (s *Setup) BeginInstall(ctx context.Context, actor identity.Actor) (url, browser string, err error) {
	if err := requireSuper(actor); err != nil {
		return "", "", err
	}
	in, err := s.own(ctx, actor)
	switch {
	case err != nil && !errors.Is(err, ErrNotInstalled):
		return "", "", err
	case in.Source == SourceEnvironment:
		return "", "", ErrFromEnvironment
	case in.Credentials.ClientID == "" || in.Credentials.ClientSecret == "":
		return "", "", ErrIncomplete
	}
	state, hash := opaque.New()
	browser, browserHash := opaque.New()
	if err := s.store.AddInstall(ctx, Install{
		Hash: hash, BrowserHash: browserHash, Actor: actor, Surface: s.cfg.Surface,
		ExpiresAt: s.cfg.Clock().Add(installLifetime),
	}); err != nil {
		return "", "", err
	}
	return s.directory.InstallURL(in.Credentials, s.installRedirect(), state), browser, nil
}

func (s *Setup) installRedirect() string {
	return s.cfg.PublicURL + "/external/slack/v1/oauth/callback"
}

// FinishInstall takes over the bot token that a browser has brought a code for. state and browser are those of
// BeginInstall: of another browser they are refused with ErrState.
func (s *Setup) FinishInstall(ctx context.Context, state, browser, code string) error {
	actor, err := s.store.TakeInstall(ctx, s.cfg.Surface, opaque.Hash(state), opaque.Hash(browser), s.cfg.Clock())
	if err != nil {
		return err
	}
	if code == "" {
		return ErrInstallDenied
	}
	in, err := s.own(ctx, actor)
	if err != nil {
		return err
	}
	token, err := s.directory.Install(ctx, in.Credentials, s.installRedirect(), code)
	if err != nil {
		return err
	}
	_, err = s.Save(ctx, actor, Edit{BotToken: &token})
	return err
}

// requireSuper refuses everybody but an organization's super-admins.
func requireSuper(actor identity.Actor) error {
	if actor.Role != identity.RoleOrganizationSuperAdmin {
		return org.ErrForbidden
	}
	return nil
}

// Start finds out which workspace the server's settings name, and goes on trying while the surface cannot be reached.
func (s *Setup) Start() {
	if !s.fromEnvironment() {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel, s.done = cancel, make(chan struct{})
	go func() {
		defer close(s.done)
		s.adopt(ctx)
	}()
}

// Stop ends what Start has begun.
func (s *Setup) Stop() {
	if s.cancel != nil {
		s.cancel()
		<-s.done
	}
}

func (s *Setup) adopt(ctx context.Context) {
	for pause := adoptPause; ; pause = min(2*pause, adoptMaxPause) {
		err := s.tryAdopt(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
			return
		case errors.Is(err, ErrManyOrganizations) || errors.Is(err, ErrConfigured):
			s.log.WarnContext(ctx, "the setting SLACK_BOT_TOKEN has no effect", "why", err)
			return
		}
		s.log.WarnContext(ctx, "the workspace of SLACK_BOT_TOKEN is not connected yet", "err", err, "again_in", pause)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (s *Setup) tryAdopt(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, adoptTimeout)
	defer cancel()
	found, err := s.directory.Identify(ctx, s.cfg.Environment)
	if err != nil {
		return err
	}
	if err := s.store.AdoptInstallation(ctx, s.cfg.Surface, found); err != nil {
		return err
	}
	s.forget()
	s.log.InfoContext(ctx, "connected by the server's settings", "surface", s.cfg.Surface, "workspace", found.Name)
	return nil
}
