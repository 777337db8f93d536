package oidc

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/oauth2"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
)

const (
	maxText   = 512 // Characters of a client id and of a claim name.
	maxValues = 20  // Scopes and acr_values.
	maxMaxAge = 30 * 24 * 60 * 60
)

// prompts are the values of prompt that a person can answer.
var prompts = []string{"", "login", "select_account", "consent"}

// View is an organization's settings as shown to its administrators. ClientSecret is not set.
type View struct {
	Settings
	RedirectURL string
	LogoutURL   string
	HasSecret   bool
}

// Change is a change of the settings by a super-admin. Nil fields keep their values.
type Change struct {
	Issuer       *string
	ClientID     *string
	ClientSecret *string // "" removes it.
	Scopes       []string
	EmailClaim   *string
	NameClaim    *string
	GroupsClaim  *string
	Prompt       *string
	ACRValues    []string
	MaxAge       *int
	EmailDomains []string
}

// View returns the settings of the actor's organization. If the actor is not an administrator, the error has the code
// fault.Forbidden.
func (s *Service) View(ctx context.Context, actor identity.Actor) (View, error) {
	if !actor.Role.IsAdmin() {
		return View{}, identity.ErrForbidden
	}
	settings, err := s.store.OIDCSettings(ctx, actor.OrganizationID)
	return s.view(withDefaults(settings)), err
}

// withDefaults returns the settings with the initial values if they were never set.
func withDefaults(settings Settings) Settings {
	if settings.UpdatedAt == nil {
		settings.Scopes = []string{"openid", "email", "profile"}
		settings.EmailClaim, settings.NameClaim = "email", "name"
		settings.EmailDomains = slices.Clone(settings.MailDomains)
	}
	return settings
}

func (s *Service) view(settings Settings) View {
	view := View{
		Settings: settings, RedirectURL: s.redirectURL(settings.OrganizationID),
		LogoutURL: s.url(settings.OrganizationID, "logout"), HasSecret: settings.ClientSecret != "",
	}
	view.ClientSecret = ""
	return view
}

// Change changes the settings of the actor's organization and returns them. The actor must be a super-admin. A new issuer
// must have a valid discovery document and keys. If a field is invalid, the error has the code fault.Invalid; if the
// change would break single sign-on while it is on, fault.Conflict.
func (s *Service) Change(ctx context.Context, actor identity.Actor, change Change) (View, error) {
	if err := actor.RequireSuperAdmin(); err != nil {
		return View{}, err
	}
	before, err := s.store.OIDCSettings(ctx, actor.OrganizationID)
	if err != nil {
		return View{}, err
	}
	after := withDefaults(before)
	if err := change.apply(&after); err != nil {
		return View{}, err
	}
	if after.Issuer != before.Issuer {
		if err := s.probe(ctx, after); err != nil {
			return View{}, fault.InvalidField("issuer", "%s", describe(err))
		}
	}
	now := s.sso.Now()
	return s.update(ctx, actor, actionEdit, func(settings *Settings) error {
		if settings.Issuer != before.Issuer {
			return fault.Errorf(fault.Conflict, "設定がほかの人によって変更されました。もう一度確認してください。")
		}
		*settings = withDefaults(*settings)
		if err := change.apply(settings); err != nil {
			return err
		}
		settings.UpdatedAt = &now
		return nil
	})
}

// probe reads the discovery document and the keys of a provider.
func (s *Service) probe(ctx context.Context, settings Settings) error {
	within, cancel := context.WithTimeout(ctx, providerTimeout)
	defer cancel()
	p, err := s.discover(within, settings, s.providers.Transport())
	if err != nil {
		return err
	}
	return p.checkKeys(within)
}

// TurnOn requires the members of the actor's organization to sign in by OpenID Connect, which replaces SAML. The actor
// must be a super-admin. If the settings are incomplete, the provider is away, or no super-admin could still sign in with
// a password, the error has the code fault.Conflict.
func (s *Service) TurnOn(ctx context.Context, actor identity.Actor) (View, error) {
	if err := actor.RequireSuperAdmin(); err != nil {
		return View{}, err
	}
	before, err := s.store.OIDCSettings(ctx, actor.OrganizationID)
	if err != nil {
		return View{}, err
	}
	if err := incomplete(before); err != nil {
		return View{}, err
	}
	if err := s.probe(ctx, before); err != nil {
		return View{}, fault.Wrap(err, fault.Conflict, "%s", describe(err))
	}
	return s.update(ctx, actor, actionOn, func(settings *Settings) error {
		settings.Enabled = true
		return nil
	})
}

// TurnOff lets the members of the actor's organization sign in with passwords. The actor must be a super-admin.
func (s *Service) TurnOff(ctx context.Context, actor identity.Actor) (View, error) {
	return s.update(ctx, actor, actionOff, func(settings *Settings) error {
		settings.Enabled = false
		return nil
	})
}

// update changes the settings and returns the new ones. They must be complete while single sign-on is on. The actor must
// be a super-admin.
func (s *Service) update(
	ctx context.Context, actor identity.Actor, action Action, change func(*Settings) error,
) (View, error) {
	if err := actor.RequireSuperAdmin(); err != nil {
		return View{}, err
	}
	after, err := s.store.ChangeOIDCSettings(ctx, actor, action, func(settings *Settings) error {
		if err := change(settings); err != nil || !settings.Enabled {
			return err
		}
		return incomplete(*settings)
	})
	return s.view(withDefaults(after)), err
}

// incomplete returns an error with the code fault.Conflict and the missing setting, or nil if the settings suffice for
// single sign-on.
func incomplete(settings Settings) error {
	switch {
	case settings.Issuer == "" || settings.ClientID == "":
		return fault.Errorf(fault.Conflict, "IDプロバイダーの設定が完了していません。")
	case len(settings.EmailDomains) == 0:
		return fault.Errorf(fault.Conflict, "シングルサインオンを許可するメールドメインを一つ以上選択してください。")
	}
	return nil
}

// Check is the result of one step of a test.
type Check struct {
	Name   string // discovery, keys or client.
	OK     bool
	Detail string // The reason of a failure, in Japanese.
}

// Test tests the saved settings of the actor's organization: the discovery document, the keys, and whether the provider
// accepts the client and its secret. It ends at the first failure. The actor must be a super-admin. If the settings are
// incomplete, the error has the code fault.Conflict.
func (s *Service) Test(ctx context.Context, actor identity.Actor) ([]Check, error) {
	if err := actor.RequireSuperAdmin(); err != nil {
		return nil, err
	}
	settings, err := s.store.OIDCSettings(ctx, actor.OrganizationID)
	if err == nil {
		err = incomplete(settings)
	}
	if err != nil {
		return nil, err
	}
	return s.test(ctx, settings), nil
}

func (s *Service) test(ctx context.Context, settings Settings) (checks []Check) {
	within, cancel := context.WithTimeout(ctx, providerTimeout)
	defer cancel()
	p, err := s.discover(within, settings, s.providers.Transport())
	if err != nil {
		return append(checks, Check{Name: "discovery", Detail: describe(err)})
	}
	checks = append(checks, Check{Name: "discovery", OK: true})
	if err := p.checkKeys(within); err != nil {
		return append(checks, Check{Name: "keys", Detail: describe(err)})
	}
	checks = append(checks, Check{Name: "keys", OK: true})
	// A provider checks the client before the code, which is invalid here.
	_, err = s.client(p).Exchange(p.context(within), "test", oauth2.VerifierOption(oauth2.GenerateVerifier()))
	refused, responded := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case !responded:
		return append(checks, Check{
			Name:   "client",
			Detail: describe(p.fail(err, "the token endpoint cannot be used", "トークンエンドポイントの応答を読み取れません。")),
		})
	case refused.ErrorCode == "invalid_client" || refused.ErrorCode == "unauthorized_client" ||
		refused.Response.StatusCode == http.StatusUnauthorized:
		return append(checks, Check{
			Name: "client", Detail: "クライアントIDまたはクライアントシークレットを、IDプロバイダーが受け付けません。",
		})
	}
	return append(checks, Check{Name: "client", OK: true})
}

// Reachable returns nil if the provider of an organization has a valid discovery document and keys, and otherwise the
// reason in Japanese.
func (s *Service) Reachable(ctx context.Context, settings Settings) error {
	if err := s.probe(ctx, settings); err != nil {
		return fault.Wrap(err, fault.Unavailable, "%s", describe(err))
	}
	return nil
}

// apply applies the change to the settings, or returns the first error.
func (c Change) apply(settings *Settings) error {
	if c.Issuer != nil {
		issuer := strings.TrimSpace(*c.Issuer)
		if issuer == "" || len(issuer) > maxIssuer {
			return fault.InvalidField("issuer", "発行者のURLを入力してください。")
		}
		if issuer != settings.Issuer && settings.ClientSecret != "" && c.ClientSecret == nil {
			return fault.InvalidField("client_secret",
				"発行者を変更するときは、新しいクライアントシークレットも入力してください。")
		}
		settings.Issuer = issuer
	}
	for _, text := range []struct {
		field    string
		given    *string
		set      *string
		required bool
	}{
		{"client_id", c.ClientID, &settings.ClientID, true},
		{"client_secret", c.ClientSecret, &settings.ClientSecret, false},
		{"email_claim", c.EmailClaim, &settings.EmailClaim, true},
		{"name_claim", c.NameClaim, &settings.NameClaim, false},
		{"groups_claim", c.GroupsClaim, &settings.GroupsClaim, false},
	} {
		if text.given == nil {
			continue
		}
		value := strings.TrimSpace(*text.given)
		switch {
		case value == "" && text.required:
			return fault.InvalidField(text.field, "値を入力してください。")
		case !plain(value):
			return fault.InvalidField(text.field, "%d文字以内で、制御文字を含まない値を入力してください。", maxText)
		}
		*text.set = value
	}
	if err := c.applyRequest(settings); err != nil {
		return err
	}
	return sso.ChooseDomains(&settings.EmailDomains, settings.MailDomains, c.EmailDomains)
}

// plain reports whether a text is short and has no control characters.
func plain(text string) bool {
	return utf8.ValidString(text) && utf8.RuneCountInString(text) <= maxText && !strings.ContainsFunc(text, unicode.IsControl)
}

// applyRequest applies the parameters of the authentication request.
func (c Change) applyRequest(settings *Settings) error {
	if c.Prompt != nil {
		if !slices.Contains(prompts, *c.Prompt) {
			return fault.InvalidField("prompt", "promptには、login、select_account、consentのいずれかを指定してください。")
		}
		settings.Prompt = *c.Prompt
	}
	if c.MaxAge != nil {
		if *c.MaxAge < 0 || *c.MaxAge > maxMaxAge {
			return fault.InvalidField("max_age", "max_ageには、0から%dまでの秒数を指定してください。", maxMaxAge)
		}
		settings.MaxAge = *c.MaxAge
	}
	for _, list := range []struct {
		field string
		given []string
		set   *[]string
	}{{"scopes", c.Scopes, &settings.Scopes}, {"acr_values", c.ACRValues, &settings.ACRValues}} {
		if list.given == nil {
			continue
		}
		bad := func(value string) bool {
			return value == "" || !plain(value) || strings.ContainsFunc(value, unicode.IsSpace)
		}
		if len(list.given) > maxValues || slices.ContainsFunc(list.given, bad) {
			return fault.InvalidField(list.field, "空白を含まない値を、%d件以内で指定してください。", maxValues)
		}
		*list.set = slices.Clone(list.given)
	}
	if !slices.Contains(settings.Scopes, "openid") {
		return fault.InvalidField("scopes", "スコープにopenidを含めてください。")
	}
	return nil
}
