package slack

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// lifetime bounds a stream.
const lifetime = 5 * time.Minute

// The states of a streamed message.
const (
	streaming = "in_progress"
	streamed  = "completed"
	expired   = "errored" // Slack ended the stream. It shows an error until an update.
)

// Message is a stored message.
type Message struct {
	Channel, TS, ThreadTS string
	User, BotID           string
	Subtype               string
	Text                  string // As clients receive it: mrkdwn with entities.
	Markdown              string // The markdown_text argument and all appended text.
	Blocks, Metadata      json.RawMessage
	For                   string // The only person who sees it; empty if everybody does.
	Unseen                bool   // With For: Slack hides it in a thread without replies.
	Files                 []File
	Edited, Deleted       bool
	Stream                string   // The state of its stream; empty without a stream.
	Pings                 []string // Control sequences that notify people.
	Unfurled              []string // Links that Slack expanded to a preview.

	started                             time.Time // Of the stream.
	unfurlLinks, unfurlMedia, linkNames bool
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
	return cmp.Or(shown, m.Text)
}

// messageJSON returns a message as in the Web API and in events. The caller holds w.mu.
func (w *Workspace) messageJSON(m *Message, metadata bool) object {
	o := object{"type": "message", "ts": m.TS, "text": m.Text, "user": m.User, "team": w.people[m.User].team()}
	for name, value := range map[string]string{
		"subtype": m.Subtype, "bot_id": m.BotID, "thread_ts": m.ThreadTS, "streaming_state": m.Stream,
	} {
		if value != "" {
			o[name] = value
		}
	}
	if m.BotID != "" {
		o["app_id"] = DemoApp
	}
	if m.ThreadTS == m.TS {
		o["reply_count"] = len(w.thread(m.Channel, m.TS)) - 1
	}
	if m.Blocks != nil {
		o["blocks"] = m.Blocks
	}
	if metadata && m.Metadata != nil {
		o["metadata"] = m.Metadata
	}
	if m.Edited {
		o["edited"] = object{"user": m.User, "ts": m.TS}
	}
	if len(m.Files) > 0 {
		files := make([]object, len(m.Files))
		for i := range m.Files {
			files[i] = w.fileJSON(&m.Files[i])
		}
		o["files"] = files
	}
	return o
}

// channel returns a channel, or nil. The caller holds w.mu.
func (w *Workspace) channel(id string) *Channel {
	for _, channel := range w.channels {
		if channel.ID == id {
			return channel
		}
	}
	return nil
}

// find returns a message that was not deleted. The caller holds w.mu.
func (w *Workspace) find(channel, ts string) *Message {
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
		if !m.Deleted && !m.Unseen && (m.For == "" || m.For == person) {
			w.expire(m)
			list = append(list, m)
		}
	}
	return list
}

// thread returns the messages of a thread that everybody sees. The caller holds w.mu.
func (w *Workspace) thread(channel, ts string) []*Message {
	return slices.DeleteFunc(w.visible(channel, ""), func(m *Message) bool { return m.TS != ts && m.ThreadTS != ts })
}

// expire ends a stream after its lifetime.
func (w *Workspace) expire(m *Message) {
	if m.Stream == streaming && w.clock.now().Sub(m.started) >= lifetime {
		m.Stream = expired
	}
}

// record records the notified people and expanded links of a new or changed message. The caller holds w.mu.
func (w *Workspace) record(m *Message) {
	if m.BotID != "" { // People may ping each other.
		m.Pings = slices.Compact(slices.Sorted(slices.Values(append(m.Pings, w.pings(m)...))))
		m.Unfurled = slices.Compact(slices.Sorted(slices.Values(append(m.Unfurled, unfurls(m)...))))
	}
	w.touch()
}

// post adds a message. The caller holds w.mu.
func (w *Workspace) post(m *Message) {
	m.TS = w.ts()
	if parent := w.find(m.Channel, m.ThreadTS); parent != nil {
		parent.ThreadTS = cmp.Or(parent.ThreadTS, parent.TS)
		m.ThreadTS = parent.ThreadTS
	}
	w.messages[m.Channel] = append(w.messages[m.Channel], m)
	w.record(m)
}
