package slack

import (
	"encoding/json"
	"net/http"
	"time"
)

// control is a request of a test in another process. Each kind reads the fields that it needs.
type control struct {
	Seconds  float64    `json:"seconds"`
	Fault    Fault      `json:"fault"` // Its durations are nanoseconds.
	Event    EventFault `json:"event"`
	App      string     `json:"app"`
	Team     string     `json:"team"`
	Server   string     `json:"server"`
	Person   string     `json:"person"`
	Email    *string    `json:"email"`
	Deleted  *bool      `json:"deleted"`
	Reason   string     `json:"reason"`
	EventID  string     `json:"event_id"`
	Copies   int        `json:"copies"`
	SocketOn *bool      `json:"socket_mode"`
}

// serveControl serves POST /control/advance, fail, fail-event, heal, connect, person, revoke, uninstall, refresh, cut
// and redeliver, which call the methods of the same names.
func (w *Workspace) serveControl(writer http.ResponseWriter, request *http.Request) {
	var c control
	if err := json.NewDecoder(http.MaxBytesReader(writer, request.Body, maxBody)).Decode(&c); err != nil {
		http.Error(writer, err.Error(), http.StatusBadRequest)
		return
	}
	if c.App == "" {
		c.App = w.config.Apps[0].ID
	}
	if c.Team == "" {
		c.Team = w.config.Teams[0].ID
	}
	if err := w.steer(request, c); err != nil {
		answer(writer, http.StatusBadRequest, object{"ok": false, "error": err.Error()})
		return
	}
	answer(writer, http.StatusOK, object{"ok": true})
}

func (w *Workspace) steer(request *http.Request, c control) error {
	switch request.PathValue("what") {
	case "advance":
		w.Advance(time.Duration(c.Seconds * float64(time.Second)))
	case "fail":
		w.Fail(c.Fault)
	case "fail-event":
		w.FailEvents(c.Event)
	case "heal":
		w.Heal()
	case "connect":
		w.Configure(c.App, func(app *App) {
			app.Connect(c.Server)
			if c.SocketOn != nil {
				app.SocketMode = *c.SocketOn
			}
		})
	case "person":
		w.Change(c.Person, func(person *Person) {
			if c.Email != nil {
				person.Email = *c.Email
			}
			if c.Deleted != nil {
				person.Deleted = *c.Deleted
			}
		})
	case "revoke":
		return w.Revoke(c.App, c.Team)
	case "uninstall":
		return w.Uninstall(c.App, c.Team)
	case "refresh":
		return w.Refresh(request.Context(), c.App, c.Reason)
	case "cut":
		w.Cut(c.App)
	case "redeliver":
		return w.Redeliver(request.Context(), c.EventID, c.Copies)
	default:
		return errUnknown
	}
	return nil
}

// serveInspection serves GET /control/messages?channel=, calls?method=, events?type=, pinged, unfurled and sockets for
// a test in another process.
func (w *Workspace) serveInspection(writer http.ResponseWriter, request *http.Request) {
	query := request.URL.Query()
	var body any
	switch request.PathValue("what") {
	case "messages":
		body = w.Messages(query.Get("channel"))
	case "calls":
		body = w.Calls(query.Get("method"))
	case "events":
		body = w.Events(query.Get("type"))
	case "pinged":
		body = w.Pinged()
	case "unfurled":
		body = w.Unfurled()
	case "sockets":
		body = w.Sockets(w.config.Apps[0].ID)
	default:
		http.NotFound(writer, request)
		return
	}
	writer.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(writer).Encode(body) // The client may have disconnected.
}
