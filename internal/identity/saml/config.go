package saml

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
)

const maxAttributeName = 256 // Characters.

// View is an organization's settings as shown to its administrators.
type View struct {
	Settings
	SPEntityID      string
	SPACSURL        string
	SPMetadataURL   string
	IDPCertificates []Certificate
}

// Change is a change of the settings by a super-admin. Nil fields keep their values. MetadataURL, MetadataXML and the
// three fields after them exclude each other. MetadataXML and the three fields end the reading of an address.
type Change struct {
	MetadataURL    *string // "" ends the reading of an address. The settings read from it remain.
	MetadataXML    *string
	EntityID       *string
	SSOURL         *string
	Certificates   []string // PEM or Base64.
	EmailAttribute *string
	NameAttribute  *string
	EmailDomains   []string
}

// View returns the settings of the actor's organization. If the actor is not an administrator, the error has the code
// fault.Forbidden.
func (s *Service) View(ctx context.Context, actor identity.Actor) (View, error) {
	if !actor.Role.IsAdmin() {
		return View{}, identity.ErrForbidden
	}
	settings, err := s.store.SAMLSettings(ctx, actor.OrganizationID)
	if err != nil {
		return View{}, err
	}
	return s.view(settings)
}

func (s *Service) view(settings Settings) (View, error) {
	entityID := s.entityID(settings.OrganizationID)
	view := View{
		Settings: settings, SPEntityID: entityID, SPMetadataURL: entityID,
		SPACSURL: s.acsURL(settings.OrganizationID),
	}
	certificates, err := parseCertificates(settings.Certificates)
	if err != nil {
		return View{}, err
	}
	for _, certificate := range certificates {
		view.IDPCertificates = append(view.IDPCertificates, describeCertificate(certificate))
	}
	return view, nil
}

// Change changes the settings of the actor's organization and returns them. The actor must be a super-admin. If a field
// is invalid, the error has the code fault.Invalid; if the change would break single sign-on while it is on,
// fault.Conflict.
func (s *Service) Change(ctx context.Context, actor identity.Actor, change Change) (View, error) {
	if err := actor.RequireSuperAdmin(); err != nil {
		return View{}, err
	}
	change, err := s.withMetadata(ctx, change)
	if err != nil {
		return View{}, err
	}
	now := s.sso.Now()
	return s.update(ctx, actor, actionEdit, func(settings *Settings) error {
		if settings.UpdatedAt == nil { // Set for the first time; the default is all of the organization's domains.
			settings.EmailDomains = slices.Clone(settings.MailDomains)
		}
		if err := change.apply(settings); err != nil {
			return err
		}
		settings.UpdatedAt = &now
		if change.MetadataURL != nil && settings.MetadataURL != "" {
			settings.readAt(now)
		}
		return nil
	})
}

// withMetadata returns a change with the metadata at its address, if it has one.
func (s *Service) withMetadata(ctx context.Context, change Change) (Change, error) {
	if change.MetadataURL == nil {
		return change, nil
	}
	address := strings.TrimSpace(*change.MetadataURL)
	change.MetadataURL = &address
	if address == "" {
		return change, nil
	}
	if change.MetadataXML != nil || change.single() {
		return Change{}, fault.InvalidField("idp_metadata_url", "メタデータのURLと、ほかの方法は同時に指定できません。")
	}
	text, err := s.fetchMetadata(ctx, address)
	change.MetadataXML = &text
	return change, err
}

// single reports whether the change has single fields of the identity provider.
func (c Change) single() bool { return c.EntityID != nil || c.SSOURL != nil || c.Certificates != nil }

// TurnOn requires the members of the actor's organization to sign in by single sign-on. The actor must be a
// super-admin. If the settings are incomplete, or no super-admin could still sign in with a password, the error has the
// code fault.Conflict.
func (s *Service) TurnOn(ctx context.Context, actor identity.Actor) (View, error) {
	return s.update(ctx, actor, ActionOn, func(settings *Settings) error {
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
	after, err := s.store.ChangeSAMLSettings(ctx, actor, action, func(settings *Settings) error {
		if err := change(settings); err != nil || !settings.Enabled {
			return err
		}
		return incomplete(*settings, s.sso.Now())
	})
	if err != nil {
		return View{}, err
	}
	return s.view(after)
}

// incomplete returns an error with the code fault.Conflict and the missing setting, or nil if the settings suffice for
// single sign-on.
func incomplete(settings Settings, at time.Time) error {
	certificates, err := parseCertificates(settings.Certificates)
	switch {
	case err != nil:
		return err
	case settings.EntityID == "" || settings.SSOURL == "" || len(certificates) == 0:
		return fault.Errorf(fault.Conflict, "IDプロバイダーの設定が完了していません。")
	case !anyValid(certificates, at):
		return fault.Errorf(fault.Conflict, "IDプロバイダーの証明書が有効期限内ではありません。新しい証明書を登録してください。")
	case len(settings.EmailDomains) == 0:
		return fault.Errorf(fault.Conflict, "シングルサインオンを許可するメールドメインを一つ以上選択してください。")
	}
	return nil
}

// apply applies the change to the settings, or returns the first error.
func (c Change) apply(settings *Settings) error {
	if err := c.applySource(settings); err != nil {
		return err
	}
	for _, attribute := range []struct {
		field string
		given *string
		set   *string
	}{
		{"email_attribute", c.EmailAttribute, &settings.EmailAttribute},
		{"name_attribute", c.NameAttribute, &settings.NameAttribute},
	} {
		if attribute.given == nil {
			continue
		}
		name := strings.TrimSpace(*attribute.given)
		if utf8.RuneCountInString(name) > maxAttributeName || strings.ContainsFunc(name, unicode.IsControl) {
			return fault.InvalidField(attribute.field, "属性名が正しくありません。")
		}
		*attribute.set = name
	}
	return sso.ChooseDomains(&settings.EmailDomains, settings.MailDomains, c.EmailDomains)
}

// applySource applies the fields of the identity provider, from metadata or single.
func (c Change) applySource(settings *Settings) error {
	switch {
	case c.MetadataURL != nil:
		settings.MetadataURL = *c.MetadataURL
	case c.MetadataXML != nil || c.single():
		settings.MetadataURL = ""
	}
	if settings.MetadataURL == "" {
		settings.MetadataReadAt, settings.MetadataDueAt, settings.MetadataError = nil, nil, ""
	}
	if c.MetadataXML == nil {
		return c.applyProvider(settings)
	}
	field := "idp_metadata_xml"
	if c.MetadataURL != nil {
		field = "idp_metadata_url"
	}
	if c.single() {
		return fault.InvalidField(field, "メタデータと個別の項目は同時に指定できません。")
	}
	metadata, err := readMetadata(*c.MetadataXML)
	if err != nil {
		return fault.InvalidField(field, "IDプロバイダーのメタデータとして読み取れませんでした。")
	}
	c.EntityID, c.SSOURL, c.Certificates = &metadata.entityID, &metadata.ssoURL, metadata.certificates
	if err := c.applyProvider(settings); err != nil {
		return fault.InvalidField(field, "メタデータの内容を使用できません。%s", fault.DetailOf(err))
	}
	return nil
}

func (c Change) applyProvider(settings *Settings) error {
	if c.EntityID != nil {
		if settings.EntityID = strings.TrimSpace(*c.EntityID); !validEntityID(settings.EntityID) {
			return fault.InvalidField("idp_entity_id", "エンティティIDの形式が正しくありません。")
		}
	}
	if c.SSOURL != nil {
		if settings.SSOURL = strings.TrimSpace(*c.SSOURL); !validSSOURL(settings.SSOURL) {
			return fault.InvalidField("idp_sso_url", "https:// で始まるURLを入力してください。")
		}
	}
	if c.Certificates != nil {
		certificates, err := readCertificates(c.Certificates)
		if err != nil {
			return fault.InvalidField("idp_certificates", "証明書を読み取れませんでした。RSA 2048ビット以上のX.509証明書を%d件以内で指定してください。",
				maxCertificates)
		}
		settings.Certificates = certificates
	}
	return nil
}
