package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/descope/virtualwebauthn"
	"github.com/pquerna/otp/totp"

	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/postgres"
)

// The ways to sign in.
const (
	byPassword = "password"
	byCode     = "password and code"
	byPasskey  = "passkey"
)

const (
	signIns        = 100 // Of each way in a round.
	signInClient   = "web"
	signInPassword = "Momiji-2026-aki"
)

// measureSignIn signs in at the embedded user pool. The time that people and authenticators need is not part of it.
func measureSignIn(ctx context.Context, b *bench) error {
	count := signIns
	if b.quick {
		count /= 10
	}
	t := newTable("Signing in",
		fmt.Sprintf("At the embedded user pool over HTTP, one after another, %d times each; ms of all calls of one "+
			"sign-in. Code: of an authenticator app, without a trusted browser.", count), "",
		byPassword, byCode, byPasskey)
	b.report.Sections = append(b.report.Sections, t)
	p, err := newSignInPool(ctx, filepath.Join(b.dir, "signin"))
	if err != nil {
		return err
	}
	defer p.close(ctx)
	ways := map[string]func(context.Context) error{}
	for name, prepare := range map[string]func(context.Context) (func(context.Context) error, error){
		byPassword: p.withPassword, byCode: p.withCode, byPasskey: p.withPasskey,
	} {
		if ways[name], err = prepare(ctx); err != nil {
			return err
		}
	}
	const row = "ms, p50"
	for range b.rounds {
		b.say("Signing in")
		took := map[string][]float64{}
		for range count {
			for _, name := range t.Columns { // In turn, so that the state of the machine is the same for all.
				p.pass(time.Minute) // Each code is accepted once.
				began := time.Now()
				if err := ways[name](ctx); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				took[name] = append(took[name], float64(time.Since(began).Microseconds())/1000)
			}
		}
		for _, name := range t.Columns {
			t.add(row, name, 1, quantile(took[name], 0.5))
		}
	}
	b.report.atMostTimes("signing in with a code", t, row, byCode, byPassword, 1.2, 2)
	b.report.atMostTimes("signing in with a passkey", t, row, byPasskey, byPassword, 1.2, 2)
	return nil
}

// signInPool is an embedded user pool on an empty database, with a clock that the measurement advances.
type signInPool struct {
	database *postgres.Server
	db       *store.DB
	users    *pool.Pool
	server   *httptest.Server
	passed   atomic.Int64 // A time.Duration.
}

func newSignInPool(ctx context.Context, folder string) (*signInPool, error) {
	p := &signInPool{}
	if err := p.open(ctx, folder); err != nil {
		p.close(ctx)
		return nil, err
	}
	return p, nil
}

func (p *signInPool) open(ctx context.Context, folder string) (err error) {
	if p.database, err = postgres.Start(ctx, postgres.Config{DataDir: folder}); err != nil {
		return err
	}
	if p.db, err = store.Open(ctx, p.database.DSN()); err != nil {
		return err
	}
	if err := p.db.Migrate(ctx); err != nil {
		return err
	}
	p.users, err = pool.New(ctx, pool.Config{
		PoolID: "ap-northeast-1_Bench", ClientID: signInClient, Clock: p.now,
		Issuer: "https://tsumugi.example/pool/ap-northeast-1_Bench",
	}, p.db)
	if err == nil {
		p.server = httptest.NewServer(p.users.Handler())
	}
	return err
}

func (p *signInPool) close(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	if p.server != nil {
		p.server.Close()
	}
	if p.users != nil {
		p.users.Stop(ctx)
	}
	if p.db != nil {
		p.db.Close()
	}
	if p.database != nil {
		_ = p.database.Stop(ctx)
	}
}

func (p *signInPool) now() time.Time { return time.Now().Add(time.Duration(p.passed.Load())) }

func (p *signInPool) pass(d time.Duration) { p.passed.Add(int64(d)) }

// fields are the members of a request.
type fields map[string]any

// answered are the members of the pool's answers.
type answered struct {
	ChallengeName        string
	ChallengeParameters  map[string]string
	Session              string
	SecretCode           string
	AuthenticationResult struct{ AccessToken string }

	CredentialCreationOptions json.RawMessage
}

// call calls an operation of the pool.
func (p *signInPool) call(ctx context.Context, operation string, request fields) (answer answered, err error) {
	body, err := json.Marshal(request)
	if err != nil {
		return answer, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.server.URL, bytes.NewReader(body))
	if err != nil {
		return answer, err
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.1")
	req.Header.Set("X-Amz-Target", "AWSCognitoIdentityProviderService."+operation)
	resp, err := p.server.Client().Do(req)
	if err != nil {
		return answer, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode == http.StatusOK && len(text) == 0 {
		return answer, err
	}
	if resp.StatusCode != http.StatusOK {
		return answer, fmt.Errorf("%s: %s %s", operation, resp.Status, text)
	}
	return answer, json.Unmarshal(text, &answer)
}

// begin signs in with the password.
func (p *signInPool) begin(ctx context.Context, email string) (answered, error) {
	return p.call(ctx, "InitiateAuth", fields{
		"AuthFlow": "USER_PASSWORD_AUTH", "ClientId": signInClient,
		"AuthParameters": fields{"USERNAME": email, "PASSWORD": signInPassword},
	})
}

// finish answers a challenge.
func (p *signInPool) finish(ctx context.Context, challenge answered, responses fields) error {
	answer, err := p.call(ctx, "RespondToAuthChallenge", fields{
		"ChallengeName": challenge.ChallengeName, "ClientId": signInClient, "Session": challenge.Session,
		"ChallengeResponses": responses,
	})
	if err == nil && answer.AuthenticationResult.AccessToken == "" {
		err = fmt.Errorf("another challenge: %s", answer.ChallengeName)
	}
	return err
}

// join creates a user who is signed in.
func (p *signInPool) join(ctx context.Context, email string) (token string, err error) {
	if _, err := p.users.CreateUser(ctx, pool.NewUser{
		Email: email, Name: "紡 花子", PermanentPassword: signInPassword,
	}); err != nil {
		return "", err
	}
	answer, err := p.begin(ctx, email)
	return answer.AuthenticationResult.AccessToken, err
}

// withPassword returns a sign-in with a password alone.
func (p *signInPool) withPassword(ctx context.Context) (func(context.Context) error, error) {
	const email = "password@tsumugi.example"
	_, err := p.join(ctx, email)
	return func(ctx context.Context) error {
		_, err := p.begin(ctx, email)
		return err
	}, err
}

// withCode returns a sign-in with a password and the code of an authenticator app.
func (p *signInPool) withCode(ctx context.Context) (func(context.Context) error, error) {
	const email = "code@tsumugi.example"
	token, err := p.join(ctx, email)
	if err != nil {
		return nil, err
	}
	app, err := p.call(ctx, "AssociateSoftwareToken", fields{"AccessToken": token})
	if err != nil {
		return nil, err
	}
	code, err := totp.GenerateCode(app.SecretCode, p.now())
	if err != nil {
		return nil, err
	}
	if _, err := p.call(ctx, "VerifySoftwareToken", fields{"AccessToken": token, "UserCode": code}); err != nil {
		return nil, err
	}
	if _, err := p.call(ctx, "SetUserMFAPreference", fields{
		"AccessToken": token, "SoftwareTokenMfaSettings": fields{"Enabled": true},
	}); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		challenge, err := p.begin(ctx, email)
		if err != nil {
			return err
		}
		code, err := totp.GenerateCode(app.SecretCode, p.now())
		if err != nil {
			return err
		}
		return p.finish(ctx, challenge, fields{"USERNAME": email, "SOFTWARE_TOKEN_MFA_CODE": code})
	}, nil
}

// withPasskey returns a sign-in with a passkey.
func (p *signInPool) withPasskey(ctx context.Context) (func(context.Context) error, error) {
	token, err := p.join(ctx, "passkey@tsumugi.example")
	if err != nil {
		return nil, err
	}
	begun, err := p.call(ctx, "StartWebAuthnRegistration", fields{"AccessToken": token})
	if err != nil {
		return nil, err
	}
	creation, err := virtualwebauthn.ParseAttestationOptions(string(begun.CredentialCreationOptions))
	if err != nil {
		return nil, err
	}
	site := virtualwebauthn.RelyingParty{ID: "tsumugi.example", Name: "Tsumugi", Origin: "https://tsumugi.example"}
	device, key := virtualwebauthn.NewAuthenticator(), virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeRSA)
	device.Options.UserHandle = []byte(creation.UserID)
	if _, err := p.call(ctx, "CompleteWebAuthnRegistration", fields{
		"AccessToken": token,
		"Credential":  json.RawMessage(virtualwebauthn.CreateAttestationResponse(site, device, key, *creation)),
	}); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		challenge, err := p.call(ctx, "InitiateAuth", fields{
			"AuthFlow": "USER_AUTH", "ClientId": signInClient, "AuthParameters": fields{"PREFERRED_CHALLENGE": "WEB_AUTHN"},
		})
		if err != nil {
			return err
		}
		options, err := virtualwebauthn.ParseAssertionOptions(challenge.ChallengeParameters["CREDENTIAL_REQUEST_OPTIONS"])
		if err != nil {
			return err
		}
		key.Counter++
		return p.finish(ctx, challenge, fields{
			"CREDENTIAL": virtualwebauthn.CreateAssertionResponse(site, device, key, *options),
		})
	}, nil
}
