package slack

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"time"
)

// frame is the shortest time between two updates of a page.
const frame = 50 * time.Millisecond

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
	Act     string                    `json:"act"`
	As      string                    `json:"as"`
	App     string                    `json:"app"`
	Channel string                    `json:"channel"`
	Thread  string                    `json:"thread"`
	TS      string                    `json:"ts"`
	Text    string                    `json:"text"`
	Action  string                    `json:"action"`
	Value   string                    `json:"value"`
	View    string                    `json:"view"`
	Values  map[string]map[string]any `json:"values"`
	Files   []Upload                  `json:"files"`
}

func (w *Workspace) serveAct(writer http.ResponseWriter, request *http.Request) {
	var a act
	if err := json.NewDecoder(http.MaxBytesReader(writer, request.Body, 64<<20)).Decode(&a); err != nil {
		answer(writer, http.StatusBadRequest, object{"ok": false, "error": "invalid_json"})
		return
	}
	body, err := w.do(request.Context(), a)
	if body == nil {
		body = object{}
	}
	body["ok"] = err == nil
	if err != nil {
		body["error"] = err.Error()
		if errors.Is(err, context.DeadlineExceeded) {
			body["error"] = "アプリが 3 秒以内に応えませんでした。"
		}
	}
	answer(writer, http.StatusOK, body)
}

func (w *Workspace) do(ctx context.Context, a act) (object, error) {
	switch a.Act {
	case "say":
		return w.write(ctx, a)
	case "edit":
		return nil, w.Edit(a.Channel, a.TS, w.typed(a.As, a.Text))
	case "delete":
		return nil, w.Delete(a.Channel, a.TS)
	case "react":
		return nil, w.React(a.As, a.Channel, a.TS, a.Value)
	case "click":
		if a.View != "" {
			return nil, w.ClickView(ctx, a.As, a.View, a.Action)
		}
		return nil, w.ClickValue(ctx, a.As, a.Channel, a.TS, a.Action, a.Value)
	case "shortcut":
		return nil, w.Shortcut(ctx, a.App, a.As, a.Channel, a.TS, a.Action)
	case "submit":
		errs, err := w.Submit(ctx, a.As, a.View, a.Values)
		return object{"errors": errs}, err
	case "close":
		w.CloseView(a.View)
		return nil, nil
	case "home":
		return nil, w.OpenHome(a.App, a.As)
	case "assistant":
		channel, ts, err := w.OpenAssistant(a.App, a.As, a.Channel)
		return object{"channel": channel, "ts": ts}, err
	case "direct":
		channel, err := w.Direct(a.App, a.As)
		return object{"channel": channel}, err
	case "stop":
		return nil, w.Stop(a.App, a.As, a.Channel, a.Thread)
	case "join":
		w.Join(a.Channel, a.Value)
		return nil, nil
	}
	return nil, fmt.Errorf("%w: %q", errUnknown, a.Act)
}

// write sends the typed text: as a command if it begins with one, otherwise as a message.
func (w *Workspace) write(ctx context.Context, a act) (object, error) {
	if command, rest, _ := strings.Cut(a.Text, " "); strings.HasPrefix(command, "/") && a.Thread == "" {
		w.mu.Lock()
		app := ""
		for id, candidate := range w.apps {
			if slices.ContainsFunc(candidate.Commands, func(c Command) bool { return c.Name == command }) {
				app = id
			}
		}
		w.mu.Unlock()
		if app == "" {
			return nil, fmt.Errorf("%s というコマンドはありません。", command)
		}
		return nil, w.Command(ctx, app, a.As, a.Channel, command, strings.TrimSpace(rest))
	}
	ts, err := w.Say(Said{
		Channel: a.Channel, User: a.As, Thread: a.Thread, Text: w.typed(a.As, a.Text), Files: a.Files,
	})
	return object{"ts": ts}, err
}

// typed converts a typed text as Slack's message box does: it escapes entities and replaces names by mentions.
func (w *Workspace) typed(user, text string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	team := ""
	if person := w.people[user]; person != nil {
		team = person.teamID
	}
	return w.mentioned(strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text), team)
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
		case <-time.After(frame):
		case <-ctx.Done():
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
