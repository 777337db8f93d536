package channel

import (
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
)

// Kind says what happened on a surface.
type Kind string

// The kinds of events.
const (
	Ask          Kind = "ask"           // A question: Text, in a message or by a command.
	Summarize    Kind = "summarize"     // A summary of the thread of About is asked for.
	Edited       Kind = "edited"        // A question's message was edited: Text is the new one.
	Deleted      Kind = "deleted"       // A question's message was deleted.
	Stop         Kind = "stop"          // An answer is to end.
	Regenerate   Kind = "regenerate"    // A question is to be answered again.
	Rate         Kind = "rate"          // An answer is rated.
	Help         Kind = "help"          // How to ask.
	Link         Kind = "link"          // A person wants to be linked,
	Unlink       Kind = "unlink"        // or no longer.
	HomeOpened   Kind = "home_opened"   // A person looks at their page.
	ThreadOpened Kind = "thread_opened" // A person has opened a conversation.
	Revoked      Kind = "revoked"       // The installation's credentials were revoked, or it was removed.
	Ignored      Kind = "ignored"       // Nothing to do. Take stores none.
)

// Incoming is what an adapter makes of an event. It is stored as JSON until it is handled.
type Incoming struct {
	Surface      string `json:"surface"` // "slack".
	EnterpriseID string `json:"enterprise_id,omitempty"`
	TeamID       string `json:"team_id"`
	AppID        string `json:"app_id,omitempty"`

	// EventID names the event among those of the installation: it is handled once.
	EventID string `json:"event_id"`
	Kind    Kind   `json:"kind"`

	Channel    string `json:"channel,omitempty"`
	Thread     string `json:"thread,omitempty"`  // The thread that is answered in; "" for a command.
	Message    Ref    `json:"message,omitempty"` // The question's; "" for commands and buttons.
	About      Ref    `json:"about,omitempty"`   // Of Summarize: the message that was chosen.
	Direct     bool   `json:"direct,omitempty"`
	Shared     bool   `json:"shared,omitempty"` // The channel is shared with other organizations.
	Person     string `json:"person,omitempty"`
	PersonTeam string `json:"person_team,omitempty"`
	Reply      string `json:"reply,omitempty"` // See Target.

	Text      string      `json:"text,omitempty"` // Without mention and command. It may begin with a skill's name.
	Files     []File      `json:"files,omitempty"`
	SkillName string      `json:"skill_name,omitempty"` // "" for the thread's, or the standard one.
	AnswerID  uuid.UUID   `json:"answer_id,omitzero"`   // Of Stop, Regenerate and Rate; for Stop nil is the one that runs.
	Rating    chat.Rating `json:"rating,omitempty"`     // Of Rate; "" withdraws it.
	Comment   string      `json:"comment,omitempty"`
	Locale    string      `json:"locale,omitempty"`
}
