package siem

import "github.com/tsumugi-ai/tsumugi/internal/org"

// HasActivity reports whether an action has an activity of OCSF.
func HasActivity(action org.Action) bool {
	_, known := activityOf(action)
	return known
}

// OCSF returns an event in OCSF's form.
func (o Origin) OCSF(e Event) map[string]any { return o.event(e) }
