package tsumugi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// ToolCall is a call of a tool that needs a decision of the person whose question is answered.
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

	Input *ToolInput `json:"input"` // Nil unless the cause is input: the tool asks for it in the middle of the call.
}

// ToolInput is a tool's request for input. Its texts were written by the tool's server.
type ToolInput struct {
	Server string      `json:"server"` // Its name.
	Round  int         `json:"round"`  // How often the call has asked, from 1.
	Forms  []InputForm `json:"forms"`
}

// InputForm is a form of a ToolInput.
type InputForm struct {
	ID      string       `json:"id"`
	Message string       `json:"message"`
	Fields  []InputField `json:"fields"`
}

// InputField is a field of an InputForm.
type InputField struct {
	Name        string          `json:"name"`
	Label       string          `json:"label"`
	Description string          `json:"description"`
	Type        string          `json:"type"` // string, integer, number, boolean, choice or choices.
	Required    bool            `json:"required"`
	Default     json.RawMessage `json:"default"`
	Format      string          `json:"format"` // Of a string: email, uri, date or date-time.
	MinLength   int             `json:"min_length"`
	MaxLength   int             `json:"max_length"`
	Minimum     *float64        `json:"minimum"`
	Maximum     *float64        `json:"maximum"`

	Options []struct {
		Value string `json:"value"`
		Label string `json:"label"`
	} `json:"options"`
	MinItems int `json:"min_items"` // Of choices.
	MaxItems int `json:"max_items"` // Of choices; 0 for all options.
}

// InputResponse is the response to a ToolInput.
type InputResponse struct {
	Action string                    `json:"action"`           // accept, decline or cancel.
	Values map[string]map[string]any `json:"values,omitempty"` // Of accept, by form and field.
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

	// Input is the response to a tool that asks for input. Approved is true exactly for accept.
	Input *InputResponse `json:"input,omitempty"`
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
