package saml

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/opaque"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
)

// Codes of a failed sign-in. The app receives them as the parameter error of its page /oauth2/callback.
const (
	CodeDisabled fault.Code = "sso_disabled" // The organization does not use single sign-on.
	// Begun in another browser, expired, or initiated by the identity provider.
	CodeState     fault.Code = "sso_state_invalid"
	CodeResponse  fault.Code = "sso_response_invalid" // The response is invalid.
	CodeDenied    fault.Code = "sso_denied"           // The identity provider has refused to sign the person in.
	CodeAddress   fault.Code = "sso_address_invalid"  // The address is missing, or not allowed by the organization.
	CodeNotLinked fault.Code = "account_not_linked"   // The address belongs to a member who may be another person.
	CodeInactive  fault.Code = "account_inactive"
	CodeNoSeat    fault.Code = "no_seat"

	CodeLinked     fault.Code = "account_linked"           // The member with that address has another NameID.
	CodeNoPassword fault.Code = "account_without_password" // Consent requires a password, but the member has none.
)

// refusals are the codes returned by decide.
var refusals = []fault.Code{CodeNotLinked, CodeInactive, CodeNoSeat, CodeLinked, CodeNoPassword}

// ACSRequest is the request that a browser posts from the identity provider.
type ACSRequest struct {
	OrganizationID uuid.UUID
	Browser        string // The value of its cookie.
	RelayState     string
	Response       string // Base64.
	Origin         Origin
}

// Outcome is the next step of the browser: exchange a code, ask a member for consent, or show the result of a trial.
// Exactly one field is set.
type Outcome struct {
	Code string
	Link string // Identifies the pending assertion.
	Test uuid.UUID
}

// Consume processes a response of the identity provider. The response must belong to a sign-in that began in this
// browser, and is accepted once. The error has one of the codes above, or is internal.
func (s *Service) Consume(ctx context.Context, req ACSRequest) (Outcome, error) {
	state, err := s.store.TakeSAMLState(
		ctx, req.OrganizationID, opaque.Hash(req.RelayState), opaque.Hash(req.Browser), s.now())
	if fault.CodeOf(err) == fault.NotFound {
		s.refused(ctx, req, "", CodeState, "no sign-in began in this browser, or not lately")
		return Outcome{}, fault.Wrap(err, CodeState,
			"ログインの有効期限が切れたか、別のブラウザーで開始されました。もう一度ログインしてください。")
	}
	if err != nil {
		return Outcome{}, err
	}
	settings, err := s.store.SAMLSettings(ctx, req.OrganizationID)
	if err != nil {
		return Outcome{}, err
	}
	if state.TestID == nil && !settings.Enabled {
		return Outcome{}, fault.Errorf(CodeDisabled, "この組織ではシングルサインオンを使用していません。")
	}
	a, who, err := s.accept(ctx, settings, state, req)
	if state.TestID != nil {
		return s.finishTest(ctx, req.OrganizationID, *state.TestID, a, who, err)
	}
	if err != nil {
		if why, ok := errors.AsType[*rejection](err); ok {
			s.refused(ctx, req, "", fault.CodeOf(shown(err)), why.reason)
		}
		return Outcome{}, shown(err)
	}
	return s.admit(ctx, settings, state, a, who, req)
}

// accept verifies a response, records its use, and returns the person in it. It returns the assertion even if that
// person may not sign in, so that a trial can show it.
func (s *Service) accept(ctx context.Context, settings Settings, state State, req ACSRequest) (assertion, person,
	error,
) {
	if base64.StdEncoding.DecodedLen(len(req.Response)) > maxResponse+2 {
		return assertion{}, person{}, reject("the response is too large", adviceForm)
	}
	raw, err := base64.StdEncoding.DecodeString(req.Response)
	if err != nil {
		return assertion{}, person{}, reject("the response is no Base64", adviceForm)
	}
	a, err := s.verify(settings, state.RequestID, raw)
	if err != nil {
		return assertion{}, person{}, err
	}
	now := s.now()
	err = s.store.UseAssertion(ctx, Use{
		OrganizationID: settings.OrganizationID, EntityID: settings.EntityID, AssertionID: a.id,
		ExpiresAt: a.notOnOrAfter.Add(maxSkew),
	}, now)
	if fault.CodeOf(err) == fault.Conflict {
		return assertion{}, person{}, reject("the assertion was used before", "この応答はすでに使用されています。")
	}
	if err != nil {
		return assertion{}, person{}, err
	}
	who, err := a.person(settings)
	if err != nil {
		return a, person{}, &anonymousRejection{err}
	}
	return a, who, nil
}

// anonymousRejection is a rejection of the person in a valid assertion, not of the assertion itself.
type anonymousRejection struct{ error }

// Unwrap returns the underlying rejection.
func (u *anonymousRejection) Unwrap() error { return u.error }

// shown returns the fault shown to the person who signs in, for a rejection.
func shown(err error) error {
	if _, ok := errors.AsType[*anonymousRejection](err); ok {
		return fault.Wrap(err, CodeAddress, "このメールアドレスではシングルサインオンを使用できません。管理者にお問い合わせください。")
	}
	if errors.Is(err, errDenied) {
		return fault.Wrap(err, CodeDenied, "IDプロバイダーでログインが完了しませんでした。もう一度お試しいただくか、管理者にお問い合わせください。")
	}
	if _, ok := errors.AsType[*rejection](err); ok {
		return fault.Wrap(err, CodeResponse, "シングルサインオンの応答を確認できませんでした。もう一度お試しいただくか、管理者にお問い合わせください。")
	}
	return err
}

// refused logs why a response was rejected, and records it in the audit log. It never writes unsigned parts of the
// response.
func (s *Service) refused(ctx context.Context, req ACSRequest, email string, code fault.Code, reason string) {
	s.cfg.Logger.InfoContext(ctx, "single sign-on refused", "organization_id", req.OrganizationID, "reason", reason)
	err := s.store.RecordRefusal(ctx, Refusal{
		OrganizationID: req.OrganizationID, Email: email, Code: code, At: s.now(), Origin: req.Origin,
	})
	if err != nil {
		s.cfg.Logger.WarnContext(ctx, "saml: refusal not stored in the audit log", "organization_id",
			req.OrganizationID, "err", err)
	}
}

// admit finds or adds the member, and issues the code.
func (s *Service) admit(
	ctx context.Context, settings Settings, state State, a assertion, who person, req ACSRequest,
) (Outcome, error) {
	now := s.now()
	code, hash := opaque.New()
	acceptance := Acceptance{
		OrganizationID: settings.OrganizationID, EntityID: settings.EntityID, NameID: a.key(who.email),
		Email:  who.email,
		Origin: req.Origin, ConsentUntil: now.Add(StateLifetime),
		Code: Code{
			Hash: hash, BrowserHash: state.BrowserHash, OrganizationID: settings.OrganizationID, Next: state.Next,
			SessionUntil: a.sessionUntil, ExpiresAt: now.Add(codeLifetime),
		},
	}
	subject := uuid.Nil
	var decision Decision
	by := func(found Candidates) (_ Decision, err error) {
		decision, err = decide(settings.OrganizationID, who, subject, found)
		return decision, err
	}
	accept := func() error { return s.store.AcceptAssertion(ctx, acceptance, now, by) }
	err := accept()
	if errors.Is(err, errNeedsAccount) {
		subject, err = s.sessions.CreateExternalUser(ctx, uuid.Nil, who.email, who.name)
		// The user pool has a password user with this address who belongs to no organization.
		if fault.CodeOf(err) == fault.Conflict {
			err = errNotLinked()
		}
		if err == nil {
			err = accept()
		}
	}
	// A member with the address was added concurrently: look it up again.
	if fault.CodeOf(err) == fault.Conflict {
		err = accept()
	}
	switch {
	case err != nil:
		if code := fault.CodeOf(err); slices.Contains(refusals, code) {
			s.refused(ctx, req, who.email, code, string(code))
		}
		return Outcome{}, err
	case decision.Consent:
		return Outcome{Link: code}, nil
	default:
		return Outcome{Code: code}, nil
	}
}

// Session is the result of Exchange.
type Session struct {
	pool.Tokens
	ClientID string
	Next     string // Path in the app after the sign-in, or "".
}

// Exchange returns the tokens for a code. If it is unknown, used, more than a minute old or another browser's, the
// error has the code CodeState. If the member's account is still being created, it has the code fault.Unavailable.
func (s *Service) Exchange(ctx context.Context, organizationID uuid.UUID, code, browser string) (Session, error) {
	grantee, err := s.store.TakeSAMLCode(ctx, organizationID, opaque.Hash(code), opaque.Hash(browser), s.now())
	if fault.CodeOf(err) == fault.NotFound {
		return Session{}, fault.Wrap(err, CodeState, "ログインの有効期限が切れました。もう一度ログインしてください。")
	}
	if err != nil {
		return Session{}, err
	}
	subject, err := uuid.Parse(grantee.Subject)
	if err != nil { // The member was just invited, and the account is being created.
		return Session{}, fault.Wrap(err, fault.Unavailable, "アカウントを準備しています。少し待ってから、もう一度ログインしてください。")
	}
	// Members who had a password at AWS are not in the pool yet.
	if _, err := s.sessions.CreateExternalUser(ctx, subject, grantee.Email, grantee.Name); err != nil {
		return Session{}, err
	}
	tokens, err := s.sessions.SignInExternal(ctx, subject, grantee.SessionUntil)
	if err != nil {
		return Session{}, err
	}
	return Session{Tokens: tokens, ClientID: s.cfg.ClientID, Next: grantee.Next}, nil
}

// Refresh returns new tokens for a session begun by Exchange. If the session or token is invalid, the error has the
// code fault.Unauthenticated.
func (s *Service) Refresh(ctx context.Context, clientID, refreshToken string) (pool.Tokens, error) {
	return s.sessions.RefreshExternal(ctx, clientID, refreshToken)
}

// finishTest stores the result of a trial.
func (s *Service) finishTest(
	ctx context.Context, organizationID, id uuid.UUID, a assertion, who person, err error,
) (Outcome, error) {
	test := Test{
		ID: id, Status: TestSuccess, NameID: a.nameID, Email: who.email, Name: who.name,
		Attributes: a.attributes,
	}
	if err != nil {
		why, ok := errors.AsType[*rejection](err)
		if !ok {
			return Outcome{}, err
		}
		test.Status, test.Error = TestFailed, why.advice
	}
	return Outcome{Test: id}, s.store.FinishSAMLTest(ctx, organizationID, test)
}

// Test returns a trial of the actor's organization. The actor must be a super-admin. If the trial does not exist, the
// error has the code fault.NotFound.
func (s *Service) Test(ctx context.Context, actor identity.Actor, id uuid.UUID) (Test, error) {
	if err := requireSuperAdmin(actor); err != nil {
		return Test{}, err
	}
	return s.store.SAMLTest(ctx, actor.OrganizationID, id)
}
