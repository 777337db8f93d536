package saml

import (
	"context"
	"encoding/base64"
	"errors"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
)

// ACSRequest is the request that a browser posts from the identity provider.
type ACSRequest struct {
	OrganizationID uuid.UUID
	Browser        string // The value of its cookie.
	RelayState     string
	Response       string // Base64.
	Origin         sso.Origin
}

// Consume processes a response of the identity provider. The response must belong to a sign-in that began in this
// browser, and is accepted once. The error has one of the codes of package sso, or is internal.
func (s *Service) Consume(ctx context.Context, req ACSRequest) (sso.Outcome, error) {
	state, err := s.sso.TakeState(ctx, req.OrganizationID, req.RelayState, req.Browser, req.Origin)
	if err != nil {
		return sso.Outcome{}, err
	}
	settings, err := s.store.SAMLSettings(ctx, req.OrganizationID)
	if err != nil {
		return sso.Outcome{}, err
	}
	if state.TestID == nil && !settings.Enabled {
		return sso.Outcome{}, fault.Errorf(sso.CodeDisabled, "この組織ではシングルサインオンを使用していません。")
	}
	a, who, err := s.accept(ctx, settings, state, req)
	if state.TestID != nil {
		return s.finishTest(ctx, req.OrganizationID, *state.TestID, a, who, err)
	}
	if err != nil {
		return sso.Outcome{}, s.sso.RefuseResponse(ctx, state, req.Origin, err)
	}
	return s.sso.Admit(ctx, sso.Login{State: state, Person: who, SessionUntil: a.sessionUntil, Origin: req.Origin})
}

// accept verifies a response, records its use, and returns the person in it. It returns the assertion even if that
// person may not sign in, so that a trial can show it.
func (s *Service) accept(ctx context.Context, settings Settings, state sso.State, req ACSRequest) (assertion,
	sso.Person, error,
) {
	if base64.StdEncoding.DecodedLen(len(req.Response)) > maxResponse+2 {
		return assertion{}, sso.Person{}, reject("the response is too large", adviceForm)
	}
	raw, err := base64.StdEncoding.DecodeString(req.Response)
	if err != nil {
		return assertion{}, sso.Person{}, reject("the response is no Base64", adviceForm)
	}
	a, err := s.verify(settings, state.RequestID, raw)
	if err != nil {
		return assertion{}, sso.Person{}, err
	}
	now := s.sso.Now()
	err = s.store.UseAssertion(ctx, Use{
		OrganizationID: settings.OrganizationID, EntityID: settings.EntityID, AssertionID: a.id,
		ExpiresAt: a.notOnOrAfter.Add(maxSkew),
	}, now)
	if fault.CodeOf(err) == fault.Conflict {
		return assertion{}, sso.Person{}, reject("the assertion was used before", "この応答はすでに使用されています。")
	}
	if err != nil {
		return assertion{}, sso.Person{}, err
	}
	who, err := a.person(settings)
	return a, who, err
}

// finishTest stores the result of a trial.
func (s *Service) finishTest(
	ctx context.Context, organizationID, id uuid.UUID, a assertion, who sso.Person, err error,
) (sso.Outcome, error) {
	test := Test{
		ID: id, Status: TestSuccess, NameID: a.nameID, Email: who.Email, Name: who.Name,
		Attributes: a.attributes,
	}
	if err != nil {
		why, ok := errors.AsType[*sso.Rejection](err)
		if !ok {
			return sso.Outcome{}, err
		}
		test.Status, test.Error = TestFailed, why.Advice
	}
	return sso.Outcome{Test: id}, s.store.FinishSAMLTest(ctx, organizationID, test)
}

// Test returns a trial of the actor's organization. The actor must be a super-admin. If the trial does not exist, the
// error has the code fault.NotFound.
func (s *Service) Test(ctx context.Context, actor identity.Actor, id uuid.UUID) (Test, error) {
	if err := actor.RequireSuperAdmin(); err != nil {
		return Test{}, err
	}
	return s.store.SAMLTest(ctx, actor.OrganizationID, id)
}
