package slack_test

import (
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/slack"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// request returns a draft of a request for a decision.
func request(state chat.ApprovalState, arguments string) channel.Draft {
	d := done("")
	d.Last = false
	d.Approval = &chat.ToolApproval{
		Approval: chat.Approval{
			ID: uuid.MustParse("01930000-0000-7000-8000-000000000009"), Cause: chat.CauseRule, State: state,
			ExpiresAt: time.Date(2026, 11, 29, 1, 30, 0, 0, time.UTC),
		},
		Title: "予定の\n登録<!channel>", Arguments: arguments, ArgumentsSHA256: []byte(strings.Repeat("a", 32)),
	}
	return d
}

// begun posts a draft, and returns the texts of its sections.
func (o *office) begun(d channel.Draft) (ref channel.Ref, sections []string) {
	o.t.Helper()
	ref = must.Get(o.adapter.Begin(within(o.t), o.to, d))(o.t)
	return ref, o.sections(ref)
}

func (o *office) sections(ref channel.Ref) (sections []string) {
	o.t.Helper()
	m, _ := o.Message(o.to.Channel, string(ref))
	var blocks []struct {
		Type string
		Text struct{ Text string }
	}
	if err := json.Unmarshal(m.Blocks, &blocks); err != nil {
		o.t.Fatalf("%s: %v", m.Blocks, err)
	}
	for _, b := range blocks {
		if b.Type == "section" {
			sections = append(sections, b.Text.Text)
		}
	}
	return sections
}

// TestRequestForADecision: a waiting request has the arguments and buttons whose values are the id and the hash. After
// the decision, only the decision is left, also if another server replaces the message.
func TestRequestForADecision(t *testing.T) {
	t.Parallel()
	o := open(t, nil)
	d := request(chat.ApprovalWaiting, `{"件名": "打合せ", "人数": 3, "参加": ["甲", "乙"], "連絡": "<@U0TARO0001>"}`)
	ref, sections := o.begun(d)
	if want := []string{
		"「予定の 登録<!channel>」の実行を承認しますか？", "• 件名：打合せ\n• 人数：3\n• 参加：[\"甲\",\"乙\"]\n• 連絡：<@U0TARO0001>",
	}; !reflect.DeepEqual(sections, want) {
		t.Errorf("%q, want %q", sections, want)
	}
	value := d.Approval.ID.String() + ":" + strings.Repeat("61", 32)
	_, all := o.shown(o.to.Channel, ref)
	for _, text := range []string{
		`"tsumugi_approve"`, `"tsumugi_deny"`, `"value":"` + value + `"`, `"アプリで開く"`, `"https://tsumugi.example/chat/1"`,
		"11月29日 10:30までに", "質問した人だけ",
	} {
		if !strings.Contains(all, text) {
			t.Errorf("there is no %s in %s", text, all)
		}
	}
	for state, want := range map[chat.ApprovalState]string{
		chat.ApprovalApproved: "承認しました", chat.ApprovalDenied: "拒否しました", chat.ApprovalExpired: "期限が切れました",
		chat.ApprovalCanceled: "不要になりました",
	} {
		adapter := must.Get(slack.New(slack.Config{APIURL: o.URL() + "/api"}, slog.New(slog.DiscardHandler)))(t)
		d := request(state, "")
		d.Approval.Reason = "秘密の理由"
		must.Succeed(t, adapter.Replace(within(t), o.to, ref, d))
		adapter.Close()
		_, all := o.shown(o.to.Channel, ref)
		if !strings.Contains(all, want) || strings.Contains(all, "button") || strings.Contains(all, "打合せ") ||
			strings.Contains(all, "理由") {
			t.Errorf("%s: %s", state, all)
		}
	}
	o.silent()
}

// TestRequestForInput: a tool that asks for input has a link to the app, and neither a form nor buttons to decide.
func TestRequestForInput(t *testing.T) {
	t.Parallel()
	o := open(t, nil)
	for state, want := range map[chat.ApprovalState]string{
		chat.ApprovalWaiting: "が入力を求めています", chat.ApprovalApproved: "に入力しました", chat.ApprovalDenied: "入力を断りました",
		chat.ApprovalExpired: "入力の期限が切れました", chat.ApprovalCanceled: "入力は不要になりました",
	} {
		d := request(state, `{"件名": "打合せ"}`)
		d.Approval.Cause = chat.CauseInput
		ref, sections := o.begun(d)
		_, all := o.shown(o.to.Channel, ref)
		isLinked := strings.Contains(all, `"アプリで開く"`) && strings.Contains(all, "アプリで質問した人だけ")
		if !strings.Contains(sections[0], want) || strings.Contains(all, "打合せ") || strings.Contains(all, "tsumugi_approve") ||
			strings.Contains(all, "tsumugi_deny") || isLinked != (state == chat.ApprovalWaiting) {
			t.Errorf("%s: %s", state, all)
		}
	}
}

// TestArgumentsAreReadable: arguments are text without markup. They cannot look like other fields, have no invisible
// characters, and are shortened visibly, without a button to approve them.
func TestArgumentsAreReadable(t *testing.T) {
	t.Parallel()
	o := open(t, nil)
	for arguments, want := range map[string]string{
		`{}`:                           "入力はありません。",
		``:                             "入力はありません。",
		`[1]`:                          "[1]",
		`{"a": "一\n• b: 二\r三\u2028四"}`: "• a：一\n　　• b: 二\n　　三\n　　四",
		`{"a\nb": "x\u202ey"}`:         "• a b：x\ufffdy",
		`{"a": {"b": [true, null]}}`:   `• a：{"b":[true,null]}`,
	} {
		if _, sections := o.begun(request(chat.ApprovalWaiting, arguments)); len(sections) != 2 || sections[1] != want {
			t.Errorf("%s: %q, want %q", arguments, sections, want)
		}
	}
	fields := make(map[string]string)
	for _, name := range strings.Split("abcdefghijklmnopqrstuvwxyz", "") {
		fields[name] = strings.Repeat("長", 200)
	}
	many, _ := json.Marshal(fields)
	for _, arguments := range []string{`{"a": "` + strings.Repeat("長い文です。", 10_000) + `"}`, string(many)} {
		ref, sections := o.begun(request(chat.ApprovalWaiting, arguments))
		if _, all := o.shown(o.to.Channel, ref); !strings.Contains(all, "一部だけを表示") || !strings.HasSuffix(sections[1], "…") ||
			strings.Contains(all, "tsumugi_approve") || !strings.Contains(all, "tsumugi_deny") {
			t.Error(all)
		}
	}
}

// TestParseDecision: a button's value is an id and a hash, and nothing else.
func TestParseDecision(t *testing.T) {
	t.Parallel()
	id, sum := uuid.Must(uuid.NewV7()), []byte(strings.Repeat("b", 32))
	value := id.String() + ":" + hex.EncodeToString(sum)
	for _, test := range []struct {
		action, value string
		kind          channel.Kind
		approved      bool
	}{
		{"tsumugi_approve", value, channel.KindDecide, true},
		{"tsumugi_deny", value, channel.KindDecide, false},
		{"tsumugi_approve", id.String(), channel.KindIgnored, false},
		{"tsumugi_approve", value + "00", channel.KindIgnored, false},
		{"tsumugi_deny", "x" + value, channel.KindIgnored, false},
		{"tsumugi_stop", value, channel.KindIgnored, false},
	} {
		payload := `{"type":"block_actions","team":{"id":"T1"},"user":{"id":"U1","team_id":"T1"},"channel":{"id":"C1"},` +
			`"message":{"ts":"2.2","thread_ts":"1.1"},"actions":[{"action_id":"` + test.action + `","value":"` + test.value +
			`","action_ts":"3.3"}]}`
		got, err := slack.ParseInteraction([]byte(url.Values{"payload": {payload}}.Encode()))
		want := channel.IncomingEvent{
			Surface: slack.Name, Kind: test.kind, TeamID: "T1", Channel: "C1", Thread: "1.1", Person: "U1",
			EventID: "action:2.2:U1:" + test.action + ":3.3", Approved: test.approved,
		}
		if test.kind == channel.KindDecide {
			want.ApprovalID, want.ArgumentsSHA256 = id, sum
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s %s: %v\n%+v, want\n%+v", test.action, test.value, err, got, want)
		}
	}
}
