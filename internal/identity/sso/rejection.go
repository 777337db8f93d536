package sso

import (
	"context"
	"errors"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// Codes of a failed sign-in. The app receives them as the parameter error of its page /oauth2/callback.
const (
	CodeDisabled fault.Code = "sso_disabled" // The organization does not use single sign-on.
	// Begun in another browser, expired, or initiated by the identity provider.
	CodeState       fault.Code = "sso_state_invalid"
	CodeResponse    fault.Code = "sso_response_invalid" // The response is invalid.
	CodeDenied      fault.Code = "sso_denied"           // The identity provider has refused to sign the person in.
	CodeAddress     fault.Code = "sso_address_invalid"  // The address is missing, or not allowed by the organization.
	CodeUnavailable fault.Code = "sso_unavailable"      // The identity provider cannot be reached.
	// The identity provider has not authenticated the person again, although it was asked to.
	CodeNotConfirmed fault.Code = "sso_not_confirmed"
	CodeNotLinked    fault.Code = "account_not_linked" // The address belongs to a member who may be another person.
	CodeInactive     fault.Code = "account_inactive"
	CodeNoSeat       fault.Code = "no_seat"

	CodeLinked     fault.Code = "account_linked"           // The member with that address is another person there.
	CodeNoPassword fault.Code = "account_without_password" // Consent requires a password, but the member has none.
)

// refusals are the codes returned by decide.
var refusals = []fault.Code{CodeNotLinked, CodeInactive, CodeNoSeat, CodeLinked, CodeNoPassword}

// Rejection is the reason why the response of an identity provider is not accepted. It contains no part of the response.
type Rejection struct {
	Reason string // For the log.
	Advice string // In Japanese, for an administrator who tries the settings.
}

func (r *Rejection) Error() string { return "sso: " + r.Reason }

// Reject returns a rejection.
func Reject(reason, advice string) *Rejection { return &Rejection{Reason: reason, Advice: advice} }

// ErrDenied rejects a response with an error: the identity provider did not sign the person in.
var ErrDenied = Reject("the identity provider signed nobody in", "IDプロバイダーがログインを許可しませんでした。アプリの割り当てなどを確認してください。")

// ErrNotConfirmed rejects the response to a request to authenticate the person again: the identity provider did not do
// so, or did not assert when it did.
var ErrNotConfirmed = Reject("the person was not authenticated again", "IDプロバイダーが本人確認を求めませんでした。")

// personRejection is a rejection of the person in a valid response, not of the response itself.
type personRejection struct{ error }

// Unwrap returns the underlying rejection.
func (u *personRejection) Unwrap() error { return u.error }

// Shown returns the fault shown to the person who signs in, for a rejection. It returns other errors unchanged.
func Shown(err error) error {
	if _, ok := errors.AsType[*personRejection](err); ok {
		return fault.Wrap(err, CodeAddress, "このメールアドレスではシングルサインオンを使用できません。管理者にお問い合わせください。")
	}
	if errors.Is(err, ErrDenied) {
		return fault.Wrap(err, CodeDenied, "IDプロバイダーでログインが完了しませんでした。もう一度お試しいただくか、管理者にお問い合わせください。")
	}
	if errors.Is(err, ErrNotConfirmed) {
		return fault.Wrap(err, CodeNotConfirmed,
			"組織のIDプロバイダーが本人確認を求めなかったか、認証した時刻（auth_time）を返しませんでした。IDプロバイダーの設定を管理者に確認してください。")
	}
	if _, ok := errors.AsType[*Rejection](err); ok {
		return fault.Wrap(err, CodeResponse, "シングルサインオンの応答を確認できませんでした。もう一度お試しいただくか、管理者にお問い合わせください。")
	}
	return err
}

// refuse logs why a sign-in was rejected, and records it in the audit log. It never writes unverified parts of the
// response.
func (s *Service) refuse(ctx context.Context, refusal Refusal, reason string) {
	s.cfg.Logger.InfoContext(ctx, "single sign-on refused", "organization_id", refusal.OrganizationID, "reason", reason)
	refusal.At = s.Now()
	if err := s.store.RecordRefusal(ctx, refusal); err != nil {
		s.cfg.Logger.WarnContext(ctx, "sso: refusal not stored in the audit log", "organization_id",
			refusal.OrganizationID, "err", err)
	}
}

// RefuseResponse records the rejection of a response, if err is one, and returns the fault shown to the person.
func (s *Service) RefuseResponse(ctx context.Context, state State, origin Origin, err error) error {
	why, ok := errors.AsType[*Rejection](err)
	if !ok {
		return err
	}
	shown := Shown(err)
	s.refuse(ctx, Refusal{OrganizationID: state.OrganizationID, Code: fault.CodeOf(shown), Origin: origin}, why.Reason)
	return shown
}
