package slack

import (
	"maps"
	"slices"
)

// Messages returns all messages of a channel in order, including ephemeral and deleted ones.
func (w *Workspace) Messages(channelID string) []Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []Message
	for _, m := range w.messages[channelID] {
		w.expire(m)
		found = append(found, m.clone())
	}
	return found
}

// Thread returns the messages of a thread that are visible to everybody, the first message first.
func (w *Workspace) Thread(channelID, ts string) []Message {
	return slices.DeleteFunc(w.Messages(channelID), func(m Message) bool {
		return m.Deleted || m.For != "" || m.TS != ts && m.ThreadTS != ts
	})
}

// Answers returns an app's messages in a thread that are visible to everybody.
func (w *Workspace) Answers(appID, channelID, ts string) []Message {
	return slices.DeleteFunc(w.Thread(channelID, ts), func(m Message) bool { return m.AppID != appID || m.TS == ts })
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
	return slices.DeleteFunc(w.Messages(channelID), func(m Message) bool {
		return m.For != user || m.Unseen || m.Deleted
	})
}

// Pinged returns every control sequence by which an app notified people.
func (w *Workspace) Pinged() []string {
	return w.gather(func(m *Message) []string { return m.Pings })
}

// Unfurled returns every link of an app's messages that Slack expanded to a preview.
func (w *Workspace) Unfurled() []string {
	return w.gather(func(m *Message) []string { return m.Unfurled })
}

func (w *Workspace) gather(of func(*Message) []string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := []string{}
	for _, channel := range slices.Sorted(maps.Keys(w.messages)) {
		for _, m := range w.messages[channel] {
			found = append(found, of(m)...)
		}
	}
	return found
}

// Calls returns the calls of a method in order; of all methods if it is empty.
func (w *Workspace) Calls(method string) []Call {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.calls), func(c Call) bool { return method != "" && c.Method != method })
}

// Events returns the events of a type in order, with their deliveries; of all types if it is empty.
func (w *Workspace) Events(kind string) []Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []Event
	for _, e := range w.events {
		if kind == "" || e.Type == kind {
			c := *e
			c.Deliveries = slices.Clone(e.Deliveries)
			found = append(found, c)
		}
	}
	return found
}

// Session returns the state that an app set for its work in a thread.
func (w *Workspace) Session(appID, channelID, thread string) (Session, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	session := w.sessions[sessionKey(channelID, thread, appID)]
	if session == nil {
		return Session{}, false
	}
	return *session, true
}

// Home returns the home tab published by an app for a person.
func (w *Workspace) Home(appID, user string) (View, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	view := w.homes[appID+" "+user]
	if view == nil {
		return View{}, false
	}
	return *view, true
}

// Modals returns the modals that are open for a person.
func (w *Workspace) Modals(user string) []View {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []View
	for _, id := range slices.Sorted(maps.Keys(w.views)) {
		if view := w.views[id]; view.Open && view.User == user {
			found = append(found, *view)
		}
	}
	return found
}

// Content returns the content of an uploaded file.
func (w *Workspace) Content(fileID string) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	if file := w.files[fileID]; file != nil {
		return file.Content
	}
	return nil
}

// Token returns the token of an app in a team, or an empty string if the app is not installed there.
func (w *Workspace) Token(appID, teamID string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if in := w.installed(w.apps[appID], w.teams[teamID]); in != nil {
		return in.Token
	}
	return ""
}
