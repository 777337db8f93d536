package slack

import (
	"cmp"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// Names of buttons and shortcuts. Posted messages and the app's manifest contain them.
const (
	actionStop    = "tsumugi_stop"
	actionAgain   = "tsumugi_again"
	actionGood    = "tsumugi_good"
	actionBad     = "tsumugi_bad"
	actionApprove = "tsumugi_approve"
	actionDeny    = "tsumugi_deny"
	actionOpen    = "tsumugi_open"
	callbackBrief = "tsumugi_summarize"
	command       = "/tsumugi"
)

// interaction is the payload of a pressed button or a message shortcut.
type interaction struct {
	Type        string `json:"type"`
	AppID       string `json:"api_app_id"`
	TriggerID   string `json:"trigger_id"`
	CallbackID  string `json:"callback_id"`
	ActionTS    string `json:"action_ts"`
	ResponseURL string `json:"response_url"`
	Team        struct {
		ID           string `json:"id"`
		EnterpriseID string `json:"enterprise_id"`
	} `json:"team"`
	Enterprise struct {
		ID string `json:"id"`
	} `json:"enterprise"`
	User struct {
		ID     string `json:"id"`
		TeamID string `json:"team_id"`
	} `json:"user"`
	Channel struct {
		ID string `json:"id"`
	} `json:"channel"`
	Container struct {
		MessageTS string `json:"message_ts"`
		ThreadTS  string `json:"thread_ts"`
	} `json:"container"`
	Message struct {
		TS       string `json:"ts"`
		ThreadTS string `json:"thread_ts"`
	} `json:"message"`
	Actions []struct {
		ActionID string `json:"action_id"`
		ActionTS string `json:"action_ts"`
		Value    string `json:"value"`
	} `json:"actions"`
}

// ParseInteraction parses an interactivity request of Slack, which is a form with a payload. The caller must have
// verified the signature.
func ParseInteraction(body []byte) (channel.IncomingEvent, error) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return channel.IncomingEvent{}, fault.Wrap(err, fault.Invalid, "Slackの操作を読み取れません。")
	}
	return parseInteraction([]byte(form.Get("payload")))
}

func parseInteraction(payload []byte) (channel.IncomingEvent, error) {
	var i interaction
	if err := json.Unmarshal(payload, &i); err != nil {
		return channel.IncomingEvent{}, fault.Wrap(err, fault.Invalid, "Slackの操作を読み取れません。")
	}
	in := channel.IncomingEvent{
		Surface: Name, Kind: channel.KindIgnored, AppID: i.AppID,
		EnterpriseID: cmp.Or(i.Enterprise.ID, i.Team.EnterpriseID), TeamID: cmp.Or(i.Team.ID, i.User.TeamID),
		Channel: i.Channel.ID, Direct: direct(i.Channel.ID), Person: i.User.ID, Reply: i.ResponseURL,
	}
	if i.User.TeamID != in.TeamID {
		in.PersonTeam = i.User.TeamID
	}
	message := cmp.Or(i.Message.TS, i.Container.MessageTS)
	in.Thread = cmp.Or(i.Message.ThreadTS, i.Container.ThreadTS, message)
	switch {
	case in.Person == "" || in.Channel == "":
	case i.Type == "message_action" && i.CallbackID == callbackBrief && message != "":
		in.Kind, in.About = channel.KindSummarize, channel.Ref(message)
		in.EventID = "shortcut:" + cmp.Or(i.TriggerID, in.Person+":"+message+":"+i.ActionTS)
	case i.Type == "block_actions" && len(i.Actions) == 1:
		action := i.Actions[0]
		parseButton(&in, action.ActionID, action.Value)
		in.EventID = strings.Join([]string{"action", message, in.Person, action.ActionID, action.ActionTS}, ":")
	}
	return in, nil
}

// parseButton parses the action and value of a pressed button. The value is the id of the answer, or that of a request
// for a decision with a hash.
func parseButton(in *channel.IncomingEvent, action, value string) {
	if action == actionApprove || action == actionDeny {
		parseDecision(in, action, value)
		return
	}
	id, err := uuid.Parse(value)
	if err != nil {
		return
	}
	switch action {
	case actionStop:
		in.Kind = channel.KindStop
	case actionAgain:
		in.Kind = channel.KindRegenerate
	case actionGood:
		in.Kind, in.Rating = channel.KindRate, chat.RatingGood
	case actionBad:
		in.Kind, in.Rating = channel.KindRate, chat.RatingBad
	default:
		return
	}
	in.AnswerID = id
}

// ParseCommand parses a request of a slash command. The caller must have verified the signature.
func ParseCommand(body []byte) (channel.IncomingEvent, error) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return channel.IncomingEvent{}, fault.Wrap(err, fault.Invalid, "Slackのコマンドを読み取れません。")
	}
	return parseForm(form.Get), nil
}

// parseForm parses a command. Its fields have the same names in a form and in Socket Mode.
func parseForm(field func(string) string) channel.IncomingEvent {
	in := channel.IncomingEvent{
		Surface: Name, Kind: channel.KindIgnored, AppID: field("api_app_id"), EnterpriseID: field("enterprise_id"),
		TeamID: field("team_id"), EventID: "command:" + field("trigger_id"), Channel: field("channel_id"),
		Direct: direct(field("channel_id")), Person: field("user_id"), Reply: field("response_url"),
	}
	if in.Person == "" || in.Channel == "" || field("trigger_id") == "" {
		return in
	}
	if field("is_enterprise_install") == "true" {
		in.PersonTeam = in.TeamID
	}
	text := plain(field("text"), "", nobody)
	switch strings.ToLower(text) {
	case "link", "連携":
		in.Kind = channel.KindLink
	case "unlink", "連携解除":
		in.Kind = channel.KindUnlink
	case "", "skills", "スキル":
		in.Kind = channel.KindHelp
	default:
		in.Kind, in.Text = channel.KindQuestion, text
		if isHelp(text) {
			in.Kind, in.Text = channel.KindHelp, ""
		}
		parseProject(&in, text)
	}
	return in
}

// parseProject parses a command about the project of the channel: its first word is "project".
func parseProject(in *channel.IncomingEvent, text string) {
	words := strings.Fields(text)
	if len(words) == 0 || !strings.EqualFold(words[0], "project") && words[0] != "プロジェクト" {
		return
	}
	name := strings.TrimSpace(text[strings.Index(text, words[0])+len(words[0]):])
	in.Text = ""
	switch strings.ToLower(name) {
	case "":
		in.Kind = channel.KindProject
	case "off", "解除":
		in.Kind = channel.KindUnbind
	default:
		in.Kind, in.Text = channel.KindBind, name
	}
}

// isHelp reports whether the text of a command is a request for help.
func isHelp(text string) bool {
	switch strings.ToLower(text) {
	case "help", "ヘルプ", "使い方":
		return true
	}
	return false
}
