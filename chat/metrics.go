package chat

import "time"

// Metrics is told what the generations of this server do. Its methods are called from many goroutines and never block.
// Gauges are in Stats.
type Metrics interface {
	// GenerationBegan counts an answer that this server begins to write, waiting for its turn included.
	GenerationBegan()

	// GenerationEnded counts one that it no longer writes. outcome is one of the Outcome constants; duration is from
	// the question to the stored answer; outputTokens is 0 unless the answer was stored.
	GenerationEnded(outcome string, duration time.Duration, outputTokens int)

	// FirstToken is how long after a question came its first text was published. A takeover counts from its beginning.
	FirstToken(after time.Duration)

	// TookOver counts generations of other servers that this one goes on with.
	TookOver(n int)

	// Fenced counts generations that this server dropped because they are no longer its own.
	Fenced(n int)

	// Refused counts questions that were turned away. reason is one of the Refused constants.
	Refused(reason string)
}

// How generations end, for Metrics.
const (
	OutcomeSuccess    = "success"
	OutcomeStopped    = "stopped"
	OutcomeFailed     = "failed"
	OutcomeHandedOver = "handed_over" // The server stops; another one runs it again.
	OutcomeDropped    = "dropped"     // Refused by the store, fenced, or its thread is gone: nothing was stored.
)

// Why questions are turned away, for Metrics.
const (
	RefusedStopping     = "stopping"         // The server is about to stop.
	RefusedFull         = "full"             // All places are taken, those for waiting too.
	RefusedPerson       = "per_person"       // This person has as many as they may.
	RefusedOrganization = "per_organization" // So has this organization.
	RefusedMemory       = "memory"           // The live texts fill their memory.
)

// Stats is what a Service does at the moment.
type Stats struct {
	Running int // Answers that are being written.
	Waiting int // Stored questions that wait for a place.
}

// noMetrics measures nothing.
type noMetrics struct{}

func (noMetrics) GenerationBegan()                           {}
func (noMetrics) GenerationEnded(string, time.Duration, int) {}
func (noMetrics) FirstToken(time.Duration)                   {}
func (noMetrics) TookOver(int)                               {}
func (noMetrics) Fenced(int)                                 {}
func (noMetrics) Refused(string)                             {}
