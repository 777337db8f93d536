package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/directory"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/internal/mail"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/store"
)

// cognito holds the settings of AWS's user pool. Without them, passwords are in the embedded pool.
type cognito struct {
	CognitoUserPoolID string `env:"COGNITO_USER_POOL_ID" placeholder:"ID" help:"AWS Cognito user pool in which people sign in with passwords. Default: the embedded user pool."`
	CognitoClientID   string `env:"COGNITO_CLIENT_ID" placeholder:"ID" help:"App client of the user pool, without a secret."`
	CognitoRegion     string `env:"COGNITO_REGION" default:"ap-northeast-1" help:"Region of the user pool."`
	CognitoEndpoint   string `env:"COGNITO_ENDPOINT" placeholder:"URL" help:"URL of the user pool's API. Default: AWS, in the region."`
}

// checkCognito checks that the settings of AWS's user pool are complete.
func (c *cognito) checkCognito() error {
	if err := checkURL(c.CognitoEndpoint, []string{"https", "http"}); err != nil {
		return fmt.Errorf("--cognito-endpoint (COGNITO_ENDPOINT) %w", err)
	}
	switch {
	case c.CognitoUserPoolID == "" && c.CognitoClientID == "" && c.CognitoEndpoint == "":
		return nil
	case c.CognitoUserPoolID == "":
		return errors.New("--cognito-user-pool-id (COGNITO_USER_POOL_ID) is missing")
	case c.CognitoClientID == "":
		return errors.New("--cognito-client-id (COGNITO_CLIENT_ID) is missing")
	case !strings.HasPrefix(c.CognitoUserPoolID, c.CognitoRegion+"_"):
		return fmt.Errorf("--cognito-user-pool-id (COGNITO_USER_POOL_ID) %q is not of the region %s (COGNITO_REGION)",
			c.CognitoUserPoolID, c.CognitoRegion)
	}
	return nil
}

// accounts implements org.Accounts.
type accounts struct {
	*directory.Directory // Manages passwords: AWS's user pool or the embedded one.
	// Further pools with accounts of members: the embedded pool if Directory is AWS's, else none.
	federated []*directory.Directory
	users     *pool.Pool // The embedded pool.
	mailer    *mail.Mailer
}

var _ org.Accounts = accounts{}

// federatedClientID is the app client for sessions of single sign-on.
const federatedClientID = "tsumugi0sso0client0000000"

// openAccounts returns the embedded user pool, which the caller must stop, and the accounts.
func (c *cognito) openAccounts(ctx context.Context, db *store.DB, publicURL string, mailer *mail.Mailer,
	log *slog.Logger,
) (a accounts, err error) {
	a.mailer = mailer
	cfg := pool.Config{
		PoolID: poolID, ClientID: clientID, FederatedClientID: federatedClientID, Issuer: publicURL + poolPath + poolID,
		Admin: pool.NewCredentials(), Mailer: mailer, Logger: log.With("part", "pool"),
	}
	if c.CognitoUserPoolID != "" {
		cfg.ClientID = "" // AWS's user pool checks passwords.
	}
	if a.users, err = pool.New(ctx, cfg, db); err != nil {
		return a, err
	}
	a.Directory, err = directory.New(directory.Config{
		UserPoolID: poolID, Endpoint: publicURL + poolPath, Transport: directory.InProcess(a.users.Handler()),
		Credentials: directory.Credentials(cfg.Admin),
	})
	if err != nil || c.CognitoUserPoolID == "" {
		return a, err
	}
	a.federated = append(a.federated, a.Directory)
	a.Directory, err = directory.New(directory.Config{
		UserPoolID: c.CognitoUserPoolID, Region: c.CognitoRegion, Endpoint: c.CognitoEndpoint,
	})
	return a, err
}

// passwordClient returns the app client for password sign-in.
func (c *cognito) passwordClient() string { return cmp.Or(c.CognitoClientID, clientID) }

// passwordEndpoint returns the address to which the browser sends password sign-ins: a path of this server, or a URL.
func (c *cognito) passwordEndpoint() string {
	if c.CognitoUserPoolID == "" {
		return poolPath
	}
	return c.cognitoURL() + "/"
}

// cognitoURL returns the URL of AWS's user pool, without a trailing slash.
func (c *cognito) cognitoURL() string {
	return strings.TrimRight(cmp.Or(c.CognitoEndpoint, "https://cognito-idp."+c.CognitoRegion+".amazonaws.com"), "/")
}

// keysTimeout bounds fetching the user pool's public keys.
const keysTimeout = 5 * time.Second

// issuers returns the trusted token issuers.
func (c *cognito) issuers(users *pool.Pool, publicURL string, log *slog.Logger) []identity.Issuer {
	own := identity.Issuer{URL: publicURL + poolPath + poolID, Key: users.Keyfunc}
	federated, passwords := own, own
	federated.ClientID, federated.AuthType = federatedClientID, identity.AuthFederated
	passwords.ClientID, passwords.AuthType = c.passwordClient(), identity.AuthCognito
	if c.CognitoUserPoolID != "" {
		passwords.URL = c.issuerURL()
		passwords.Key = c.remoteKeys(log).Keyfunc
	}
	return []identity.Issuer{passwords, federated}
}

// issuerURL returns the issuer in the tokens of AWS's user pool.
func (c *cognito) issuerURL() string { return c.cognitoURL() + "/" + c.CognitoUserPoolID }

// remoteKeys returns the public keys of AWS's user pool.
func (c *cognito) remoteKeys(log *slog.Logger) *identity.RemoteKeys {
	return identity.NewRemoteKeys(c.issuerURL()+"/.well-known/jwks.json", &http.Client{Timeout: keysTimeout}, time.Now,
		log.With("part", "identity"))
}

// Invite implements org.Accounts. A member without a password gets another subject at the user pool. Their account in
// another pool is deleted, because it would keep the address occupied.
func (a accounts) Invite(ctx context.Context, email, name string) (subject string, err error) {
	subject, err = a.Directory.Invite(ctx, email, name)
	for _, d := range a.federated {
		if err != nil {
			break
		}
		if err = d.Delete(ctx, email); fault.CodeOf(err) == fault.NotFound {
			err = nil
		}
	}
	return subject, err
}

func (a accounts) InviteFederated(ctx context.Context, email, name string) (subject string, err error) {
	sub, err := a.users.CreateExternalUser(ctx, uuid.Nil, email, name)
	if err != nil {
		return "", err
	}
	return sub.String(), a.mailer.Send(ctx, mail.SSOInvitation{Email: email, Name: name})
}

func (a accounts) Rename(ctx context.Context, subject, name string) error {
	return a.everywhere(func(d *directory.Directory) error { return d.Rename(ctx, subject, name) })
}

func (a accounts) Disable(ctx context.Context, subject string) error {
	return a.everywhere(func(d *directory.Directory) error { return d.Disable(ctx, subject) })
}

func (a accounts) Enable(ctx context.Context, subject string) error {
	return a.everywhere(func(d *directory.Directory) error { return d.Enable(ctx, subject) })
}

func (a accounts) Delete(ctx context.Context, subject string) error {
	return a.everywhere(func(d *directory.Directory) error { return d.Delete(ctx, subject) })
}

// everywhere calls do for every pool. It returns a NotFound error if no pool has an account of the person.
func (a accounts) everywhere(do func(*directory.Directory) error) error {
	missing := do(a.Directory)
	if missing != nil && fault.CodeOf(missing) != fault.NotFound {
		return missing
	}
	for _, d := range a.federated {
		switch err := do(d); {
		case err == nil:
			missing = nil
		case fault.CodeOf(err) != fault.NotFound:
			return err
		}
	}
	return missing
}

// withPassword creates accounts with a given password and sends no mail.
type withPassword struct {
	accounts
	password string
	refused  error // Set if the password is rejected or the organization allows single sign-on only.
}

func (a *withPassword) Invite(ctx context.Context, email, name string) (subject string, err error) {
	sub, err := poolUser(ctx, a.users, account{email: email, name: name, password: a.password})
	a.refused = err
	return sub.String(), err
}

func (a *withPassword) InviteFederated(context.Context, string, string) (subject string, err error) {
	a.refused = fault.Errorf(fault.Invalid, "この組織ではシングルサインオンを使うため、パスワードを設定できません。")
	return "", a.refused
}
