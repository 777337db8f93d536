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
	expired   = "errored" // Slack ended it: it shows an error until somebody updates it.
)

// Message is a message as the workspace holds it.
type Message struct {
	Channel, TS, ThreadTS string
	User, BotID, AppID    string
	Subtype               string
	Text                  string // As clients get it: mrkdwn with entities.
	Markdown              string // What markdown_text said; what was appended is added to it.
	Blocks, Metadata      json.RawMessage
	For                   string // Who alone sees it; empty if everybody does.
	Unseen                bool   // With For: Slack shows none in a thread that has no reply yet.
	Files                 []File
	Edited, Deleted       bool
	Stream                string // The state of its stream; empty if it never streamed.
	StreamStarted         time.Time
	Recipient             string // Of the stream.
	Pings                 []string
	Unfurled              []string
	Reactions             []Reaction
	History               []Revision // Every state that people saw, in order.

	unfurlLinks, unfurlMedia, linkNames bool
}

// Revision is a state of a message.
type Revision struct {
	At     time.Time
	Method string // The call that made it, or the person's act.
	Text   string // The Markdown, or the text if there is none.
}

// Reaction is an emoji under a message.
type Reaction struct {
	Name string
	User string
}

// Shown is what people read: the Markdown, that of the blocks, or the text if there is none.
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

// Edited is the mark of a changed message.
type edited struct {
	User string `json:"user"`
	TS   string `json:"ts"`
}

// messageJSON is a message as the Web API and events show it; w.mu is held.
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

// addThread adds what the first message of a thread tells of its replies.
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

// find returns a message that exists; w.mu is held.
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

// visible returns the messages of a channel that a person sees: person "" sees what everybody sees. w.mu is held.
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

// active tells whether a thread has a reply that everybody sees; w.mu is held.
func (w *Workspace) active(channel, thread string) bool {
	return slices.ContainsFunc(w.visible(channel, ""), func(m *Message) bool {
		return m.ThreadTS == thread && m.TS != thread
	})
}

// expire ends a stream whose lifetime is over.
func (w *Workspace) expire(m *Message) {
	if m.Stream == streaming && w.clock.now().Sub(m.StreamStarted) >= w.config.Lifetime {
		m.Stream = expired
	}
}

// record adds the present state to the history, and finds out who is pinged and what is unfurled; w.mu is held.
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

// post adds a message; w.mu is held.
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
