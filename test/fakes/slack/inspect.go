package slack

import (
	"encoding/json"
	"slices"
)

// Messages returns all messages of a channel in order, including ephemeral and deleted ones.
func (w *Workspace) Messages(channelID string) []Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []Message
	for _, m := range w.messages[channelID] {
		w.expire(m)
		found = append(found, *m) // Its slices may be appended to, but never change.
	}
	return found
}

// Answers returns the bot's messages in a thread that are visible to everybody.
func (w *Workspace) Answers(channelID, ts string) []Message {
	return slices.DeleteFunc(w.Messages(channelID), func(m Message) bool {
		return m.Deleted || m.For != "" || m.ThreadTS != ts || m.TS == ts || m.BotID == ""
	})
}

// Message returns a message.
func (w *Workspace) Message(channelID, ts string) (Message, bool) {
	for _, m := range w.Messages(channelID) {
		if m.TS == ts {
			return m, true
		}
	}
	return Message{}, false
}

// Ephemeral returns the messages of a channel that are visible to one person only.
func (w *Workspace) Ephemeral(channelID, user string) []Message {
	return slices.DeleteFunc(w.Messages(channelID), func(m Message) bool { return m.For != user || m.Unseen })
}

// Pinged returns the control sequences that notify people, from all messages of the app.
func (w *Workspace) Pinged() []string {
	return w.gather(func(m *Message) []string { return m.Pings })
}

// Unfurled returns every link of the app's messages that Slack expanded to a preview.
func (w *Workspace) Unfurled() []string {
	return w.gather(func(m *Message) []string { return m.Unfurled })
}

func (w *Workspace) gather(of func(*Message) []string) (found []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, channel := range w.channels {
		for _, m := range w.messages[channel.ID] {
			found = append(found, of(m)...)
		}
	}
	return found
}

// Calls returns the number of calls of a method; of all methods if it is empty.
func (w *Workspace) Calls(method string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls[method]
}

// Events returns the events of a type in order, with their deliveries; of all types if it is empty.
func (w *Workspace) Events(kind string) []Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []Event
	for _, e := range w.events {
		if kind == "" || e.Type == kind {
			found = append(found, *e)
		}
	}
	return found
}

// Session returns the state that the app set for its work in a thread.
func (w *Workspace) Session(channelID, thread string) Session {
	w.mu.Lock()
	defer w.mu.Unlock()
	if session := w.sessions[sessionKey(channelID, thread)]; session != nil {
		return *session
	}
	return Session{}
}

// Home returns the home tab that the app published for a person, or nil.
func (w *Workspace) Home(user string) json.RawMessage {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.homes[user]
}
