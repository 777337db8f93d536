package tsumugi

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"
)

// Skill is an assistant.
type Skill struct {
	ID                string `json:"id"`
	Name              string `json:"name"`
	Description       string `json:"description"`
	FormType          string `json:"form_type"`          // "chat" takes a question as it is, "form" takes a form.
	UnavailableReason string `json:"unavailable_reason"` // Empty if it can be used.
}

// Skills returns the skills of the organization.
func (c *Client) Skills(ctx context.Context) ([]Skill, error) {
	var list struct{ Items []Skill }
	err := c.Call(ctx, http.MethodGet, "/v1/skill?limit=100", nil, &list)
	return list.Items, err
}

// ChatSkill returns the first skill that takes a question as it is.
func (c *Client) ChatSkill(ctx context.Context) (Skill, error) {
	skills, err := c.Skills(ctx)
	if err != nil {
		return Skill{}, err
	}
	for _, skill := range skills {
		if skill.FormType == "chat" && skill.UnavailableReason == "" {
			return skill, nil
		}
	}
	return Skill{}, errors.New("tsumugi: there is no skill to chat with")
}

// Thread is a conversation.
type Thread struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	Running   bool      `json:"running"` // An answer is being written.
	CreatedAt time.Time `json:"created_at"`
	TouchedAt time.Time `json:"touched_at"`
}

// NewThread makes a thread with a skill. Without a title it gets one with its first answer.
func (c *Client) NewThread(ctx context.Context, skillID, title string) (Thread, error) {
	body := map[string]string{"request_id": newRequestID(), "skill_id": skillID}
	if title != "" {
		body["title"] = title
	}
	var thread Thread
	err := c.Call(ctx, http.MethodPost, "/v1/thread", body, &thread)
	return thread, err
}

// Message is a question or an answer as it is stored.
type Message struct {
	ID           string            `json:"id"`
	ThreadID     string            `json:"thread_id"`
	ParentID     string            `json:"parent_id"` // The message that it follows; empty for a first question.
	Siblings     []string          `json:"siblings"`  // Its alternatives, oldest first, with itself.
	Role         string            `json:"role"`      // "user" or "assistant".
	Content      string            `json:"content"`
	Form         map[string]string `json:"form"`          // Of a question that a form asked, its values.
	Status       string            `json:"status"`        // "pending", "running", "success" or "failed".
	FinishReason string            `json:"finish_reason"` // "stop", "length", "stopped" or "error".
	Usage        *Usage            `json:"usage"`
}

// Usage is what an answer has cost.
type Usage struct {
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
}

// Messages returns the newest messages of the branch of a thread that was looked at last, at most 100, the newest
// first.
func (c *Client) Messages(ctx context.Context, threadID string) ([]Message, error) {
	return c.messages(ctx, url.Values{"thread_id": {threadID}})
}

// Branch returns the newest messages of the branch that goes through a message, at most 100, the newest first.
func (c *Client) Branch(ctx context.Context, threadID, messageID string) ([]Message, error) {
	return c.messages(ctx, url.Values{"thread_id": {threadID}, "leaf": {messageID}})
}

func (c *Client) messages(ctx context.Context, query url.Values) ([]Message, error) {
	query.Set("limit", "100")
	var list struct{ Items []Message }
	err := c.Call(ctx, http.MethodGet, "/v1/message?"+query.Encode(), nil, &list)
	return list.Items, err
}

// Question is what is asked: Content or Form, at the end of a branch or in place of another question; or Regenerate
// alone, for another answer. Edit and Regenerate begin a branch, and what was there is kept.
type Question struct {
	RequestID     string            `json:"request_id"` // Made by Ask and Post if it is empty.
	ThreadID      string            `json:"thread_id"`
	Content       string            `json:"content,omitempty"`
	Form          map[string]string `json:"form,omitempty"`
	DataSourceIDs []string          `json:"data_source_ids,omitempty"`
	// The answer that it follows; empty: the last of Messages.
	ParentID   string `json:"parent_id,omitempty"`
	Edit       string `json:"edit,omitempty"`       // The id of any question, in whose place it is asked.
	Regenerate string `json:"regenerate,omitempty"` // The id of any answer.
}

// Exchange is a question and its answer.
type Exchange struct {
	Question Message `json:"question"`
	Answer   Message `json:"answer"`
}

// Post asks, and returns at once. The answer is written meanwhile; Follow follows it.
func (c *Client) Post(ctx context.Context, q Question) (Exchange, error) {
	if q.RequestID == "" {
		q.RequestID = newRequestID()
	}
	var exchange Exchange
	err := c.Call(ctx, http.MethodPost, "/v1/message/async", q, &exchange)
	return exchange, err
}

// Stop stops an answer; what has been written of it is kept. One that is complete stays as it is.
func (c *Client) Stop(ctx context.Context, messageID string) error {
	return c.Call(ctx, http.MethodPost, "/v1/message/"+url.PathEscape(messageID)+"/stop", nil, nil)
}
