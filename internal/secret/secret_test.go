package secret_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/secret"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func keyring(t *testing.T, keys ...string) secret.Keyring {
	t.Helper()
	var k secret.Keyring
	must.Succeed(t, k.UnmarshalText([]byte(strings.Join(keys, ","))))
	return k
}

func seal(t *testing.T, k secret.Keyring, plain, owner string) string {
	t.Helper()
	sealed, err := k.Seal([]byte(plain), owner)
	if err != nil || !secret.Sealed(sealed) || (plain != "" && strings.Contains(sealed, plain)) {
		t.Fatalf("got %q, %v", sealed, err)
	}
	return sealed
}

func TestSealAndOpen(t *testing.T) {
	t.Parallel()
	old, next := secret.NewKey(), secret.NewKey()
	before, both, after := keyring(t, old), keyring(t, next, old), keyring(t, next)
	const plain, owner = "xoxb-123", "installation 1"
	sealed, again := seal(t, before, plain, owner), seal(t, before, plain, owner)
	if sealed == again {
		t.Error("the same text twice: equal secrets can be recognized")
	}
	for _, k := range []secret.Keyring{before, both} {
		if opened, err := k.Open(sealed, owner); err != nil || string(opened) != plain {
			t.Errorf("got %q, %v", opened, err)
		}
	}
	if _, err := after.Open(sealed, owner); err == nil || !strings.Contains(err.Error(), before.String()) {
		t.Errorf("without its key: %v", err)
	}
	if !before.Current(sealed) || both.Current(sealed) || (secret.Keyring{}).Current(sealed) {
		t.Error("the key id of the sealed secret is wrong")
	}
	if opened, err := after.Open(seal(t, both, plain, owner), owner); err != nil || string(opened) != plain {
		t.Errorf("sealed after a rotation: %q, %v", opened, err)
	}
	if opened, err := before.Open(seal(t, before, "", owner), owner); err != nil || len(opened) != 0 {
		t.Errorf("an empty secret: %q, %v", opened, err)
	}
}

func TestSealedIsBoundToItsOwner(t *testing.T) {
	t.Parallel()
	k := keyring(t, secret.NewKey())
	sealed := seal(t, k, "xoxb-123", "installation 1")
	if _, err := k.Open(sealed, "installation 2"); err == nil {
		t.Error("the secret was opened for another owner")
	}
	for i := range len(sealed) {
		changed := []byte(sealed)
		changed[i] ^= 1
		if opened, err := k.Open(string(changed), "installation 1"); err == nil {
			t.Errorf("byte %d changed: %q", i, opened)
		}
	}
	for i := range len(sealed) {
		if _, err := k.Open(sealed[:i], "installation 1"); err == nil {
			t.Errorf("cut off after %d", i)
		}
	}
}

func TestWithoutAKey(t *testing.T) {
	t.Parallel()
	var none secret.Keyring
	if _, err := none.Seal([]byte("x"), ""); !errors.Is(err, secret.ErrNoKey) || !none.Empty() {
		t.Errorf("got %v", err)
	}
	if _, err := none.Open(seal(t, keyring(t, secret.NewKey()), "xoxb", ""), ""); err == nil ||
		!strings.Contains(err.Error(), "TSUMUGI_SECRET_KEY") {
		t.Errorf("got %v", err)
	}
}

// TestKeysAreNotShown checks that errors about malformed keys and printed keyrings contain no keys.
func TestKeysAreNotShown(t *testing.T) {
	t.Parallel()
	valid := secret.NewKey()
	for _, text := range []string{
		"", "geheim-und-kurz", valid + ",", valid[:40], valid + valid, strings.Repeat(valid+",", 8) + valid,
	} {
		var k secret.Keyring
		if err := k.UnmarshalText([]byte(text)); err == nil || (text != "" && strings.Contains(err.Error(), text)) {
			t.Errorf("%q: %v", text, err)
		}
	}
	var out bytes.Buffer
	k := keyring(t, valid, secret.NewKey())
	slog.New(slog.NewTextHandler(&out, nil)).Info("started", "keys", k)
	_, _ = fmt.Fprintf(&out, "%v %+v %s", k, k, k)
	if strings.Contains(out.String(), valid) || !strings.Contains(out.String(), k.String()) {
		t.Errorf("got %s", &out)
	}
}

func FuzzOpen(f *testing.F) {
	var k secret.Keyring
	must.Succeed(f, k.UnmarshalText([]byte(secret.NewKey())))
	sealed := must.Get(k.Seal([]byte("x"), "o"))(f)
	f.Add(sealed)
	f.Add("sealed.v1." + k.String() + ".")
	f.Add("sealed.v1..")
	f.Fuzz(func(t *testing.T, text string) {
		if opened, err := k.Open(text, "o"); err == nil && text != sealed && string(opened) != "x" {
			t.Errorf("%q opens as %q", text, opened)
		}
	})
}
