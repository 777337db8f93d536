package slack

import (
	"encoding/json"
	"slices"
	"time"
)

// The states of a streamed message.
const (
	streaming = "in_progress"
	streamed  = "completed"
	expired   = "errored" // Slack ended the stream. It shows an error until an update.
)

// Message is a stored message.
type Message struct {
	Channel, TS, ThreadTS string
	User, BotID, AppID    string
	Subtype               string
	Text                  string // As clients receive it: mrkdwn with entities.
	Markdown              string // The markdown_text argument and all appended text.
	Blocks, Metadata      json.RawMessage
	For                   string // The only person who sees it; empty if everybody does.
	Unseen                bool   // With For: Slack hides it in a thread without replies.
	Files                 []File
	Edited, Deleted       bool
	Stream                string // The state of its stream; empty without a stream.
	StreamStarted         time.Time
	Recipient             string // The recipient of the stream.
	Pings                 []string
	Unfurled              []string
	Reactions             []Reaction
	History               []Revision // Every visible state, in order.

	unfurlLinks, unfurlMedia, linkNames bool
}

// Revision is a state of a message.
type Revision struct {
	At     time.Time
	Method string // The call or the act of a person that caused it.
	Text   string // The Markdown, or the text without Markdown.
}

// Reaction is an emoji under a message.
type Reaction struct {
	Name string
	User string
}

// Shown returns the visible text: the Markdown, else the Markdown of the blocks, else the text.
func (m *Message) Shown() string {
	shown := m.Markdown
	if shown == "" {
		walk(m.Blocks, func(o map[string]any) {
			if text, ok := o["text"].(string); ok && o["type"] == "markdown" {
				shown += text
			}
		})
	}
	if shown == "" {
		shown = m.Text
	}
	return shown
}

func (m *Message) clone() Message {
	c := *m
	c.Files, c.Pings, c.Unfurled = slices.Clone(m.Files), slices.Clone(m.Pings), slices.Clone(m.Unfurled)
	c.Reactions, c.History = slices.Clone(m.Reactions), slices.Clone(m.History)
	return c
}

// edited is the edit mark of a message.
type edited struct {
	User string `json:"user"`
	TS   string `json:"ts"`
}

// messageJSON returns a message as in the Web API and in events. The caller holds w.mu.
func (w *Workspace) messageJSON(m *Message, metadata bool) object {
	o := object{"type": "message", "ts": m.TS, "text": m.Text}
	put := func(name, value string) {
		if value != "" {
			o[name] = value
		}
	}
	put("user", m.User)
	put("subtype", m.Subtype)
	put("bot_id", m.BotID)
	put("app_id", m.AppID)
	put("thread_ts", m.ThreadTS)
	put("streaming_state", m.Stream)
	if person := w.people[m.User]; person != nil {
		o["team"] = person.teamID
		if m.BotID != "" {
			o["bot_profile"] = w.botJSON(person)
		}
	}
	if parent := w.find(m.Channel, m.ThreadTS); parent != nil {
		if parent == m {
			w.addThread(o, m)
		} else {
			put("parent_user_id", parent.User)
		}
	}
	if m.Blocks != nil {
		o["blocks"] = m.Blocks
	}
	if metadata && m.Metadata != nil {
		o["metadata"] = m.Metadata
	}
	if m.Edited {
		o["edited"] = edited{User: m.User, TS: m.TS}
	}
	if len(m.Files) > 0 {
		files := make([]object, len(m.Files))
		for i := range m.Files {
			files[i] = w.fileJSON(&m.Files[i])
		}
		o["files"], o["upload"] = files, false
	}
	return o
}

// addThread adds the summary of the replies to the first message of a thread.
func (w *Workspace) addThread(o object, m *Message) {
	users, latest, count := []string{}, "", 0
	for _, reply := range w.visible(m.Channel, "") {
		if reply.ThreadTS == m.TS && reply != m {
			count++
			latest = reply.TS
			if !slices.Contains(users, reply.User) {
				users = append(users, reply.User)
			}
		}
	}
	o["reply_count"], o["reply_users"], o["reply_users_count"] = count, users, len(users)
	o["latest_reply"], o["is_locked"], o["subscribed"] = latest, false, true
}

// find returns a message that was not deleted. The caller holds w.mu.
func (w *Workspace) find(channel, ts string) *Message {
	if ts == "" {
		return nil
	}
	for _, m := range w.messages[channel] {
		if m.TS == ts && !m.Deleted {
			return m
		}
	}
	return nil
}

// visible returns the messages of a channel that a person sees, or those that everybody sees if person is empty. The
// caller holds w.mu.
func (w *Workspace) visible(channel, person string) []*Message {
	var list []*Message
	for _, m := range w.messages[channel] {
		if !m.Deleted && !m.Unseen && (m.For == "" || (person != "" && m.For == person)) {
			w.expire(m)
			list = append(list, m)
		}
	}
	return list
}

// active reports whether a thread has a reply that everybody sees. The caller holds w.mu.
func (w *Workspace) active(channel, thread string) bool {
	return slices.ContainsFunc(w.visible(channel, ""), func(m *Message) bool {
		return m.ThreadTS == thread && m.TS != thread
	})
}

// expire ends a stream after its lifetime.
func (w *Workspace) expire(m *Message) {
	if m.Stream == streaming && w.clock.now().Sub(m.StreamStarted) >= w.config.Lifetime {
		m.Stream = expired
	}
}

// record adds the present state to the history, and records notified people and expanded links. The caller holds w.mu.
func (w *Workspace) record(m *Message, method string) {
	m.History = append(m.History, Revision{At: w.clock.now(), Method: method, Text: m.Shown()})
	for _, ping := range w.pings(m) {
		if !slices.Contains(m.Pings, ping) {
			m.Pings = append(m.Pings, ping)
		}
	}
	for _, link := range unfurls(m) {
		if !slices.Contains(m.Unfurled, link) {
			m.Unfurled = append(m.Unfurled, link)
		}
	}
	w.touch()
}

// post adds a message. The caller holds w.mu.
func (w *Workspace) post(m *Message, method string) {
	m.TS = w.ts()
	if parent := w.find(m.Channel, m.ThreadTS); parent != nil {
		if parent.ThreadTS == "" {
			parent.ThreadTS = parent.TS
		}
		m.ThreadTS = parent.ThreadTS
	}
	w.messages[m.Channel] = append(w.messages[m.Channel], m)
	w.record(m, method)
}
