package slack

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
)

//go:embed page
var pages embed.FS

func (w *Workspace) pageRoutes(mux *http.ServeMux) {
	folder, err := fs.Sub(pages, "page")
	if err != nil {
		panic(err) // Unreachable: the folder is embedded.
	}
	mux.Handle("/", http.FileServerFS(folder))
	mux.HandleFunc("GET /ui/watch", w.serveWatch)
	mux.HandleFunc("POST /ui/act", w.serveAct)
	mux.HandleFunc("POST /control/{what}", w.serveControl)
	mux.HandleFunc("GET /control/{what}", w.serveInspection)
}

// act is an action of a person on the page.
type act struct {
	Act     string   `json:"act"`
	As      string   `json:"as"`
	Channel string   `json:"channel"`
	Thread  string   `json:"thread"`
	TS      string   `json:"ts"`
	Text    string   `json:"text"`
	Action  string   `json:"action"`
	Files   []Upload `json:"files"`
}

func (w *Workspace) serveAct(writer http.ResponseWriter, request *http.Request) {
	var a act
	body := object{}
	err := json.NewDecoder(http.MaxBytesReader(writer, request.Body, 64<<20)).Decode(&a)
	if err == nil {
		err = w.do(request.Context(), a, body)
	}
	body["ok"] = err == nil
	if err != nil {
		body["error"] = err.Error()
	}
	answer(writer, http.StatusOK, body)
}

// do performs an action and adds its results to body.
func (w *Workspace) do(ctx context.Context, a act, body object) (err error) {
	switch a.Act {
	case "say":
		if text, ok := strings.CutPrefix(a.Text, "/tsumugi"); ok && a.Thread == "" {
			return w.Command(ctx, a.As, a.Channel, strings.TrimSpace(text))
		}
		body["ts"], err = w.Say(Said{
			Channel: a.Channel, User: a.As, Thread: a.Thread, Text: w.typed(a.Text), Files: a.Files,
		})
		return err
	case "edit":
		return w.Edit(a.Channel, a.TS, w.typed(a.Text))
	case "delete":
		return w.Delete(a.Channel, a.TS)
	case "click":
		return w.Click(ctx, a.As, a.Channel, a.TS, a.Action)
	case "shortcut":
		return w.Shortcut(ctx, a.As, a.Channel, a.TS, a.Action)
	case "home":
		w.OpenHome(a.As)
	case "assistant":
		body["channel"], body["ts"] = w.OpenAssistant(a.As)
	case "stop":
		return w.Stop(a.As, a.Channel, a.Thread)
	default:
		return errUnknown
	}
	return nil
}

// typed converts a typed text as Slack's message box does: it escapes entities and replaces names by mentions.
func (w *Workspace) typed(text string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
	for _, person := range w.people {
		text = strings.ReplaceAll(text, "@"+person.Name, "<@"+person.ID+">")
	}
	return text
}

// serveWatch sends the person's screen as server-sent events, initially and after each change.
func (w *Workspace) serveWatch(writer http.ResponseWriter, request *http.Request) {
	query := request.URL.Query()
	writer.Header().Set("Content-Type", "text/event-stream")
	writer.Header().Set("Cache-Control", "no-store")
	flush := http.NewResponseController(writer)
	ctx, cancel := context.WithCancel(request.Context())
	defer cancel()
	defer context.AfterFunc(w.ctx, cancel)()
	for {
		w.mu.Lock()
		changed := w.changed
		raw, err := json.Marshal(w.screen(query.Get("as"), query.Get("channel"), query.Get("thread")))
		w.mu.Unlock()
		if err != nil {
			return
		}
		if _, err := fmt.Fprintf(writer, "data: %s\n\n", raw); err != nil || flush.Flush() != nil {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// screen returns a person's screen: the channels, the messages of one channel, and a thread. The caller holds w.mu.
func (w *Workspace) screen(as, channelID, thread string) object {
	members := w.members()
	if w.people[as] == nil {
		as = members[0].ID
	}
	accounts := make([]string, len(members))
	for i, person := range members {
		accounts[i] = person.ID
	}
	people := object{}
	for id, p := range w.people {
		people[id] = object{
			"name": p.RealName, "handle": p.Name, "bot": p.Bot, "guest": p.Restricted || p.UltraRestricted,
		}
	}
	direct := w.directWith(as).ID
	channels, messages, replies := []object{}, []object{}, []object{}
	for _, channel := range w.channels {
		if channel.direct == "" && w.member(channel, as) {
			channels = append(channels, object{
				"id": channel.ID, "name": channel.Name, "private": channel.Private, "shared": channel.Shared,
			})
		}
		if channel.ID != channelID || !w.member(channel, as) {
			continue
		}
		for _, m := range w.visible(channelID, as) {
			shown := w.messageJSON(m, false)
			shown["markdown"], shown["ephemeral"] = m.Markdown, m.For != ""
			if m.ThreadTS == "" || m.ThreadTS == m.TS {
				messages = append(messages, shown)
			}
			if thread != "" && (m.ThreadTS == thread || m.TS == thread) {
				replies = append(replies, shown)
			}
		}
	}
	screen := object{
		"me": as, "accounts": accounts, "people": people, "channels": channels, "direct": direct,
		"home": w.homes[as], "messages": messages, "replies": replies,
	}
	if session := w.sessions[sessionKey(channelID, thread)]; session != nil {
		screen["session"] = object{
			"text": session.Text, "state": session.State, "title": session.Title, "prompts": session.Prompts,
			"stoppable": session.State == "processing" && w.app.subscribes("agent_session_stopped"),
		}
	}
	return screen
}
