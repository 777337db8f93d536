package api

import (
	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

func (s *Server) shareThread(c *call, req ShareRequest) (any, error) {
	leaf := c.id("leaf", req.Leaf)
	if err := c.err(); err != nil {
		return nil, err
	}
	share, err := s.Shares.Share(c.ctx(), c.actor, c.pathID, leaf)
	return toShare(c.actor, share), err
}

func (s *Server) listShares(c *call) (any, error) {
	threadID := c.optionalQueryID("thread_id")
	offset, limit := c.page()
	if err := c.err(); err != nil {
		return nil, err
	}
	shares, total, err := s.Shares.Own(c.ctx(), c.actor, threadID, offset, limit)
	return toShareList(c.actor, shares, total), err
}

func (s *Server) listOrganizationShares(c *call, offset, limit int) (any, error) {
	shares, total, err := s.Shares.All(c.ctx(), c.actor, offset, limit)
	return toShareList(c.actor, shares, total), err
}

func (s *Server) getShare(c *call) (any, error) {
	share, err := s.Shares.Find(c.ctx(), c.actor, c.pathID)
	return toShare(c.actor, share), err
}

func (s *Server) listSharedMessages(c *call, offset, limit int) (any, error) {
	messages, err := s.Shares.Messages(c.ctx(), c.actor, c.pathID, offset, limit)
	return SharedMessageList{Items: convert(messages, toSharedMessage)}, err
}

func (s *Server) endShare(c *call) (any, error) {
	return nil, s.Shares.End(c.ctx(), c.actor, c.pathID)
}

func (s *Server) copyShare(c *call, req ShareCopyRequest) (any, error) {
	requestID := c.requestID(req.RequestID)
	if err := c.err(); err != nil {
		return nil, err
	}
	thread, err := s.Shares.Copy(c.ctx(), c.actor, c.pathID, requestID)
	return created(c.thread(thread)), err
}

func toShareList(actor identity.Actor, shares []chat.Share, total int) ShareList {
	return ShareList{
		Items: convert(shares, func(share chat.Share) Share { return toShare(actor, share) }), Total: total,
	}
}

// toShare returns a share as shown to a member of its organization. Only its owner sees the thread's id.
func toShare(actor identity.Actor, s chat.Share) Share {
	share := Share{
		ID: s.ID, Title: s.Title, Skill: ThreadSkill{ID: s.SkillID, Name: s.SkillName, IconPath: s.SkillIconPath},
		OwnerName: s.OwnerName, Own: s.UserID == actor.ID, Messages: s.Messages, CreatedAt: s.CreatedAt.UTC(),
		UpdatedAt: s.UpdatedAt.UTC(),
	}
	if share.Own {
		share.ThreadID = s.ThreadID
	}
	return share
}

func toSharedMessage(m chat.Message) SharedMessage {
	return SharedMessage{
		Role: MessageRole(m.Role), Content: m.Content, FinishReason: MessageFinishReason(m.FinishReason),
		PictureCount: m.PictureCount, CreatedAt: m.CreatedAt.UTC(),
		Citations: convert(m.Cited(), func(c chat.Citation) SharedCitation {
			return SharedCitation{
				Index: c.Index, Filename: c.Filename, Page: c.Page, URL: c.URL, Site: c.Site,
				PublishedOn: c.PublishedOn,
			}
		}),
	}
}
