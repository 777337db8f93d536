package channel

import (
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
)

// Kind is the kind of an event.
type Kind string

// The kinds of events.
const (
	KindQuestion     Kind = "ask"           // A question: Text, in a message or by a command.
	KindSummarize    Kind = "summarize"     // A request for a summary of the thread of About.
	KindEdit         Kind = "edited"        // A question's message was edited; Text is the new text.
	KindDelete       Kind = "deleted"       // A question's message was deleted.
	KindStop         Kind = "stop"          // A request to stop an answer.
	KindRegenerate   Kind = "regenerate"    // A request to answer a question again.
	KindRate         Kind = "rate"          // A rating of an answer.
	KindDecide       Kind = "decide"        // A decision about a call of a tool.
	KindHelp         Kind = "help"          // A request for help.
	KindLink         Kind = "link"          // A request to link the person,
	KindUnlink       Kind = "unlink"        // or to remove the link.
	KindProject      Kind = "project"       // A request for the project of the channel.
	KindBind         Kind = "bind"          // A request to bind the channel to the project with the name Text,
	KindUnbind       Kind = "unbind"        // or to remove the binding.
	KindHomeOpened   Kind = "home_opened"   // A person opened their home page.
	KindThreadOpened Kind = "thread_opened" // A person opened a conversation.
	KindRevoked      Kind = "revoked"       // The installation's credentials were revoked, or it was removed.
	KindIgnored      Kind = "ignored"       // No action. Enqueue does not store such events.
)

// IncomingEvent is an event converted by an adapter. It is stored as JSON until it is handled.
type IncomingEvent struct {
	Surface      string `json:"surface"` // "slack".
	EnterpriseID string `json:"enterprise_id,omitempty"`
	TeamID       string `json:"team_id"`
	AppID        string `json:"app_id,omitempty"`

	// EventID identifies the event within the installation. Each event is handled once.
	EventID string    `json:"event_id"`
	Kind    Kind      `json:"kind"`
	At      time.Time `json:"at,omitzero"` // When it occurred; zero if the surface does not say it.

	Channel    string `json:"channel,omitempty"`
	Thread     string `json:"thread,omitempty"`  // The thread for the answer; "" for a command.
	Message    Ref    `json:"message,omitempty"` // The question's message; "" for commands and buttons.
	About      Ref    `json:"about,omitempty"`   // For KindSummarize: the selected message.
	Direct     bool   `json:"direct,omitempty"`
	Shared     bool   `json:"shared,omitempty"` // The channel is shared with other organizations.
	Person     string `json:"person,omitempty"`
	PersonTeam string `json:"person_team,omitempty"`
	Reply      string `json:"reply,omitempty"` // See Target.

	Text      string      `json:"text,omitempty"` // Without mention and command. It may begin with a skill's name.
	Files     []File      `json:"files,omitempty"`
	SkillName string      `json:"skill_name,omitempty"` // "" for the thread's skill or the standard one.
	AnswerID  uuid.UUID   `json:"answer_id,omitzero"`   // For KindStop (nil: the running answer), KindRegenerate, KindRate.
	Rating    chat.Rating `json:"rating,omitempty"`     // For KindRate; "" withdraws the rating.
	Comment   string      `json:"comment,omitempty"`
	Locale    string      `json:"locale,omitempty"`

	// For KindDecide: see chat.Decision.
	ApprovalID      uuid.UUID `json:"approval_id,omitzero"`
	Approved        bool      `json:"approved,omitempty"`
	ArgumentsSHA256 []byte    `json:"arguments_sha256,omitempty"`
}
