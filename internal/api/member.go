package api

import (
	"slices"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// maxSearch bounds a search text, in characters.
const maxSearch = 100

func (s *Server) listUsers(c *call) (any, error) {
	query := org.MemberQuery{
		Search: c.text("q", maxSearch), Role: identity.Role(choice[Role](&c.checks, "role")),
		State: org.MemberState(choice[MemberFilter](&c.checks, "state")),
	}
	if id := c.optionalQueryID("group_id"); id != nil {
		query.GroupID = *id
	}
	query.Offset, query.Limit = c.page()
	if err := c.err(); err != nil {
		return nil, err
	}
	members, total, err := s.Org.Members(c.ctx(), c.actor, query)
	return UserList{Items: convert(members, s.toUser), Total: total}, err
}

// editUser requires a recent sign-in for changes that may give a person an administrator's rights.
func (s *Server) editUser(c *call, req UserEditRequest) (any, error) {
	if req.Role != nil || req.State != nil && identity.State(*req.State) == identity.StateActive {
		if err := c.actor.RequireRecentSignIn(time.Now()); err != nil {
			return nil, err
		}
	}
	edit := org.MemberEdit{Name: req.Name, Role: (*identity.Role)(req.Role), State: (*identity.State)(req.State)}
	if limit := req.TokenLimit; limit != nil {
		edit.Limit = &org.MemberLimit{Rule: org.LimitRule(limit.Rule), Tokens: limit.Tokens}
	}
	member, err := s.Org.EditMember(c.ctx(), c.actor, c.pathID, edit)
	return s.toUser(member), err
}

func (s *Server) removeUser(c *call) (any, error) {
	return nil, s.Org.RemoveMember(c.ctx(), c.actor, c.pathID)
}

func (s *Server) previewRemoval(c *call) (any, error) {
	preview, err := s.Org.PreviewRemoval(c.ctx(), c.actor, c.pathID)
	return MemberRemoval{
		Threads: preview.Threads, Files: preview.Files, Skills: preview.Skills, Shares: preview.Shares,
		Kept: convert(preview.Kept, func(d org.SharedDocuments) SharedDocuments {
			return SharedDocuments{SkillID: d.SkillID, SkillName: d.SkillName, Filenames: d.Filenames}
		}),
	}, err
}

func (s *Server) getMemberLimit(c *call) (any, error) {
	tokens, err := s.Org.MemberTokens(c.ctx(), c.actor)
	return DefaultMemberLimit{Tokens: tokens}, err
}

func (s *Server) putMemberLimit(c *call, req DefaultMemberLimit) (any, error) {
	return req, s.Org.SetMemberTokens(c.ctx(), c.actor, req.Tokens)
}

func (s *Server) unlinkUser(c *call) (any, error) {
	return nil, s.Org.UnlinkMember(c.ctx(), c.actor, c.pathID)
}

// inviteUsers requires a recent sign-in for inviting administrators.
func (s *Server) inviteUsers(c *call, req UserInviteRequest) (any, error) {
	if slices.ContainsFunc(req.Users, func(u NewMember) bool { return identity.Role(u.Role).IsAdmin() }) {
		if err := c.actor.RequireRecentSignIn(time.Now()); err != nil {
			return nil, err
		}
	}
	requestID := c.requestID("")
	if err := c.err(); err != nil {
		return nil, err
	}
	if requestID == nil { // Without it the call is not idempotent.
		requestID = new(uuidv7.New())
	}
	invitations, err := s.Org.Invite(c.ctx(), c.actor, *requestID, convert(req.Users, func(u NewMember) org.Invitee {
		return org.Invitee{Email: u.Email, Name: u.Name, Role: identity.Role(u.Role)}
	}))
	moveWriteDeadline(c.w)
	return InvitationList{Items: convert(invitations, s.toInvitation)}, err
}

func (s *Server) resendInvitation(c *call, req UserInviteResendRequest) (any, error) {
	id := c.id("user_id", req.UserID)
	if err := c.err(); err != nil {
		return nil, err
	}
	return nil, s.Org.Resend(c.ctx(), c.actor, id)
}

func (s *Server) toUser(m org.Member) User {
	user := User{
		ID: m.ID, Name: m.Name, Email: m.Email, Role: Role(m.Role), State: UserState(m.State),
		AuthType:  AuthKind(m.AuthType),
		SsoLinked: m.SSOLinked,
		Tokens:    MemberTokens{Used: m.TokensUsed, Limit: m.LimitTokens, Rule: MemberLimitRule(m.LimitRule)},
		InvitedAt: utc(m.InvitedAt), LastSignedInAt: utc(m.LastSignedInAt), FactorResetBy: m.FactorResetBy,
	}
	if s.cfg.embeddedPool() {
		user.SecondFactor = &m.SecondFactor
	}
	return user
}

func (s *Server) toInvitation(i org.Invitation) Invitation {
	return Invitation{Email: i.Email, Result: InvitationResult(i.Result), User: optional(i.Member, s.toUser)}
}
