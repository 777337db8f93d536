package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/internal/identity/saml"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/secret"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// keys returns a keyring parsed from the format of the setting.
func keys(t *testing.T, keys ...string) secret.Keyring {
	t.Helper()
	var k secret.Keyring
	must.Succeed(t, k.UnmarshalText([]byte(strings.Join(keys, ","))))
	return k
}

// dump returns all rows of all tables as text.
func dump(t *testing.T, f *fixture) string {
	t.Helper()
	conn := must.Get(pgx.Connect(t.Context(), f.dsn))(t)
	defer func() { _ = conn.Close(t.Context()) }()
	rows := must.Get(conn.Query(t.Context(), `
		SELECT format('SELECT coalesce(string_agg(t::text, E''\n''), '''') FROM %I.%I t', schemaname, tablename)
		FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`))(t)
	queries := must.Get(pgx.CollectRows(rows, pgx.RowTo[string]))(t)
	var all strings.Builder
	for _, query := range queries {
		var text string
		must.Succeed(t, conn.QueryRow(t.Context(), query).Scan(&text))
		all.WriteString(text + "\n")
	}
	return all.String()
}

// secretsOf stores one secret of each kind, each prefixed with word, and returns a function that reads them all.
func secretsOf(t *testing.T, db *store.DB, word string) func(*store.DB) ([]string, error) {
	t.Helper()
	now := time.Now()
	must.Succeed(t,
		db.AddFirstSAMLKey(t.Context(), saml.Key{PrivateKey: word + "saml", Certificate: []byte{1}, CreatedAt: now}))
	_, err := db.ExtensionRelease(t.Context(), [32]byte{1}, func() (string, error) { return word + "crx", nil })
	must.Succeed(t, err)
	must.Succeed(t,
		db.AddFirstPoolKey(t.Context(), pool.Key{ID: "1", PrivateKey: word + "pool", CreatedAt: now, ActiveFrom: now}))
	must.Succeed(t, db.RotatePoolKey(t.Context(), pool.Key{
		ID: "2", PrivateKey: word + "next", CreatedAt: now, ActiveFrom: now.Add(time.Second),
	}, now.Add(time.Hour)))
	return func(db *store.DB) ([]string, error) {
		key, err := db.SAMLKey(t.Context())
		if err != nil {
			return nil, err
		}
		release, err := db.ExtensionRelease(t.Context(), [32]byte{1}, func() (string, error) { return "", errors.New("lost") })
		if err != nil {
			return nil, err
		}
		pooled, err := db.PoolKeys(t.Context())
		if err != nil {
			return nil, err
		}
		found := []string{key.PrivateKey, release.PrivateKey}
		for _, key := range pooled {
			found = append(found, key.PrivateKey)
		}
		return found, nil
	}
}

// TestR91_SecretsAreNotInADump: with a key, no table contains a secret in plain text, and reading returns the secrets.
func TestR91_SecretsAreNotInADump(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const word = "geheim-"
	db := f.WithSecrets(keys(t, secret.NewKey()))
	read := secretsOf(t, db, word)
	if text := dump(t, f); strings.Contains(text, word) || strings.Count(text, "sealed.v1.") != 4 {
		t.Errorf("the dump has a secret, or lacks sealed secrets:\n%s", text)
	}
	if found, err := read(db); err != nil || strings.Join(found, " ") != "geheim-saml geheim-crx geheim-pool geheim-next" {
		t.Errorf("got %q, %v", found, err)
	}
	if found, err := read(f.DB); err == nil || !strings.Contains(err.Error(), "TSUMUGI_SECRET_KEY") ||
		strings.Contains(err.Error(), word) {
		t.Errorf("without the key: %q, %v", found, err)
	}
	if found, err := read(f.WithSecrets(keys(t, secret.NewKey()))); err == nil {
		t.Errorf("with another key: %q", found)
	}
}

// TestR91_SecretsAreSealedWithTheFirstKey: secrets that were stored in plain text or sealed with an older key are
// readable, and a rotation seals them with the first key.
func TestR91_SecretsAreSealedWithTheFirstKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const word = "geheim-"
	read := secretsOf(t, f.DB, word)
	if !strings.Contains(dump(t, f), word) {
		t.Fatal("the dump has no secret in plain text")
	}
	old, next := secret.NewKey(), secret.NewKey()
	if _, _, err := f.RotateSecrets(t.Context(), org.Operator("root")); !errors.Is(err, secret.ErrNoKey) {
		t.Errorf("without a key: %v", err)
	}
	for _, step := range []struct {
		db     *store.DB
		sealed int
	}{
		{f.WithSecrets(keys(t, old)), 4},
		{f.WithSecrets(keys(t, old)), 0},
		{f.WithSecrets(keys(t, next, old)), 4},
		{f.WithSecrets(keys(t, next)), 0},
	} {
		if found, err := read(step.db); err != nil || len(found) != 4 {
			t.Fatalf("before: %q, %v", found, err)
		}
		all, sealed, err := step.db.RotateSecrets(t.Context(), org.Operator("root"))
		if err != nil || all != 4 || sealed != step.sealed {
			t.Errorf("%d of %d were sealed, %v", sealed, all, err)
		}
		if found, err := read(step.db); err != nil || !strings.HasPrefix(found[0], word) {
			t.Errorf("after: %q, %v", found, err)
		}
		if text := dump(t, f); strings.Contains(text, word) {
			t.Errorf("still in the dump:\n%s", text)
		}
	}
	if _, total, err := f.ListEvents(t.Context(), org.AuditQuery{Action: org.ActionSecretRotate, Limit: 10}); err != nil ||
		total != 2 {
		t.Errorf("%d entries, %v", total, err)
	}
	if _, _, err := f.WithSecrets(keys(t, old)).RotateSecrets(t.Context(), org.Operator("root")); err == nil {
		t.Error("secrets of an unknown key were resealed")
	}
}
