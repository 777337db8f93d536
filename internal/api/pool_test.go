package api_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"image/png"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/pquerna/otp"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/directory"
	"github.com/tsumugi-ai/tsumugi/internal/identity/oidc"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/internal/identity/saml"
	"github.com/tsumugi-ai/tsumugi/internal/identity/saml/samltest"
	singlesignon "github.com/tsumugi-ai/tsumugi/internal/identity/sso"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/mail"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

const (
	poolID       = "ap-northeast-1_Test00000"
	poolIssuer   = "https://tsumugi.example/pool/" + poolID
	poolPassword = "Correct-Horse-9"
	ssoClient    = "sso"
)

// userPool is an embedded user pool that records the codes and temporary passwords it sends.
type userPool struct {
	*pool.Pool
	codes       chan mail.ResetCode
	devices     chan mail.Notice
	temporary   sync.Map // The last temporary password, a string, by address.
	credentials pool.Credentials
}

func newUserPool(t *testing.T, db *store.DB) *userPool {
	t.Helper()
	u := &userPool{
		codes: make(chan mail.ResetCode, 10), devices: make(chan mail.Notice, 100),
		credentials: pool.Credentials{AccessKeyID: "TSMGTEST", SecretAccessKey: "secret"},
	}
	storetest.AddPoolKey(t, db)
	var err error
	u.Pool, err = pool.New(t.Context(), pool.Config{
		PoolID: poolID, ClientID: "client", FederatedClientID: ssoClient, Issuer: poolIssuer, Admin: u.credentials,
		Mailer: u,
		Hash:   pool.HashConfig{MemoryKiB: 64, Passes: 1},
	}, db)
	must.Succeed(t, err)
	t.Cleanup(func() { u.Stop(context.Background()) })
	return u
}

// Send implements mail.Sender.
func (u *userPool) Send(_ context.Context, message mail.Message) error {
	switch message := message.(type) {
	case mail.Invitation:
		u.temporary.Store(message.Email, message.TemporaryPassword)
	case mail.ResetCode:
		u.codes <- message
	case mail.Notice:
		if message.Kind == mail.NewDevice {
			u.devices <- message
		}
	}
	return nil
}

func (u *userPool) verifier() identity.Verifier {
	issuer := identity.Issuer{URL: poolIssuer, ClientID: "client", AuthType: identity.AuthCognito, Key: u.Keyfunc}
	sso := issuer
	sso.ClientID, sso.AuthType = ssoClient, identity.AuthFederated
	return identity.NewPoolVerifier(time.Now, issuer, sso)
}

// accounts manages the pool's accounts like the server.
type accounts struct {
	*directory.Directory
	pool *pool.Pool
}

func (a accounts) InviteFederated(ctx context.Context, email, name string) (string, error) {
	sub, err := a.pool.CreateExternalUser(ctx, uuid.Nil, email, name)
	return sub.String(), err
}

func (u *userPool) directory(t *testing.T) org.Accounts {
	t.Helper()
	d, err := directory.New(directory.Config{
		UserPoolID: poolID, Endpoint: "http://pool.invalid", Transport: directory.InProcess(u.Handler()),
		Credentials: directory.Credentials(u.credentials),
	})
	must.Succeed(t, err)
	return accounts{d, u.Pool}
}

// spKey is the key of all service providers. Generating one could exceed a call's time limit on a busy machine.
var spKey = sync.OnceValues(func() (saml.Key, error) {
	private, certificate, err := samltest.NewKey()
	if err != nil {
		return saml.Key{}, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return saml.Key{}, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	return saml.Key{PrivateKey: string(text), Certificate: certificate.Raw, CreatedAt: certificate.NotBefore}, nil
})

// singleSignOn returns the services of single sign-on. Requests to identity providers use transport.
func (u *userPool) singleSignOn(t *testing.T, db *store.DB, transport http.RoundTripper) (*singlesignon.Service, *saml.Service,
	*oidc.Service,
) {
	t.Helper()
	key, err := spKey()
	must.Succeed(t, err)
	must.Succeed(t, db.AddFirstSAMLKey(t.Context(), key))
	shared := singlesignon.New(singlesignon.Config{PublicURL: "https://tsumugi.example", ClientID: ssoClient}, db, u.Pool)
	providers := singlesignon.NewClient(singlesignon.ClientConfig{
		Hosts: []string{"localhost", "127.0.0.1"}, Transport: transport,
	})
	return shared, saml.New(providers, db, shared), oidc.New(providers, db, shared)
}

// session is the result of a sign-in.
type session struct {
	IDToken      string `json:"IdToken"` //nolint:tagliatelle // The protocol's spelling.
	AccessToken  string
	RefreshToken string
}

// account gives a member an account with a password.
func (f *fixture) account(u *identity.NewUser) {
	f.t.Helper()
	sub, err := f.users.CreateUser(f.t.Context(), pool.NewUser{
		Email: u.Email, Name: u.Name,
		PermanentPassword: poolPassword,
	})
	must.Succeed(f.t, err)
	u.Subject = sub.String()
	f.exec("UPDATE users SET subject = $2 WHERE id = $1", u.ID, u.Subject)
}

// callPool makes a call of the user pool's protocol, as a browser does.
func (f *fixture) callPool(operation string, body map[string]any, header ...string) response {
	f.t.Helper()
	encoded, err := json.Marshal(body)
	must.Succeed(f.t, err)
	req, err := http.NewRequestWithContext(f.t.Context(), http.MethodPost, f.url+"/pool/",
		strings.NewReader(string(encoded)))
	must.Succeed(f.t, err)
	req.Header.Set("Content-Type", "application/x-amz-json-1.1")
	req.Header.Set("X-Amz-Target", "AWSCognitoIdentityProviderService."+operation)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	must.Succeed(f.t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	must.Succeed(f.t, err)
	return response{resp.StatusCode, resp.Header, answer}
}

// initiate makes the call that begins or renews a session.
func (f *fixture) initiate(flow string, parameters map[string]string, header ...string) response {
	f.t.Helper()
	return f.callPool("InitiateAuth", map[string]any{
		"ClientId": "client", "AuthFlow": flow,
		"AuthParameters": parameters,
	}, header...)
}

func (f *fixture) signIn(u identity.NewUser) session {
	f.t.Helper()
	resp := f.initiate("USER_PASSWORD_AUTH", map[string]string{"USERNAME": u.Email, "PASSWORD": poolPassword})
	var answer struct{ AuthenticationResult session }
	if err := json.Unmarshal(resp.body, &answer); err != nil || resp.status != http.StatusOK {
		f.t.Fatalf("%d %s", resp.status, resp.body)
	}
	return answer.AuthenticationResult
}

// firstSignIn signs in an invited person for the first time, and sets the password used by all tests.
func (f *fixture) firstSignIn(email string) session {
	f.t.Helper()
	temporary, _ := f.users.temporary.Load(email)
	resp := f.initiate("USER_PASSWORD_AUTH", map[string]string{"USERNAME": email, "PASSWORD": temporary.(string)})
	var challenge struct{ ChallengeName, Session string }
	if err := json.Unmarshal(resp.body, &challenge); err != nil || challenge.ChallengeName != "NEW_PASSWORD_REQUIRED" {
		f.t.Fatalf("%d %s", resp.status, resp.body)
	}
	resp = f.callPool("RespondToAuthChallenge", map[string]any{
		"ClientId": "client", "ChallengeName": challenge.ChallengeName, "Session": challenge.Session,
		"ChallengeResponses": map[string]string{"USERNAME": email, "NEW_PASSWORD": poolPassword},
	})
	var answer struct{ AuthenticationResult session }
	if err := json.Unmarshal(resp.body, &answer); err != nil || resp.status != http.StatusOK {
		f.t.Fatalf("%d %s", resp.status, resp.body)
	}
	return answer.AuthenticationResult
}

func (f *fixture) refresh(s session) response {
	f.t.Helper()
	return f.initiate("REFRESH_TOKEN_AUTH", map[string]string{"REFRESH_TOKEN": s.RefreshToken})
}

// TestFactorCodeContainsTheSecret: the QR code is a picture of the address in its response.
func TestFactorCodeContainsTheSecret(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	code := get[api.QRCode](f, http.StatusOK, call{method: "POST", path: "/v1/auth-type/qr-code", body: map[string]any{
		"email": f.alice.Email, "secret": "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP",
	}})
	const want = "otpauth://totp/Tsumugi:alice@tsumugi.example?issuer=Tsumugi&secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
	key, err := otp.NewKeyFromURL(want)
	must.Succeed(t, err)
	picture, err := key.Image(400, 400)
	must.Succeed(t, err)
	var content bytes.Buffer
	must.Succeed(t, png.Encode(&content, picture))
	if code.URI != want || code.Image != "data:image/png;base64,"+base64.StdEncoding.EncodeToString(content.Bytes()) {
		t.Errorf("got %+v", code)
	}
}
