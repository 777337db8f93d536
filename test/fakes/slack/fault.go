package slack

import (
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Fault is a failure of the next calls. Without a status, an error or a cut it only delays them.
type Fault struct {
	Method     string // Any method if empty.
	Team       string // Only calls with this team's tokens.
	Times      int    // Number of calls; 1 if zero, all if negative.
	Skip       int    // Number of calls that succeed first.
	Status     int    // Of the response, such as 429 or 503.
	RetryAfter time.Duration
	Error      string        // The error of a response with ok false, such as internal_error.
	Cut        bool          // Closes the connection without a response.
	After      bool          // The call takes effect and then fails.
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

// Fail adds faults. Each call uses the first fault that applies, in the order in which they were added.
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

// fault removes and returns the fault for a call. The caller holds w.mu.
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

// EventFault is a failure of the next events.
type EventFault struct {
	Type   string // Any type if empty.
	Copies int    // Number of additional concurrent deliveries.
	Lost   bool   // Slack does not deliver it at all.
}

// FailEvents duplicates or drops the next events: one event for each fault.
func (w *Workspace) FailEvents(faults ...EventFault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failing = append(w.failing, faults...)
}

// eventFault removes and returns the fault for an event. The caller holds w.mu.
func (w *Workspace) eventFault(kind string) EventFault {
	for i, fault := range w.failing {
		if fault.Type == "" || fault.Type == kind {
			w.failing = slices.Delete(w.failing, i, i+1)
			return fault
		}
	}
	return EventFault{}
}
