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
)

const maxNext = 2048 // Bytes.

// Start is where a browser goes to sign in, and what its cookie holds from then on.
type Start struct {
	URL     string
	Browser string
}

// Begin begins a sign-in for the members of an organization. browser is what the browser's cookie holds from an earlier
// sign-in, or "": several at once, in several tabs, share it. next is the path of the app to go to afterwards. Where
// the organization does not use single sign-on, has not set it up or does not exist, the error has the code
// CodeDisabled.
func (s *Service) Begin(ctx context.Context, organizationID uuid.UUID, browser, next string) (Start, error) {
	settings, err := s.store.SAMLSettings(ctx, organizationID)
	if fault.CodeOf(err) == fault.NotFound || err == nil && !settings.Enabled {
		return Start{}, fault.Errorf(CodeDisabled, "この組織ではシングルサインオンを使用していません。")
	}
	if err != nil {
		return Start{}, err
	}
	// Operators can have switched it on, and certificates run out.
	if err := incomplete(settings, s.now()); err != nil {
		return Start{}, fault.Wrap(err, CodeDisabled, "シングルサインオンの設定が完了していないため、ログインできません。管理者にお問い合わせください。")
	}
	state := State{OrganizationID: organizationID, Next: LocalPath(next)}
	start, err := s.start(ctx, settings, browser, &state)
	if err != nil {
		return Start{}, err
	}
	return start, s.store.CreateSAMLState(ctx, state, s.now())
}

// BeginTest begins a trial of the settings of the actor's organization, who must be a super-admin, whether they are in
// use or not. While they are incomplete, the error has the code fault.Conflict.
func (s *Service) BeginTest(ctx context.Context, actor identity.Actor, browser string) (uuid.UUID, Start, error) {
	if err := requireSuperAdmin(actor); err != nil {
		return uuid.Nil, Start{}, err
	}
	settings, err := s.store.SAMLSettings(ctx, actor.OrganizationID)
	if err != nil {
		return uuid.Nil, Start{}, err
	}
	if err := incomplete(settings, s.now()); err != nil {
		return uuid.Nil, Start{}, err
	}
	test := Test{ID: uuid.Must(uuid.NewV7()), Status: TestPending}
	state := State{OrganizationID: actor.OrganizationID, TestID: &test.ID}
	start, err := s.start(ctx, settings, browser, &state)
	if err != nil {
		return uuid.Nil, Start{}, err
	}
	return test.ID, start, s.store.CreateSAMLTest(ctx, actor, test, state, s.now())
}

// start makes the request, and completes the state that binds its response to it and to the browser.
func (s *Service) start(ctx context.Context, settings Settings, browser string, state *State) (Start, error) {
	key, err := s.signer(ctx)
	if err != nil {
		return Start{}, err
	}
	if !wellFormedSecret(browser) {
		browser, _ = opaque.New()
	}
	relayState, hash := opaque.New()
	state.Hash, state.BrowserHash, state.ExpiresAt = hash, opaque.Hash(browser), s.now().Add(StateLifetime)
	state.RequestID = newRequestID()
	address, err := s.requestURL(key, settings, state.RequestID, relayState)
	return Start{URL: address, Browser: browser}, err
}

// newRequestID returns the id of a request. An xs:ID begins with a letter or an underscore.
func newRequestID() string {
	b := make([]byte, 20)
	rand.Read(b) // Never fails: crypto/rand ends the program instead.
	return "_" + hex.EncodeToString(b)
}

// wellFormedSecret reports whether a text can be what opaque.New has made.
func wellFormedSecret(secret string) bool {
	decoded, err := base64.RawURLEncoding.DecodeString(secret)
	return err == nil && len(decoded) == 32
}

// requestURL returns the identity provider's address with a signed AuthnRequest (bindings, section 3.4.4.1). The
// signature is over these parameters alone, whatever others the address has, such as Google's: crewjam would sign those
// as well.
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

// LocalPath returns a path of the app, with its query, or "" for anything that a browser could take for another place.
func LocalPath(next string) string {
	if len(next) > maxNext || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") {
		return ""
	}
	// Browsers take \ for / and drop tabs and line ends.
	if strings.ContainsFunc(next, func(r rune) bool { return r == '\\' || r <= ' ' || r == 0x7f || r == '\uFFFD' }) {
		return ""
	}
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || strings.ContainsAny(u.Path, "\\\r\n\t") {
		return ""
	}
	// Dots and slashes are resolved where it is used: /home/..//evil is //evil then.
	if clean := path.Clean(u.Path); clean != u.Path && clean+"/" != u.Path {
		return ""
	}
	return next
}
