package api

import "github.com/tsumugi-ai/tsumugi/internal/org"

func (s *Server) listGroups(c *call) (any, error) {
	search := c.text("q", maxSearch)
	offset, limit := c.page()
	if err := c.err(); err != nil {
		return nil, err
	}
	groups, total, err := s.Org.Groups(c.ctx(), c.actor, search, offset, limit)
	return GroupList{Items: convert(groups, toGroup), Total: total}, err
}

func (s *Server) getGroup(c *call) (any, error) {
	group, err := s.Org.Group(c.ctx(), c.actor, c.pathID)
	return toGroup(group), err
}

func (s *Server) addGroup(c *call, req GroupPostRequest) (any, error) {
	requestID := c.requiredRequestID(req.RequestID)
	if err := c.err(); err != nil {
		return nil, err
	}
	group, err := s.Org.AddGroup(c.ctx(), c.actor, requestID, org.GroupDraft{
		Name: req.Name, Description: req.Description, TokenLimit: req.TokenLimit,
	})
	return created(toGroup(group)), err
}

func (s *Server) editGroup(c *call, req GroupPutRequest) (any, error) {
	group, err := s.Org.EditGroup(c.ctx(), c.actor, c.pathID, func(d *org.GroupDraft) {
		assign(&d.Name, req.Name)
		assign(&d.Description, req.Description)
		req.TokenLimit.assign(&d.TokenLimit)
	})
	return toGroup(group), err
}

func (s *Server) deleteGroup(c *call) (any, error) {
	return nil, s.Org.DeleteGroup(c.ctx(), c.actor, c.pathID)
}

func (s *Server) changeGroupMembers(c *call, req GroupMembersPutRequest) (any, error) {
	members := org.GroupMembers{
		Add: c.ids("add", req.Add), AddEmails: req.AddEmails, Remove: c.ids("remove", req.Remove),
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	group, unknown, err := s.Org.ChangeGroupMembers(c.ctx(), c.actor, c.pathID, members)
	return GroupMembersPutResult{Group: toGroup(group), UnknownEmails: nonNil(unknown)}, err
}

func toGroup(g org.Group) Group {
	return Group{
		ID: g.ID, Name: g.Name, Description: g.Description, Source: GroupSource(g.Source), TokenLimit: g.TokenLimit,
		MemberCount: g.MemberCount,
	}
}
