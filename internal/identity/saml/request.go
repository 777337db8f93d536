package saml

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"time"

	"github.com/beevik/etree"
	"github.com/crewjam/saml"
	"github.com/google/uuid"
	dsig "github.com/russellhaering/goxmldsig"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// Begin begins a sign-in for the members of an organization. browser is the value of the browser's cookie from an
// earlier sign-in, or "": concurrent sign-ins in several tabs share it. next is the path in the app after the sign-in.
// If the organization does not exist, or does not use single sign-on, or its settings are incomplete, the error has the
// code sso.CodeDisabled.
func (s *Service) Begin(ctx context.Context, request sso.Request) (sso.Redirect, error) {
	settings, err := s.store.SAMLSettings(ctx, request.OrganizationID)
	if fault.CodeOf(err) == fault.NotFound || err == nil && !settings.Enabled {
		return sso.Redirect{}, fault.Errorf(sso.CodeDisabled, "この組織ではシングルサインオンを使用していません。")
	}
	if err != nil {
		return sso.Redirect{}, err
	}
	// Single sign-on can be on with incomplete settings: operators can turn it on, and certificates expire.
	if err := incomplete(settings, s.sso.Now()); err != nil {
		return sso.Redirect{}, fault.Wrap(err, sso.CodeDisabled, "シングルサインオンの設定が完了していないため、ログインできません。管理者にお問い合わせください。")
	}
	state, start, err := s.start(ctx, settings, request)
	if err != nil {
		return sso.Redirect{}, err
	}
	return start, s.sso.CreateState(ctx, state)
}

// BeginTest begins a trial of the settings of the actor's organization, even if single sign-on is off. The actor must
// be a super-admin. If the settings are incomplete, the error has the code fault.Conflict.
func (s *Service) BeginTest(ctx context.Context, actor identity.Actor, browser string) (uuid.UUID, sso.Redirect, error) {
	if err := actor.RequireSuperAdmin(); err != nil {
		return uuid.Nil, sso.Redirect{}, err
	}
	settings, err := s.store.SAMLSettings(ctx, actor.OrganizationID)
	if err != nil {
		return uuid.Nil, sso.Redirect{}, err
	}
	if err := incomplete(settings, s.sso.Now()); err != nil {
		return uuid.Nil, sso.Redirect{}, err
	}
	test := Test{ID: uuidv7.New(), Status: TestPending}
	state, start, err := s.start(ctx, settings, sso.Request{Browser: browser})
	if err != nil {
		return uuid.Nil, sso.Redirect{}, err
	}
	state.TestID = &test.ID
	return test.ID, start, s.store.CreateSAMLTest(ctx, actor, test, state, s.sso.Now())
}

// start creates the request and the state, which binds the response to the request and to the browser.
func (s *Service) start(ctx context.Context, settings Settings, request sso.Request) (sso.State, sso.Redirect, error) {
	key, err := s.signer(ctx)
	if err != nil {
		return sso.State{}, sso.Redirect{}, err
	}
	state, relayState, browser := s.sso.NewState(settings.OrganizationID, request.Browser, request.Next)
	state.RequestID = newRequestID()
	address, err := s.requestURL(key, settings, state.RequestID, relayState, request.Reauthenticate)
	return state, sso.Redirect{URL: address, Browser: browser}, err
}

// newRequestID returns the id of a request. An xs:ID begins with a letter or an underscore.
func newRequestID() string {
	b := make([]byte, 20)
	rand.Read(b) // Never fails: crypto/rand crashes the program instead.
	return "_" + hex.EncodeToString(b)
}

// requestURL returns the identity provider's address with a signed AuthnRequest (bindings, section 3.4.4.1). The
// signature covers only these parameters, and not those in the address itself, such as Google's. crewjam would sign
// those too.
func (s *Service) requestURL(
	key *signingKey, settings Settings, requestID, relayState string, reauthenticate bool,
) (string, error) {
	allowCreate, unspecified := true, string(saml.UnspecifiedNameIDFormat)
	request := saml.AuthnRequest{
		ID: requestID, IssueInstant: s.sso.Now().Truncate(time.Second), Version: "2.0", Destination: settings.SSOURL,
		AssertionConsumerServiceURL: s.acsURL(settings.OrganizationID), ProtocolBinding: saml.HTTPPostBinding,
		Issuer:       &saml.Issuer{Value: s.entityID(settings.OrganizationID)},
		NameIDPolicy: &saml.NameIDPolicy{AllowCreate: &allowCreate, Format: &unspecified},
	}
	if reauthenticate {
		request.ForceAuthn = &reauthenticate
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
