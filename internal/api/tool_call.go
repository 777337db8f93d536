package api

import (
	"encoding/hex"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
)

func (s *Server) listToolCalls(c *call) (any, error) {
	if state := c.query("state"); state != "" && state != "waiting" {
		c.fail("state", "waiting を指定してください。")
	}
	offset, limit := c.page()
	if err := c.err(); err != nil {
		return nil, err
	}
	list, err := s.Chat.ListToolApprovals(c.ctx(), c.actor.Owner(), offset, limit)
	return ToolApprovalList{Items: convert(list, toToolApproval)}, err
}

func (s *Server) decideToolCall(c *call, req ToolDecision) (any, error) {
	requestID := c.requiredRequestID(req.RequestID)
	if req.Approved == nil {
		c.need("approved", "")
	}
	sum, err := hex.DecodeString(req.ArgumentsSha256)
	if err != nil {
		c.fail("arguments_sha256", "引数のSHA-256を16進数で指定してください。")
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	decision := chat.Decision{
		ID: c.pathID, RequestID: requestID, Approved: *req.Approved, Arguments: req.Arguments, ArgumentsSHA256: sum,
		Reason: req.Reason, Remember: req.Remember,
	}
	if req.Input != nil {
		decision.Input = &tool.InputResponse{Action: tool.InputAction(req.Input.Action), Values: req.Input.Values}
	}
	decided, err := s.Chat.DecideToolCall(c.ctx(), c.actor, decision)
	return toToolApproval(decided), err
}

func toToolApproval(a chat.ToolApproval) ToolApproval {
	return ToolApproval{
		ID: a.ID, State: ToolApprovalState(a.State), Cause: ToolApprovalCause(a.Cause), ThreadID: a.ThreadID,
		ThreadTitle: a.ThreadTitle, SkillID: a.SkillID, MessageID: a.MessageID, CallID: a.CallID, Name: a.Tool, Title: a.Title,
		Arguments: a.Arguments, ArgumentsSha256: hex.EncodeToString(a.ArgumentsSHA256), Reason: a.Reason,
		Edited: a.Edited, CreatedAt: a.CreatedAt.UTC(), ExpiresAt: a.ExpiresAt.UTC(), DecidedAt: utc(a.DecidedAt),
		Input: optional(a.Input, toToolInput),
	}
}

func toToolInput(in chat.ToolInput) ToolInput {
	return ToolInput{Server: in.Server, Round: in.Round, Forms: convert(in.Forms, toToolInputForm)}
}

func toToolInputForm(f tool.InputForm) ToolInputForm {
	return ToolInputForm{ID: f.ID, Message: f.Message, Fields: convert(f.Fields, toToolInputField)}
}

func toToolInputField(f tool.InputField) ToolInputField {
	return ToolInputField{
		Name: f.Name, Label: f.Label, Description: f.Description, Type: ToolInputFieldType(f.Type), Required: f.Required,
		Default: f.Default, Format: f.Format, MinLength: f.MinLength, MaxLength: f.MaxLength, Minimum: f.Minimum,
		Maximum: f.Maximum, MinItems: f.MinItems, MaxItems: f.MaxItems,
		Options: convert(f.Options, func(o tool.InputOption) ToolInputOption { return ToolInputOption(o) }),
	}
}

func toToolCallApproval(a chat.Approval) ToolCallApproval {
	return ToolCallApproval{
		ID: a.ID, Cause: ToolApprovalCause(a.Cause), State: ToolApprovalState(a.State), ExpiresAt: a.ExpiresAt.UTC(),
		Reason: a.Reason, Edited: a.Edited,
	}
}
