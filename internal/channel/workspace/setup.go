package workspace

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/opaque"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/work"
)

// Install is an installation of the app in progress in a browser.
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
	errIncomplete = fault.Errorf(fault.Conflict,
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
	maxCredential   = 512 // In bytes.
	maxChannels     = 200
	signersMaxAge   = 5 * time.Second // Age at which cached signing secrets are read again,
	signersRetry    = time.Second     // or earlier if no secret matches a signature.
	adoptPause      = 5 * time.Second // First pause between attempts to identify the environment's workspace.
	adoptMaxPause   = time.Minute     // Longest pause.
	adoptTimeout    = 15 * time.Second
)

// SetupConfig configures a Setup.
type SetupConfig struct {
	Surface     string
	PublicURL   string              // The server's public URL, without a trailing slash.
	Environment channel.Credentials // Credentials of the workspace in the server's settings, or zero.
	HasKey      bool                // There is a key to encrypt credentials.
	Clock       func() time.Time
}

// Setup connects workspaces with organizations. It implements channel.Installations.
type Setup struct {
	cfg       SetupConfig
	store     Store
	directory Directory
	log       *slog.Logger
	group     *work.Group

	mu      sync.Mutex // Guards the fields below; held while the signing secrets are read.
	signers []Signer
	readAt  time.Time
}

// Signer is a signing secret with its installation.
type Signer struct {
	InstallationID uuid.UUID // Nil until the environment's workspace is identified.
	Secret         string
}

// NewSetup returns a Setup. The caller must call Start.
func NewSetup(cfg SetupConfig, store Store, directory Directory, log *slog.Logger) *Setup {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	return &Setup{cfg: cfg, store: store, directory: directory, log: log, group: work.NewGroup(log)}
}

// fromEnvironment reports whether the server's settings configure a workspace.
func (s *Setup) fromEnvironment() bool { return s.cfg.Environment.BotToken != "" }

func (s *Setup) FindInstallation(
	ctx context.Context, surface, enterpriseID, teamID string,
) (channel.Installation, error) {
	return s.complete(s.store.FindInstallation(ctx, surface, enterpriseID, teamID))
}

func (s *Setup) Installation(ctx context.Context, id uuid.UUID) (channel.Installation, error) {
	return s.complete(s.store.Installation(ctx, id))
}

func (s *Setup) EraseInstallation(ctx context.Context, id uuid.UUID) error {
	s.forget()
	return s.store.EraseInstallation(ctx, id)
}

// complete adds the credentials to an environment installation. It ignores the row if the settings were removed.
func (s *Setup) complete(in channel.Installation, err error) (channel.Installation, error) {
	if err != nil || in.Source != channel.SourceEnvironment {
		return in, err
	}
	if !s.fromEnvironment() {
		return channel.Installation{}, channel.ErrNotInstalled
	}
	in.Credentials = s.cfg.Environment
	return in, nil
}

// Signers returns the signing secrets of events. With fresh, it reads secrets older than a second again, for a
// signature that matches no cached secret. If the database is unavailable, it returns the cached secrets.
func (s *Setup) Signers(ctx context.Context, fresh bool) ([]Signer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	age := s.cfg.Clock().Sub(s.readAt)
	if age < signersRetry || !fresh && age < signersMaxAge {
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
		case in.Source == channel.SourceEnvironment:
			signers[0].InstallationID = in.ID
		case in.Credentials.SigningSecret != "":
			signers = append(signers, Signer{InstallationID: in.ID, Secret: in.Credentials.SigningSecret})
		}
	}
	s.signers, s.readAt = signers, s.cfg.Clock()
	return signers, nil
}

// forget invalidates the cached signing secrets.
func (s *Setup) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readAt = time.Time{}
}

// SocketInstallations returns the installations that use Socket Mode, with their app tokens.
func (s *Setup) SocketInstallations(ctx context.Context) ([]channel.Installation, error) {
	all, err := s.store.ListInstallations(ctx, s.cfg.Surface)
	if err != nil {
		return nil, err
	}
	var found []channel.Installation
	for _, in := range all {
		if in, err := s.complete(in, nil); err == nil && in.Connected() && in.Credentials.AppToken != "" {
			found = append(found, in)
		}
	}
	return found, nil
}

// SetupView is an organization's installation as shown to its administrators.
type SetupView struct {
	Installation channel.Installation // Zero without an installation.
	HasKey       bool                 // The server can store credentials.
	SocketOnly   bool                 // The public URL is not https://, so that Slack can send events by Socket Mode only.
}

// View returns the installation for administrators.
func (s *Setup) View(ctx context.Context, actor identity.Actor) (SetupView, error) {
	if !actor.Role.IsAdmin() {
		return SetupView{}, org.ErrForbidden
	}
	in, err := s.own(ctx, actor)
	if errors.Is(err, channel.ErrNotInstalled) {
		err = nil
	}
	return SetupView{Installation: in, HasKey: s.cfg.HasKey, SocketOnly: s.socketOnly()}, err
}

// own returns the installation of the actor's organization.
func (s *Setup) own(ctx context.Context, actor identity.Actor) (channel.Installation, error) {
	return s.complete(s.store.OrganizationInstallation(ctx, actor.OrganizationID, s.cfg.Surface))
}

// SetupEdit is a change of the setup. Nil keeps a value; an empty credential removes it.
type SetupEdit struct {
	BotToken, SigningSecret, AppToken, ClientID, ClientSecret *string
	Policy                                                    *channel.Policy
}

// fields returns the credentials of an edit by their names in the API.
func (e SetupEdit) fields() map[string]*string {
	return map[string]*string{
		"bot_token": e.BotToken, "signing_secret": e.SigningSecret, "app_token": e.AppToken,
		"client_id": e.ClientID, "client_secret": e.ClientSecret,
	}
}

// Save changes the setup of the actor's organization. It first tests a new bot token at the surface, which identifies
// its workspace.
func (s *Setup) Save(ctx context.Context, actor identity.Actor, e SetupEdit) (SetupView, error) {
	if err := actor.RequireSuperAdmin(); err != nil {
		return SetupView{}, err
	}
	credentials := false
	for name, value := range e.fields() {
		if value == nil {
			continue
		}
		credentials = true
		*value = strings.TrimSpace(*value)
		if len(*value) > maxCredential || strings.ContainsFunc(*value, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return SetupView{}, fault.InvalidField(name, "使えない文字が含まれているか、長すぎます。Slackの画面からコピーし直してください。")
		}
	}
	if e.Policy != nil && len(e.Policy.Channels) > maxChannels {
		return SetupView{}, fault.InvalidField("policy.channels", "チャンネルは%d件まで指定できます。", maxChannels)
	}
	var found Workspace
	if e.BotToken != nil && *e.BotToken != "" {
		var err error
		if found, err = s.directory.Identify(ctx, channel.Credentials{BotToken: *e.BotToken}); err != nil {
			return SetupView{}, err
		}
	}
	err := s.store.ChangeInstallation(ctx, actor, s.cfg.Surface, func(in *channel.Installation) error {
		if credentials && in.Source == channel.SourceEnvironment && s.fromEnvironment() {
			return ErrFromEnvironment
		}
		e.apply(in, found)
		return nil
	})
	if err != nil {
		return SetupView{}, err
	}
	s.forget()
	return s.View(ctx, actor)
}

// apply changes an installation. found is the workspace of a new bot token.
func (e SetupEdit) apply(in *channel.Installation, found Workspace) {
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
			in.Source = channel.SourceStored
		}
	}
	if e.BotToken != nil {
		found.Apply(in)
	}
	if e.Policy != nil {
		in.Policy = *e.Policy
		in.Policy.Channels = slices.Compact(slices.Sorted(slices.Values(in.Policy.Channels)))
	}
}

// Remove deletes the installation of the actor's organization with its credentials, links and conversations.
func (s *Setup) Remove(ctx context.Context, actor identity.Actor) error {
	if err := actor.RequireSuperAdmin(); err != nil {
		return err
	}
	in, err := s.own(ctx, actor)
	if err != nil {
		return err
	}
	if in.Source == channel.SourceEnvironment {
		return ErrFromEnvironment
	}
	defer s.forget()
	return s.store.RemoveInstallation(ctx, org.AuditActorOf(actor), actor.OrganizationID, s.cfg.Surface)
}

// socketOnly reports whether Slack cannot send events to the server's public URL.
func (s *Setup) socketOnly() bool { return strings.HasPrefix(s.cfg.PublicURL, "http://") }

// Test tests the requirements of the installation of the actor's organization.
func (s *Setup) Test(ctx context.Context, actor identity.Actor) ([]Check, error) {
	if err := actor.RequireSuperAdmin(); err != nil {
		return nil, err
	}
	in, err := s.own(ctx, actor)
	if err != nil {
		return nil, err
	}
	checks := s.directory.Check(ctx, in)
	if s.socketOnly() && in.Credentials.AppToken == "" {
		checks = append(checks, Check{Name: "address", Detail: "公開URLがhttp://のため、Slackからイベントを受け取れません。" +
			"https://のURLにするか、App-Level Tokenを登録してSocket Modeを使ってください。"})
	}
	return checks, nil
}

// BeginInstall returns the address at which a browser installs the app, and the value of the browser's cookie until it
// returns.
func (s *Setup) BeginInstall(ctx context.Context, actor identity.Actor) (url, browser string, err error) {
	if err := actor.RequireSuperAdmin(); err != nil {
		return "", "", err
	}
	in, err := s.own(ctx, actor)
	switch {
	case err != nil && !errors.Is(err, channel.ErrNotInstalled):
		return "", "", err
	case in.Source == channel.SourceEnvironment:
		return "", "", ErrFromEnvironment
	case in.Credentials.ClientID == "" || in.Credentials.ClientSecret == "":
		return "", "", errIncomplete
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

// FinishInstall exchanges the code of the redirect for a bot token and stores it. state and browser are the values of
// BeginInstall. FinishInstall returns ErrState for another browser.
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
	_, err = s.Save(ctx, actor, SetupEdit{BotToken: &token})
	return err
}

// Start identifies the workspace of the server's settings in the background, and retries while the surface is
// unreachable.
func (s *Setup) Start() {
	if s.fromEnvironment() {
		s.group.Go(s.adopt)
	}
}

// Stop ends the work of Start.
func (s *Setup) Stop() { s.group.Stop() }

func (s *Setup) adopt(ctx context.Context) {
	for failures := 1; ; failures++ {
		err := s.tryAdopt(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
			return
		case errors.Is(err, ErrManyOrganizations) || errors.Is(err, ErrConfigured):
			s.log.WarnContext(ctx, "channel: SLACK_BOT_TOKEN ignored", "why", err)
			return
		}
		pause := work.Backoff(failures, adoptPause, adoptMaxPause)
		s.log.WarnContext(ctx, "channel: workspace of SLACK_BOT_TOKEN not identified, retrying", "err", err, "again_in", pause)
		work.Sleep(ctx, pause)
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
	s.log.InfoContext(ctx, "channel: workspace connected by the server's settings", "surface", s.cfg.Surface,
		"workspace", found.Name)
	return nil
}
