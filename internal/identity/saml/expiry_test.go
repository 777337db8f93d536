package saml_test

import (
	"context"
	"io"
	stdmail "net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/saml"
	"github.com/tsumugi-ai/tsumugi/internal/identity/saml/samltest"
	"github.com/tsumugi-ai/tsumugi/internal/mail"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// mailFolder receives mails.
type mailFolder struct {
	*mail.Mailer
	dir string
}

func newMailFolder(t *testing.T) *mailFolder {
	t.Helper()
	f := &mailFolder{dir: filepath.Join(t.TempDir(), "mail")}
	var err error
	f.Mailer, err = mail.New(mail.Config{Folder: f.dir, Console: io.Discard, PublicURL: publicURL})
	must.Succeed(t, err)
	return f
}

// recipients removes the mails, and returns the addresses of their recipients, sorted.
func (f *mailFolder) recipients(t *testing.T) (all []string) {
	t.Helper()
	files := must.Get(filepath.Glob(filepath.Join(f.dir, "*.eml")))(t)
	for _, name := range files {
		file := must.Get(os.Open(name))(t) //nolint:gosec // The folder is the test's.
		message := must.Get(stdmail.ReadMessage(file))(t)
		must.Succeed(t, file.Close())
		to := must.Get(message.Header.AddressList("To"))(t)
		all = append(all, to[0].Address)
		must.Succeed(t, os.Remove(name))
	}
	slices.Sort(all)
	return all
}

// downMailer is a mail server that does not accept mails.
type downMailer struct{}

func (downMailer) Send(context.Context, mail.Message) error {
	return fault.Errorf(fault.Unavailable, "down")
}

// TestAdministratorsAreWarnedOfExpiry: 30, 7 and 1 days before the certificate of the identity provider expires, each
// administrator receives one mail, even if several servers look for due warnings.
func TestAdministratorsAreWarnedOfExpiry(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	second := f.member(f.org, "second@corp.example", identity.RoleOrganizationAdmin, identity.AuthFederated)
	suspended := f.member(f.org, "suspended@corp.example", identity.RoleOrganizationAdmin, identity.AuthFederated)
	f.exec(`UPDATE users SET state = 'inactive' WHERE id = $1`, suspended.ID)
	stranger := f.organization("other.example") // Uses passwords.
	f.configure(actor(f.member(stranger, "admin@other.example", identity.RoleOrganizationSuperAdmin, identity.AuthCognito)))
	mails := newMailFolder(t)
	other := saml.New(f.providers, f.db, f.sso)
	end := f.idp.Certificate.NotAfter
	at := func(before time.Duration) { f.clock.pass(end.Add(-before).Sub(f.clock.now())) }
	check := func(before time.Duration, want ...string) {
		t.Helper()
		at(before)
		var calls sync.WaitGroup
		for range 4 {
			for _, service := range []*saml.Service{f.saml, other} {
				calls.Go(func() {
					if err := service.WarnOfExpiry(t.Context(), mails); err != nil {
						t.Error(err)
					}
				})
			}
		}
		calls.Wait()
		if got := mails.recipients(t); !slices.Equal(got, want) {
			t.Errorf("%s before the end: %v", before, got)
		}
	}
	const day = 24 * time.Hour
	check(31 * day)

	// A mail that could not be sent is sent later.
	at(30*day - time.Minute)
	if err := f.saml.WarnOfExpiry(t.Context(), downMailer{}); err == nil || !strings.Contains(err.Error(), second.ID.String()) {
		t.Errorf("got %v", err)
	}
	both := []string{f.admin.Email, second.Email}
	check(30*day-2*time.Minute, both...)
	check(8 * day)
	check(6*day, both...)
	check(2 * day)
	late := f.member(f.org, "late@corp.example", identity.RoleOrganizationAdmin, identity.AuthFederated)
	check(36*time.Hour, late.Email)
	check(time.Hour, f.admin.Email, late.Email, second.Email)
	check(-time.Hour)

	// The next certificate has its own warnings. If the times of several have passed, only the last one is sent.
	key, certificate, err := samltest.NewKeyValid(end.AddDate(0, -1, 0), end.AddDate(0, 0, 5))
	must.Succeed(t, err)
	f.idp.Key, f.idp.Certificate = key, certificate
	must.Succeed(t, f.db.RefreshSAMLSettings(t.Context(), saml.MetadataReading{OrganizationID: f.org}, func(s *saml.Settings) error {
		s.Certificates = append(s.Certificates, certificate.Raw)
		return nil
	}))
	check(-2*time.Hour, f.admin.Email, late.Email, second.Email)
	check(-3 * time.Hour)
}
