package api

import (
	"net/http"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

func (s *Server) shareThread(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var req ShareRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	var c checks
	threadID, err := pathID(r, "thread_id")
	if err != nil {
		return err
	}
	leaf := c.id("leaf", req.Leaf)
	if err := c.err(); err != nil {
		return err
	}
	share, err := s.Shares.Share(r.Context(), actor, threadID, leaf)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, toShare(actor, share))
}

func (s *Server) listShares(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var c checks
	threadID := c.optionalID("thread_id", r.URL.Query().Get("thread_id"))
	offset, limit := c.page(r)
	if err := c.err(); err != nil {
		return err
	}
	shares, total, err := s.Shares.Own(r.Context(), actor, threadID, offset, limit)
	if err != nil {
		return err
	}
	return writeShares(w, actor, shares, total)
}

func (s *Server) listOrganizationShares(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	offset, limit, err := page(r)
	if err != nil {
		return err
	}
	shares, total, err := s.Shares.All(r.Context(), actor, offset, limit)
	if err != nil {
		return err
	}
	return writeShares(w, actor, shares, total)
}

func (s *Server) getShare(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "share_id")
	if err != nil {
		return err
	}
	share, err := s.Shares.Find(r.Context(), actor, id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, toShare(actor, share))
}

func (s *Server) listSharedMessages(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var c checks
	offset, limit := c.page(r)
	id, err := pathID(r, "share_id")
	if err != nil {
		return err
	}
	if err := c.err(); err != nil {
		return err
	}
	messages, err := s.Shares.Messages(r.Context(), actor, id, offset, limit)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, SharedMessageList{Items: convert(messages, toSharedMessage)})
}

func (s *Server) endShare(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "share_id")
	if err != nil {
		return err
	}
	if err := s.Shares.End(r.Context(), actor, id); err != nil {
		return err
	}
	return writeNoContent(w)
}

func (s *Server) copyShare(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "share_id")
	if err != nil {
		return err
	}
	var req ShareCopyRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	var c checks
	requestID := c.requestID(r, req.RequestID)
	if err := c.err(); err != nil {
		return err
	}
	thread, err := s.Shares.Copy(r.Context(), actor, id, requestID)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusCreated, toThread(thread))
}

func writeShares(w http.ResponseWriter, actor identity.Actor, shares []chat.Share, total int) error {
	return writeJSON(w, http.StatusOK, ShareList{
		Items: convert(shares, func(share chat.Share) Share { return toShare(actor, share) }), Total: total,
	})
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
