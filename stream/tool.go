package stream

import (
	"encoding/json"
	"time"
)

// ToolCall is a call of a tool by the assistant.
type ToolCall struct {
	ID     string // Unique within the answer.
	Name   string
	Title  string          // The tool's name for people.
	Input  json.RawMessage // The arguments: JSON on one line.
	Offset int             // Bytes of the text before the call.

	Returned bool // The program that asked makes the call. It has no result in this answer.
}

// ToolResult is the end of a call.
type ToolResult struct {
	ID     string
	Output string
	Error  string // For people; "" if the call succeeded. Then Output is not sent.
	Denied bool   // The person refused the call. Neither Output nor Error is sent.
}

// The prefixes of the keys of parts.
const (
	toolPart      = "tool "                // With calls.
	approvalState = "tool-approval-state " // With the states of decisions.
)

// ToolApproval is the state of a decision about a call of a tool. Its JSON form is the data of a data-tool-approval
// chunk.
type ToolApproval struct {
	ID        string    `json:"id"` // Of the request for the decision.
	CallID    string    `json:"tool_call_id"`
	Cause     string    `json:"cause"` // Why a decision is needed.
	State     string    `json:"state"` // "waiting", or the decision.
	ExpiresAt time.Time `json:"expires_at"`
	SHA256    string    `json:"arguments_sha256"` // Of the arguments to decide on, in hexadecimal digits.
	Reason    string    `json:"reason,omitempty"` // For a refusal.
	Edited    bool      `json:"edited,omitempty"` // The person has changed the arguments.
}

// toolChunk is one of the AI SDK's chunks tool-input-start, tool-input-available, tool-input-error,
// tool-output-available and tool-output-error.
type toolChunk struct {
	Type             string          `json:"type"`
	ToolCallID       string          `json:"toolCallId"`
	ToolName         string          `json:"toolName,omitempty"`
	Title            string          `json:"title,omitempty"`
	Input            json.RawMessage `json:"input,omitempty"`
	Output           *string         `json:"output,omitempty"`
	ErrorText        string          `json:"errorText,omitempty"`
	ProviderExecuted bool            `json:"providerExecuted"`
	Dynamic          bool            `json:"dynamic"`
	ProviderMetadata toolPlace       `json:"providerMetadata,omitempty"`
}

// toolPlace is the metadata of a call: {"tsumugi": {"offset": the bytes of the text before it}}.
type toolPlace map[string]map[string]int

// decisionChunk is the AI SDK's tool-approval-request or tool-output-denied chunk.
type decisionChunk struct {
	Type       string `json:"type"`
	ApprovalID string `json:"approvalId,omitempty"`
	ToolCallID string `json:"toolCallId"`
}

// PutToolCall publishes a call of a tool.
func (t *Text) PutToolCall(c ToolCall) {
	t.put(toolPart+c.ID, toolChunk{
		Type: "tool-input-available", ToolCallID: c.ID, ToolName: c.Name, Title: c.Title, Input: c.Input,
		ProviderExecuted: !c.Returned, Dynamic: true, ProviderMetadata: toolPlace{"tsumugi": {"offset": c.Offset}},
	})
}

// PutToolApproval publishes the request for a decision about a call of a tool, after the call, and its state.
func (t *Text) PutToolApproval(a ToolApproval) {
	t.put("tool-approval "+a.CallID, decisionChunk{"tool-approval-request", a.ID, a.CallID})
	a.ExpiresAt = a.ExpiresAt.UTC()
	t.put(approvalState+a.CallID, newDataChunk("tool-approval", a.CallID, a))
}

// PutToolResult publishes the end of a call of a tool, after the call.
func (t *Text) PutToolResult(r ToolResult) {
	chunk := toolChunk{Type: "tool-output-available", ToolCallID: r.ID, ProviderExecuted: true, Dynamic: true}
	switch {
	case r.Denied:
		t.put("tool-result "+r.ID, decisionChunk{Type: "tool-output-denied", ToolCallID: r.ID})
		return
	case r.Error != "":
		chunk.Type, chunk.ErrorText = "tool-output-error", r.Error
	default:
		chunk.Output = &r.Output
	}
	t.put("tool-result "+r.ID, chunk)
}
