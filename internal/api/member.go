package api

import (
	"net/http"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// maxSearch bounds a search text, in characters.
const maxSearch = 100

func (s *Server) listUsers(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var c checks
	query := r.URL.Query()
	q := org.MemberQuery{
		Search: c.text("q", query["q"], maxSearch), Role: identity.Role(choice[Role](&c, "role", query["role"])),
		State: org.MemberState(choice[MemberFilter](&c, "state", query["state"])),
	}
	q.Offset, q.Limit = c.page(r)
	if err := c.err(); err != nil {
		return err
	}
	members, total, err := s.Org.Members(r.Context(), actor, q)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, UserList{Items: convert(members, toUser), Total: total})
}

func (s *Server) editUser(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "user_id")
	if err != nil {
		return err
	}
	var req UserEditRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	edit := org.MemberEdit{Name: req.Name, Role: (*identity.Role)(req.Role), State: (*identity.State)(req.State)}
	if limit := req.TokenLimit; limit != nil {
		edit.Limit = &org.MemberLimit{Rule: org.LimitRule(limit.Rule), Tokens: limit.Tokens}
	}
	member, err := s.Org.EditMember(r.Context(), actor, id, edit)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, toUser(member))
}

func (s *Server) removeUser(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "user_id")
	if err != nil {
		return err
	}
	if err := s.Org.RemoveMember(r.Context(), actor, id); err != nil {
		return err
	}
	return writeNoContent(w)
}

func (s *Server) getMemberLimit(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	tokens, err := s.Org.MemberTokens(r.Context(), actor)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, DefaultMemberLimit{Tokens: tokens})
}

func (s *Server) putMemberLimit(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var req DefaultMemberLimit
	if err := decode(w, r, &req); err != nil {
		return err
	}
	if err := s.Org.SetMemberTokens(r.Context(), actor, req.Tokens); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, req)
}

func (s *Server) unlinkUser(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "user_id")
	if err != nil {
		return err
	}
	if err := s.Org.UnlinkMember(r.Context(), actor, id); err != nil {
		return err
	}
	return writeNoContent(w)
}

func (s *Server) inviteUsers(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var req UserInviteRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	var c checks
	requestID := c.requestID(r, "")
	if err := c.err(); err != nil {
		return err
	}
	if requestID == nil { // Without it the call is not idempotent.
		id := uuidv7.New()
		requestID = &id
	}
	invitations, err := s.Org.Invite(r.Context(), actor, *requestID, convert(req.Users, func(u NewMember) org.Invitee {
		return org.Invitee{Email: u.Email, Name: u.Name, Role: identity.Role(u.Role)}
	}))
	moveWriteDeadline(w)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, InvitationList{Items: convert(invitations, toInvitation)})
}

func (s *Server) resendInvitation(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var req UserInviteResendRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	var c checks
	id := c.id("user_id", req.UserID)
	if err := c.err(); err != nil {
		return err
	}
	if err := s.Org.Resend(r.Context(), actor, id); err != nil {
		return err
	}
	return writeNoContent(w)
}

func toUser(m org.Member) User {
	return User{
		ID: m.ID, Name: m.Name, Email: m.Email, Role: Role(m.Role), State: UserState(m.State),
		AuthType:  AuthKind(m.AuthType),
		SsoLinked: m.SSOLinked,
		Tokens:    MemberTokens{Used: m.TokensUsed, Limit: m.LimitTokens, Rule: MemberLimitRule(m.LimitRule)},
		InvitedAt: utc(m.InvitedAt), LastSignedInAt: utc(m.LastSignedInAt),
	}
}

func toInvitation(i org.Invitation) Invitation {
	out := Invitation{Email: i.Email, Result: InvitationResult(i.Result)}
	if i.Member != nil {
		out.User = toUser(*i.Member)
	}
	return out
}

// utc returns a time in UTC, or for nil the zero time, which the JSON omits.
func utc(at *time.Time) time.Time {
	if at == nil {
		return time.Time{}
	}
	return at.UTC()
}
