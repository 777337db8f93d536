package pool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// recordingStore records the names of its calls. It has only the methods that a caller without an account may cause; any
// other call panics.
type recordingStore struct {
	pool.Store // Nil.

	db pool.Store

	mu    sync.Mutex
	calls []string // Guarded by mu.
}

func (s *recordingStore) called(name string) pool.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, name)
	return s.db
}

// taken returns the calls since the last call of taken.
func (s *recordingStore) taken() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}

func (s *recordingStore) PoolKeys(ctx context.Context) ([]pool.Key, error) { return s.db.PoolKeys(ctx) }

func (s *recordingStore) PoolUserBySub(ctx context.Context, sub uuid.UUID) (pool.User, error) {
	return s.called("user").PoolUserBySub(ctx, sub)
}

func (s *recordingStore) PoolUserByEmail(ctx context.Context, email string) (pool.User, error) {
	return s.called("user").PoolUserByEmail(ctx, email)
}

func (s *recordingStore) KnowsDevice(ctx context.Context, sub uuid.UUID, device []byte) (bool, error) {
	return s.called("device").KnowsDevice(ctx, sub, device)
}

func (s *recordingStore) PoolAttempts(ctx context.Context, keys ...[]byte) ([]pool.Attempts, error) {
	return s.called(fmt.Sprintf("attempts of %d", len(keys))).PoolAttempts(ctx, keys...)
}

func (s *recordingStore) UpdatePoolAttempts(
	ctx context.Context, keys [][]byte, at time.Time, update func([]pool.Attempts) []pool.Attempts,
) error {
	return s.called(fmt.Sprintf("update of %d", len(keys))).UpdatePoolAttempts(ctx, keys, at, update)
}

func (s *recordingStore) RecordPoolEvent(ctx context.Context, event pool.Event) error {
	return s.called("event "+string(event.Action)).RecordPoolEvent(ctx, event)
}

func (s *recordingStore) CreateChallenge(ctx context.Context, challenge pool.Challenge, at time.Time) error {
	return s.called("new challenge "+challenge.Name).CreateChallenge(ctx, challenge, at)
}

func (s *recordingStore) ChallengeByHash(ctx context.Context, hash []byte) (pool.Challenge, error) {
	return s.called("challenge").ChallengeByHash(ctx, hash)
}

func (s *recordingStore) PasskeyByID(ctx context.Context, id []byte) (pool.Passkey, error) {
	return s.called("passkey").PasskeyByID(ctx, id)
}

func (s *recordingStore) SavePoolCode(ctx context.Context, code pool.Code, countKey []byte, at time.Time,
	count func(pool.Attempts) (pool.Attempts, error),
) error {
	return s.called("save code").SavePoolCode(ctx, code, countKey, at, count)
}

func (s *recordingStore) PoolCode(ctx context.Context, key []byte, at time.Time) (pool.Code, error) {
	return s.called("code").PoolCode(ctx, key, at)
}

func (s *recordingStore) TryPoolCode(ctx context.Context, code pool.Code, at time.Time) (pool.Code, error) {
	return s.called("try code").TryPoolCode(ctx, code, at)
}

// TestR108_NobodyLearnsWhoHasAFactor: until the password was verified, each call has the same response, calls the store
// in the same way and hashes as many passwords, whether the name is unknown, or belongs to a person without a second
// factor, with an authenticator app, with a passkey, or without a password. Only random values differ, and they have
// the same length. Of mail addresses, the masked one differs.
func TestR108_NobodyLearnsWhoHasAFactor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addPasskey(t, f.mustSignIn(t).AccessToken)
	const app, plain, guest, off = "app@example.com", "plain@example.com", "guest@example.com", "off@example.com"
	for _, name := range []string{app, plain, off} {
		f.create(t, pool.NewUser{Email: name, Name: "鈴木 太郎", PermanentPassword: password})
	}
	f.enrol(t, must.Get(f.signIn(t.Context(), app, password))(t).AuthenticationResult.AccessToken)
	must.Get(f.CreateExternalUser(t.Context(), uuid.Nil, guest, "外部 花子"))(t)
	must.Succeed(t, f.DisableUser(t.Context(), must.Get(f.UserByEmail(t.Context(), off))(t).Sub))

	recorded := &recordingStore{db: f.db}
	cfg := config(f.clock)
	cfg.Mailer = f.mail
	p := newPool(t, cfg, recorded)
	hashes := pool.CountHashes(t, p)
	f.server = serve(t, p)
	assertion := newAuthenticator() // Unknown to the pool.

	// steps makes the calls that need no password, and returns a description of each response and of its cost.
	steps := func(name string) (seen []string) {
		call := func(operation string, in map[string]any) reply {
			t.Helper()
			recorded.taken()
			before := hashes()
			in["ClientId"] = clientID
			body := must.Get(json.Marshal(in))(t)
			r := f.post(t, operation, string(body), "Test-Device", "device", "Test-Address", "192.0.2.1")
			header := slices.Sorted(maps.Keys(r.header))
			seen = append(seen, fmt.Sprintf("%s %v: %d %v, length %s, %s, %v, %d hashes", operation, in["ChallengeName"],
				r.status, header, r.header.Get("Content-Length"), withoutRandom(r.body), recorded.taken(), hashes()-before))
			return r
		}
		respond := func(challenge string, session any, params map[string]string) reply {
			params["USERNAME"] = name
			return call("RespondToAuthChallenge", map[string]any{
				"ChallengeName": challenge, "Session": session, "ChallengeResponses": params,
			})
		}
		call("InitiateAuth", map[string]any{
			"AuthFlow": "USER_PASSWORD_AUTH", "AuthParameters": map[string]string{"USERNAME": name, "PASSWORD": "wrong"},
		})
		chosen := call("InitiateAuth", map[string]any{
			"AuthFlow": "USER_AUTH", "AuthParameters": map[string]string{"USERNAME": name},
		})
		session := chosen.fields["Session"]
		respond("SELECT_CHALLENGE", session, map[string]string{"ANSWER": "PASSWORD", "PASSWORD": "ｗｒｏｎｇ"})
		for range 2 { // The options are the same at each call.
			offered := respond("SELECT_CHALLENGE", session, map[string]string{"ANSWER": "WEB_AUTHN"})
			params, _ := offered.fields["ChallengeParameters"].(map[string]any)
			options, _ := params["CREDENTIAL_REQUEST_OPTIONS"].(string)
			respond("WEB_AUTHN", offered.fields["Session"], map[string]string{"CREDENTIAL": assertion.sign(t, options)})
		}
		for _, challenge := range []string{"SOFTWARE_TOKEN_MFA", "MFA_SETUP"} {
			respond(challenge, session, map[string]string{"SOFTWARE_TOKEN_MFA_CODE": "123456"})
		}
		call("ForgotPassword", map[string]any{"Username": name})
		call("ConfirmForgotPassword", map[string]any{"Username": name, "ConfirmationCode": "wrong", "Password": "Atarashii-pass-2026"})
		return seen
	}
	want := steps("nobody@example.com")
	for _, name := range []string{email, app, plain, guest, off} {
		got := steps(name)
		for i := range want {
			// The masked address of a code has the first letters of the name, which the caller knows.
			mask := strings.NewReplacer("n***@", "x***@", name[:1]+"***@", "x***@")
			if one, other := mask.Replace(want[i]), mask.Replace(got[i]); one != other {
				t.Errorf("%s:\n%s\nnobody:\n%s", name, other, one)
			}
		}
	}
	if len(want) != 11 || !strings.Contains(want[0], "1 hashes") || !strings.Contains(want[2], "2 hashes") {
		t.Errorf("recorded %q", want)
	}
}

// random matches sessions and challenges, of 43 characters.
var random = regexp.MustCompile(`[A-Za-z0-9_-]{43}`)

// withoutRandom replaces random values by their length.
func withoutRandom(body string) string { return random.ReplaceAllString(body, "<43>") }
