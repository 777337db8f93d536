package slack

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Fault is a failure of the next call of a method.
type Fault struct {
	Method     string
	Status     int // Of the response, such as 429 or 503.
	RetryAfter time.Duration
	Error      string // The error of a response with ok false, such as internal_error.
	Cut        bool   // Closes the connection without a response.
	After      bool   // The call takes effect and then fails.
}

// answer returns the response and sets its headers. The status is 0 if the connection is cut.
func (f Fault) answer(header http.Header) (int, object) {
	switch {
	case f.Cut:
		return 0, nil
	case f.Status == http.StatusTooManyRequests:
		header.Set("Retry-After", strconv.Itoa(int(max(f.RetryAfter, time.Second)/time.Second)))
		return f.Status, object{"ok": false, "error": "ratelimited"}
	case f.Error != "":
		return http.StatusOK, object{"ok": false, "error": f.Error}
	}
	return f.Status, object{"ok": false, "error": "service_unavailable"}
}

// Fail adds faults. Each call of a method uses up the oldest fault of the method.
func (w *Workspace) Fail(faults ...Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, faults...)
}

// fault removes and returns the fault of a call. The caller holds w.mu.
func (w *Workspace) fault(method string) (fault Fault, found bool) {
	i := slices.IndexFunc(w.faults, func(f Fault) bool { return f.Method == method })
	if i < 0 {
		return Fault{}, false
	}
	fault = w.faults[i]
	w.faults = slices.Delete(w.faults, i, i+1)
	return fault, true
}

// Duplicate delivers the next event of a type in additional concurrent copies.
func (w *Workspace) Duplicate(kind string, copies int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.copies[kind] = copies
}

// serveControl serves POST /control/advance, fail, connect and refresh for a test in another process. They call the
// methods of the same names; connect sets the address of the app's server.
func (w *Workspace) serveControl(writer http.ResponseWriter, request *http.Request) {
	var c struct {
		Seconds float64 `json:"seconds"`
		Fault   Fault   `json:"fault"` // Its duration is in nanoseconds.
		Server  string  `json:"server"`
		Reason  string  `json:"reason"`
	}
	err := json.NewDecoder(http.MaxBytesReader(writer, request.Body, maxBody)).Decode(&c)
	if err == nil {
		switch request.PathValue("what") {
		case "advance":
			w.Advance(time.Duration(c.Seconds * float64(time.Second)))
		case "fail":
			w.Fail(c.Fault)
		case "connect":
			w.Configure(func(app *App) { app.Server = c.Server })
		case "refresh":
			err = w.Refresh(request.Context(), c.Reason)
		default:
			err = errUnknown
		}
	}
	if err != nil {
		answer(writer, http.StatusBadRequest, object{"ok": false, "error": err.Error()})
		return
	}
	answer(writer, http.StatusOK, object{"ok": true})
}

// serveInspection serves GET /control/messages?channel=, events?type= and sockets for a test in another process.
func (w *Workspace) serveInspection(writer http.ResponseWriter, request *http.Request) {
	query := request.URL.Query()
	switch request.PathValue("what") {
	case "messages":
		answer(writer, http.StatusOK, w.Messages(query.Get("channel")))
	case "events":
		answer(writer, http.StatusOK, w.Events(query.Get("type")))
	case "sockets":
		answer(writer, http.StatusOK, w.Sockets())
	default:
		http.NotFound(writer, request)
	}
}
