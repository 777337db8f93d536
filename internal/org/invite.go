package org

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/timeout"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// MaxInvitees limits the number of people invited by one call.
const MaxInvitees = 100

const (
	maxAddress    = 254              // Characters of an address.
	maxUserName   = 128              // Characters of an address that is the user name in a user pool.
	inviteTimeout = 60 * time.Second // For all people of a call, independent of the request.
	inviteClaim   = 90 * time.Second // Time after which the server of a call is considered failed.
	// Interval at which a repeated call checks for the results of the first one.
	invitePoll = 250 * time.Millisecond
	// Concurrent invitations of one call: a long list must not use up the provider's rate limit.
	invitesAtOnce   = 4
	providerTimeout = 10 * time.Second // For one call to the identity provider.
)

// Invitee is a person to invite.
type Invitee struct {
	Email string
	Name  string
	Role  identity.Role
}

// InviteResult is the result of an invitation.
type InviteResult string

// The results of an invitation.
const (
	Invited           InviteResult = "invited"
	AlreadyMember     InviteResult = "already_member"
	NoSeat            InviteResult = "no_seat"
	InviteUnavailable InviteResult = "unavailable" // The address belongs to another organization.
	// The account or the mail failed, and was reverted; a retry may help.
	InviteFailed InviteResult = "failed"
)

// Invitation is an address and the result of inviting it.
type Invitation struct {
	Email  string       `json:"email"`
	Result InviteResult `json:"result"`
	Member *Member      `json:"-"` // The invited member.
}

// InviteCall is an invite call, for the store.
type InviteCall struct {
	OrganizationID uuid.UUID
	RequestID      uuid.UUID
	RequestHash    [32]byte // Hash of the invitees: the same request id with another hash is a conflict.
	By             AuditActor
	Check          func(actor *Member) error // Checks the actor's current state; nil for a former member.
	Action         Action
	Invitees       []Invitee     // Validated, without duplicate addresses.
	Claim          time.Duration // Time for which the call is reserved for this caller.
}

// BeginInviteResult is the result of BeginInvite.
type BeginInviteResult struct {
	Busy bool // Another caller is processing the call; retry later. The other fields are empty.

	// One for each invitee, in their order. Those without a result have a Member with a seat, and the caller must
	// invite them at the identity provider.
	Invitations []Invitation

	// Leftovers are removed members with one of the addresses whose accounts are not yet deleted.
	Leftovers []uuid.UUID
}

// Invite makes people members of the actor's organization. The identity provider sends them mail. It returns one result
// per address, in their order. A repeated call with the same requestID returns the same results and sends no mail
// again; with other invitees the error has the code fault.RequestConflict. For administrators; only super-admins may
// invite admins.
func (s *Service) Invite(ctx context.Context, actor identity.Actor, requestID uuid.UUID,
	invitees []Invitee,
) ([]Invitation, error) {
	if err := administers(actor); err != nil {
		return nil, err
	}
	clean, err := cleanInvitees(invitees)
	if err != nil {
		return nil, err
	}
	return s.invite(ctx, InviteCall{
		OrganizationID: actor.OrganizationID, RequestID: requestID, By: AuditActorOf(actor), Action: ActionInvite,
		Invitees: clean,
		Check:    func(actor *Member) error { return mayInvite(actor, clean) },
	})
}

// Enroll invites a person into an organization on behalf of an operator. Errors: fault.Conflict if a member has the
// address, ErrNoSeat, fault.NotFound for the organization, fault.Invalid, and fault.Unavailable if the account or the
// mail failed.
func (s *Service) Enroll(ctx context.Context, operator AuditActor, organizationID uuid.UUID, invitee Invitee) (Member,
	error,
) {
	clean, err := cleanInvitees([]Invitee{invitee})
	if err != nil {
		return Member{}, err
	}
	invitations, err := s.invite(ctx, InviteCall{
		OrganizationID: organizationID, RequestID: uuidv7.New(), By: operator, Action: actionUserCreate,
		Invitees: clean, Check: func(*Member) error { return nil },
	})
	if err != nil {
		return Member{}, err
	}
	switch i := invitations[0]; i.Result {
	case Invited:
		return *i.Member, nil
	case NoSeat:
		return Member{}, ErrNoSeat
	case AlreadyMember, InviteUnavailable:
		return Member{}, fault.Errorf(fault.Conflict, "このメールアドレスはすでに登録されています。")
	default:
		return Member{}, fault.Errorf(fault.Unavailable, "アカウントを作成できませんでした。")
	}
}

// Resend sends another invitation to a member of the actor's organization who has not signed in since the last
// invitation. If a member was added by single sign-on and cannot sign in because the organization no longer uses it,
// Resend invites the same member to sign in with a password. Errors: fault.Forbidden, fault.NotFound, fault.Conflict
// for a member who needs no invitation or is inactive, and those of Accounts.
func (s *Service) Resend(ctx context.Context, actor identity.Actor, userID uuid.UUID) error {
	stranded, by := false, AuditActorOf(actor)
	member, err := s.change(ctx, actor, userID, func(r MemberContext) (MemberChange, error) {
		stranded = r.stranded()
		return r.resend()
	})
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // Sending mail may take longer than the client waits.
	calling, cancel := context.WithTimeout(ctx, providerTimeout)
	if stranded {
		member.AuthType = identity.AuthCognito
		member.Subject, err = s.accounts.Invite(calling, member.Email, member.Name)
	} else {
		member.Subject, err = s.resend(calling, member)
	}
	cancel()
	ctx, cancel = context.WithTimeout(ctx, timeout.Store)
	defer cancel()
	if err != nil {
		if failed := s.store.FailResend(ctx, member, by); failed != nil {
			s.log.WarnContext(ctx, "org: failed invitation not recorded", "user_id", userID, "err", failed)
		}
		return err
	}
	err = s.store.MarkInvited(ctx, member, by)
	if errors.Is(err, ErrNoMember) { // Removed meanwhile; the account is also deleted.
		s.Settle(ctx, userID)
	}
	return err
}

// resend makes the identity provider send another invitation, and returns the subject of the account. If the account
// was deleted at the provider, it is created again, which is safe because it was never used.
func (s *Service) resend(ctx context.Context, m Member) (subject string, err error) {
	if m.AuthType == identity.AuthFederated {
		_, err = s.accounts.InviteFederated(ctx, m.Email, m.Name)
		return m.Subject, err
	}
	err = s.accounts.Resend(ctx, m.Email)
	if fault.CodeOf(err) == fault.NotFound {
		return s.accounts.Invite(ctx, m.Email, m.Name)
	}
	return m.Subject, err
}

// mayInvite checks whether a member, in their current state, may invite people.
func mayInvite(actor *Member, invitees []Invitee) error {
	if actor == nil || actor.State != identity.StateActive || !actor.Role.IsAdmin() {
		return ErrForbidden
	}
	for _, i := range invitees {
		if !mayHandle(actor.Role, i.Role) {
			return ErrForbidden
		}
	}
	return nil
}

// cleanInvitees validates invitees, and returns their stored form.
func cleanInvitees(invitees []Invitee) ([]Invitee, error) {
	if len(invitees) == 0 || len(invitees) > MaxInvitees {
		return nil, fault.InvalidField("users", "1人以上%d人以下で指定してください。", MaxInvitees)
	}
	clean, seen := make([]Invitee, len(invitees)), make(map[string]bool, len(invitees))
	for i, invitee := range invitees {
		field := fmt.Sprintf("users[%d].", i)
		email, err := CleanAddress(field+"email", invitee.Email)
		if err == nil && len(email) > maxUserName {
			err = fault.InvalidField(field+"email", "メールアドレスは%d文字以内で入力してください。", maxUserName)
		}
		if err != nil {
			return nil, err
		}
		name, err := cleanName(field+"name", invitee.Name)
		if err != nil {
			return nil, err
		}
		if !assignable(invitee.Role) {
			return nil, fault.InvalidField(field+"role", "指定できない役割です。")
		}
		if seen[email] {
			return nil, fault.InvalidField(field+"email", "同じメールアドレスが複数あります。")
		}
		seen[email], clean[i] = true, Invitee{Email: email, Name: name, Role: invitee.Role}
	}
	return clean, nil
}

// CleanAddress returns the stored form of a mail address, in lower case, or an error with the field.
func CleanAddress(field, address string) (string, error) {
	address = strings.TrimSpace(address)
	// Before the conversion to lower case, which turns some letters into ASCII.
	odd := strings.ContainsFunc(address, notInAddress)
	address = strings.ToLower(address)
	parsed, err := mail.ParseAddress(address)
	if odd || err != nil || parsed.Address != address || len(address) > maxAddress {
		return "", fault.InvalidField(field, "メールアドレスの形式が正しくありません。")
	}
	return address, nil
}

// notInAddress reports whether a character is not allowed in addresses, as in the user pool.
func notInAddress(r rune) bool { return r <= ' ' || r >= 0x7F || strings.ContainsRune(`"<>,[]`, r) }

func (s *Service) invite(ctx context.Context, call InviteCall) ([]Invitation, error) {
	people, err := json.Marshal(call.Invitees)
	if err != nil {
		return nil, err
	}
	call.RequestHash, call.Claim = sha256.Sum256(people), inviteClaim
	result, err := s.beginInvite(ctx, call)
	if err != nil {
		return nil, err
	}
	// It continues if the client disconnects. The client receives the results when it repeats the call.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), inviteTimeout)
	defer cancel()
	for _, id := range result.Leftovers {
		if ctx.Err() != nil {
			break // The sweep continues.
		}
		s.Settle(ctx, id)
	}
	var inviting sync.WaitGroup
	places := make(chan struct{}, invitesAtOnce)
	for i := range result.Invitations {
		invitation := &result.Invitations[i]
		if invitation.Result != "" {
			continue
		}
		places <- struct{}{}
		inviting.Go(func() {
			defer func() { <-places }()
			s.inviteMember(ctx, invitation, call.By)
		})
	}
	inviting.Wait()
	// The members exist even if storing fails: a repeated call finds them.
	ctx, cancelEnd := context.WithTimeout(context.WithoutCancel(ctx), timeout.Store)
	defer cancelEnd()
	if err := s.store.EndInvite(ctx, call.OrganizationID, call.RequestID, result.Invitations); err != nil {
		s.log.WarnContext(ctx, "org: results of invitations not stored", "request_id", call.RequestID, "err", err)
	}
	return result.Invitations, nil
}

// beginInvite reserves seats. It waits while another caller is processing the same call.
func (s *Service) beginInvite(ctx context.Context, call InviteCall) (BeginInviteResult, error) {
	ticker := time.NewTicker(invitePoll)
	defer ticker.Stop()
	for {
		result, err := s.store.BeginInvite(ctx, call)
		if err != nil || !result.Busy {
			return result, err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return BeginInviteResult{}, &fault.Error{
				Code: fault.Unavailable, Detail: "この招待は処理中です。少し時間をおいて、もう一度お試しください。", RetryAfter: 5 * time.Second,
			}
		}
	}
}

// inviteMember invites a member with a seat at the identity provider, and releases the seat on failure.
func (s *Service) inviteMember(ctx context.Context, i *Invitation, by AuditActor) {
	member := *i.Member
	calling, cancel := context.WithTimeout(ctx, providerTimeout)
	subject, err := s.inviteAccount(calling, member)
	cancel()
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), timeout.Store)
	defer cancel()
	invited := err == nil
	if invited {
		err = s.store.FinishInvite(ctx, member.ID, subject)
	}
	switch code := fault.CodeOf(err); {
	case err == nil:
	case errors.Is(err, ErrNoMember): // Removed meanwhile; the account is also deleted.
		s.Settle(ctx, member.ID)
		i.Result, i.Member = InviteFailed, nil
		return
	case invited && code != fault.Conflict:
		// The sweep invites again, finds the existing account, and then only stores this.
		s.log.ErrorContext(ctx, "org: invitation not stored, retrying", "user_id", member.ID, "err", err)
	default:
		s.log.WarnContext(ctx, "org: invitation failed", "user_id", member.ID, "err", err)
		i.Result, i.Member = InviteFailed, nil
		if code == fault.Conflict || code == fault.Invalid {
			i.Result = InviteUnavailable // A retry will not help.
		}
		if err := s.store.AbandonInvite(ctx, member, i.Result, by); err != nil {
			s.log.ErrorContext(ctx, "org: failed invitation not removed, retrying", "user_id", member.ID, "err",
				err)
		}
		return
	}
	member.Subject = subject
	i.Result, i.Member = Invited, &member
}

// inviteAccount creates the account of a member at the identity provider.
func (s *Service) inviteAccount(ctx context.Context, m Member) (subject string, err error) {
	if m.AuthType == identity.AuthFederated {
		return s.accounts.InviteFederated(ctx, m.Email, m.Name)
	}
	return s.accounts.Invite(ctx, m.Email, m.Name)
}

// AuthTypeOf returns the sign-in method of a new member of an organization. With single sign-on, only administrators
// get a password. They need it to confirm their link, and super-admins can sign in with it when single sign-on fails.
func AuthTypeOf(organization identity.AuthType, role identity.Role) identity.AuthType {
	if organization == identity.AuthFederated && !role.IsAdmin() {
		return identity.AuthFederated
	}
	return identity.AuthCognito
}
