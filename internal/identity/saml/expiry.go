package saml

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/mail"
	"github.com/tsumugi-ai/tsumugi/internal/timeout"
)

// warningDays are the times of the warnings, in days before the end of the certificates, the last warning first.
var warningDays = []int{1, 7, 30}

// Provider has the certificates of the identity provider of an organization whose members sign in by SAML.
type Provider struct {
	OrganizationID   uuid.UUID
	OrganizationName string
	Certificates     [][]byte // DER.
}

// Warning is one of the warnings of an organization's administrators.
type Warning struct {
	OrganizationID uuid.UUID
	ExpiresAt      time.Time // The end of the certificate that is valid longest.
	Days           int       // One of warningDays.
}

// Administrator is a recipient of a Warning.
type Administrator struct {
	ID    uuid.UUID
	Email string
	Name  string
}

// WarnOfExpiry sends mails to the administrators of organizations whose members soon cannot sign in, because the
// certificates of the identity provider expire: 30 days, 7 days and 1 day before. Each administrator receives each
// warning once, also if several servers call WarnOfExpiry. A mail that cannot be sent is sent by a later call.
func (s *Service) WarnOfExpiry(ctx context.Context, mailer mail.Sender) error {
	providers, err := s.store.SAMLProviders(ctx)
	if err != nil {
		return err
	}
	var failures []error
	for _, provider := range providers {
		if warning, due := provider.warning(s.sso.Now()); due {
			failures = append(failures, s.warn(ctx, mailer, provider.OrganizationName, warning))
		}
	}
	return errors.Join(failures...)
}

// warning returns the warning that is due at a time, if any. It is the last one if the time of several has passed.
func (p Provider) warning(now time.Time) (w Warning, due bool) {
	end := CertificateEnd(p.Certificates)
	for _, days := range warningDays {
		if now.Before(end) && !now.Before(end.AddDate(0, 0, -days)) {
			return Warning{p.OrganizationID, end, days}, true
		}
	}
	return w, false
}

// warn sends a warning to the administrators who have not received it.
func (s *Service) warn(ctx context.Context, mailer mail.Sender, organization string, warning Warning) error {
	recipients, err := s.store.ClaimWarning(ctx, warning, s.sso.Now())
	if err != nil {
		return err
	}
	var failures []error
	for _, to := range recipients {
		err := mailer.Send(ctx, mail.CertificateWarning{
			Email: to.Email, Name: to.Name, Organization: organization, ExpiresAt: warning.ExpiresAt,
		})
		if err == nil {
			continue
		}
		failures = append(failures, fmt.Errorf("warning of member %s: %w", to.ID, err))
		if fault.CodeOf(err) != fault.Invalid { // An invalid address remains invalid.
			// Even if the server is stopping, so that a later call sends it again.
			release := timeout.Call(context.WithoutCancel(ctx))
			failures = append(failures, s.store.ReleaseWarning(release, warning, to.ID))
		}
	}
	return errors.Join(failures...)
}
