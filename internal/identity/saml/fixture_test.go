package saml_test

import (
	"bytes"
	"compress/flate"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/xml"
	"io"
	"net/netip"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/beevik/etree"
	crewjam "github.com/crewjam/saml"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	dsig "github.com/russellhaering/goxmldsig"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/internal/identity/saml"
	"github.com/tsumugi-ai/tsumugi/internal/identity/saml/samltest"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

const (
	publicURL = "https://tsumugi.example"
	clientID  = "sso"
)

// clock is a clock that tests advance.
type clock struct {
	mu     sync.Mutex
	offset time.Duration // Guarded by mu.
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset)
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
}

// fixture is an organization with single sign-on on a real database, with its identity provider and two members.
type fixture struct {
	t     *testing.T
	dsn   string
	sql   *pgxpool.Pool
	db    *store.DB
	sso   *sso.Service
	saml  *saml.Service
	clock *clock

	providers *sso.Client
	idp       *samltest.Provider
	org       uuid.UUID
	admin     identity.Actor // A super-admin with a password.
	alice     identity.NewUser
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, dsn: storetest.DSN(t), clock: &clock{}}
	f.sql = storetest.Pool(t, f.dsn)
	var err error
	f.db, err = store.Open(t.Context(), f.dsn)
	must.Succeed(t, err)
	t.Cleanup(f.db.Close)
	storetest.AddPoolKey(t, f.db)
	users, err := pool.New(t.Context(), pool.Config{
		PoolID: "ap-northeast-1_Test", ClientID: "web", FederatedClientID: clientID,
		Issuer: publicURL + "/pool/ap-northeast-1_Test",
	}, f.db)
	must.Succeed(t, err)
	f.sso = sso.New(sso.Config{PublicURL: publicURL, ClientID: clientID, Clock: f.clock.now}, f.db, users)
	f.providers = sso.NewClient(sso.ClientConfig{})
	f.saml = saml.New(f.providers, f.db, f.sso)
	f.idp, err = samltest.New(samltest.Config{URL: "https://idp.example"})
	must.Succeed(t, err)
	f.org = f.organization("corp.example", "sub.corp.example")
	f.admin = actor(f.member(f.org, "admin@corp.example", identity.RoleOrganizationSuperAdmin, identity.AuthCognito))
	f.alice = f.member(f.org, "alice@corp.example", identity.RoleGeneralUser, identity.AuthCognito)
	f.configure(f.admin)
	_, err = f.saml.TurnOn(t.Context(), f.admin)
	must.Succeed(t, err)
	return f
}

// configure sets an organization's settings to those of the provider.
func (f *fixture) configure(admin identity.Actor) saml.View {
	f.t.Helper()
	metadata := must.Get(f.idp.Metadata())(f.t)
	view, err := f.saml.Change(f.t.Context(), admin, saml.Change{
		MetadataXML: new(string(metadata)), EmailAttribute: new(samltest.EmailAttribute),
		NameAttribute: new(samltest.NameAttribute),
	})
	must.Succeed(f.t, err)
	return view
}

func (f *fixture) organization(domains ...string) uuid.UUID {
	f.t.Helper()
	o := org.Organization{ID: uuid.Must(uuid.NewV7()), Name: "紡績", AuthType: "cognito", MailDomains: domains}
	must.Succeed(f.t, f.db.CreateOrganization(f.t.Context(), o))
	return o.ID
}

func (f *fixture) member(organizationID uuid.UUID, email string, role identity.Role,
	authType identity.AuthType,
) identity.NewUser {
	f.t.Helper()
	u := identity.NewUser{
		ID: uuid.Must(uuid.NewV7()), OrganizationID: organizationID, Subject: uuid.NewString(), Email: email,
		Name: "試験", Role: role, AuthType: authType,
	}
	must.Succeed(f.t, f.db.CreateUser(f.t.Context(), u))
	return u
}

func actor(u identity.NewUser) identity.Actor {
	return identity.Actor{User: identity.User{
		ID: u.ID, OrganizationID: u.OrganizationID, Subject: u.Subject, Email: u.Email, Name: u.Name, Role: u.Role,
		State: identity.StateActive, AuthType: u.AuthType,
	}}
}

// exec executes an SQL statement.
func (f *fixture) exec(sql string, args ...any) {
	f.t.Helper()
	must.Get(f.sql.Exec(f.t.Context(), sql, args...))(f.t)
}

// value returns the result of an SQL query.
func value[T any](f *fixture, sql string, args ...any) T {
	f.t.Helper()
	var v T
	must.Succeed(f.t, f.sql.QueryRow(f.t.Context(), sql, args...).Scan(&v))
	return v
}

// begun is a sign-in begun at the identity provider.
type begun struct {
	sso.Redirect
	relayState string
	request    crewjam.AuthnRequest
}

func (f *fixture) begin(next string) begun {
	f.t.Helper()
	start := must.Get(f.saml.Begin(f.t.Context(), sso.Request{OrganizationID: f.org, Next: next}))(f.t)
	return readStart(f.t, start)
}

func readStart(t *testing.T, start sso.Redirect) begun {
	t.Helper()
	u := must.Get(url.Parse(start.URL))(t)
	compressed := must.Get(base64.StdEncoding.DecodeString(u.Query().Get("SAMLRequest")))(t)
	text := must.Get(io.ReadAll(flate.NewReader(bytes.NewReader(compressed))))(t)
	b := begun{Redirect: start, relayState: u.Query().Get("RelayState")}
	must.Succeed(t, xml.Unmarshal(text, &b.request))
	return b
}

// post posts a response to the service, as the browser of the sign-in.
func (f *fixture) post(b begun, response []byte) (sso.Outcome, error) {
	return f.saml.Consume(f.t.Context(), saml.ACSRequest{
		OrganizationID: f.org, Browser: b.Browser, RelayState: b.relayState,
		Response: base64.StdEncoding.EncodeToString(response),
		Origin:   sso.Origin{Address: netip.MustParseAddr("192.0.2.7"), RequestID: "r1"},
	})
}

// signIn runs a whole sign-in of a person and returns the session.
func (f *fixture) signIn(nameID, email, name string) (sso.Session, error) {
	f.t.Helper()
	b := f.begin("")
	outcome, err := f.post(b, f.forge(b.request.ID, nameID, email, name).bytes(f.t))
	if err != nil {
		return sso.Session{}, err
	}
	return f.sso.Exchange(f.t.Context(), f.org, outcome.Code, b.Browser)
}

// forged is a valid response, like the provider's, for a test to modify.
type forged struct {
	response      *crewjam.Response
	assertion     *crewjam.Assertion
	signResponse  bool
	signAssertion bool
	key           *rsa.PrivateKey
	certificate   *x509.Certificate
	method        string
	algorithm     dsig.Canonicalizer
}

// forge returns a valid response for a person, with a signed assertion.
func (f *fixture) forge(requestID, nameID, email, name string) *forged {
	now := time.Now().UTC()
	entityID := publicURL + "/v1/saml/" + f.org.String() + "/metadata"
	acs := publicURL + "/v1/saml/" + f.org.String() + "/acs"
	issuer := crewjam.Issuer{Value: f.idp.EntityID()}
	text := func(value string) []crewjam.AttributeValue {
		return []crewjam.AttributeValue{{Type: "xs:string", Value: value}}
	}
	return &forged{
		response: &crewjam.Response{
			ID: "_r" + uuid.NewString(), InResponseTo: requestID, Version: "2.0", IssueInstant: now, Destination: acs,
			Issuer: &issuer,
			Status: crewjam.Status{StatusCode: crewjam.StatusCode{Value: crewjam.StatusSuccess}},
		},
		assertion: &crewjam.Assertion{
			ID: "_a" + uuid.NewString(), IssueInstant: now, Version: "2.0", Issuer: issuer,
			Subject: &crewjam.Subject{
				NameID: &crewjam.NameID{Format: string(crewjam.PersistentNameIDFormat), Value: nameID},
				SubjectConfirmations: []crewjam.SubjectConfirmation{{
					Method: "urn:oasis:names:tc:SAML:2.0:cm:bearer",
					SubjectConfirmationData: &crewjam.SubjectConfirmationData{
						InResponseTo: requestID, Recipient: acs, NotOnOrAfter: now.Add(5 * time.Minute),
					},
				}},
			},
			Conditions: &crewjam.Conditions{
				NotBefore: now.Add(-time.Minute), NotOnOrAfter: now.Add(5 * time.Minute),
				AudienceRestrictions: []crewjam.AudienceRestriction{{Audience: crewjam.Audience{Value: entityID}}},
			},
			AuthnStatements: []crewjam.AuthnStatement{{AuthnInstant: now, AuthnContext: crewjam.AuthnContext{
				AuthnContextClassRef: &crewjam.AuthnContextClassRef{
					Value: "urn:oasis:names:tc:SAML:2.0:ac:classes:Password",
				},
			}}},
			AttributeStatements: []crewjam.AttributeStatement{{Attributes: []crewjam.Attribute{
				{Name: samltest.EmailAttribute, Values: text(email)},
				{Name: samltest.NameAttribute, Values: text(name)},
			}}},
		},
		signAssertion: true, key: f.idp.Key, certificate: f.idp.Certificate, method: dsig.RSASHA256SignatureMethod,
		algorithm: dsig.MakeC14N10ExclusiveCanonicalizerWithPrefixList(""),
	}
}

// element returns the signed response as a tree.
func (r *forged) element(t testing.TB) *etree.Element {
	t.Helper()
	asserted := r.assertion.Element()
	if r.signAssertion {
		r.assertion.Signature = r.sign(t, asserted)
		asserted = r.assertion.Element()
	}
	response := r.response.Element()
	response.AddChild(asserted)
	if r.signResponse {
		r.response.Signature = r.sign(t, response)
		response = r.response.Element()
		response.AddChild(asserted.Copy())
	}
	return response
}

// sign returns the signature of an element.
func (r *forged) sign(t testing.TB, el *etree.Element) *etree.Element {
	t.Helper()
	context := must.Get(dsig.NewSigningContext(r.key, [][]byte{r.certificate.Raw}))(t)
	context.Canonicalizer = r.algorithm
	must.Succeed(t, context.SetSignatureMethod(r.method))
	signed := must.Get(context.SignEnveloped(el))(t)
	return signed.Child[len(signed.Child)-1].(*etree.Element)
}

func (r *forged) bytes(t testing.TB) []byte {
	t.Helper()
	return written(t, r.element(t))
}

func written(t testing.TB, el *etree.Element) []byte {
	t.Helper()
	doc := etree.NewDocument()
	doc.SetRoot(el)
	text := must.Get(doc.WriteToBytes())(t)
	return text
}

// settings returns the settings of the fixture's organization.
func (f *fixture) settings() saml.Settings {
	f.t.Helper()
	settings := must.Get(f.db.SAMLSettings(f.t.Context(), f.org))(f.t)
	return settings
}
