// Package webpage turns a request of the browser extension about a page into a question. A question has a text, which
// is shown in the thread, and a prompt for the model. Pages are untrusted, so the prompt has them inside the fences of
// package answer.
//
// A conversation about a page is a thread, so that its answers resume, stop, are taken over, rated and counted like any
// others, and continue in the app. Each kind of request is a built-in skill that is not listed. Further questions are
// answered by its follow-up skill, and always with the first question of the branch, which contains the page. The text
// of a PDF file is extracted in a separate call and not stored: as a data source, the file would stay in the person's
// list and storage, and its reading would queue with uploads.
//
// It imports fault, runes, answer and skill.
package webpage

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/answer"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// Limits of a request, in characters.
const (
	MaxText      = 300_000
	MaxSelection = 20_000
	MaxTitle     = 500
	MaxURL       = 8_192
	MaxQuestion  = 32_000
	MaxMessages  = 100 // Number of messages.
)

// Request is a question about a page.
type Request struct {
	Kind       skill.Kind
	IsFollowUp bool // The thread already contains the page.
	URL        string
	Title      string
	Text       string // Content of the page as Markdown.
	Truncated  int    // Characters at the end of the page that were not sent.
	Selection  string
	Messages   []Message // Conversation so far, for a client that stores it. The last message is the question.
}

// Message is a message of the client's conversation.
type Message struct {
	Role    string // user or assistant.
	Content string
}

// Question is the stored form of a request.
type Question struct {
	Content string // Shown to users.
	Prompt  string // Sent to the model; "" if it equals Content.
}

// Question checks a request and returns its question. The error has the invalid fields.
func (r Request) Question() (Question, error) {
	if fields := r.check(); len(fields) > 0 {
		return Question{}, &fault.Error{Code: fault.Invalid, Detail: "入力内容に誤りがあります。", Fields: fields}
	}
	content, request := r.words()
	sources := answer.Sources(r.passages())
	if sources == "" && len(r.Messages) < 2 {
		return Question{Content: content}, nil
	}
	var b strings.Builder
	b.WriteString(sources)
	b.WriteString("\n")
	b.WriteString(request)
	if r.Truncated > 0 {
		fmt.Fprintf(&b, "\n\nページの末尾の%d文字は長さの都合で渡されていません。本文は途中までです。", r.Truncated)
	}
	return Question{Content: content, Prompt: b.String()}, nil
}

// words returns the question that is shown to users, and the request to the model.
func (r Request) words() (content, request string) {
	switch r.Kind {
	case skill.KindPageWholeSummary:
		return "「" + r.name() + "」を要約", "このページを要約してください。"
	case skill.KindEasyExplain:
		return "「" + short(r.Selection, 80) + "」をやさしく説明", "選択した文章をやさしく説明してください。"
	}
	question := r.Messages[len(r.Messages)-1].Content
	if len(r.Messages) == 1 {
		return question, question
	}
	var b strings.Builder
	b.WriteString("これまでの会話:\n")
	for _, m := range r.Messages[:len(r.Messages)-1] {
		who := "利用者"
		if m.Role == "assistant" {
			who = "回答"
		}
		fmt.Fprintf(&b, "%s: %s\n", who, skill.Neutralize(m.Content, "source"))
	}
	b.WriteString("\n質問:\n")
	b.WriteString(question)
	return question, b.String()
}

// passages returns the selection and the content of the page, without empty ones.
func (r Request) passages() []answer.Passage {
	var passages []answer.Passage
	add := func(name, text string) {
		if strings.TrimSpace(text) != "" {
			passages = append(passages, answer.Passage{
				Index: len(passages) + 1, Filename: name, Locator: r.URL, Text: text,
			})
		}
	}
	add(r.name()+"（選択した部分）", r.Selection)
	add(r.name(), r.Text)
	return passages
}

// name returns the page's title, or the host of its URL if the title is empty.
func (r Request) name() string {
	if title := short(r.Title, 100); title != "" {
		return title
	}
	if u, err := url.Parse(r.URL); err == nil {
		return u.Host
	}
	return ""
}

// short returns a text on one line, truncated to limit characters.
func short(text string, limit int) string {
	return runes.Truncate(strings.Join(strings.Fields(text), " "), limit)
}

// Truncate truncates a text to the maximum length of a request. It returns the truncated text and the number of omitted
// characters.
func Truncate(text string) (begins string, left int) {
	n := 0
	for i := range text {
		if n++; n > MaxText {
			return text[:i], utf8.RuneCountInString(text[i:])
		}
	}
	return text, 0
}

// check returns the invalid fields of the request.
func (r Request) check() []fault.FieldError {
	var wrong checks
	if _, known := skill.Extension(r.Kind); !known {
		wrong.add("kind", "指定できない値です。")
		return wrong
	}
	if r.URL != "" || r.needsURL() {
		wrong.url("page.url", r.URL)
	}
	wrong.atMost("page.title", r.Title, MaxTitle)
	wrong.atMost("page.text", r.Text, MaxText)
	wrong.atMost("selection", r.Selection, MaxSelection)
	if r.Truncated < 0 {
		wrong.add("page.truncated_characters", "0以上の整数を指定してください。")
	}
	switch r.Kind {
	case skill.KindPageWholeSummary:
		wrong.required("page.text", r.Text)
	case skill.KindEasyExplain:
		wrong.required("selection", r.Selection)
	default:
		wrong.messages(r.Messages)
		return wrong
	}
	if r.IsFollowUp {
		wrong.add("thread_id", "この種類の質問では、チャットを指定できません。")
	}
	if len(r.Messages) > 0 {
		wrong.add("messages", "この種類の質問では指定できません。")
	}
	return wrong
}

// needsURL reports whether a request must have the page's URL, because it starts a conversation about a page or
// contains a part of one.
func (r Request) needsURL() bool {
	switch r.Kind {
	case skill.KindPageWholeSummary, skill.KindEasyExplain:
		return true
	default:
		return !r.IsFollowUp && (r.Text != "" || r.Selection != "")
	}
}

// checks collects the invalid fields of a request.
type checks []fault.FieldError

func (c *checks) add(field, message string) {
	*c = append(*c, fault.FieldError{Field: field, Message: message})
}

func (c *checks) required(field, value string) {
	if strings.TrimSpace(value) == "" {
		c.add(field, "必須の項目です。")
	}
}

func (c *checks) atMost(field, value string, characters int) {
	if utf8.RuneCountInString(value) > characters {
		c.add(field, fmt.Sprintf("%d文字以内にしてください。", characters))
	}
}

func (c *checks) url(field, value string) {
	u, err := url.Parse(value)
	switch {
	case value == "":
		c.add(field, "必須の項目です。")
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "":
		c.add(field, "http:// または https:// で始まるアドレスを指定してください。")
	default:
		c.atMost(field, value, MaxURL)
	}
}

func (c *checks) messages(messages []Message) {
	if len(messages) == 0 || len(messages) > MaxMessages {
		c.add("messages", fmt.Sprintf("1件以上%d件以内で指定してください。", MaxMessages))
		return
	}
	for i, m := range messages {
		field := "messages[" + strconv.Itoa(i) + "]"
		if m.Role != "user" && m.Role != "assistant" {
			c.add(field+".role", "user か assistant を指定してください。")
		}
		c.required(field+".content", m.Content)
		c.atMost(field+".content", m.Content, MaxQuestion)
	}
	if messages[len(messages)-1].Role != "user" {
		c.add("messages", "最後は user の質問にしてください。")
	}
}
