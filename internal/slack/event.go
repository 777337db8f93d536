package slack

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// Name is the name of the surface in channel.IncomingEvent and channel.Installation.
const Name = "slack"

// envelope is a request of the Events API. Decoding ignores unknown fields, because Slack may add fields at any time.
type envelope struct {
	Type           string          `json:"type"`
	Challenge      string          `json:"challenge"`
	AppID          string          `json:"api_app_id"`
	EnterpriseID   string          `json:"enterprise_id"`
	TeamID         string          `json:"team_id"`
	EventID        string          `json:"event_id"`
	EventTime      int64           `json:"event_time"` // In seconds.
	Shared         bool            `json:"is_ext_shared_channel"`
	Authorizations []authorization `json:"authorizations"`
	Event          json.RawMessage `json:"event"`
}

// authorization identifies the installation that receives an event. In channels shared with other organizations, it may
// differ from the workspace of the person.
type authorization struct {
	EnterpriseID string `json:"enterprise_id"`
	TeamID       string `json:"team_id"`
	UserID       string `json:"user_id"`               // User id of the assistant.
	Enterprise   bool   `json:"is_enterprise_install"` // The installation is for all workspaces of an enterprise.
}

type messageEvent struct {
	SubType     string        `json:"subtype"`
	Channel     string        `json:"channel"`
	ChannelType string        `json:"channel_type"`
	User        string        `json:"user"`
	UserTeam    string        `json:"user_team"`
	Team        string        `json:"team"`
	BotID       string        `json:"bot_id"`
	Text        string        `json:"text"`
	TS          string        `json:"ts"`
	ThreadTS    string        `json:"thread_ts"`
	Files       []fileObject  `json:"files"`
	Message     *messageEvent `json:"message"`
	Previous    *messageEvent `json:"previous_message"`
}

type fileObject struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Mimetype string `json:"mimetype"`
	Size     int64  `json:"size"`
	Mode     string `json:"mode"`
	External bool   `json:"is_external"`
	Private  string `json:"url_private"`
	Download string `json:"url_private_download"`
}

// Event is a request of the Events API: a challenge to answer, or an event of a workspace.
type Event struct {
	Challenge string // Set if Slack verifies the address of the server, else "".
	Incoming  channel.IncomingEvent
}

// ParseEvent parses a request of the Events API. The caller must have verified the signature. An unknown event becomes
// an event of the kind channel.KindIgnored.
func ParseEvent(body []byte) (Event, error) {
	var e envelope
	if err := json.Unmarshal(body, &e); err != nil {
		return Event{}, fault.Wrap(err, fault.Invalid, "Slackのイベントを読み取れません。")
	}
	if e.Type == "url_verification" {
		return Event{Challenge: e.Challenge, Incoming: channel.IncomingEvent{Surface: Name, Kind: channel.KindIgnored}}, nil
	}
	in := channel.IncomingEvent{
		Surface: Name, Kind: channel.KindIgnored, EnterpriseID: e.EnterpriseID, TeamID: e.TeamID, AppID: e.AppID,
		EventID: e.EventID, Shared: e.Shared,
	}
	if e.EventTime > 0 {
		in.At = time.Unix(e.EventTime, 0).UTC()
	}
	var a authorization
	if len(e.Authorizations) > 0 {
		a = e.Authorizations[0]
		in.EnterpriseID, in.TeamID = cmp.Or(a.EnterpriseID, in.EnterpriseID), cmp.Or(a.TeamID, in.TeamID)
	}
	if e.Type != "event_callback" || e.EventID == "" {
		return Event{Incoming: in}, nil
	}
	if err := parseInner(&in, a, e.Event); err != nil {
		return Event{}, fault.Wrap(err, fault.Invalid, "Slackのイベントを読み取れません。")
	}
	if in.Kind == channel.KindRevoked && (a.Enterprise || in.TeamID == in.EnterpriseID) {
		in.TeamID = "" // The enterprise's installation.
	}
	return Event{Incoming: in}, nil
}

// parseInner parses the inner event. It decodes the type first, because the same field may have another JSON type in
// unknown event types.
func parseInner(in *channel.IncomingEvent, a authorization, event json.RawMessage) error {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(event, &head); err != nil {
		return err
	}
	switch head.Type {
	case "app_mention", "message":
		var m messageEvent
		if err := json.Unmarshal(event, &m); err != nil {
			return err
		}
		parseMessage(in, a, m, head.Type == "app_mention")
		return nil
	case "tokens_revoked":
		var revoked struct {
			Tokens struct {
				Bot []string `json:"bot"`
			} `json:"tokens"`
		}
		if err := json.Unmarshal(event, &revoked); err != nil {
			return err
		}
		if len(revoked.Tokens.Bot) > 0 {
			in.Kind = channel.KindRevoked
		}
		return nil
	case "app_uninstalled":
		in.Kind = channel.KindRevoked
		return nil
	}
	return parseVisit(in, head.Type, event)
}

// parseVisit parses events about opened pages and conversations, and about Slack's button that stops an answer.
func parseVisit(in *channel.IncomingEvent, kind string, event json.RawMessage) error {
	var e struct {
		User      string `json:"user"`
		Channel   string `json:"channel"`
		ThreadTS  string `json:"thread_ts"`
		Tab       string `json:"tab"`
		Assistant struct {
			User     string `json:"user_id"`
			Channel  string `json:"channel_id"`
			ThreadTS string `json:"thread_ts"`
		} `json:"assistant_thread"`
	}
	switch kind {
	case "app_home_opened", "assistant_thread_started", "agent_session_stopped":
	default:
		return nil
	}
	if err := json.Unmarshal(event, &e); err != nil {
		return err
	}
	in.Person, in.Channel, in.Thread, in.Direct = e.User, e.Channel, e.ThreadTS, true
	switch {
	case kind == "assistant_thread_started":
		in.Kind, in.Person = channel.KindThreadOpened, e.Assistant.User
		in.Channel, in.Thread = e.Assistant.Channel, e.Assistant.ThreadTS
	case kind == "agent_session_stopped":
		in.Kind, in.Direct = channel.KindStop, direct(e.Channel)
	case e.Tab == "home":
		in.Kind = channel.KindHomeOpened
	case e.Tab == "messages":
		in.Kind = channel.KindThreadOpened
	}
	return nil
}

// parseMessage parses a message event. In channels, only a mention is a question. Slack reports edits and the deletion
// of the message as message events.
func parseMessage(in *channel.IncomingEvent, a authorization, m messageEvent, mention bool) {
	in.Channel, in.Direct = m.Channel, m.ChannelType == "im" || direct(m.Channel)
	switch m.SubType {
	case "", "file_share", "thread_broadcast":
		if mention == in.Direct || !author(in, a, m) {
			return
		}
		in.Kind, in.Message, in.Thread = channel.KindQuestion, channel.Ref(m.TS), cmp.Or(m.ThreadTS, m.TS)
		in.Files = files(m.Files)
		in.Text = plain(m.Text, a.UserID, nobody)
		if in.Text == "" && len(in.Files) == 0 || isHelp(in.Text) {
			in.Kind = channel.KindHelp
		}
	case "message_changed":
		if m.Message != nil && m.Message.SubType == "tombstone" {
			// The deleted message had replies.
			m.SubType = "message_deleted"
			parseMessage(in, a, m, mention)
			return
		}
		if m.Message == nil || m.Previous == nil || m.Message.Text == m.Previous.Text ||
			!in.Direct && !mentions(m.Message.Text, a.UserID) && !mentions(m.Previous.Text, a.UserID) ||
			!author(in, a, *m.Message) {
			return
		}
		in.Kind, in.Message = channel.KindEdit, channel.Ref(m.Message.TS)
		in.Thread = cmp.Or(m.Message.ThreadTS, m.Message.TS)
		in.Text = plain(m.Message.Text, a.UserID, nobody)
	case "message_deleted":
		if m.Previous == nil || !in.Direct && !mentions(m.Previous.Text, a.UserID) || !author(in, a, *m.Previous) {
			return
		}
		in.Kind, in.Message = channel.KindDelete, channel.Ref(m.Previous.TS)
		in.Thread = cmp.Or(m.Previous.ThreadTS, m.Previous.TS)
	}
}

// author sets the person who wrote a message. It returns false for messages of this and of other apps.
func author(in *channel.IncomingEvent, a authorization, m messageEvent) bool {
	if m.BotID != "" || m.User == "" || m.User == a.UserID || m.User == "USLACKBOT" || m.TS == "" {
		return false
	}
	in.Person = m.User
	if team := cmp.Or(m.UserTeam, m.Team); (team != in.TeamID || a.Enterprise) && team != in.EnterpriseID {
		in.PersonTeam = team
	}
	return true
}

// files returns the readable files. It omits deleted files, files outside of Slack, and Slack's posts.
func files(objects []fileObject) []channel.File {
	var out []channel.File
	for _, f := range objects {
		if f.ID == "" || f.External || f.Mode == "tombstone" || f.Mode == "hidden_by_limit" {
			continue
		}
		out = append(out, channel.File{
			ID: f.ID, Name: f.Name, MediaType: f.Mimetype, Size: f.Size, URL: cmp.Or(f.Download, f.Private),
		})
	}
	return out
}

// direct reports whether a channel is a conversation between one person and the assistant.
func direct(id string) bool { return strings.HasPrefix(id, "D") }
