package pool_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestPolicyIsCognitosDefault(t *testing.T) {
	t.Parallel()
	for password, want := range map[string]string{
		"Aa1!5678":                           "",
		"Aa1 5678":                           "",
		"パスワードAa1!":                          "",
		"𠮷野家Aa1!b":                           "",
		strings.Repeat("Aa1!", 64):           "",
		"Aa1!567":                            "Password not long enough",
		"":                                   "Password not long enough",
		strings.Repeat("Aa1!", 64) + "x":     "Password too long",
		"aa1!5678":                           "Password must have uppercase characters",
		"ÄÖÜa1!567":                          "Password must have uppercase characters",
		"AA1!5678":                           "Password must have lowercase characters",
		"Aab!cdef":                           "Password must have numeric characters",
		"Aab!cde５":                           "Password must have numeric characters",
		"Aa123456":                           "Password must have symbol characters",
		"Aa12345€":                           "Password must have symbol characters",
		" Aa1!5678":                          "Password must not have leading or trailing spaces",
		"Aa1!5678\u3000":                     "Password must not have leading or trailing spaces",
		"Aa1!56\x0078":                       "Password must not have control characters",
		"Aa1!56\n78":                         "Password must not have control characters",
		"Aa1!56\xff78":                       "Password must not have control characters",
		"^$*.[]{}()?-\"!@#%&/\\,><':;|_~`+=": "Password must have uppercase characters",
	} {
		if got := pool.CheckPolicy(password); got != want {
			t.Errorf("%q: %q, want %q", password, got, want)
		}
	}
	for _, symbol := range "^$*.[]{}()?-\"!@#%&/\\,><':;|_~`+=" {
		if got := pool.CheckPolicy("Aa1bcd" + string(symbol) + "e"); got != "" {
			t.Errorf("%q: %s", symbol, got)
		}
	}
}

func TestGeneratedPasswords(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 500 {
		p := pool.GeneratePassword()
		if pool.CheckPolicy(p) != "" || len(p) != 16 || seen[p] || strings.ContainsAny(p, "0O1lI") {
			t.Fatalf("%q", p)
		}
		seen[p] = true
	}
}

func TestHashes(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	h := pool.NewHasher(pool.HashConfig{MemoryKiB: 64, Passes: 2})
	first := must.Get(h.Hash(ctx, password))(t)
	second := must.Get(h.Hash(ctx, password))(t)
	if first == second || !strings.HasPrefix(first, "$argon2id$v=19$m=64,t=2,p=1$") || !pool.ValidPHC(first) {
		t.Errorf("hashes %s and %s", first, second)
	}
	// A hash keeps its own costs when the configured ones change.
	costly := pool.NewHasher(pool.HashConfig{MemoryKiB: 128, Passes: 1})
	for candidate, want := range map[string]bool{
		password: true, password + " ": false, "": false,
		strings.ToLower(password): false,
	} {
		got := must.Get(costly.Verify(ctx, first, candidate))(t)
		if got != want {
			t.Errorf("%q: %v", candidate, got)
		}
	}
	for _, nobodys := range []string{"", password} {
		if ok, err := h.Verify(ctx, "", nobodys); ok || err != nil {
			t.Errorf("an account without a password: %v, %v", ok, err)
		}
	}
}

// TestHashOfAnotherImplementation uses the example of the reference implementation's test suite, computed with another
// program: echo -n password | argon2 somesalt -id -t 2 -m 16 -p 1 -l 32.
func TestHashOfAnotherImplementation(t *testing.T) {
	t.Parallel()
	const reference = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	ok, err := pool.NewHasher(pool.HashConfig{}).Verify(t.Context(), reference, "password")
	if !ok || err != nil {
		t.Errorf("got %v, %v", ok, err)
	}
}

func TestStoredHashesAreBounded(t *testing.T) {
	t.Parallel()
	good := "$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	if !pool.ValidPHC(good) {
		t.Fatal("the good one is refused")
	}
	for _, change := range [][2]string{
		{"argon2id", "argon2i"},
		{"argon2id", "2a"},
		{"v=19", "v=16"},
		{"m=64", "m=4294967295"},
		{"m=64", "m=7"},
		{"m=64", "m=-1"},
		{"m=64", "m=064"},
		{"m=64", " m=64"},
		{"t=1", "t=0"},
		{"t=1", "t=1000"},
		{"p=1", "p=0"},
		{"p=1", "p=256"},
		{"p=1", "p=1,x=2"},
		{"c29tZXNhbHQ", "c29t"},
		{"c29tZXNhbHQ", "c29tZXNhbHR"},
		{"c29tZXNhbHQ", "!"},
		{"$CTFh", "$=CTFh"},
		{"CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc", ""},
		{"CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc", "CTFh"},
		{"$c29tZXNhbHQ", ""},
		{"$argon2id", "x$argon2id"},
	} {
		if bad := strings.Replace(good, change[0], change[1], 1); pool.ValidPHC(bad) {
			t.Errorf("%s was taken", bad)
		}
	}
	if _, err := pool.NewHasher(pool.HashConfig{}).Verify(t.Context(), "plain", "plain"); err == nil {
		t.Error("a broken hash is no error")
	}
}

func FuzzPHC(f *testing.F) {
	f.Add("$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc")
	f.Fuzz(func(_ *testing.T, encoded string) { pool.ValidPHC(encoded) })
}

// TestPasswordsWaitForTheirTurn: under a flood, passwords wait and are eventually rejected, so that few use memory at
// once.
func TestPasswordsWaitForTheirTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := pool.NewHasher(pool.HashConfig{MemoryKiB: 64, Passes: 1, Concurrent: 2, Patience: 3 * time.Second})
		releaseFirst, releaseSecond := h.Occupy(), h.Occupy()

		start := time.Now()
		if _, err := h.Hash(t.Context(), password); !errors.Is(err, pool.ErrBusy) {
			t.Errorf("got %v", err)
		}
		if waited := time.Since(start); waited != 3*time.Second {
			t.Errorf("waited %v", waited)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := h.Verify(ctx, "", password); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}

		done := make(chan error, 1)
		go func() {
			_, err := h.Hash(t.Context(), password)
			done <- err
		}()
		synctest.Wait()
		select {
		case <-done:
			t.Error("did not wait")
		default:
		}
		releaseFirst()
		must.Succeed(t, <-done)
		releaseSecond()
	})
}

// TestFewPasswordsWait: the queue is bounded. Calls that find it full are rejected at once, and those that wait keep
// their places.
func TestFewPasswordsWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := pool.NewHasher(pool.HashConfig{MemoryKiB: 64, Passes: 1, Concurrent: 1, Waiting: 2, Patience: time.Minute})
		release := h.Occupy()
		waited := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := h.Hash(t.Context(), password)
				waited <- err
			}()
		}
		synctest.Wait()
		start := time.Now()
		if _, err := h.Hash(t.Context(), password); !errors.Is(err, pool.ErrBusy) || time.Since(start) != 0 {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		release()
		must.Succeed(t, <-waited)
		must.Succeed(t, <-waited)
		must.Get(h.Hash(t.Context(), password))(t)
	})
}

func TestCreateUserRefusesBadInput(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	good := pool.NewUser{Email: "new@example.com", Name: "新", PermanentPassword: password}
	for name, c := range map[string]struct {
		change func(*pool.NewUser)
		code   fault.Code
		field  string
	}{
		"taken":                 {func(u *pool.NewUser) { u.Email = "HANAKO@example.com" }, fault.Conflict, ""},
		"taken in wide letters": {func(u *pool.NewUser) { u.Email = "ｈａｎａｋｏ＠example.com" }, fault.Conflict, ""},
		"no address":            {func(u *pool.NewUser) { u.Email = "" }, fault.Invalid, "email"},
		"no domain":             {func(u *pool.NewUser) { u.Email = "a@" }, fault.Invalid, "email"},
		"two at signs":          {func(u *pool.NewUser) { u.Email = "a@b@example.com" }, fault.Invalid, "email"},
		"space":                 {func(u *pool.NewUser) { u.Email = "a b@example.com" }, fault.Invalid, "email"},
		"header": {
			func(u *pool.NewUser) { u.Email = "a@example.com\r\nBcc: b@example.com" },
			fault.Invalid, "email",
		},
		"look-alike": {func(u *pool.NewUser) { u.Email = "һanako@example.com" }, fault.Invalid, "email"},
		"too long": {
			func(u *pool.NewUser) { u.Email = strings.Repeat("a", 243) + "@example.com" },
			fault.Invalid, "email",
		},
		"no name":         {func(u *pool.NewUser) { u.Name = " " }, fault.Invalid, "name"},
		"long name":       {func(u *pool.NewUser) { u.Name = strings.Repeat("長", 101) }, fault.Invalid, "name"},
		"control in name": {func(u *pool.NewUser) { u.Name = "a\x00" }, fault.Invalid, "name"},
		"no password":     {func(u *pool.NewUser) { u.PermanentPassword = "" }, fault.Invalid, "password"},
		"two passwords": {
			func(u *pool.NewUser) { u.TemporaryPassword = temporary }, fault.Invalid,
			"password",
		},
		"weak password": {
			func(u *pool.NewUser) { u.PermanentPassword = "password" }, fault.Invalid,
			"password",
		},
		"a group without a name": {func(u *pool.NewUser) { u.Groups = []string{""} }, fault.Invalid, "groups"},
	} {
		t.Run(name, func(t *testing.T) {
			user := good
			c.change(&user)
			_, err := f.CreateUser(t.Context(), user)
			if fault.CodeOf(err) != c.code {
				t.Fatalf("got %v", err)
			}
			if fields := fault.FieldsOf(err); c.field != "" && (len(fields) != 1 || fields[0].Field != c.field) {
				t.Errorf("fields %v", fields)
			}
		})
	}
	f.create(t, good)
	if err := f.SetPassword(t.Context(), f.sub, "weak", true); fault.CodeOf(err) != fault.Invalid {
		t.Errorf("weak: %v", err)
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*pool.Config){
		"pool id":          func(c *pool.Config) { c.PoolID = "tsumugi" },
		"pool id as path":  func(c *pool.Config) { c.PoolID = "ap_../x" },
		"client":           func(c *pool.Config) { c.ClientID = "a-b" },
		"no client":        func(c *pool.Config) { c.ClientID, c.FederatedClientID = "", "" },
		"one for both":     func(c *pool.Config) { c.FederatedClientID = c.ClientID },
		"other client":     func(c *pool.Config) { c.FederatedClientID = "a-b" },
		"half a key":       func(c *pool.Config) { c.Admin.SecretAccessKey = "" },
		"code lifetime":    func(c *pool.Config) { c.CodeLifetime = -1 },
		"issuer":           func(c *pool.Config) { c.Issuer = "https://chat.example" },
		"issuer no URL":    func(c *pool.Config) { c.Issuer = "/" + poolID },
		"token lifetime":   func(c *pool.Config) { c.TokenLifetime = 1500 * time.Millisecond },
		"refresh lifetime": func(c *pool.Config) { c.RefreshLifetime = -1 },
		"hash memory":      func(c *pool.Config) { c.Hash.MemoryKiB = 1 << 30 },
		"concurrency":      func(c *pool.Config) { c.Hash.Concurrent = -1 },
	} {
		cfg := config(newClock())
		change(&cfg)
		if _, err := pool.New(t.Context(), cfg, &firstKey{}); err == nil || !strings.HasPrefix(err.Error(), "pool: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func BenchmarkHash(b *testing.B) {
	h := pool.NewHasher(pool.HashConfig{})
	for b.Loop() {
		if _, err := h.Hash(b.Context(), password); err != nil {
			b.Fatal(err)
		}
	}
}
