package saml

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/beevik/etree"
	"github.com/crewjam/saml"
	"github.com/google/uuid"
	dsig "github.com/russellhaering/goxmldsig"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/opaque"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

const maxNext = 2048 // In bytes.

// Redirect is the redirect address of a sign-in, and the new value of the browser's cookie.
type Redirect struct {
	URL     string
	Browser string
}

// Begin begins a sign-in for the members of an organization. browser is the value of the browser's cookie from an
// earlier sign-in, or "": concurrent sign-ins in several tabs share it. next is the path in the app after the sign-in.
// If the organization does not exist, or does not use single sign-on, or its settings are incomplete, the error has the
// code CodeDisabled.
func (s *Service) Begin(ctx context.Context, organizationID uuid.UUID, browser, next string) (Redirect, error) {
	settings, err := s.store.SAMLSettings(ctx, organizationID)
	if fault.CodeOf(err) == fault.NotFound || err == nil && !settings.Enabled {
		return Redirect{}, fault.Errorf(CodeDisabled, "この組織ではシングルサインオンを使用していません。")
	}
	if err != nil {
		return Redirect{}, err
	}
	// Single sign-on can be on with incomplete settings: operators can turn it on, and certificates expire.
	if err := incomplete(settings, s.now()); err != nil {
		return Redirect{}, fault.Wrap(err, CodeDisabled, "シングルサインオンの設定が完了していないため、ログインできません。管理者にお問い合わせください。")
	}
	state := State{OrganizationID: organizationID, Next: LocalPath(next)}
	start, err := s.start(ctx, settings, browser, &state)
	if err != nil {
		return Redirect{}, err
	}
	return start, s.store.CreateSAMLState(ctx, state, s.now())
}

// BeginTest begins a trial of the settings of the actor's organization, even if single sign-on is off. The actor must
// be a super-admin. If the settings are incomplete, the error has the code fault.Conflict.
func (s *Service) BeginTest(ctx context.Context, actor identity.Actor, browser string) (uuid.UUID, Redirect, error) {
	if err := requireSuperAdmin(actor); err != nil {
		return uuid.Nil, Redirect{}, err
	}
	settings, err := s.store.SAMLSettings(ctx, actor.OrganizationID)
	if err != nil {
		return uuid.Nil, Redirect{}, err
	}
	if err := incomplete(settings, s.now()); err != nil {
		return uuid.Nil, Redirect{}, err
	}
	test := Test{ID: uuidv7.New(), Status: TestPending}
	state := State{OrganizationID: actor.OrganizationID, TestID: &test.ID}
	start, err := s.start(ctx, settings, browser, &state)
	if err != nil {
		return uuid.Nil, Redirect{}, err
	}
	return test.ID, start, s.store.CreateSAMLTest(ctx, actor, test, state, s.now())
}

// start creates the request and completes the state, which binds the response to the request and to the browser.
func (s *Service) start(ctx context.Context, settings Settings, browser string, state *State) (Redirect, error) {
	key, err := s.signer(ctx)
	if err != nil {
		return Redirect{}, err
	}
	if !wellFormedSecret(browser) {
		browser, _ = opaque.New()
	}
	relayState, hash := opaque.New()
	state.Hash, state.BrowserHash, state.ExpiresAt = hash, opaque.Hash(browser), s.now().Add(StateLifetime)
	state.RequestID = newRequestID()
	address, err := s.requestURL(key, settings, state.RequestID, relayState)
	return Redirect{URL: address, Browser: browser}, err
}

// newRequestID returns the id of a request. An xs:ID begins with a letter or an underscore.
func newRequestID() string {
	b := make([]byte, 20)
	rand.Read(b) // Never fails: crypto/rand crashes the program instead.
	return "_" + hex.EncodeToString(b)
}

// wellFormedSecret reports whether a text has the form of a token of opaque.New.
func wellFormedSecret(secret string) bool {
	decoded, err := base64.RawURLEncoding.DecodeString(secret)
	return err == nil && len(decoded) == 32
}

// requestURL returns the identity provider's address with a signed AuthnRequest (bindings, section 3.4.4.1). The
// signature covers only these parameters, and not those in the address itself, such as Google's. crewjam would sign
// those too.
func (s *Service) requestURL(key *signingKey, settings Settings, requestID, relayState string) (string, error) {
	allowCreate, unspecified := true, string(saml.UnspecifiedNameIDFormat)
	request := saml.AuthnRequest{
		ID: requestID, IssueInstant: s.now().Truncate(time.Second), Version: "2.0", Destination: settings.SSOURL,
		AssertionConsumerServiceURL: s.acsURL(settings.OrganizationID), ProtocolBinding: saml.HTTPPostBinding,
		Issuer:       &saml.Issuer{Value: s.entityID(settings.OrganizationID)},
		NameIDPolicy: &saml.NameIDPolicy{AllowCreate: &allowCreate, Format: &unspecified},
	}
	document := etree.NewDocument()
	document.SetRoot(request.Element())
	var compressed bytes.Buffer
	writer, err := flate.NewWriter(&compressed, flate.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := document.WriteTo(writer); err != nil {
		return "", err
	}
	if err := writer.Close(); err != nil {
		return "", err
	}
	query := "SAMLRequest=" + url.QueryEscape(base64.StdEncoding.EncodeToString(compressed.Bytes())) +
		"&RelayState=" + url.QueryEscape(relayState) + "&SigAlg=" + url.QueryEscape(dsig.RSASHA256SignatureMethod)
	signature, err := key.sign(query)
	if err != nil {
		return "", err
	}
	query += "&Signature=" + url.QueryEscape(base64.StdEncoding.EncodeToString(signature))
	address, err := url.Parse(settings.SSOURL)
	if err != nil {
		return "", err
	}
	if address.RawQuery != "" {
		query = address.RawQuery + "&" + query
	}
	address.RawQuery = query
	return address.String(), nil
}

// LocalPath returns a path of the app with its query, or "" for anything that a browser could interpret as another
// origin.
func LocalPath(next string) string {
	if len(next) > maxNext || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") {
		return ""
	}
	// Browsers treat \ as / and drop tabs and newlines.
	if strings.ContainsFunc(next, func(r rune) bool { return r == '\\' || r <= ' ' || r == 0x7f || r == '\uFFFD' }) {
		return ""
	}
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || strings.ContainsAny(u.Path, "\\\r\n\t") {
		return ""
	}
	// The app resolves dots and slashes: /home/..//evil would become //evil.
	if clean := path.Clean(u.Path); clean != u.Path && clean+"/" != u.Path {
		return ""
	}
	return next
}
