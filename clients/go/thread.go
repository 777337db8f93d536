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
	FormType          string `json:"form_type"`          // "chat" for plain questions, "form" for a form.
	UnavailableReason string `json:"unavailable_reason"` // Empty if the skill is available.
}

// Skills returns the skills of the organization.
func (c *Client) Skills(ctx context.Context) ([]Skill, error) {
	var list struct{ Items []Skill }
	err := c.Call(ctx, http.MethodGet, "/v1/skill?limit=100", nil, &list)
	return list.Items, err
}

// ChatSkill returns the first skill that accepts a plain question.
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
	Running   bool      `json:"running"` // The thread has an answer in progress.
	CreatedAt time.Time `json:"created_at"`
	TouchedAt time.Time `json:"touched_at"`
}

// NewThread creates a thread with a skill. If title is "", the server generates a title with the first answer.
func (c *Client) NewThread(ctx context.Context, skillID, title string) (Thread, error) {
	body := map[string]string{"request_id": newRequestID(), "skill_id": skillID}
	if title != "" {
		body["title"] = title
	}
	var thread Thread
	err := c.Call(ctx, http.MethodPost, "/v1/thread", body, &thread)
	return thread, err
}

// Message is a stored question or answer.
type Message struct {
	ID           string            `json:"id"`
	ThreadID     string            `json:"thread_id"`
	ParentID     string            `json:"parent_id"` // Preceding message; empty for a first question.
	Siblings     []string          `json:"siblings"`  // Alternatives with the same parent, oldest first, including this one.
	Role         string            `json:"role"`      // "user" or "assistant".
	Content      string            `json:"content"`
	Form         map[string]string `json:"form"`          // Values of a form.
	Status       string            `json:"status"`        // "pending", "running", "success" or "failed".
	FinishReason string            `json:"finish_reason"` // "stop", "length", "stopped" or "error".
	Usage        *Usage            `json:"usage"`

	DataSourceIDs []string `json:"data_source_ids"` // For a question: files that the answer is based on.
	// For an answer: cited sources first, in the order of their numbers.
	Citations []Citation `json:"citations"`
}

// Citation is a passage of a file or a web page that was consulted for an answer. The answer may cite it as [Index].
type Citation struct {
	Index        int    `json:"index"`
	DataSourceID string `json:"data_source_id"` // "" for a web page.
	PassageID    string `json:"chunk_embedding_id"`
	Filename     string `json:"filename"` // Title of a web page.
	Page         int    `json:"page"`     // 0 if the file has no pages.
	Locator      string `json:"locator"`
	Quote        string `json:"quote"`
	Support      string `json:"support"` // "strong" or "weak"; empty if the answer does not cite the source.
	// With "weak": numbers, from 0, of the occurrences of [Index] in the text that the source does not support; empty
	// for all occurrences.
	WeakOccurrences []int `json:"weak_occurrences"`

	// For a web page; else "".
	URL         string `json:"url"`
	Site        string `json:"site"`
	PublishedOn string `json:"published_on"` // In the format 2006-01-02; "" if it is unknown.
}

// Usage is the number of tokens of an answer.
type Usage struct {
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
}

// Messages returns at most 100 messages of the branch of a thread that was shown last, newest first.
func (c *Client) Messages(ctx context.Context, threadID string) ([]Message, error) {
	return c.messages(ctx, url.Values{"thread_id": {threadID}})
}

// Branch returns at most 100 messages of the branch with a message, newest first.
func (c *Client) Branch(ctx context.Context, threadID, messageID string) ([]Message, error) {
	return c.messages(ctx, url.Values{"thread_id": {threadID}, "leaf": {messageID}})
}

func (c *Client) messages(ctx context.Context, query url.Values) ([]Message, error) {
	query.Set("limit", "100")
	var list struct{ Items []Message }
	err := c.Call(ctx, http.MethodGet, "/v1/message?"+query.Encode(), nil, &list)
	return list.Items, err
}

// Question is a question, with either Content or Form, or a request for another answer, with Regenerate only. A
// question is added at the end of a branch, or replaces another question (Edit). Edit and Regenerate begin a new
// branch. The old branch is not changed.
type Question struct {
	RequestID     string            `json:"request_id"` // Generated by Ask and Post if empty.
	ThreadID      string            `json:"thread_id"`
	Content       string            `json:"content,omitempty"`
	Form          map[string]string `json:"form,omitempty"`
	DataSourceIDs []string          `json:"data_source_ids,omitzero"` // Nil for all of the thread, empty for none.
	// Preceding answer; empty for the last one of Messages.
	ParentID   string `json:"parent_id,omitempty"`
	Edit       string `json:"edit,omitempty"`       // Id of a question to replace.
	Regenerate string `json:"regenerate,omitempty"` // Id of an answer to generate again.
	// EstimatedTokens of a Problem, after the user has accepted them.
	AcceptTokens int `json:"accept_tokens,omitempty"`
}

// Exchange is a question and its answer.
type Exchange struct {
	Question Message `json:"question"`
	Answer   Message `json:"answer"`
}

// Post asks a question and returns without waiting for the answer. Follow follows the answer.
func (c *Client) Post(ctx context.Context, q Question) (Exchange, error) {
	if q.RequestID == "" {
		q.RequestID = newRequestID()
	}
	var exchange Exchange
	err := c.Call(ctx, http.MethodPost, "/v1/message/async", q, &exchange)
	return exchange, err
}

// Stop stops an answer. The server stores its text so far. Stop has no effect on a complete answer.
func (c *Client) Stop(ctx context.Context, messageID string) error {
	return c.Call(ctx, http.MethodPost, "/v1/message/"+url.PathEscape(messageID)+"/stop", nil, nil)
}
