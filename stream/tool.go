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

// ToolApproval is the state of a decision about a call of a tool.
type ToolApproval struct {
	ID        string // Of the request for the decision.
	CallID    string
	Cause     string // Why a decision is needed.
	State     string // "waiting", or the decision.
	ExpiresAt time.Time
	SHA256    string // Of the arguments to decide on, in hexadecimal digits.
	Reason    string // For a refusal.
	Edited    bool   // The person has changed the arguments.
}

// toolInputChunk is the AI SDK's tool-input-available chunk.
type toolInputChunk struct {
	Type             string          `json:"type"`
	ToolCallID       string          `json:"toolCallId"`
	ToolName         string          `json:"toolName"`
	Title            string          `json:"title,omitempty"`
	Input            json.RawMessage `json:"input"`
	ProviderExecuted bool            `json:"providerExecuted"`
	Dynamic          bool            `json:"dynamic"`
	ProviderMetadata toolMetadata    `json:"providerMetadata"`
}

type toolMetadata struct {
	Tsumugi toolPlace `json:"tsumugi"`
}

type toolPlace struct {
	Offset int `json:"offset"`
}

// toolOutputChunk is the AI SDK's tool-output-available or tool-output-error chunk.
type toolOutputChunk struct {
	Type             string  `json:"type"`
	ToolCallID       string  `json:"toolCallId"`
	Output           *string `json:"output,omitempty"`
	ErrorText        string  `json:"errorText,omitempty"`
	ProviderExecuted bool    `json:"providerExecuted"`
	Dynamic          bool    `json:"dynamic"`
}

func newToolCallChunk(c ToolCall) toolInputChunk {
	return toolInputChunk{
		Type: "tool-input-available", ToolCallID: c.ID, ToolName: c.Name, Title: c.Title, Input: c.Input,
		ProviderExecuted: !c.Returned, Dynamic: true, ProviderMetadata: toolMetadata{toolPlace{c.Offset}},
	}
}

// approvalRequestChunk is the AI SDK's tool-approval-request chunk.
type approvalRequestChunk struct {
	Type       string `json:"type"`
	ApprovalID string `json:"approvalId"`
	ToolCallID string `json:"toolCallId"`
}

// approvalData is the data of a data-tool-approval chunk: the fields of an approval that the AI SDK lacks.
type approvalData struct {
	ID         string    `json:"id"`
	ToolCallID string    `json:"tool_call_id"`
	Cause      string    `json:"cause"`
	State      string    `json:"state"`
	ExpiresAt  time.Time `json:"expires_at"`
	SHA256     string    `json:"arguments_sha256"`
	Reason     string    `json:"reason,omitempty"`
	Edited     bool      `json:"edited,omitempty"`
}

// deniedChunk is the AI SDK's tool-output-denied chunk.
type deniedChunk struct {
	Type       string `json:"type"`
	ToolCallID string `json:"toolCallId"`
}

func newApprovalChunk(a ToolApproval) any {
	return newDataChunk("tool-approval", a.CallID, approvalData{
		ID: a.ID, ToolCallID: a.CallID, Cause: a.Cause, State: a.State, ExpiresAt: a.ExpiresAt.UTC(), SHA256: a.SHA256,
		Reason: a.Reason, Edited: a.Edited,
	})
}

func newToolResultChunk(r ToolResult) any {
	if r.Denied {
		return deniedChunk{"tool-output-denied", r.ID}
	}
	chunk := toolOutputChunk{ToolCallID: r.ID, ProviderExecuted: true, Dynamic: true}
	if r.Error != "" {
		chunk.Type, chunk.ErrorText = "tool-output-error", r.Error
	} else {
		chunk.Type, chunk.Output = "tool-output-available", &r.Output
	}
	return chunk
}
