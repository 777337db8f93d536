package tsumugi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// ToolCall is a call of a tool that needs a decision of the person whose question is answered. With the cause input the
// tool asks for input, which the person enters in the app; a program can only refuse.
type ToolCall struct {
	ID              string    `json:"id"` // The approvalId of the event tool-approval-request.
	State           string    `json:"state"`
	Cause           string    `json:"cause"`
	ThreadID        string    `json:"thread_id"`
	MessageID       string    `json:"message_id"` // The answer, which waits.
	CallID          string    `json:"call_id"`    // The toolCallId of the events.
	Name            string    `json:"name"`
	Title           string    `json:"title"`
	Arguments       string    `json:"arguments"` // JSON.
	ArgumentsSHA256 string    `json:"arguments_sha256"`
	ExpiresAt       time.Time `json:"expires_at"`
}

// Decision is a decision about a ToolCall.
type Decision struct {
	RequestID string `json:"request_id"` // Made if empty. The same one again has the same result.
	Approved  bool   `json:"approved"`

	// Arguments replaces the arguments of an approved call; nil to keep them.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// ArgumentsSHA256 is that of the arguments that the person has seen.
	ArgumentsSHA256 string `json:"arguments_sha256"`

	Reason   string `json:"reason,omitempty"`   // Of a refusal, for the assistant.
	Remember bool   `json:"remember,omitempty"` // Approves further calls of the tool in the thread.
}

// WaitingToolCalls returns the calls that wait for a decision of the signed-in person, oldest first, at most 100.
func (c *Client) WaitingToolCalls(ctx context.Context) ([]ToolCall, error) {
	var list struct{ Items []ToolCall }
	err := c.Call(ctx, http.MethodGet, "/v1/tool-call?state=waiting&limit=100", nil, &list)
	return list.Items, err
}

// DecideToolCall approves or refuses a call of a tool. A call that has another decision already is a Problem with the
// status 409.
func (c *Client) DecideToolCall(ctx context.Context, id string, d Decision) (ToolCall, error) {
	if d.RequestID == "" {
		d.RequestID = newRequestID()
	}
	var decided ToolCall
	err := c.Call(ctx, http.MethodPost, "/v1/tool-call/"+url.PathEscape(id)+"/decision", d, &decided)
	return decided, err
}
