package saml

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/dial"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
)

const (
	metadataTimeout = 10 * time.Second // For one reading.
	metadataAge     = 24 * time.Hour   // The metadata of an address is read again after this time.
	metadataRetry   = time.Hour        // After a failed reading.
)

// MetadataReading is a due reading of the metadata at an address.
type MetadataReading struct {
	OrganizationID uuid.UUID
	URL            string
}

// RefreshMetadata reads the due metadata of organizations that have registered its address, and updates their settings.
// If a reading fails, the settings remain as they are, and the reason is stored and returned.
func (s *Service) RefreshMetadata(ctx context.Context) error {
	now := s.sso.Now()
	due, err := s.store.ClaimMetadataReadings(ctx, now, now.Add(metadataAge))
	if err != nil {
		return err
	}
	var failures []error
	for _, reading := range due {
		failures = append(failures, s.refreshMetadata(ctx, reading))
	}
	return errors.Join(failures...)
}

// refreshMetadata executes a reading.
func (s *Service) refreshMetadata(ctx context.Context, reading MetadataReading) error {
	text, err := s.fetchMetadata(ctx, reading.URL)
	if err == nil {
		err = s.store.RefreshSAMLSettings(ctx, reading, func(settings *Settings) error {
			return s.applyReading(settings, text)
		})
	}
	if err == nil || fault.CodeOf(err) != fault.Invalid {
		return err
	}
	err = fmt.Errorf("metadata of organization %s: %w", reading.OrganizationID, err)
	return errors.Join(err, s.store.FailMetadataReading(ctx, reading, fault.DetailOf(err), s.sso.Now().Add(metadataRetry)))
}

// CheckMetadata returns nil if the settings have no address of metadata, or those at the address can be applied, and
// otherwise the reason in Japanese. It changes nothing.
func (s *Service) CheckMetadata(ctx context.Context, settings Settings) error {
	if settings.MetadataURL == "" {
		return nil
	}
	text, err := s.fetchMetadata(ctx, settings.MetadataURL)
	if err != nil {
		return err
	}
	return s.applyReading(&settings, text)
}

// applyReading applies metadata that was read again to settings. An address cannot replace the identity provider by
// another one, because a person's link to a member belongs to the provider.
func (s *Service) applyReading(settings *Settings, text string) error {
	before := settings.EntityID
	if err := (Change{MetadataURL: &settings.MetadataURL, MetadataXML: &text}).apply(settings); err != nil {
		return err
	}
	now := s.sso.Now()
	settings.readAt(now)
	if settings.EntityID != before {
		return fault.Errorf(fault.Invalid,
			"メタデータのエンティティIDが登録時と異なるため、反映していません。IDプロバイダーを変更した場合は、設定を登録し直してください。")
	}
	if !settings.Enabled {
		return nil
	}
	if err := incomplete(*settings, now); err != nil {
		return fault.Wrap(err, fault.Invalid, "%s", fault.DetailOf(err))
	}
	return nil
}

// readAt records a successful reading of the metadata.
func (s *Settings) readAt(at time.Time) {
	due := at.Add(metadataAge)
	s.MetadataReadAt, s.MetadataDueAt, s.MetadataError = &at, &due, ""
}

// fetchMetadata returns the metadata at an address. If it cannot be read, the error has the code fault.Invalid and gives
// the reason.
func (s *Service) fetchMetadata(ctx context.Context, address string) (string, error) {
	if err := s.providers.CheckURL("メタデータ", address); err != nil {
		return "", metadataError(err)
	}
	ctx, cancel := context.WithTimeout(ctx, metadataTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", metadataError(err)
	}
	response, err := s.providers.Transport().RoundTrip(request) // Redirects are not followed.
	if err != nil {
		return "", metadataError(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return "", fault.InvalidField("idp_metadata_url", "メタデータを読み取れませんでした。URLへの応答は「%s」でした。", response.Status)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxMetadata+1))
	if err != nil {
		return "", metadataError(err)
	}
	if len(text) > maxMetadata {
		return "", fault.InvalidField("idp_metadata_url", "メタデータが256 KBを超えています。")
	}
	return string(text), nil
}

// metadataError returns the error of an address whose metadata cannot be read.
func metadataError(err error) error {
	advice := "メタデータのURLに接続できません。URLと、サーバーからの接続を確認してください。"
	if rejection, ok := errors.AsType[*sso.Rejection](err); ok {
		advice = rejection.Advice
	} else if errors.Is(err, dial.ErrForbidden) {
		advice = sso.ErrInside("メタデータ").Advice
	}
	failure := fault.Wrap(err, fault.Invalid, "%s", advice)
	failure.Fields = []fault.FieldError{{Field: "idp_metadata_url", Message: advice}}
	return failure
}
