package slack

import (
	"slices"
	"strings"
)

// channelType returns the channel_type of an event.
func (w *Workspace) channelType(channel *Channel) string {
	switch {
	case channel.direct != "":
		return "im"
	case channel.Private:
		return "group"
	}
	return "channel"
}

// audience returns the installations whose bots are in a channel. The caller holds w.mu.
func (w *Workspace) audience(channel *Channel) []*installation {
	var found []*installation
	for _, in := range w.installs {
		if slices.Contains(w.teamsOf(channel), in.team.ID) && w.member(channel, in.UserID) {
			found = append(found, in)
		}
	}
	return found
}

// emitMessage emits a message event, and an app_mention event for every bot that the message mentions. The caller holds
// w.mu.
func (w *Workspace) emitMessage(channel *Channel, m *Message) {
	for _, in := range w.audience(channel) {
		event := w.messageEvent(channel, m)
		if m.Subtype == "file_share" {
			event["subtype"] = m.Subtype
		}
		w.emit(in, event, channel)
		w.emitMention(in, channel, m, "")
	}
}

func (w *Workspace) messageEvent(channel *Channel, m *Message) object {
	event := w.messageJSON(m, true)
	event["channel"], event["channel_type"], event["event_ts"] = channel.ID, w.channelType(channel), m.TS
	if person := w.people[m.User]; person != nil && len(channel.SharedWith) > 0 {
		event["user_team"], event["source_team"] = person.teamID, person.teamID
	}
	return event
}

// emitMention emits an app_mention event if a message mentions the bot, unless the text before an edit did so too.
// Direct messages cause no mention.
func (w *Workspace) emitMention(in *installation, channel *Channel, m *Message, before string) {
	name := "<@" + in.UserID + ">"
	if channel.direct != "" || m.User == in.UserID || !strings.Contains(m.Text, name) ||
		strings.Contains(before, name) {
		return
	}
	event := w.messageEvent(channel, m)
	event["type"] = "app_mention"
	delete(event, "channel_type")
	w.emit(in, event, channel)
}

// emitChanged emits the event of an edit. before is the message before the edit. The caller holds w.mu.
func (w *Workspace) emitChanged(channel *Channel, m *Message, before object) {
	for _, in := range w.audience(channel) {
		w.emit(in, object{
			"type": "message", "subtype": "message_changed", "hidden": true, "channel": channel.ID, "ts": w.ts(),
			"channel_type": w.channelType(channel), "message": w.messageJSON(m, true), "previous_message": before,
		}, channel)
		text, _ := before["text"].(string)
		w.emitMention(in, channel, m, text)
	}
}

// emitDeleted emits the event of a deletion. The caller holds w.mu.
func (w *Workspace) emitDeleted(channel *Channel, m *Message, before object) {
	for _, in := range w.audience(channel) {
		w.emit(in, object{
			"type": "message", "subtype": "message_deleted", "hidden": true, "channel": channel.ID, "ts": w.ts(),
			"channel_type": w.channelType(channel), "deleted_ts": m.TS, "previous_message": before,
		}, channel)
	}
}
