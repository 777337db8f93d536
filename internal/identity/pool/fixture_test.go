package pool_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	cognito "github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"
	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider/types"
	"github.com/aws/smithy-go"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/internal/mail"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/leak"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestMain(m *testing.M) { leak.Main(storetest.Suite{M: m}) }

const (
	poolID    = "ap-northeast-1_Tsumugi00"
	clientID  = "4tsumugi7client0example1ab"
	ssoID     = "4tsumugi7sso0example1ab"
	issuer    = "https://chat.example/pool/" + poolID
	email     = "hanako@example.com"
	password  = "Sakura-2026-haru"
	temporary = "Kari-pass-2026"
	incorrect = "Incorrect username or password."
	exceeded  = "Password attempts exceeded"
)

// clock is advanced only by the test.
type clock struct {
	mu  sync.Mutex // Guards now.
	now time.Time
}

func newClock() *clock {
	return &clock{now: time.Date(2026, 4, 1, 9, 0, 0, 123_000_000, time.UTC)}
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// fixture is a pool on its own database, served over HTTP, with one user.
type fixture struct {
	*pool.Pool
	clock  *clock
	db     *store.DB
	mail   *postbox
	server *httptest.Server
	sdk    *cognito.Client // Like a browser: without credentials.
	admin  *cognito.Client // Like the server: with credentials.
	sub    uuid.UUID
}

// credentials are the server's.
var credentials = pool.Credentials{AccessKeyID: "TSMGTEST", SecretAccessKey: "a secret of the server"}

func config(c *clock) pool.Config {
	return pool.Config{
		PoolID: poolID, ClientID: clientID, FederatedClientID: ssoID, Issuer: issuer, Clock: c.Now, Admin: credentials,
		Hash: pool.HashConfig{MemoryKiB: 64, Passes: 1}, // Cheap, because tests verify many passwords.
	}
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{clock: newClock(), db: storetest.New(t), mail: newPostbox()}
	cfg := config(f.clock)
	cfg.Mailer = f.mail
	storetest.AddPoolKey(t, f.db)
	f.Pool = newPool(t, cfg, f.db)
	f.server = serve(t, f.Pool)
	f.sdk = newSDK(f.server)
	f.admin = newAdmin(f.server, f.clock, credentials)
	f.sub = f.create(t, pool.NewUser{Email: email, Name: "山田 花子", PermanentPassword: password})
	return f
}

func newPool(t *testing.T, cfg pool.Config, s pool.Store) *pool.Pool {
	t.Helper()
	p := must.Get(pool.New(t.Context(), cfg, s))(t)
	t.Cleanup(func() { p.Stop(context.Background()) })
	return p
}

// postbox records the pool's mail.
type postbox struct {
	invitations chan mail.Invitation
	codes       chan mail.ResetCode
	changed     chan mail.Notice
	devices     chan mail.Notice
	factors     chan mail.NoticeKind // The kinds of notices about the second factor.

	mu   sync.Mutex // Guards the fields below.
	fail error
}

func newPostbox() *postbox {
	return &postbox{
		invitations: make(chan mail.Invitation, 100), codes: make(chan mail.ResetCode, 100),
		changed: make(chan mail.Notice, 100), devices: make(chan mail.Notice, 100),
		factors: make(chan mail.NoticeKind, 100),
	}
}

func (b *postbox) Send(_ context.Context, message mail.Message) error {
	switch message := message.(type) {
	case mail.Invitation:
		b.invitations <- message
	case mail.ResetCode:
		b.codes <- message
	case mail.Notice:
		switch message.Kind {
		case mail.PasswordChanged:
			b.changed <- message
		case mail.NewDevice:
			b.devices <- message
		default:
			b.factors <- message.Kind
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fail
}

func (b *postbox) setFailure(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fail = err
}

// arrived waits for the next message.
func arrived[T any](t *testing.T, box <-chan T) T {
	t.Helper()
	select {
	case message := <-box:
		return message
	case <-time.After(time.Minute):
		t.Fatal("no message")
		panic("unreachable")
	}
}

func serve(t *testing.T, p *pool.Pool) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/pool/", func(w http.ResponseWriter, r *http.Request) {
		address, _ := netip.ParseAddr(r.Header.Get("Test-Address")) // Zero if the test sets none.
		ctx := pool.WithOrigin(r.Context(), pool.Origin{
			Address: address, Device: r.Header.Get("Test-Device"), Browser: r.Header.Get("Test-Device") != "",
			UserAgent: r.Header.Get("User-Agent"), RequestID: "r1",
		})
		p.Handler().ServeHTTP(w, r.WithContext(ctx))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(server.Client().CloseIdleConnections)
	return server
}

func newSDK(server *httptest.Server) *cognito.Client {
	return cognito.New(cognito.Options{
		Region: "ap-northeast-1", BaseEndpoint: aws.String(server.URL + "/pool/"), HTTPClient: server.Client(),
		Credentials: aws.AnonymousCredentials{}, RetryMaxAttempts: 1,
	})
}

// newAdmin returns an SDK client that signs with credentials, at the time of a clock.
func newAdmin(server *httptest.Server, c *clock, key pool.Credentials) *cognito.Client {
	return cognito.New(cognito.Options{
		Region: "ap-northeast-1", BaseEndpoint: aws.String(server.URL + "/pool/"), HTTPClient: server.Client(),
		Credentials: staticCredentials(key), RetryMaxAttempts: 1, HTTPSignerV4: signer{v4.NewSigner(), c},
	})
}

func staticCredentials(key pool.Credentials) aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: key.AccessKeyID, SecretAccessKey: key.SecretAccessKey}, nil
	})
}

// signer is the SDK's signer with the test's clock.
type signer struct {
	*v4.Signer
	clock *clock
}

func (s signer) SignHTTP(
	ctx context.Context, key aws.Credentials, r *http.Request, payloadHash, service, region string, _ time.Time,
	options ...func(*v4.SignerOptions),
) error {
	return s.Signer.SignHTTP(ctx, key, r, payloadHash, service, region, s.clock.Now(), options...)
}

func (f *fixture) create(t *testing.T, user pool.NewUser) uuid.UUID {
	t.Helper()
	sub := must.Get(f.CreateUser(t.Context(), user))(t)
	return sub
}

// signIn requests tokens with a password.
func (f *fixture) signIn(ctx context.Context, name, password string) (*cognito.InitiateAuthOutput, error) {
	return f.sdk.InitiateAuth(ctx, &cognito.InitiateAuthInput{
		AuthFlow: types.AuthFlowTypeUserPasswordAuth, ClientId: aws.String(clientID),
		AuthParameters: map[string]string{"USERNAME": name, "PASSWORD": password},
	})
}

func (f *fixture) mustSignIn(t *testing.T) *types.AuthenticationResultType {
	t.Helper()
	out := must.Get(f.signIn(t.Context(), email, password))(t)
	if out.AuthenticationResult == nil {
		t.Fatalf("no tokens: %+v", out)
	}
	return out.AuthenticationResult
}

func (f *fixture) refresh(ctx context.Context, token string) (*cognito.InitiateAuthOutput, error) {
	return f.sdk.InitiateAuth(ctx, &cognito.InitiateAuthInput{
		AuthFlow: types.AuthFlowTypeRefreshTokenAuth, ClientId: aws.String(clientID),
		AuthParameters: map[string]string{"REFRESH_TOKEN": token},
	})
}

func (f *fixture) getUser(ctx context.Context, token string) (*cognito.GetUserOutput, error) {
	return f.sdk.GetUser(ctx, &cognito.GetUserInput{AccessToken: aws.String(token)})
}

// challenge signs in with a temporary password and returns the session.
func (f *fixture) challenge(t *testing.T, name, password string) *string {
	t.Helper()
	out := must.Get(f.signIn(t.Context(), name, password))(t)
	if out.ChallengeName != types.ChallengeNameTypeNewPasswordRequired || out.AuthenticationResult != nil {
		t.Fatalf("no challenge: %+v", out)
	}
	return out.Session
}

func (f *fixture) answer(ctx context.Context, session *string,
	params map[string]string,
) (*cognito.RespondToAuthChallengeOutput, error) {
	return f.respond(ctx, types.ChallengeNameTypeNewPasswordRequired, session, params)
}

// respond answers a challenge with that name.
func (f *fixture) respond(ctx context.Context, name types.ChallengeNameType, session *string,
	params map[string]string,
) (*cognito.RespondToAuthChallengeOutput, error) {
	return f.sdk.RespondToAuthChallenge(ctx, &cognito.RespondToAuthChallengeInput{
		ChallengeName: name, ClientId: aws.String(clientID), Session: session, ChallengeResponses: params,
	})
}

// reply is a raw HTTP response.
type reply struct {
	status int
	header http.Header
	body   string
	fields map[string]any
}

// post sends a call as a browser does.
func (f *fixture) post(t *testing.T, operation, body string, header ...string) reply {
	t.Helper()
	return post(t, f.server, operation, body, header...)
}

func post(t *testing.T, server *httptest.Server, operation, body string, header ...string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/pool/", strings.NewReader(body))
	must.Succeed(t, err)
	req.Header.Set("Content-Type", "application/x-amz-json-1.1")
	req.Header.Set("X-Amz-Target", "AWSCognitoIdentityProviderService."+operation)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
		if header[i+1] == "" {
			req.Header.Del(header[i])
		}
	}
	return do(t, server, req)
}

func do(t *testing.T, server *httptest.Server, req *http.Request) reply {
	t.Helper()
	res := must.Get(server.Client().Do(req))(t)
	defer func() { must.Succeed(t, res.Body.Close()) }()
	body := must.Get(io.ReadAll(res.Body))(t)
	r := reply{status: res.StatusCode, header: res.Header, body: string(body)}
	if req.Method != http.MethodHead {
		if err := json.Unmarshal(body, &r.fields); err != nil {
			t.Fatalf("status %d, not a JSON object: %q", r.status, body)
		}
	}
	return r
}

// claims decodes a token without verifying it.
func claims(t *testing.T, token *string) (header, payload map[string]any) {
	t.Helper()
	parts := strings.Split(aws.ToString(token), ".")
	if len(parts) != 3 {
		t.Fatalf("not a JWT: %q", aws.ToString(token))
	}
	for i, v := range []*map[string]any{&header, &payload} {
		b := must.Get(base64.RawURLEncoding.DecodeString(parts[i]))(t)
		must.Succeed(t, json.Unmarshal(b, v))
	}
	return header, payload
}

// wantRefusal checks the name and the text of an exception.
func wantRefusal(t *testing.T, err error, kind, message string) {
	t.Helper()
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		t.Fatalf("got %v, want %s: %s", err, kind, message)
	}
	if api.ErrorCode() != kind || api.ErrorMessage() != message {
		t.Fatalf("got %s: %s, want %s: %s", api.ErrorCode(), api.ErrorMessage(), kind, message)
	}
}

func wantNotAuthorized(t *testing.T, err error, message string) {
	t.Helper()
	wantRefusal(t, err, "NotAuthorizedException", message)
}
