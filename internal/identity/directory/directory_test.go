package directory_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity/directory"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/internal/mail"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/leak"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestMain(m *testing.M) { leak.Main(storetest.Suite{M: m}) }

const (
	poolID   = "ap-northeast-1_Tsumugi00"
	clientID = "4tsumugi7client0example1ab"
	email    = "hanako@example.com"
	password = "Sakura-2026-haru"
)

// fixture is a directory on an embedded pool in this process.
type fixture struct {
	*directory.Directory
	pool *pool.Pool
	db   *store.DB
	mail *postbox
}

// postbox records the last invitation.
type postbox struct {
	mu   sync.Mutex // Guards the following.
	last mail.Invitation
	sent int
	fail error
}

func (b *postbox) Send(_ context.Context, message mail.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = message.(mail.Invitation)
	b.sent++
	return b.fail
}

func (b *postbox) take() (mail.Invitation, int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last, b.sent
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{db: storetest.New(t), mail: &postbox{}}
	key := pool.NewCredentials()
	storetest.AddPoolKey(t, f.db)
	users, err := pool.New(t.Context(), pool.Config{
		PoolID: poolID, ClientID: clientID, Issuer: "https://chat.example/pool/" + poolID, Admin: key, Mailer: f.mail,
		Hash: pool.HashConfig{MemoryKiB: 64, Passes: 1},
	}, f.db)
	must.Succeed(t, err)
	f.pool = users
	f.Directory, err = directory.New(directory.Config{
		UserPoolID: poolID, Endpoint: "http://pool.internal/pool/", Transport: directory.InProcess(users.Handler()),
		Credentials: directory.Credentials(key),
	})
	must.Succeed(t, err)
	return f
}

func wantCode(t *testing.T, err error, code fault.Code) {
	t.Helper()
	if got := fault.CodeOf(err); got != code {
		t.Errorf("error %v has code %q, want %q", err, got, code)
	}
}

func (f *fixture) user(t *testing.T, address string) pool.User {
	t.Helper()
	user := must.Get(f.pool.UserByEmail(t.Context(), address))(t)
	return user
}

func TestR46_ServerManagesItsOwnPool(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	subject := must.Get(f.Invite(ctx, email, "山田 花子"))(t)
	user := f.user(t, email)
	if user.Sub.String() != subject || user.Name != "山田 花子" || !user.EmailVerified ||
		user.Status != pool.StatusForceChangePassword {
		t.Errorf("invited %+v", user)
	}
	first, _ := f.mail.take()
	must.Succeed(t, f.Resend(ctx, email))
	second, sent := f.mail.take()
	if sent != 2 || first.TemporaryPassword == second.TemporaryPassword || second.Email != email {
		t.Errorf("sent %d: %+v", sent, second)
	}
	// As after an invitation whose response was lost.
	again, err := f.Invite(ctx, email, "山田 花子")
	if _, sent = f.mail.take(); err != nil || again != subject || sent != 3 {
		t.Errorf("again %s, %v, sent %d", again, err, sent)
	}

	must.Succeed(t, f.Rename(ctx, subject, "山田 太郎"))
	must.Succeed(t, f.pool.SetPassword(ctx, user.Sub, password, true))
	if user = f.user(t, email); user.Name != "山田 太郎" {
		t.Errorf("renamed %+v", user)
	}
	wantCode(t, f.Resend(ctx, email), fault.Conflict)
	_, err = f.Invite(ctx, email, "別人")
	wantCode(t, err, fault.Conflict)

	must.Succeed(t, f.Disable(ctx, subject))
	must.Succeed(t, f.Disable(ctx, subject))
	if f.user(t, email).Enabled {
		t.Error("still enabled")
	}
	must.Succeed(t, f.Enable(ctx, subject))
	if !f.user(t, email).Enabled {
		t.Error("still disabled")
	}
	must.Succeed(t, f.Delete(ctx, subject))
	for name, err := range map[string]error{
		"delete": f.Delete(ctx, subject), "disable": f.Disable(ctx, subject), "enable": f.Enable(ctx, subject),
		"rename": f.Rename(ctx, subject, "x"), "resend": f.Resend(ctx, email),
	} {
		if fault.CodeOf(err) != fault.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestR45_DisablingEndsSessions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	subject := must.Get(f.Invite(ctx, email, "花子"))(t)
	sub := uuid.MustParse(subject)
	now := time.Now()
	grant := pool.Grant{
		ID: uuid.New(), TokenHash: make([]byte, 32), Sub: sub, ClientID: clientID, EventID: uuid.New(), AuthTime: now,
		ExpiresAt: now.Add(time.Hour),
	}
	must.Get(f.db.CreateGrant(ctx, grant, 1, pool.Event{}))(t)
	// Without the factor that began it, no session continues.
	must.Succeed(t, f.ResetFactor(ctx, subject))
	held, err := f.db.GrantByID(ctx, grant.ID)
	if err != nil || held.Grant.RevokedAt == nil {
		t.Errorf("after the reset of the factor: grant %+v, %v", held.Grant, err)
	}
	grant.ID, grant.TokenHash = uuid.New(), append(make([]byte, 31), 1)
	_, err = f.db.CreateGrant(ctx, grant, held.User.Version, pool.Event{})
	must.Succeed(t, err)
	must.Succeed(t, f.Disable(ctx, subject))
	if held, err = f.db.GrantByID(ctx, grant.ID); err != nil || held.Grant.RevokedAt == nil {
		t.Errorf("grant %+v, %v", held.Grant, err)
	}
}

func TestPoolRefusals(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	_, err := f.Invite(ctx, "h\u0430nako@example.com", "花子")
	wantCode(t, err, fault.Invalid)
	_, err = f.Invite(ctx, email, strings.Repeat("あ", 101))
	wantCode(t, err, fault.Invalid)
	f.mail.fail = errors.New("the mail server is down")
	_, err = f.Invite(ctx, email, "花子")
	wantCode(t, err, fault.Unavailable)
	if fault.RetryAfterOf(err) == 0 || !strings.Contains(fault.DetailOf(err), "招待メール") {
		t.Errorf("got %v", err)
	}
	// Misconfigurations, such as another key or another pool, are for the log.
	for name, cfg := range map[string]directory.Config{
		"key": {UserPoolID: poolID, Credentials: directory.Credentials(pool.NewCredentials())},
		"pool": {UserPoolID: "ap-northeast-1_Other", Credentials: directory.Credentials{
			AccessKeyID:     "a",
			SecretAccessKey: "b",
		}},
	} {
		cfg.Transport = directory.InProcess(f.pool.Handler())
		d := must.Get(directory.New(cfg))(t)
		if err := d.Delete(ctx, uuid.NewString()); fault.CodeOf(err) != fault.Internal {
			t.Errorf("%s: %v", name, err)
		}
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	wantCode(t, f.Delete(gone, uuid.NewString()), fault.Canceled)
}

// answering is a transport that always gives the same response.
type answering func() (*http.Response, error)

func (a answering) RoundTrip(*http.Request) (*http.Response, error) { return a() }

func refusing(status int, kind string) answering {
	return func() (*http.Response, error) {
		return &http.Response{
			StatusCode: status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.1"}},
			Body: io.NopCloser(strings.NewReader(fmt.Sprintf(`{"__type":%q,"message":"x"}`, kind))),
		}, nil
	}
}

func TestErrorsOfAWS(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		transport answering
		code      fault.Code
	}{
		"exists":      {refusing(400, "UsernameExistsException"), fault.Conflict},
		"alias":       {refusing(400, "AliasExistsException"), fault.Conflict},
		"state":       {refusing(400, "UnsupportedUserStateException"), fault.Conflict},
		"nobody":      {refusing(400, "UserNotFoundException"), fault.NotFound},
		"parameter":   {refusing(400, "InvalidParameterException"), fault.Invalid},
		"mail":        {refusing(400, "CodeDeliveryFailureException"), fault.Unavailable},
		"rate":        {refusing(400, "TooManyRequestsException"), fault.Unavailable},
		"limit":       {refusing(400, "LimitExceededException"), fault.Unavailable},
		"broken":      {refusing(500, "InternalErrorException"), fault.Unavailable},
		"permissions": {refusing(400, "AccessDeniedException"), fault.Internal},
		"no pool":     {refusing(400, "ResourceNotFoundException"), fault.Internal},
		"unreachable": {func() (*http.Response, error) {
			return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
		}, fault.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := directory.New(directory.Config{
				UserPoolID: poolID, Transport: c.transport, Credentials: directory.Credentials{
					AccessKeyID:     "a",
					SecretAccessKey: "b",
				},
			})
			must.Succeed(t, err)
			err = d.Resend(t.Context(), email)
			wantCode(t, err, c.code)
			if (fault.RetryAfterOf(err) > 0) != (c.code == fault.Unavailable) {
				t.Errorf("retry after %s", fault.RetryAfterOf(err))
			}
		})
	}
}

// byCall is a transport with a response for each operation.
type byCall map[string]answering

func (b byCall) RoundTrip(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return b[operation]()
}

// If it cannot be found out whether the user was invited before, the address must not be reported as taken.
func TestInviteWhileLookupFails(t *testing.T) {
	t.Parallel()
	for kind, code := range map[string]fault.Code{
		"LimitExceededException": fault.Unavailable, "AccessDeniedException": fault.Internal,
		"UserNotFoundException": fault.NotFound,
	} {
		d, err := directory.New(directory.Config{
			UserPoolID: poolID, Credentials: directory.Credentials{AccessKeyID: "a", SecretAccessKey: "b"},
			Transport: byCall{
				"AdminCreateUser": refusing(400, "UsernameExistsException"),
				"AdminGetUser":    refusing(400, kind),
			},
		})
		must.Succeed(t, err)
		_, err = d.Invite(t.Context(), email, "花子")
		wantCode(t, err, code)
	}
}

// At AWS, disabling a user does not end their sessions.
func TestR45_DisablingSignsOutAsWell(t *testing.T) {
	t.Parallel()
	var called []string
	done := func(operation string) answering {
		return func() (*http.Response, error) {
			called = append(called, operation)
			return &http.Response{
				StatusCode: http.StatusOK, Header: http.Header{},
				Body: io.NopCloser(strings.NewReader("{}")),
			}, nil
		}
	}
	d := must.Get(directory.New(directory.Config{
		UserPoolID: poolID, Credentials: directory.Credentials{AccessKeyID: "a", SecretAccessKey: "b"},
		Transport: byCall{"AdminDisableUser": done("disable"), "AdminUserGlobalSignOut": done("sign out")},
	}))(t)
	must.Succeed(t, d.Disable(t.Context(), uuid.NewString()))
	if len(called) != 2 || called[0] != "disable" || called[1] != "sign out" {
		t.Errorf("called %v", called)
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "tsumugi", "_x"} {
		if _, err := directory.New(directory.Config{UserPoolID: id}); err == nil {
			t.Errorf("%q was taken", id)
		}
	}
	// New must not depend on credentials in the environment, and makes no call.
	if _, err := directory.New(directory.Config{UserPoolID: poolID}); err != nil {
		t.Error(err)
	}
}

// The transport behaves like a server to the handler, and like a network to the client.
func TestInProcess(t *testing.T) {
	t.Parallel()
	client := &http.Client{Transport: directory.InProcess(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request,
	) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Host != "pool.internal" || r.URL.Path != "/a" {
			t.Errorf("%s %s %v", r.Host, r.URL, err)
		}
		if len(body) == 0 {
			return
		}
		w.Header().Set("X-A", "1")
		w.WriteHeader(http.StatusTeapot)
		w.WriteHeader(http.StatusOK)
		w.Header().Set("X-B", "too late")
		_, _ = w.Write(body)
	}))}
	for _, sent := range []string{"", "text"} {
		req := httptest.NewRequest(http.MethodPost, "http://pool.internal/a",
			strings.NewReader(sent)).WithContext(t.Context())
		req.RequestURI = ""
		res := must.Get(client.Do(req))(t)
		got := must.Get(io.ReadAll(res.Body))(t)
		must.Succeed(t, res.Body.Close())
		want := map[string]int{"": 200, "text": 418}[sent]
		if string(got) != sent || res.StatusCode != want || res.Header.Get("X-B") != "" ||
			res.ContentLength != int64(len(sent)) {
			t.Errorf("%d %q %v", res.StatusCode, got, res.Header)
		}
	}
}

// TestDeadlineExceeded: an expired deadline means that the provider is slow, not that the caller gave up.
func TestDeadlineExceeded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	late, end := context.WithTimeout(t.Context(), time.Millisecond)
	defer end()
	slow := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	d, err := directory.New(directory.Config{
		UserPoolID: poolID, Endpoint: "http://pool.internal/pool/", Transport: directory.InProcess(slow),
		Credentials: directory.Credentials{AccessKeyID: "a", SecretAccessKey: "b"},
	})
	must.Succeed(t, err)
	wantCode(t, d.Resend(ctx, email), fault.Canceled)
	wantCode(t, d.Resend(late, email), fault.Unavailable)
}
