package slack

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// replyAddress is a response_url. It accepts five responses within half an hour.
type replyAddress struct {
	in      *installation
	user    string
	channel string
	thread  string
	message string // The ts of the message whose button was pressed.
	at      time.Time
	used    int
}

// Click presses a button of a message as a person, by its action_id. It returns an error unless the app responds in
// time.
func (w *Workspace) Click(ctx context.Context, user, channelID, ts, actionID string) error {
	return w.ClickValue(ctx, user, channelID, ts, actionID, "")
}

// ClickValue is like Click for several buttons with the same action_id, such as feedback buttons. value selects the
// button.
func (w *Workspace) ClickValue(ctx context.Context, user, channelID, ts, actionID, value string) error {
	w.mu.Lock()
	m := w.find(channelID, ts)
	if m == nil || m.AppID == "" || m.For != "" && m.For != user {
		w.mu.Unlock()
		return errUnknown
	}
	action := findAction(m.Blocks, actionID, value)
	in := w.installed(w.apps[m.AppID], w.teams[w.people[m.User].teamID])
	if action == nil || in == nil {
		w.mu.Unlock()
		return fmt.Errorf("%w: no element %s", errUnknown, actionID)
	}
	address := w.newReply(in, user, channelID, m.ThreadTS, ts)
	body := w.interaction(in, "block_actions", user, channelID)
	action["action_ts"] = w.ts()
	body["actions"], body["response_url"], body["state"] = []object{action}, address, object{"values": object{}}
	container := object{"type": "message", "message_ts": ts, "channel_id": channelID, "is_ephemeral": m.For != ""}
	if m.ThreadTS != "" {
		container["thread_ts"] = m.ThreadTS
	}
	body["container"] = container
	if m.For == "" {
		body["message"] = w.messageJSON(m, true)
	}
	w.mu.Unlock()
	_, err := w.interact(ctx, in.app, body)
	return err
}

// ClickView presses a button of a home tab or modal.
func (w *Workspace) ClickView(ctx context.Context, user, viewID, actionID string) error {
	w.mu.Lock()
	view := w.views[viewID]
	if view == nil || view.User != user {
		w.mu.Unlock()
		return errUnknown
	}
	action := findAction(view.Raw, actionID, "")
	in := w.installed(w.apps[view.App], w.teams[w.people[user].teamID])
	if action == nil || in == nil {
		w.mu.Unlock()
		return fmt.Errorf("%w: no element %s", errUnknown, actionID)
	}
	body := w.interaction(in, "block_actions", user, "")
	action["action_ts"] = w.ts()
	body["actions"], body["view"] = []object{action}, w.viewJSON(view)
	body["container"] = object{"type": "view", "view_id": view.ID}
	w.mu.Unlock()
	_, err := w.interact(ctx, in.app, body)
	return err
}

// Submit submits a modal. values are the elements by block_id and action_id. The view closes unless the app responds
// with errors, which Submit returns by block_id.
func (w *Workspace) Submit(ctx context.Context, user, viewID string, values map[string]map[string]any) (
	map[string]string, error,
) {
	w.mu.Lock()
	view := w.views[viewID]
	if view == nil || view.User != user || !view.Open {
		w.mu.Unlock()
		return nil, errUnknown
	}
	in := w.installed(w.apps[view.App], w.teams[w.people[user].teamID])
	body := w.interaction(in, "view_submission", user, "")
	shown := w.viewJSON(view)
	shown["state"] = object{"values": values}
	body["view"], body["response_urls"] = shown, []string{}
	w.mu.Unlock()
	answered, err := w.interact(ctx, in.app, body)
	if err != nil {
		return nil, err
	}
	var said struct {
		Action string            `json:"response_action"`
		Errors map[string]string `json:"errors"`
	}
	_ = json.Unmarshal(answered, &said) // Most responses are empty.
	w.mu.Lock()
	defer w.mu.Unlock()
	view.Open = said.Action == "errors"
	w.touch()
	return said.Errors, nil
}

// CloseView closes a modal.
func (w *Workspace) CloseView(viewID string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if view := w.views[viewID]; view != nil {
		view.Open = false
		w.touch()
	}
}

// Shortcut selects an app's shortcut in the menu of a message.
func (w *Workspace) Shortcut(ctx context.Context, appID, user, channelID, ts, callbackID string) error {
	w.mu.Lock()
	m := w.find(channelID, ts)
	in, err := w.serving(appID, user)
	if m == nil || err != nil {
		w.mu.Unlock()
		return errUnknown
	}
	body := w.interaction(in, "message_action", user, channelID)
	body["callback_id"], body["action_ts"], body["message_ts"] = callbackID, w.ts(), ts
	body["message"], body["response_url"] = w.messageJSON(m, true), w.newReply(in, user, channelID, m.ThreadTS, "")
	w.mu.Unlock()
	_, err = w.interact(ctx, in.app, body)
	return err
}

// Command types a slash command. It posts the app's immediate response as a reply.
func (w *Workspace) Command(ctx context.Context, appID, user, channelID, command, text string) error {
	w.mu.Lock()
	in, err := w.serving(appID, user)
	channel := w.channels[channelID]
	if err != nil || channel == nil || !w.member(channel, user) {
		w.mu.Unlock()
		return errUnknown
	}
	id := w.newReply(in, user, channelID, "", "")
	fields := map[string]string{
		"token": "verification", "team_id": in.team.ID, "team_domain": in.team.Domain, "channel_id": channelID,
		"channel_name": cmp.Or(channel.Name, "directmessage"), "user_id": user, "user_name": w.people[user].Name,
		"command": command, "text": text, "api_app_id": in.app.ID, "is_enterprise_install": "false",
		"response_url": id, "trigger_id": w.trigger(user, appID),
	}
	if in.team.EnterpriseID != "" {
		fields["enterprise_id"], fields["enterprise_name"] = in.team.EnterpriseID, in.team.EnterpriseName
	}
	app := *in.app
	address := w.replies[id[strings.LastIndex(id, "/")+1:]]
	w.mu.Unlock()
	var answered []byte
	if app.SocketMode {
		raw, failed := json.Marshal(fields)
		if failed != nil {
			return failed
		}
		answered, err = w.envelope(ctx, in.app, "slash_commands", raw, nil)
	} else {
		form := url.Values{}
		for name, value := range fields {
			form.Set(name, value)
		}
		answered, err = w.send(ctx, app.CommandURL, app.SigningSecret, "application/x-www-form-urlencoded",
			[]byte(form.Encode()))
	}
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reply(address, answered)
	return nil
}

// interaction returns the fields that all interactions have. The caller holds w.mu.
func (w *Workspace) interaction(in *installation, kind, user, channelID string) object {
	person := w.people[user]
	body := object{
		"type": kind, "token": "verification", "api_app_id": in.app.ID, "is_enterprise_install": false,
		"team": object{"id": in.team.ID, "domain": in.team.Domain}, "enterprise": nil,
		"user": object{
			"id": user, "username": person.Name, "name": person.Name, "team_id": person.teamID,
		},
		"trigger_id": w.trigger(user, in.app.ID),
	}
	if in.team.EnterpriseID != "" {
		body["enterprise"] = object{"id": in.team.EnterpriseID, "name": in.team.EnterpriseName}
	}
	if channel := w.channels[channelID]; channel != nil {
		body["channel"] = object{"id": channelID, "name": cmp.Or(channel.Name, "directmessage")}
	}
	return body
}

// interact sends an interaction and returns the response.
func (w *Workspace) interact(ctx context.Context, in *App, body object) ([]byte, error) {
	w.mu.Lock()
	app := *in
	w.mu.Unlock()
	if app.SocketMode {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		return w.envelope(ctx, in, "interactive", raw, nil)
	}
	form, err := payload(body)
	if err != nil {
		return nil, err
	}
	answered, err := w.send(ctx, app.InteractionURL, app.SigningSecret, "application/x-www-form-urlencoded", form)
	return answered, err
}

func (w *Workspace) trigger(user, app string) string {
	id := w.id("trigger.")
	w.triggers[id] = trigger{user: user, app: app, at: w.clock.now()}
	return id
}

func (w *Workspace) newReply(in *installation, user, channel, thread, message string) string {
	id := secret()
	w.replies[id] = &replyAddress{
		in: in, user: user, channel: channel, thread: thread, message: message, at: w.clock.now(),
	}
	return w.url + "/response/" + id
}

// findAction returns the element with an action_id, in the form of block_actions.
func findAction(blocks json.RawMessage, actionID, value string) object {
	var list []map[string]any
	if json.Unmarshal(blocks, &list) != nil {
		var view struct {
			Blocks []map[string]any `json:"blocks"`
		}
		_ = json.Unmarshal(blocks, &view) // A failure leaves view empty.
		list = view.Blocks
	}
	for _, block := range list {
		raw, err := json.Marshal(block)
		if err != nil {
			continue
		}
		var found object
		walk(raw, func(o map[string]any) {
			if o["action_id"] == actionID && (value == "" || o["value"] == nil || o["value"] == value) {
				found = o
			}
		})
		if found != nil {
			if found["type"] == "feedback_buttons" {
				found = object{"type": found["type"], "action_id": actionID, "value": value}
			}
			found["block_id"] = block["block_id"]
			return found
		}
	}
	return nil
}

// serveResponse serves a response_url.
func (w *Workspace) serveResponse(writer http.ResponseWriter, request *http.Request) {
	raw, err := io.ReadAll(http.MaxBytesReader(writer, request.Body, maxBody))
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	address := w.replies[request.PathValue("id")]
	if address == nil || address.used >= 5 || w.clock.now().Sub(address.at) > 30*time.Minute {
		http.Error(writer, "expired_url", http.StatusNotFound)
		return
	}
	address.used++
	if code := w.reply(address, raw); code != "" {
		answer(writer, http.StatusBadRequest, object{"ok": false, "error": code})
		return
	}
	answer(writer, http.StatusOK, object{"ok": true})
}

// reply posts or replaces the message that an app sends to a response_url. The caller holds w.mu.
func (w *Workspace) reply(address *replyAddress, raw []byte) string {
	if len(bytes.TrimSpace(raw)) == 0 {
		return ""
	}
	var said struct {
		Text    string          `json:"text"`
		Blocks  json.RawMessage `json:"blocks"`
		Type    string          `json:"response_type"`
		Thread  string          `json:"thread_ts"`
		Replace bool            `json:"replace_original"`
		Delete  bool            `json:"delete_original"`
	}
	if json.Unmarshal(raw, &said) != nil {
		said.Text = string(raw)
	}
	blocks, code, _ := checkBlocks(string(said.Blocks))
	if code != "" {
		return code
	}
	original := w.find(address.channel, address.message)
	switch {
	case said.Delete && original != nil:
		original.Deleted = true
		w.touch()
		return ""
	case said.Replace && original != nil:
		original.Text, original.Markdown, original.Blocks = said.Text, "", blocks
		w.record(original, "response_url")
		return ""
	case said.Text == "" && blocks == nil:
		return "no_text"
	}
	m := &Message{
		Channel: address.channel, ThreadTS: cmp.Or(said.Thread, address.thread), User: address.in.UserID,
		BotID: address.in.BotID, AppID: address.in.app.ID, Text: said.Text, Blocks: blocks, unfurlMedia: true,
	}
	if said.Type != "in_channel" {
		m.For, m.unfurlMedia = address.user, false
	}
	w.post(m, "response_url")
	if m.For == "" && slices.Contains(w.order, m.Channel) {
		w.emitMessage(w.channels[m.Channel], m)
	}
	return ""
}
