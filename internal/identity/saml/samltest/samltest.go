// Package samltest is an identity provider for tests and demos: crewjam's samlidp, with given users, SHA-256 signatures
// and persistent NameIDs. It imports no package of this module.
package samltest

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/crewjam/saml"
	"github.com/crewjam/saml/samlidp"
	dsig "github.com/russellhaering/goxmldsig"
	"golang.org/x/crypto/bcrypt"
)

// The attributes with a person's address and name.
const (
	EmailAttribute = "urn:oid:0.9.2342.19200300.100.1.3"
	NameAttribute  = "urn:oid:2.5.4.3"
)

// User is a user of the provider.
type User struct {
	Login    string // Typed as the user name.
	Password string
	NameID   string // Persistent. Default: Login.
	Email    string
	Name     string
}

// Config configures a Provider.
type Config struct {
	URL   string // Base URL of the provider, without a trailing slash.
	Users []User

	// Discover returns the metadata of an unknown service provider by its entity id. If nil, it stays unknown.
	Discover func(ctx context.Context, entityID string) ([]byte, error)
}

// Provider is an identity provider. Service providers must be added first. It is safe for concurrent use.
type Provider struct {
	server   *samlidp.Server
	users    map[string]User // By login.
	discover func(context.Context, string) ([]byte, error)
	age      atomic.Int64 // A time.Duration.

	Key         *rsa.PrivateKey
	Certificate *x509.Certificate
}

// firstKey returns the key of all providers. Generating one takes long with the race detector.
var firstKey = sync.OnceValues(generateKey)

func generateKey() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) }

// New returns a provider with a certificate of its own. All providers of a process have the same key.
func New(cfg Config) (*Provider, error) {
	key, err := firstKey()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	certificate, err := certify(key, now.Add(-time.Hour), now.AddDate(1, 0, 0))
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, err
	}
	store := &samlidp.MemoryStore{}
	server, err := samlidp.New(samlidp.Options{
		URL: *base, Key: key, Certificate: certificate, Store: store, Logger: log.New(io.Discard, "", 0),
	})
	if err != nil {
		return nil, err
	}
	p := &Provider{
		server: server, users: make(map[string]User), discover: cfg.Discover, Key: key,
		Certificate: certificate,
	}
	server.IDP.SignatureMethod = dsig.RSASHA256SignatureMethod // The default is SHA-1.
	server.IDP.LoginURL = server.IDP.SSOURL                    // The default never answers the request.
	server.IDP.SessionProvider, server.IDP.ServiceProviderProvider = p, p
	for _, user := range cfg.Users {
		if user.Login == "" || user.Password == "" {
			return nil, errors.New("samltest: a user needs a login and a password")
		}
		if user.NameID == "" {
			user.NameID = user.Login
		}
		hash, err := bcrypt.GenerateFromPassword([]byte(user.Password), bcrypt.MinCost)
		if err != nil {
			return nil, err
		}
		if err := store.Put("/users/"+user.Login, samlidp.User{
			Name: user.Login, HashedPassword: hash, Email: user.Email, CommonName: user.Name,
		}); err != nil {
			return nil, err
		}
		p.users[user.Login] = user
	}
	return p, nil
}

// NewKey returns a signing key with a certificate that is valid for a year.
func NewKey() (*rsa.PrivateKey, *x509.Certificate, error) {
	now := time.Now()
	return NewKeyValid(now.Add(-time.Hour), now.AddDate(1, 0, 0))
}

// NewKeyValid is NewKey with the given validity.
func NewKeyValid(notBefore, notAfter time.Time) (*rsa.PrivateKey, *x509.Certificate, error) {
	key, err := generateKey()
	if err != nil {
		return nil, nil, err
	}
	certificate, err := certify(key, notBefore, notAfter)
	return key, certificate, err
}

// certify returns a certificate of the key, signed with it.
func certify(key *rsa.PrivateKey, notBefore, notAfter time.Time) (*x509.Certificate, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(notBefore.UnixNano()), Subject: pkix.Name{CommonName: "samltest"},
		NotBefore: notBefore, NotAfter: notAfter,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// SetSessionAge sets the time since the authentication of the users in later responses.
func (p *Provider) SetSessionAge(age time.Duration) { p.age.Store(int64(age)) }

// GetSession implements saml.SessionProvider: samlidp's sessions with the NameIDs of the users.
func (p *Provider) GetSession(w http.ResponseWriter, r *http.Request, req *saml.IdpAuthnRequest) *saml.Session {
	if force := req.Request.ForceAuthn; force != nil && *force && r.Method == http.MethodGet {
		r = r.Clone(r.Context())
		r.Header.Del("Cookie") // samlidp ignores ForceAuthn.
	}
	session := p.server.GetSession(w, r, req)
	if session != nil {
		session.CreateTime = session.CreateTime.Add(-time.Duration(p.age.Load()))
		session.NameID, session.NameIDFormat = p.users[session.UserName].NameID, string(saml.PersistentNameIDFormat)
	}
	return session
}

// GetServiceProvider implements saml.ServiceProviderProvider. If the service provider does not exist, the error is
// os.ErrNotExist.
func (p *Provider) GetServiceProvider(r *http.Request, entityID string) (*saml.EntityDescriptor, error) {
	found, err := p.server.GetServiceProvider(r, entityID)
	if !errors.Is(err, os.ErrNotExist) || p.discover == nil {
		return found, err
	}
	metadata, err := p.discover(r.Context(), entityID)
	if err != nil {
		return nil, err
	}
	if err := p.AddService(metadata); err != nil {
		return nil, err
	}
	return p.server.GetServiceProvider(r, entityID)
}

// ServeHTTP serves the paths of samlidp: /metadata, /sso with its sign-in form, and more.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.server.ServeHTTP(w, r)
}

// EntityID returns the provider's entity id.
func (p *Provider) EntityID() string { return p.server.IDP.MetadataURL.String() }

// SSOURL returns the URL that browsers are redirected to for signing in.
func (p *Provider) SSOURL() string { return p.server.IDP.SSOURL.String() }

// Metadata returns the provider's metadata.
func (p *Provider) Metadata() ([]byte, error) {
	return xml.MarshalIndent(p.server.IDP.Metadata(), "", "  ")
}

// AddService registers a service provider by its metadata.
func (p *Provider) AddService(metadata []byte) error {
	var entity saml.EntityDescriptor
	if err := xml.Unmarshal(metadata, &entity); err != nil {
		return fmt.Errorf("samltest: the service's metadata: %w", err)
	}
	//nolint:noctx // In process.
	request, err := http.NewRequest(http.MethodPut, "/services/"+url.PathEscape(entity.EntityID),
		strings.NewReader(string(metadata)))
	if err != nil {
		return err
	}
	request.SetPathValue("id", entity.EntityID)
	answer := &answer{header: make(http.Header), status: http.StatusOK}
	p.server.HandlePutService(answer, request)
	if answer.status >= http.StatusBadRequest {
		return fmt.Errorf("samltest: the service's metadata was refused: %d", answer.status)
	}
	return nil
}

// answer records the status of a response.
type answer struct {
	header http.Header
	status int
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) Write(p []byte) (int, error) { return len(p), nil }

func (a *answer) WriteHeader(status int) { a.status = status }
