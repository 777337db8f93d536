package slack

import (
	"cmp"
	"maps"
	"slices"
)

// screen returns a person's screen: the channels, the messages of one channel, and a thread. The caller holds w.mu.
func (w *Workspace) screen(as, channelID, thread string) object {
	members := w.members()
	me := w.people[as]
	if me == nil {
		me = members[0]
	}
	people := object{}
	for id, person := range w.people {
		people[id] = w.personOnScreen(person)
	}
	accounts := make([]string, len(members))
	for i, person := range members {
		accounts[i] = person.ID
	}
	apps, direct := w.appsOnScreen(me)
	screen := object{
		"me": me.ID, "team": w.teams[me.teamID].Name, "accounts": accounts, "people": people, "apps": apps,
		"channels": w.channelsOnScreen(me), "now": w.clock.now().UnixMilli(), "modals": w.modalsOnScreen(me),
	}
	channel := w.channels[channelID]
	if channel == nil || !w.member(channel, me.ID) && !slices.Contains(direct, channelID) {
		return screen
	}
	var list, replies []object
	for _, m := range w.visible(channelID, me.ID) {
		inThread := m.ThreadTS != "" && m.ThreadTS != m.TS
		if !inThread {
			list = append(list, w.messageOnScreen(m))
		}
		if thread != "" && (m.ThreadTS == thread || m.TS == thread) {
			replies = append(replies, w.messageOnScreen(m))
		}
	}
	screen["channel"], screen["messages"], screen["replies"] = channelID, list, replies
	screen["sessions"] = w.sessionsOnScreen(channelID, thread)
	return screen
}

func (w *Workspace) personOnScreen(person *Person) object {
	kind := ""
	switch {
	case person.Bot:
		kind = "アプリ"
	case person.Deleted:
		kind = "削除済み"
	case person.Restricted || person.UltraRestricted:
		kind = "ゲスト"
	case w.teams[person.teamID] != nil && len(w.config.Teams) > 0 && person.teamID != w.config.Teams[0].ID:
		kind = w.teams[person.teamID].Name
	}
	return object{"name": cmp.Or(person.RealName, person.Name), "handle": person.Name, "kind": kind, "bot": person.Bot}
}

// appsOnScreen returns the apps of a person's team, and the direct message channels of their bots.
func (w *Workspace) appsOnScreen(me *Person) (apps []object, direct []string) {
	for _, id := range slices.Sorted(maps.Keys(w.apps)) {
		app := w.apps[id]
		in := w.installed(app, w.teams[me.teamID])
		if in == nil {
			continue
		}
		entry := object{"id": id, "name": app.Name, "bot": in.UserID, "shortcuts": []object{}, "commands": []object{}}
		var shortcuts, commands []object
		for _, shortcut := range app.Shortcuts {
			shortcuts = append(shortcuts, object{"id": shortcut.CallbackID, "name": shortcut.Name})
		}
		for _, command := range app.Commands {
			commands = append(commands, object{"name": command.Name, "description": command.Description})
		}
		entry["shortcuts"], entry["commands"] = shortcuts, commands
		for _, place := range w.order {
			if channel := w.channels[place]; channel.direct == me.ID && channel.Members[1] == in.UserID {
				entry["direct"] = place
				direct = append(direct, place)
			}
		}
		if view := w.homes[id+" "+me.ID]; view != nil {
			entry["home"] = object{"id": view.ID, "view": view.Raw}
		}
		apps = append(apps, entry)
	}
	return apps, direct
}

func (w *Workspace) channelsOnScreen(me *Person) []object {
	list := []object{}
	for _, id := range w.order {
		channel := w.channels[id]
		if channel.direct != "" || !w.member(channel, me.ID) {
			continue
		}
		members := 0
		for person := range w.people {
			if w.member(channel, person) {
				members++
			}
		}
		var absent []string
		for _, in := range w.installs {
			if slices.Contains(w.teamsOf(channel), in.team.ID) && !w.member(channel, in.UserID) {
				absent = append(absent, in.UserID)
			}
		}
		list = append(list, object{
			"id": id, "name": channel.Name, "private": channel.Private, "shared": len(channel.SharedWith) > 0,
			"members": members, "absent": absent,
		})
	}
	return list
}

func (w *Workspace) messageOnScreen(m *Message) object {
	o := w.messageJSON(m, false)
	o["markdown"], o["ephemeral"], o["reactions"] = m.Markdown, m.For != "", m.Reactions
	return o
}

// sessionsOnScreen returns the sessions of a thread and of the newest assistant threads of a channel.
func (w *Workspace) sessionsOnScreen(channel, thread string) []object {
	list := []object{}
	for _, key := range slices.Sorted(maps.Keys(w.sessions)) {
		s := w.sessions[key]
		if s.Channel == channel && (s.Thread == thread || s.Title != "") {
			list = append(list, object{
				"app": s.App, "thread": s.Thread, "text": s.Text, "state": s.State, "title": s.Title,
				"prompts": s.Prompts, "promptsTitle": s.PromptsTitle,
				"stoppable": s.State == "processing" && w.apps[s.App].subscribes("agent_session_stopped"),
			})
		}
	}
	return list
}

func (w *Workspace) modalsOnScreen(me *Person) []object {
	list := []object{}
	for _, id := range slices.Sorted(maps.Keys(w.views)) {
		if view := w.views[id]; view.Open && view.User == me.ID {
			list = append(list, object{"id": id, "view": view.Raw})
		}
	}
	return list
}
