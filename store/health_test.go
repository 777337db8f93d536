package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity/saml/samltest"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestLastBackupIsTheNewestOne: a backup that was made while a clock was ahead does not hide that later ones are old.
func TestLastBackupIsTheNewestOne(t *testing.T) {
	t.Parallel()
	db, now := storetest.New(t), time.Now().UTC().Truncate(time.Second)
	for _, at := range []time.Time{now.AddDate(1, 0, 0), now} {
		must.Succeed(t, db.RecordBackup(t.Context(), at))
	}
	if got, err := db.LastBackup(t.Context()); err != nil || !got.Equal(now) {
		t.Errorf("the last backup ended at %v, %v, want %v", got, err, now)
	}
}

// TestUnreadableCertificateHidesNoEnd: the certificate of one organization that cannot be read does not change which end
// is the first one of the others.
func TestUnreadableCertificateHidesNoEnd(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := time.Now().UTC().Truncate(time.Second).AddDate(1, 0, 0)
	certificate := func(end time.Time) []byte {
		_, c, err := samltest.NewKeyValid(time.Now(), end)
		must.Succeed(t, err)
		return c.Raw
	}
	for i, der := range [][]byte{certificate(first), []byte("unreadable"), certificate(first.AddDate(1, 0, 0))} {
		f.exec(t, `
			WITH o AS (INSERT INTO organizations (id, name, auth_type) VALUES ($1, '会社', 'federated_idp') RETURNING id)
			INSERT INTO saml_configs
			SELECT id, 'https://idp.example', 'https://idp.example/sso', ARRAY[$2::bytea], '', '', '{}', now() FROM o`,
			uuid.UUID{15: byte(i + 1)}, der)
	}
	if got, err := f.FirstCertificateEnd(t.Context()); err != nil || !got.Equal(first) {
		t.Errorf("the first certificate ends at %v, %v, want %v", got, err, first)
	}
}
