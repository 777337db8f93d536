package slack_test

import (
	"encoding/json"
	"net/url"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/slack"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// event returns an inner event in Slack's envelope.
func event(inner string) []byte {
	return []byte(`{"type":"event_callback","api_app_id":"A1","team_id":"T9","event_id":"Ev1","event_time":1700000000,` +
		`"is_ext_shared_channel":true,` +
		`"authorizations":[{"team_id":"T1","user_id":"UBOT","is_bot":true}],"event":` + inner + `}`)
}

// base has the common fields of all events that event returns.
var base = channel.IncomingEvent{
	Surface: "slack", TeamID: "T1", AppID: "A1", EventID: "Ev1", Shared: true, At: time.Unix(1_700_000_000, 0).UTC(),
}

func TestParseEvent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		inner string
		want  channel.IncomingEvent
	}{
		"a mention": {
			`{"type":"app_mention","user":"U1","text":"<@UBOT> 要約して","ts":"1.1","channel":"C1"}`,
			channel.IncomingEvent{Kind: channel.KindQuestion, Channel: "C1", Thread: "1.1", Message: "1.1", Person: "U1", Text: "要約して"},
		},
		"a mention in a thread, by somebody of another workspace, with a file": {
			`{"type":"app_mention","user":"U1","user_team":"T2","text":"<@UBOT> これは?","ts":"2.2","thread_ts":"1.1",` +
				`"channel":"C1","files":[{"id":"F1","name":"規程.pdf","mimetype":"application/pdf","size":3,` +
				`"url_private_download":"https://files.slack.com/d"},{"id":"F2","mode":"tombstone"},` +
				`{"id":"F3","is_external":true,"url_private":"https://evil.example/x"}]}`,
			channel.IncomingEvent{
				Kind: channel.KindQuestion, Channel: "C1", Thread: "1.1", Message: "2.2", Person: "U1", PersonTeam: "T2", Text: "これは?",
				Files: []channel.File{{
					ID: "F1", Name: "規程.pdf", MediaType: "application/pdf", Size: 3, URL: "https://files.slack.com/d",
				}},
			},
		},
		"a bare mention asks for help": {
			`{"type":"app_mention","user":"U1","text":"<@UBOT>","ts":"1.1","channel":"C1"}`,
			channel.IncomingEvent{Kind: channel.KindHelp, Channel: "C1", Thread: "1.1", Message: "1.1", Person: "U1"},
		},
		"a direct message": {
			`{"type":"message","user":"U1","text":"質問","ts":"1.1","channel":"D1","channel_type":"im"}`,
			channel.IncomingEvent{
				Kind: channel.KindQuestion, Channel: "D1", Direct: true, Thread: "1.1", Message: "1.1", Person: "U1", Text: "質問",
			},
		},
		"a message in a channel": {
			`{"type":"message","user":"U1","text":"雑談","ts":"1.1","channel":"C1","channel_type":"channel"}`,
			channel.IncomingEvent{Kind: channel.KindIgnored, Channel: "C1"},
		},
		"another app's mention": {
			`{"type":"app_mention","user":"U7","bot_id":"B7","text":"<@UBOT> x","ts":"1.1","channel":"C1"}`,
			channel.IncomingEvent{Kind: channel.KindIgnored, Channel: "C1"},
		},
		"its own message": {
			`{"type":"message","user":"UBOT","text":"x","ts":"1.1","channel":"D1","channel_type":"im"}`,
			channel.IncomingEvent{Kind: channel.KindIgnored, Channel: "D1", Direct: true},
		},
		"an edit": {
			`{"type":"message","subtype":"message_changed","channel":"C1","message":{"user":"U1","text":"<@UBOT> b",` +
				`"ts":"2.2","thread_ts":"1.1"},"previous_message":{"user":"U1","text":"<@UBOT> a","ts":"2.2"}}`,
			channel.IncomingEvent{Kind: channel.KindEdit, Channel: "C1", Thread: "1.1", Message: "2.2", Person: "U1", Text: "b"},
		},
		"an edit of what no one asked": {
			`{"type":"message","subtype":"message_changed","channel":"C1","message":{"user":"U1","text":"b","ts":"2.2"},` +
				`"previous_message":{"user":"U1","text":"a","ts":"2.2"}}`,
			channel.IncomingEvent{Kind: channel.KindIgnored, Channel: "C1"},
		},
		"a preview is no edit": {
			`{"type":"message","subtype":"message_changed","channel":"D1","message":{"user":"U1","text":"a","ts":"2.2"},` +
				`"previous_message":{"user":"U1","text":"a","ts":"2.2"}}`,
			channel.IncomingEvent{Kind: channel.KindIgnored, Channel: "D1", Direct: true},
		},
		"a deletion": {
			`{"type":"message","subtype":"message_deleted","channel":"C1","deleted_ts":"2.2",` +
				`"previous_message":{"user":"U1","text":"<@UBOT> a","ts":"2.2","thread_ts":"1.1"}}`,
			channel.IncomingEvent{Kind: channel.KindDelete, Channel: "C1", Thread: "1.1", Message: "2.2", Person: "U1"},
		},
		"a deletion of what has replies": {
			`{"type":"message","subtype":"message_changed","channel":"D1","message":{"subtype":"tombstone",` +
				`"user":"USLACKBOT","text":"x","ts":"2.2"},"previous_message":{"user":"U1","text":"a","ts":"2.2"}}`,
			channel.IncomingEvent{
				Kind: channel.KindDelete, Channel: "D1", Direct: true, Thread: "2.2", Message: "2.2", Person: "U1",
			},
		},
		"a person joins": {
			`{"type":"message","subtype":"channel_join","user":"U1","text":"<@U1> joined","ts":"1.1","channel":"C1"}`,
			channel.IncomingEvent{Kind: channel.KindIgnored, Channel: "C1"},
		},
		"the home tab": {
			`{"type":"app_home_opened","user":"U1","channel":"D1","tab":"home"}`,
			channel.IncomingEvent{Kind: channel.KindHomeOpened, Channel: "D1", Direct: true, Person: "U1"},
		},
		"the messages tab": {
			`{"type":"app_home_opened","user":"U1","channel":"D1","tab":"messages"}`,
			channel.IncomingEvent{Kind: channel.KindThreadOpened, Channel: "D1", Direct: true, Person: "U1"},
		},
		"an assistant thread": {
			`{"type":"assistant_thread_started","assistant_thread":{"user_id":"U1","channel_id":"D1","thread_ts":"1.1"}}`,
			channel.IncomingEvent{Kind: channel.KindThreadOpened, Channel: "D1", Direct: true, Thread: "1.1", Person: "U1"},
		},
		"Slack's button to stop": {
			`{"type":"agent_session_stopped","user":"U1","channel":"C1","thread_ts":"1.1","streaming_message_ts":["1.2"]}`,
			channel.IncomingEvent{Kind: channel.KindStop, Channel: "C1", Thread: "1.1", Person: "U1"},
		},
		"the bot's token is revoked": {
			`{"type":"tokens_revoked","tokens":{"oauth":["U1"],"bot":["UBOT"]}}`, channel.IncomingEvent{Kind: channel.KindRevoked},
		},
		"a person's token is revoked": {
			`{"type":"tokens_revoked","tokens":{"oauth":["U1"]}}`, channel.IncomingEvent{Kind: channel.KindIgnored},
		},
		"uninstalled":       {`{"type":"app_uninstalled"}`, channel.IncomingEvent{Kind: channel.KindRevoked}},
		"what is not known": {`{"type":"channel_created","channel":{"id":"C1"}}`, channel.IncomingEvent{Kind: channel.KindIgnored}},
	} {
		want := c.want
		want.Surface, want.TeamID, want.AppID, want.EventID, want.Shared, want.At = base.Surface, base.TeamID, base.AppID,
			base.EventID, base.Shared, base.At
		got, err := slack.ParseEvent(event(c.inner))
		if err != nil || got.Challenge != "" || !reflect.DeepEqual(got.Incoming, want) {
			t.Errorf("%s: %v\n%+v, want\n%+v", name, err, got.Incoming, want)
		}
	}
}

func TestParseEvent_Outer(t *testing.T) {
	t.Parallel()
	got, err := slack.ParseEvent([]byte(`{"type":"url_verification","challenge":"abc"}`))
	if err != nil || got.Challenge != "abc" || got.Incoming.Kind != channel.KindIgnored {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = slack.ParseEvent([]byte(`{"type":"event_callback","event_id":"Ev1","team_id":"T1","enterprise_id":"E1",` +
		`"event":{"type":"app_mention","user":"U1","team":"T3","text":"<@UB> a","ts":"1.1","channel":"C1"},` +
		`"authorizations":[{"enterprise_id":"E1","team_id":null,"user_id":"UB","is_enterprise_install":true}]}`))
	if in := got.Incoming; err != nil || in.EnterpriseID != "E1" || in.TeamID != "T1" || in.PersonTeam != "T3" {
		t.Errorf("Enterprise Grid: %+v, %v", in, err)
	}
	for authorized, want := range map[string]string{
		`{"enterprise_id":"E1","team_id":"T1"}`:                              "T1",
		`{"enterprise_id":"E1","team_id":null,"is_enterprise_install":true}`: "",
	} {
		got, err = slack.ParseEvent([]byte(`{"type":"event_callback","event_id":"Ev1","team_id":"T1","enterprise_id":"E1",` +
			`"event":{"type":"app_uninstalled"},"authorizations":[` + authorized + `]}`))
		if in := got.Incoming; err != nil || in.Kind != channel.KindRevoked || in.TeamID != want || in.EnterpriseID != "E1" {
			t.Errorf("uninstalled with %s: %+v, %v", authorized, in, err)
		}
	}
	got, err = slack.ParseEvent([]byte(`{"type":"event_callback","event_id":"Ev1","team_id":"T1","enterprise_id":"E1",` +
		`"event":{"type":"app_mention","user":"U1","team":"T1","text":"<@UB> a","ts":"1.1","channel":"C1"},` +
		`"authorizations":[{"enterprise_id":"E1","user_id":"UB","is_enterprise_install":true}]}`))
	if in := got.Incoming; err != nil || in.PersonTeam != "T1" { // The installation has no workspace to stream to.
		t.Errorf("an enterprise's installation: %+v, %v", in, err)
	}
	for _, body := range []string{"", "{", `{"type":1}`, `{"type":"event_callback","event_id":"Ev1","event":7}`} {
		if _, err := slack.ParseEvent([]byte(body)); err == nil {
			t.Errorf("%q is read", body)
		}
	}
}

func TestParseInteraction(t *testing.T) {
	t.Parallel()
	id := uuid.Must(uuid.NewV7())
	pressed := func(action, value string) string {
		return `{"type":"block_actions","api_app_id":"A1","team":{"id":"T1"},"user":{"id":"U1","team_id":"T1"},` +
			`"channel":{"id":"C1"},"container":{"message_ts":"2.2","thread_ts":"1.1"},` +
			`"message":{"ts":"2.2","thread_ts":"1.1"},` +
			`"response_url":"https://hooks.slack.com/a","actions":[{"action_id":"` + action + `","value":"` + value +
			`","action_ts":"3.3"}]}`
	}
	button := channel.IncomingEvent{
		Surface: "slack", TeamID: "T1", AppID: "A1", Channel: "C1", Thread: "1.1", Person: "U1",
		Reply: "https://hooks.slack.com/a", AnswerID: id,
	}
	of := func(kind channel.Kind, action string, rating chat.Rating) channel.IncomingEvent {
		in := button
		in.Kind, in.Rating, in.EventID = kind, rating, "action:2.2:U1:"+action+":3.3"
		if kind == channel.KindIgnored {
			in.AnswerID = uuid.Nil
		}
		return in
	}
	for payload, want := range map[string]channel.IncomingEvent{
		pressed("tsumugi_stop", id.String()):  of(channel.KindStop, "tsumugi_stop", ""),
		pressed("tsumugi_again", id.String()): of(channel.KindRegenerate, "tsumugi_again", ""),
		pressed("tsumugi_good", id.String()):  of(channel.KindRate, "tsumugi_good", chat.RatingGood),
		pressed("tsumugi_bad", id.String()):   of(channel.KindRate, "tsumugi_bad", chat.RatingBad),
		pressed("tsumugi_bad", "1"):           of(channel.KindIgnored, "tsumugi_bad", ""),
		pressed("tsumugi_open", id.String()):  of(channel.KindIgnored, "tsumugi_open", ""),
		`{"type":"message_action","callback_id":"tsumugi_summarize","trigger_id":"9.9",` +
			`"team":{"id":"T1","enterprise_id":"E1"},` +
			`"user":{"id":"U1","team_id":"T2"},"channel":{"id":"D1"},"message":{"ts":"2.2"},"response_url":"r"}`: {
			Surface: "slack", Kind: channel.KindSummarize, EnterpriseID: "E1", TeamID: "T1", EventID: "shortcut:9.9", Channel: "D1",
			Thread: "2.2", About: "2.2", Direct: true, Person: "U1", PersonTeam: "T2", Reply: "r",
		},
		`{"type":"view_submission","team":{"id":"T1"},"user":{"id":"U1"}}`: {
			Surface: "slack", Kind: channel.KindIgnored, TeamID: "T1", Person: "U1",
		},
	} {
		got, err := slack.ParseInteraction([]byte(url.Values{"payload": {payload}}.Encode()))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\n%+v, want\n%+v", payload, err, got, want)
		}
	}
	if _, err := slack.ParseInteraction([]byte("payload=%7B")); err == nil {
		t.Error("an incomplete payload is accepted")
	}
}

func TestParseCommand(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]channel.IncomingEvent{
		"":               {Kind: channel.KindHelp},
		"help":           {Kind: channel.KindHelp},
		"使い方":            {Kind: channel.KindHelp},
		"スキル":            {Kind: channel.KindHelp},
		"Link":           {Kind: channel.KindLink},
		"連携解除":           {Kind: channel.KindUnlink},
		"翻訳: a &lt; b":   {Kind: channel.KindQuestion, Text: "翻訳: a < b"},
		"次を要約して\n本文":     {Kind: channel.KindQuestion, Text: "次を要約して\n本文"},
		"project":        {Kind: channel.KindProject},
		"プロジェクト　新商品 A":   {Kind: channel.KindBind, Text: "新商品 A"},
		"Project off":    {Kind: channel.KindUnbind},
		"プロジェクト 解除":      {Kind: channel.KindUnbind},
		"projectとは":      {Kind: channel.KindQuestion, Text: "projectとは"},
		"<@U5|taro> は誰?": {Kind: channel.KindQuestion, Text: "@taro は誰?"},
	} {
		want.Surface, want.TeamID, want.AppID, want.EventID = "slack", "T1", "A1", "command:7.7"
		want.Channel, want.Person, want.Reply = "C1", "U1", "https://hooks.slack.com/c"
		got, err := slack.ParseCommand([]byte(url.Values{
			"command": {"/tsumugi"}, "text": {text}, "team_id": {"T1"}, "api_app_id": {"A1"}, "channel_id": {"C1"},
			"user_id": {"U1"}, "trigger_id": {"7.7"}, "response_url": {"https://hooks.slack.com/c"},
		}.Encode()))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v\n%+v, want\n%+v", text, err, got, want)
		}
	}
	got, err := slack.ParseCommand([]byte("text=a"))
	if err != nil || got.Kind != channel.KindIgnored {
		t.Errorf("nobody's command: %+v, %v", got, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(event(`{"type":"app_mention","user":"U1","text":"<@UBOT> a","ts":"1.1","channel":"C1"}`))
	f.Add(event(`{"type":"message","subtype":"message_changed","message":{"message":{}},"previous_message":null}`))
	f.Add([]byte("payload=%7B%22type%22%3A%22block_actions%22%2C%22actions%22%3A%5B%7B%7D%5D%7D"))
	f.Add([]byte("text=help&user_id=U1&channel_id=C1&trigger_id=1"))
	f.Fuzz(func(t *testing.T, body []byte) {
		var all []channel.IncomingEvent
		if e, err := slack.ParseEvent(body); err == nil {
			all = append(all, e.Incoming)
		}
		if in, err := slack.ParseInteraction(body); err == nil {
			all = append(all, in)
		}
		if in, err := slack.ParseCommand(body); err == nil {
			all = append(all, in)
		}
		for _, in := range all {
			if in.Kind != channel.KindIgnored && in.EventID == "" {
				t.Errorf("an event without an id: %+v", in)
			}
			if _, err := json.Marshal(in); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestManifest(t *testing.T) {
	t.Parallel()
	for _, socket := range []bool{false, true} {
		body, err := slack.Manifest("https://tsumugi.example", socket)
		must.Succeed(t, err)
		var m struct {
			Display  map[string]string `json:"display_information"`
			Features struct {
				Commands []map[string]any `json:"slash_commands"`
				Agent    map[string]any   `json:"agent_view"`
			} `json:"features"`
			Settings struct {
				Events struct {
					URL string `json:"request_url"`
				} `json:"event_subscriptions"`
				Socket bool `json:"socket_mode_enabled"`
			} `json:"settings"`
		}
		must.Succeed(t, json.Unmarshal(body, &m))
		url := "https://tsumugi.example/external/slack/v1/event"
		if socket {
			url = ""
		}
		if m.Settings.Events.URL != url || m.Settings.Socket != socket || len(m.Features.Commands) != 1 ||
			m.Features.Agent == nil {
			t.Errorf("socket %v: %s", socket, body)
		}
		if n := len([]rune(m.Display["long_description"])); n < 174 || n > 4000 {
			t.Errorf("the long description has %d characters", n)
		}
	}
}
