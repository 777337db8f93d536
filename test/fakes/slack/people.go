package slack

import (
	"errors"
	"fmt"
)

// Said is a message written by a person.
type Said struct {
	Channel, User, Text string
	Thread              string // The ts of the thread's first message; empty at the top of the channel.
	Files               []Upload
}

// Upload is a file that a person adds to a message.
type Upload struct {
	Name    string
	Content []byte
}

var errUnknown = errors.New("no such person, channel, message or method")

// Say writes a message as a person and returns its ts. The workspace emits the events to the app.
func (w *Workspace) Say(said Said) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	channel := w.channel(said.Channel)
	if channel == nil || !w.member(channel, said.User) {
		return "", fmt.Errorf("%w: %s in %s", errUnknown, said.User, said.Channel)
	}
	m := &Message{Channel: channel.ID, ThreadTS: said.Thread, User: said.User, Text: said.Text}
	for _, upload := range said.Files {
		file := &File{
			ID: w.id("F"), Name: upload.Name, User: said.User, Content: upload.Content, Channel: channel.ID,
		}
		w.files[file.ID] = file
		m.Files, m.Subtype = append(m.Files, *file), "file_share"
	}
	w.post(m)
	w.emitMessage(channel, m)
	return m.TS, nil
}

// Mention writes a message that begins with a mention of the bot.
func (w *Workspace) Mention(said Said) (string, error) {
	said.Text = "<@" + DemoBot + "> " + said.Text
	return w.Say(said)
}

// Tell writes a direct message to the bot and returns the channel and the ts.
func (w *Workspace) Tell(said Said) (channel, ts string, err error) {
	w.mu.Lock()
	said.Channel = w.directWith(said.User).ID
	w.mu.Unlock()
	ts, err = w.Say(said)
	return said.Channel, ts, err
}

// Edit changes the text of a person's message.
func (w *Workspace) Edit(channelID, ts, text string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.find(channelID, ts)
	if m == nil {
		return errUnknown
	}
	before := w.messageJSON(m, true)
	m.Text, m.Edited = text, true
	w.record(m)
	w.emitChanged(w.channel(channelID), m, before)
	return nil
}

// Delete removes a message.
func (w *Workspace) Delete(channelID, ts string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.find(channelID, ts)
	if m == nil {
		return errUnknown
	}
	w.remove(w.channel(channelID), m)
	return nil
}

// OpenHome opens the app's home tab as a person.
func (w *Workspace) OpenHome(user string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.emit(object{"type": "app_home_opened", "user": user, "channel": w.directWith(user).ID, "tab": "home"}, nil)
}

// OpenAssistant opens a new assistant thread and returns its channel and ts.
func (w *Workspace) OpenAssistant(user string) (channel, ts string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := &Message{
		Channel: w.directWith(user).ID, User: DemoBot, BotID: botID, Subtype: "assistant_app_thread",
		Text: "新しいスレッド",
	}
	w.post(m)
	m.ThreadTS = m.TS
	w.emit(object{"type": "assistant_thread_started", "assistant_thread": object{
		"user_id": user, "context": object{}, "channel_id": m.Channel, "thread_ts": m.TS,
	}}, nil)
	return m.Channel, m.TS
}

// Stop presses Slack's own stop button in a thread. It ends the app's streams in the thread and sends the app the
// event.
func (w *Workspace) Stop(user, channelID, thread string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	session := w.sessions[sessionKey(channelID, thread)]
	if session == nil || session.State != "processing" {
		return fmt.Errorf("%w: nothing is being worked on", errUnknown)
	}
	stopped := []string{}
	for _, m := range w.thread(channelID, thread) {
		if m.Stream == streaming {
			m.Stream = streamed
			stopped = append(stopped, m.TS)
		}
	}
	w.emit(object{
		"type": "agent_session_stopped", "channel": channelID, "thread_ts": thread, "user": user,
		"streaming_message_ts": stopped,
	}, nil)
	w.touch()
	return nil
}

// Revoke revokes the bot's token and sends the app the event, as when an administrator revokes it.
func (w *Workspace) Revoke() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.emit(object{"type": "tokens_revoked", "tokens": object{"oauth": []string{}, "bot": []string{DemoBot}}}, nil)
	w.revoked = append(w.revoked, w.token)
	w.token = ""
	w.touch()
}
