package slack

import (
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Fault is what goes wrong with the next calls. Without a status, an error or a cut it only delays them.
type Fault struct {
	Method     string // "" is any method.
	Team       string // Only calls with this team's tokens.
	Times      int    // How many calls; 1 if zero, all if negative.
	Skip       int    // How many calls succeed before.
	Status     int    // Of the answer, such as 429 or 503.
	RetryAfter time.Duration
	Error      string        // Answered with ok false, such as internal_error.
	Cut        bool          // The connection ends without an answer.
	After      bool          // The call has its effect, and then goes wrong.
	Delay      time.Duration // Before the call, in real time.
}

func (f *Fault) breaks() bool { return f.Status != 0 || f.Error != "" || f.Cut }

func (f *Fault) answer() (int, http.Header, object) {
	header := http.Header{}
	switch {
	case f.Cut:
		return 0, header, nil
	case f.Status == http.StatusTooManyRequests:
		header.Set("Retry-After", strconv.Itoa(int(max(f.RetryAfter, time.Second)/time.Second)))
		return f.Status, header, object{"ok": false, "error": "ratelimited"}
	case f.Error != "":
		return max(f.Status, http.StatusOK), header, object{"ok": false, "error": f.Error}
	}
	return f.Status, header, object{"ok": false, "error": "service_unavailable"}
}

// Fail makes calls go wrong. Faults are tried in the order in which they were given.
func (w *Workspace) Fail(faults ...Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, fault := range faults {
		if fault.Times == 0 {
			fault.Times = 1
		}
		w.faults = append(w.faults, &fault)
	}
}

// Heal removes all faults.
func (w *Workspace) Heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults, w.failing = nil, nil
}

// fault takes the fault of a call; w.mu is held.
func (w *Workspace) fault(method, team string) *Fault {
	for i, fault := range w.faults {
		if fault.Method != "" && fault.Method != method || fault.Team != "" && fault.Team != team {
			continue
		}
		if fault.Skip > 0 {
			fault.Skip--
			continue
		}
		taken := *fault
		if fault.Times--; fault.Times == 0 {
			w.faults = slices.Delete(w.faults, i, i+1)
		}
		return &taken
	}
	return nil
}

// EventFault is what happens to the next events.
type EventFault struct {
	Type   string // Of the event; "" is any.
	Copies int    // How many more times each is delivered, at the same time.
	Lost   bool   // Slack does not deliver it at all.
}

// FailEvents makes the next events arrive more than once, or never: one event for each fault.
func (w *Workspace) FailEvents(faults ...EventFault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failing = append(w.failing, faults...)
}

// eventFault takes the fault of an event; w.mu is held.
func (w *Workspace) eventFault(kind string) EventFault {
	for i, fault := range w.failing {
		if fault.Type == "" || fault.Type == kind {
			w.failing = slices.Delete(w.failing, i, i+1)
			return fault
		}
	}
	return EventFault{}
}
