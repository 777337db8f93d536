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
	UnavailableReason string `json:"unavailable_reason"` // Empty if it is available.
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
	Running   bool      `json:"running"` // An answer is being written.
	CreatedAt time.Time `json:"created_at"`
	TouchedAt time.Time `json:"touched_at"`
}

// NewThread creates a thread with a skill. Without a title it gets one with its first answer.
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
	ParentID     string            `json:"parent_id"` // The preceding message; empty for a first question.
	Siblings     []string          `json:"siblings"`  // Its alternatives, oldest first, including itself.
	Role         string            `json:"role"`      // "user" or "assistant".
	Content      string            `json:"content"`
	Form         map[string]string `json:"form"`          // The values of a form's question.
	Status       string            `json:"status"`        // "pending", "running", "success" or "failed".
	FinishReason string            `json:"finish_reason"` // "stop", "length", "stopped" or "error".
	Usage        *Usage            `json:"usage"`

	DataSourceIDs []string `json:"data_source_ids"` // Of a question: the files that it is answered from.
	// Of an answer: the cited ones first, in the order of their numbers.
	Citations []Citation `json:"citations"`
}

// Citation is a passage of a file, or a page of the web, that an answer cites as [Index], or that was consulted for it.
type Citation struct {
	Index        int    `json:"index"`
	DataSourceID string `json:"data_source_id"` // "" of a page of the web.
	PassageID    string `json:"chunk_embedding_id"`
	Filename     string `json:"filename"` // Of a page its title.
	Page         int    `json:"page"`     // 0 where the file has no pages.
	Locator      string `json:"locator"`
	Quote        string `json:"quote"`
	Support      string `json:"support"` // "strong" or "weak"; empty if it is not cited.
	// With "weak": which occurrences of [Index] in the text are unsupported, from 0; empty for all.
	WeakOccurrences []int `json:"weak_occurrences"`

	// Of a page of the web; else "".
	URL         string `json:"url"`
	Site        string `json:"site"`
	PublishedOn string `json:"published_on"` // As 2006-01-02; "" if it is not known.
}

// Usage is the tokens of an answer.
type Usage struct {
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
}

// Messages returns the newest messages, at most 100, of the branch of a thread that was shown last, newest first.
func (c *Client) Messages(ctx context.Context, threadID string) ([]Message, error) {
	return c.messages(ctx, url.Values{"thread_id": {threadID}})
}

// Branch returns the newest messages, at most 100, of the branch through a message, newest first.
func (c *Client) Branch(ctx context.Context, threadID, messageID string) ([]Message, error) {
	return c.messages(ctx, url.Values{"thread_id": {threadID}, "leaf": {messageID}})
}

func (c *Client) messages(ctx context.Context, query url.Values) ([]Message, error) {
	query.Set("limit", "100")
	var list struct{ Items []Message }
	err := c.Call(ctx, http.MethodGet, "/v1/message?"+query.Encode(), nil, &list)
	return list.Items, err
}

// Question has either Content or Form, for a question at the end of a branch or in place of another one, or Regenerate
// alone, for another answer. Edit and Regenerate begin a branch; the old one is kept.
type Question struct {
	RequestID     string            `json:"request_id"` // Generated by Ask and Post if empty.
	ThreadID      string            `json:"thread_id"`
	Content       string            `json:"content,omitempty"`
	Form          map[string]string `json:"form,omitempty"`
	DataSourceIDs []string          `json:"data_source_ids,omitzero"` // Nil: all of the thread. Empty: none.
	// The preceding answer; empty for the last of Messages.
	ParentID   string `json:"parent_id,omitempty"`
	Edit       string `json:"edit,omitempty"`       // The id of any question to replace.
	Regenerate string `json:"regenerate,omitempty"` // The id of any answer.
	// The EstimatedTokens of a Problem, once the person has accepted them.
	AcceptTokens int `json:"accept_tokens,omitempty"`
}

// Exchange is a question and its answer.
type Exchange struct {
	Question Message `json:"question"`
	Answer   Message `json:"answer"`
}

// Post asks a question and returns at once. Follow follows the answer.
func (c *Client) Post(ctx context.Context, q Question) (Exchange, error) {
	if q.RequestID == "" {
		q.RequestID = newRequestID()
	}
	var exchange Exchange
	err := c.Call(ctx, http.MethodPost, "/v1/message/async", q, &exchange)
	return exchange, err
}

// Stop stops an answer; its text so far is kept. It has no effect on a complete one.
func (c *Client) Stop(ctx context.Context, messageID string) error {
	return c.Call(ctx, http.MethodPost, "/v1/message/"+url.PathEscape(messageID)+"/stop", nil, nil)
}
