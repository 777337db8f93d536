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

// Why a sign-in fails. They reach the app as the parameter error of its page /oauth2/callback.
const (
	CodeDisabled fault.Code = "sso_disabled" // The organization does not use single sign-on.
	// Begun elsewhere, too long ago, or by the identity provider itself.
	CodeState     fault.Code = "sso_state_invalid"
	CodeResponse  fault.Code = "sso_response_invalid" // It does not hold.
	CodeDenied    fault.Code = "sso_denied"           // The identity provider has signed nobody in.
	CodeAddress   fault.Code = "sso_address_invalid"  // No address, or none that the organization may use.
	CodeNotLinked fault.Code = "account_not_linked"   // The address is somebody's who is not surely the same person.
	CodeInactive  fault.Code = "account_inactive"
	CodeNoSeat    fault.Code = "no_seat"

	CodeLinked     fault.Code = "account_linked"           // The address is a member's who has another NameID.
	CodeNoPassword fault.Code = "account_without_password" // Consent is needed and cannot be given.
)

// refusals are the codes of decide.
var refusals = []fault.Code{CodeNotLinked, CodeInactive, CodeNoSeat, CodeLinked, CodeNoPassword}

// Posted is what a browser brings from the identity provider.
type Posted struct {
	OrganizationID uuid.UUID
	Browser        string // What its cookie holds.
	RelayState     string
	Response       string // Base64.
	Origin         Origin
}

// Outcome is where the browser goes from here: to exchange a code, to ask a member for their consent, or to see what
// came of a trial. One of the three is set.
type Outcome struct {
	Code string
	Link string // Stands for the held assertion.
	Test uuid.UUID
}

// Consume takes a response of the identity provider. It must answer a sign-in that began in this browser, and each
// counts once. The error has one of the codes above, or is internal.
func (s *Service) Consume(ctx context.Context, posted Posted) (Outcome, error) {
	state, err := s.store.TakeSAMLState(
		ctx, posted.OrganizationID, opaque.Hash(posted.RelayState), opaque.Hash(posted.Browser), s.now())
	if fault.CodeOf(err) == fault.NotFound {
		s.refused(ctx, posted, "", CodeState, "no sign-in began in this browser, or not lately")
		return Outcome{}, fault.Wrap(err, CodeState,
			"ログインの有効期限が切れたか、別のブラウザーで開始されました。もう一度ログインしてください。")
	}
	if err != nil {
		return Outcome{}, err
	}
	settings, err := s.store.SAMLSettings(ctx, posted.OrganizationID)
	if err != nil {
		return Outcome{}, err
	}
	if state.TestID == nil && !settings.Enabled {
		return Outcome{}, fault.Errorf(CodeDisabled, "この組織ではシングルサインオンを使用していません。")
	}
	a, who, err := s.accept(ctx, settings, state, posted)
	if state.TestID != nil {
		return s.finishTest(ctx, posted.OrganizationID, *state.TestID, a, who, err)
	}
	if err != nil {
		if why, ok := errors.AsType[*rejection](err); ok {
			s.refused(ctx, posted, "", fault.CodeOf(shown(err)), why.reason)
		}
		return Outcome{}, shown(err)
	}
	return s.admit(ctx, settings, state, a, who, posted)
}

// accept returns who a response proves, and notes that it was used. The assertion is returned even where it names
// nobody who may sign in.
func (s *Service) accept(ctx context.Context, settings Settings, state State, posted Posted) (assertion, person,
	error,
) {
	if base64.StdEncoding.DecodedLen(len(posted.Response)) > maxResponse+2 {
		return assertion{}, person{}, reject("the response is too large", adviceForm)
	}
	raw, err := base64.StdEncoding.DecodeString(posted.Response)
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
		return a, person{}, &unnamed{err}
	}
	return a, who, nil
}

// unnamed is a rejection for whom an assertion names, and not for the assertion itself.
type unnamed struct{ error }

// Unwrap returns the rejection.
func (u *unnamed) Unwrap() error { return u.error }

// shown returns the fault that a person who signs in is told for a rejection.
func shown(err error) error {
	if _, ok := errors.AsType[*unnamed](err); ok {
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

// refused logs why a response was not accepted, and tells the audit log. Nothing of a response stands there that was
// not signed.
func (s *Service) refused(ctx context.Context, posted Posted, email string, code fault.Code, reason string) {
	s.cfg.Logger.InfoContext(ctx, "single sign-on refused", "organization_id", posted.OrganizationID, "reason", reason)
	err := s.store.RecordRefusal(ctx, Refusal{
		OrganizationID: posted.OrganizationID, Email: email, Code: code, At: s.now(), Origin: posted.Origin,
	})
	if err != nil {
		s.cfg.Logger.WarnContext(ctx, "the audit log was not told of a refusal", "organization_id",
			posted.OrganizationID, "error", err)
	}
}

// admit finds or adds the member, and makes the code.
func (s *Service) admit(
	ctx context.Context, settings Settings, state State, a assertion, who person, posted Posted,
) (Outcome, error) {
	now := s.now()
	code, hash := opaque.New()
	acceptance := Acceptance{
		OrganizationID: settings.OrganizationID, EntityID: settings.EntityID, NameID: a.key(who.email),
		Email:  who.email,
		Origin: posted.Origin, HeldUntil: now.Add(StateLifetime),
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
		// The user pool knows the address, with a password, as no organization's.
		if fault.CodeOf(err) == fault.Conflict {
			err = errNotLinked()
		}
		if err == nil {
			err = accept()
		}
	}
	// Somebody with the address was added at the same moment: it is looked up again.
	if fault.CodeOf(err) == fault.Conflict {
		err = accept()
	}
	switch {
	case err != nil:
		if code := fault.CodeOf(err); slices.Contains(refusals, code) {
			s.refused(ctx, posted, who.email, code, string(code))
		}
		return Outcome{}, err
	case decision.Consent:
		return Outcome{Link: code}, nil
	default:
		return Outcome{Code: code}, nil
	}
}

// Session is what the browser gets for a code.
type Session struct {
	pool.Tokens
	ClientID string
	Next     string // Path of the app to go to, or "".
}

// Exchange returns the tokens for a code. One that is unknown, used, more than a minute old or another browser's has
// the code CodeState. For a member whose account is still being made the error has the code fault.Unavailable.
func (s *Service) Exchange(ctx context.Context, organizationID uuid.UUID, code, browser string) (Session, error) {
	grantee, err := s.store.TakeSAMLCode(ctx, organizationID, opaque.Hash(code), opaque.Hash(browser), s.now())
	if fault.CodeOf(err) == fault.NotFound {
		return Session{}, fault.Wrap(err, CodeState, "ログインの有効期限が切れました。もう一度ログインしてください。")
	}
	if err != nil {
		return Session{}, err
	}
	subject, err := uuid.Parse(grantee.Subject)
	if err != nil { // Invited a moment ago: the account is being made.
		return Session{}, fault.Wrap(err, fault.Unavailable, "アカウントを準備しています。少し待ってから、もう一度ログインしてください。")
	}
	// Members who had a password at AWS are new to the pool.
	if _, err := s.sessions.CreateExternalUser(ctx, subject, grantee.Email, grantee.Name); err != nil {
		return Session{}, err
	}
	tokens, err := s.sessions.SignInExternal(ctx, subject, grantee.SessionUntil)
	if err != nil {
		return Session{}, err
	}
	return Session{Tokens: tokens, ClientID: s.cfg.ClientID, Next: grantee.Next}, nil
}

// Refresh returns new tokens of a session that Exchange began. What does not hold has the code fault.Unauthenticated.
func (s *Service) Refresh(ctx context.Context, clientID, refreshToken string) (pool.Tokens, error) {
	return s.sessions.RefreshExternal(ctx, clientID, refreshToken)
}

// finishTest keeps what came of a trial.
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

// Test returns a trial of the actor's organization, who must be a super-admin. Without such a trial the error has the
// code fault.NotFound.
func (s *Service) Test(ctx context.Context, actor identity.Actor, id uuid.UUID) (Test, error) {
	if err := requireSuperAdmin(actor); err != nil {
		return Test{}, err
	}
	return s.store.SAMLTest(ctx, actor.OrganizationID, id)
}
