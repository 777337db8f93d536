package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// replyAddress is a response_url. It accepts five responses within half an hour.
type replyAddress struct {
	user    string
	channel string
	thread  string
	at      time.Time
	used    int
}

// Click presses a button of a message as a person, by its action_id. It returns an error unless the app responds in
// time.
func (w *Workspace) Click(ctx context.Context, user, channelID, ts, actionID string) error {
	w.mu.Lock()
	m := w.find(channelID, ts)
	if m == nil || m.For != "" && m.For != user {
		w.mu.Unlock()
		return errUnknown
	}
	action := findAction(m.Blocks, actionID)
	if action == nil {
		w.mu.Unlock()
		return fmt.Errorf("%w: no element %s", errUnknown, actionID)
	}
	action["action_ts"] = w.ts()
	body := w.interaction("block_actions", user, m)
	body["actions"] = []object{action}
	body["container"] = object{"type": "message", "message_ts": ts, "channel_id": channelID, "thread_ts": m.ThreadTS}
	if m.For != "" {
		delete(body, "message")
	}
	w.mu.Unlock()
	_, err := w.request(ctx, "interactive", body)
	return err
}

// findAction returns the element with an action_id, in the form of block_actions.
func findAction(raw json.RawMessage, actionID string) object {
	var blocks []struct {
		BlockID  string   `json:"block_id"`
		Elements []object `json:"elements"`
	}
	_ = json.Unmarshal(raw, &blocks) // Messages without buttons have other elements.
	for _, b := range blocks {
		for _, element := range b.Elements {
			if element["action_id"] == actionID {
				element["block_id"] = b.BlockID
				return element
			}
		}
	}
	return nil
}

// Shortcut selects the app's shortcut in the menu of a message.
func (w *Workspace) Shortcut(ctx context.Context, user, channelID, ts, callbackID string) error {
	w.mu.Lock()
	m := w.find(channelID, ts)
	if m == nil {
		w.mu.Unlock()
		return errUnknown
	}
	body := w.interaction("message_action", user, m)
	body["callback_id"], body["action_ts"], body["message_ts"] = callbackID, w.ts(), ts
	w.mu.Unlock()
	_, err := w.request(ctx, "interactive", body)
	return err
}

// interaction returns the fields that the interactions with a message have. The caller holds w.mu.
func (w *Workspace) interaction(kind, user string, m *Message) object {
	return object{
		"type": kind, "api_app_id": DemoApp, "is_enterprise_install": false, "enterprise": nil,
		"team": object{"id": DemoTeam}, "user": object{"id": user, "team_id": w.people[user].team()},
		"channel": object{"id": m.Channel}, "message": w.messageJSON(m, true), "trigger_id": w.id("trigger."),
		"response_url": w.newReply(user, m.Channel, m.ThreadTS),
	}
}

// Command types the slash command with a text. It posts the app's immediate response as a reply.
func (w *Workspace) Command(ctx context.Context, user, channelID, text string) error {
	w.mu.Lock()
	channel := w.channel(channelID)
	if channel == nil || !w.member(channel, user) {
		w.mu.Unlock()
		return errUnknown
	}
	id := w.newReply(user, channelID, "")
	body := object{
		"team_id": DemoTeam, "channel_id": channelID, "channel_name": cmp.Or(channel.Name, "directmessage"),
		"user_id": user, "user_name": w.people[user].Name, "command": "/tsumugi", "text": text, "api_app_id": DemoApp,
		"is_enterprise_install": "false", "response_url": id, "trigger_id": w.id("trigger."),
	}
	w.mu.Unlock()
	answered, err := w.request(ctx, "slash_commands", body)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reply(&replyAddress{user: user, channel: channelID}, answered)
}

// request sends an interaction or a command to the app and returns the response. kind is that of Socket Mode.
func (w *Workspace) request(ctx context.Context, kind string, body object) ([]byte, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	app := w.configured()
	if app.SocketMode {
		return w.envelope(ctx, kind, raw, nil)
	}
	form, path := url.Values{"payload": {string(raw)}}, "interaction"
	if kind == "slash_commands" {
		form, path = url.Values{}, "command"
		for name, value := range body {
			form.Set(name, fmt.Sprint(value))
		}
	}
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	status, answered, err := w.send(ctx, app, path, header, []byte(form.Encode()))
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("answered with status %d", status)
	}
	return answered, err
}

// newReply returns a new response_url. The caller holds w.mu.
func (w *Workspace) newReply(user, channel, thread string) string {
	id := secret()
	w.replies[id] = &replyAddress{user: user, channel: channel, thread: thread, at: w.clock.now()}
	return w.url + "/response/" + id
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
	if err := w.reply(address, raw); err != nil {
		http.Error(writer, err.Error(), http.StatusBadRequest)
		return
	}
	_, _ = io.WriteString(writer, "ok") // The client may have disconnected.
}

// reply posts the message that the app sends to a response_url, which only one person sees. The caller holds w.mu.
func (w *Workspace) reply(address *replyAddress, raw []byte) error {
	if len(raw) == 0 {
		return nil // An empty response to a command.
	}
	var said struct {
		Text   string          `json:"text"`
		Blocks json.RawMessage `json:"blocks"`
	}
	if json.Unmarshal(raw, &said) != nil {
		said.Text = string(raw)
	}
	if err := checkBlocks(string(said.Blocks), maxBlocks); err != nil {
		return err
	}
	w.post(&Message{
		Channel: address.channel, ThreadTS: address.thread, User: DemoBot, BotID: botID, For: address.user,
		Text: said.Text, Blocks: said.Blocks,
	})
	return nil
}
