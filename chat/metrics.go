package chat

import "time"

// Metrics is notified of the generations of this server. Its methods are called from many goroutines and must not
// block. Gauges are in Stats.
type Metrics interface {
	// GenerationBegan counts an answer that this server begins, including one that waits for a slot.
	GenerationBegan()

	// GenerationEnded counts a generation that has ended on this server. outcome is one of the Outcome constants;
	// duration is from the question to the stored answer; outputTokens is 0 unless the answer was stored.
	GenerationEnded(outcome string, duration time.Duration, outputTokens int)

	// FirstToken records the time from a question to its first published text. After a takeover it counts from the
	// takeover.
	FirstToken(after time.Duration)

	// TookOver counts generations that this server took over from others.
	TookOver(n int)

	// Fenced counts generations that this server dropped because it no longer owns them.
	Fenced(n int)

	// ToolCalled records a call of a tool. state is a ToolState.
	ToolCalled(name, state string, duration time.Duration)

	// Refused counts refused questions. reason is one of the Refused constants.
	Refused(reason string)
}

// The outcomes of generations, for Metrics.
const (
	OutcomeSuccess    = "success"
	OutcomeStopped    = "stopped"
	OutcomeFailed     = "failed"
	OutcomeHandedOver = "handed_over" // The server stops; another one generates the next run.
	OutcomeDropped    = "dropped"     // Refused by the store, fenced, or its thread was deleted: nothing was stored.
)

// The reasons for refusing questions, for Metrics.
const (
	RefusedStopping     = "stopping"         // The server is stopping.
	RefusedFull         = "full"             // All slots are taken, and the queue is full.
	RefusedPerson       = "per_person"       // The person has reached the limit.
	RefusedOrganization = "per_organization" // The organization has reached the limit.
	RefusedMemory       = "memory"           // The live texts have reached their memory limit.
)

// Stats is the current state of a Service.
type Stats struct {
	Running int // Answers that are being generated.
	Waiting int // Stored questions that wait for a slot.
}

// noMetrics discards all measurements.
type noMetrics struct{}

func (noMetrics) GenerationBegan()                           {}
func (noMetrics) GenerationEnded(string, time.Duration, int) {}
func (noMetrics) FirstToken(time.Duration)                   {}
func (noMetrics) TookOver(int)                               {}
func (noMetrics) Fenced(int)                                 {}
func (noMetrics) ToolCalled(string, string, time.Duration)   {}
func (noMetrics) Refused(string)                             {}
