package slack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Said is a message written by a person.
type Said struct {
	Channel, User, Text string
	Thread              string // The ts of the thread's first message; empty at the top of the channel.
	Files               []Upload
	Subtype             string // bot_message marks a message of another integration.
}

// Upload is a file that a person adds to a message.
type Upload struct {
	Name    string
	Content []byte
}

var errUnknown = errors.New("no such person, channel, message or app")

// Say writes a message as a person and returns its ts. The workspace emits the events to the apps in the channel.
func (w *Workspace) Say(said Said) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	channel, person := w.channels[said.Channel], w.people[said.User]
	if channel == nil || person == nil || !w.member(channel, person.ID) {
		return "", fmt.Errorf("%w: %s in %s", errUnknown, said.User, said.Channel)
	}
	m := &Message{Channel: channel.ID, ThreadTS: said.Thread, User: person.ID, Text: said.Text, Subtype: said.Subtype}
	if said.Subtype == "bot_message" {
		m.User, m.BotID = "", person.botID
	}
	for _, upload := range said.Files {
		file := &File{
			ID: w.id("F"), Name: upload.Name, User: person.ID, Team: person.teamID, Content: upload.Content,
			Shared: []string{channel.ID}, Created: w.clock.now(), complete: true,
		}
		w.files[file.ID] = file
		m.Files, m.Subtype = append(m.Files, *file), "file_share"
	}
	w.post(m, "person")
	w.emitMessage(channel, m)
	return m.TS, nil
}

// Mention writes a message that begins with a mention of the app's bot.
func (w *Workspace) Mention(appID string, said Said) (string, error) {
	bot, err := w.BotIn(appID, said.Channel)
	if err != nil {
		return "", err
	}
	said.Text = "<@" + bot + "> " + said.Text
	return w.Say(said)
}

// Tell writes a direct message to an app's bot and returns the channel and the ts.
func (w *Workspace) Tell(appID string, said Said) (channel, ts string, err error) {
	if channel, err = w.Direct(appID, said.User); err != nil {
		return "", "", err
	}
	said.Channel = channel
	ts, err = w.Say(said)
	return channel, ts, err
}

// Direct returns the direct message channel of a person and an app's bot.
func (w *Workspace) Direct(appID, user string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	in, err := w.serving(appID, user)
	if err != nil {
		return "", err
	}
	return w.directWith(in, user).ID, nil
}

// serving returns the app's installation in the person's team. The caller holds w.mu.
func (w *Workspace) serving(appID, user string) (*installation, error) {
	person := w.people[user]
	if person == nil {
		return nil, errUnknown
	}
	if in := w.installed(w.apps[appID], w.teams[person.teamID]); in != nil {
		return in, nil
	}
	return nil, fmt.Errorf("%w: %s is not installed for %s", errUnknown, appID, user)
}

// BotIn returns the user id of an app's bot in the team of a channel.
func (w *Workspace) BotIn(appID, channelID string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	channel := w.channels[channelID]
	if channel != nil {
		for _, in := range w.installs {
			if in.app.ID == appID && slices.Contains(w.teamsOf(channel), in.team.ID) {
				return in.UserID, nil
			}
		}
	}
	return "", fmt.Errorf("%w: %s in %s", errUnknown, appID, channelID)
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
	w.record(m, "person")
	w.emitChanged(w.channels[channelID], m, before)
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
	before := w.messageJSON(m, true)
	m.Deleted = true
	w.touch()
	w.emitDeleted(w.channels[channelID], m, before)
	return nil
}

// React adds an emoji reaction of a person to a message.
func (w *Workspace) React(user, channelID, ts, name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.find(channelID, ts)
	if m == nil {
		return errUnknown
	}
	if r := (Reaction{Name: name, User: user}); !slices.Contains(m.Reactions, r) {
		m.Reactions = append(m.Reactions, r)
		w.touch()
	}
	return nil
}

// OpenHome opens an app's home tab as a person.
func (w *Workspace) OpenHome(appID, user string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	in, err := w.serving(appID, user)
	if err != nil {
		return err
	}
	event := object{"type": "app_home_opened", "user": user, "channel": w.directWith(in, user).ID, "tab": "home"}
	if view := w.homes[appID+" "+user]; view != nil {
		event["view"] = w.viewJSON(view)
	}
	w.emit(in, event, nil)
	return nil
}

// OpenAssistant opens a new assistant thread and returns its channel and ts. contextChannel is the channel that the
// person has open, or empty.
func (w *Workspace) OpenAssistant(appID, user, contextChannel string) (channel, ts string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	in, err := w.serving(appID, user)
	if err != nil {
		return "", "", err
	}
	place := w.directWith(in, user)
	m := &Message{
		Channel: place.ID, User: in.UserID, BotID: in.BotID, AppID: in.app.ID, Subtype: "assistant_app_thread",
		Text: "新しいスレッド",
	}
	w.post(m, "assistant")
	m.ThreadTS = m.TS
	session := w.session(place.ID, m.TS, in.app.ID)
	session.assistant, session.Context = true, contextChannel
	w.emit(in, object{"type": "assistant_thread_started", "assistant_thread": w.assistantJSON(in, user, session)}, nil)
	return place.ID, m.TS, nil
}

func (w *Workspace) assistantJSON(in *installation, user string, session *Session) object {
	about := object{}
	if session.Context != "" {
		about = object{"channel_id": session.Context, "team_id": in.team.ID, "enterprise_id": nil}
	}
	return object{"user_id": user, "context": about, "channel_id": session.Channel, "thread_ts": session.Thread}
}

// ChangeContext sends an app the event that the person of an assistant thread opened another channel.
func (w *Workspace) ChangeContext(appID, user, channelID, thread, contextChannel string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	in, err := w.serving(appID, user)
	if err != nil {
		return err
	}
	session := w.session(channelID, thread, appID)
	session.Context = contextChannel
	w.emit(in, object{
		"type": "assistant_thread_context_changed", "assistant_thread": w.assistantJSON(in, user, session),
	}, nil)
	return nil
}

// Stop presses Slack's own stop button in a thread. It ends the app's streams in the thread and sends the app the
// event.
func (w *Workspace) Stop(appID, user, channelID, thread string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	session := w.sessions[sessionKey(channelID, thread, appID)]
	channel := w.channels[channelID]
	if session == nil || session.State != "processing" || channel == nil {
		return fmt.Errorf("%w: nothing is being worked on", errUnknown)
	}
	in := w.installed(w.apps[appID], w.teams[channel.teamID])
	if in == nil {
		return errUnknown
	}
	stopped := []string{}
	for _, m := range w.visible(channelID, "") {
		if m.ThreadTS == thread && m.AppID == appID && m.Stream == streaming {
			m.Stream = streamed
			stopped = append(stopped, m.TS)
		}
	}
	w.emit(in, object{
		"type": "agent_session_stopped", "channel": channelID, "thread_ts": thread, "user": user,
		"streaming_message_ts": stopped,
	}, nil)
	w.touch()
	return nil
}

// Join adds a person or bot to a channel.
func (w *Workspace) Join(channelID, person string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if channel := w.channels[channelID]; channel.Members != nil && !slices.Contains(channel.Members, person) {
		channel.Members = append(channel.Members, person)
	}
	w.touch()
}

// Leave removes a person or bot from a channel.
func (w *Workspace) Leave(channelID, person string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	channel := w.channels[channelID]
	if channel.Members == nil {
		for id := range w.people {
			if w.member(channel, id) {
				channel.Members = append(channel.Members, id)
			}
		}
	}
	channel.Members = slices.DeleteFunc(channel.Members, func(id string) bool { return id == person })
	w.touch()
}

// Revoke revokes the token of an app in a team and sends the app the event, as when an administrator revokes it.
func (w *Workspace) Revoke(appID, teamID string) error { return w.ending(appID, teamID, w.revokeToken) }

// Uninstall removes an app from a team and sends the app the event.
func (w *Workspace) Uninstall(appID, teamID string) error {
	return w.ending(appID, teamID, w.uninstall)
}

func (w *Workspace) ending(appID, teamID string, end func(*installation)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	in := w.installed(w.apps[appID], w.teams[teamID])
	if in == nil {
		return errUnknown
	}
	end(in)
	return nil
}

// Redeliver sends an event again in concurrent copies, and waits until each is delivered or given up.
func (w *Workspace) Redeliver(ctx context.Context, eventID string, copies int) error {
	w.mu.Lock()
	i := slices.IndexFunc(w.events, func(e *Event) bool { return e.ID == eventID })
	if i < 0 {
		w.mu.Unlock()
		return errUnknown
	}
	e := w.events[i]
	w.dispatch(e, w.apps[e.App], copies)
	w.mu.Unlock()
	return w.Await(ctx, func() bool { return w.delivered(eventID) })
}

func (w *Workspace) delivered(eventID string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.events, func(e *Event) bool { return e.ID == eventID && e.Done })
}

// mentioned replaces the @names of a text by mentions, as Slack's message box does. The caller holds w.mu.
func (w *Workspace) mentioned(text, team string) string {
	for _, person := range w.people {
		if person.teamID == team && person.Name != "" {
			text = strings.ReplaceAll(text, "@"+person.Name, "<@"+person.ID+">")
		}
	}
	return text
}
