package slack

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/google/uuid"
	slackgo "github.com/slack-go/slack"
	"github.com/tidwall/gjson"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/japan"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
)

// Limits for the arguments of a call, in characters.
const (
	maxValue     = 600
	maxArguments = 2_800
)

// approvalBlocks returns the blocks of a request for a decision. Only a waiting one has buttons and shows arguments.
func approvalBlocks(a chat.ToolApproval, thread string) []slackgo.Block {
	blocks := []slackgo.Block{paragraph(approvalTitle(a))}
	if a.State != chat.ApprovalWaiting {
		return blocks
	}
	var buttons []slackgo.BlockElement
	until := a.ExpiresAt.In(japan.Zone).Format("1月2日 15:04")
	if a.Cause == chat.CauseInput { // The form is shown in the app only.
		blocks = append(blocks, note("入力は、アプリで質問した人だけが行えます。"+until+"までに送信しないと、入力なしで回答を続けます。"))
	} else {
		text, whole := readable(a.Arguments)
		if cause := approvalCauses[a.Cause]; cause != "" {
			blocks = append(blocks, note(cause))
		}
		blocks = append(blocks, paragraph(text))
		value := a.ID.String() + ":" + hex.EncodeToString(a.ArgumentsSHA256)
		if whole { // Nothing is approved that was not shown.
			buttons = append(buttons, button(actionApprove, value, "承認").WithStyle(slackgo.StylePrimary))
		} else {
			blocks = append(blocks, note("⚠️ 長いため、一部だけを表示しています。「アプリで開く」から全体を確かめて、承認してください。"))
		}
		buttons = append(buttons, button(actionDeny, value, "拒否"))
		blocks = append(blocks, note("承認または拒否できるのは、質問した人だけです。"+until+"までに承認しないと、実行せずに回答を続けます。"))
	}
	if thread != "" {
		buttons = append(buttons, button(actionOpen, a.ID.String(), "アプリで開く").WithURL(thread))
	}
	if len(buttons) == 0 {
		return blocks
	}
	return append(blocks, slackgo.NewActionBlock("", buttons...))
}

// approvalCauses maps causes to texts for people.
var approvalCauses = map[chat.ApprovalCause]string{
	chat.CauseRule:      "このツールは、実行の前に承認が必要です。",
	chat.CauseUntrusted: "外部の内容を読んだ後の、変更を伴う実行です。内容をよく確認してください。",
	chat.CauseUnknown:   "この実行は、障害の前に行われた可能性があり、結果が分かりません。承認すると、もう一度実行します。",
}

// approvalTitles are the states of requests for a decision, and for input, by a tool with a name.
var approvalTitles = map[chat.ApprovalState]struct{ decision, input string }{
	chat.ApprovalWaiting:  {"%sの実行を承認しますか？", "%sが入力を求めています"},
	chat.ApprovalApproved: {"✅ %sの実行を承認しました。", "✅ %sに入力しました。"},
	chat.ApprovalDenied:   {"🚫 %sの実行を拒否しました。", "🚫 %sへの入力を断りました。"},
	chat.ApprovalExpired:  {"⌛ %sの実行は、承認の期限が切れました。", "⌛ %sは、入力の期限が切れました。"},
	chat.ApprovalCanceled: {
		"⏹️ 回答が終わったため、%sの実行の承認は不要になりました。", "⏹️ 回答が終わったため、%sへの入力は不要になりました。",
	},
}

// approvalTitle returns the state of a request for a decision. It does not include the reason of a refusal, because the
// person has written it for the assistant.
func approvalTitle(a chat.ToolApproval) string {
	title := approvalTitles[a.State].decision
	switch {
	case a.Cause == chat.CauseInput:
		title = approvalTitles[a.State].input
	case a.State == chat.ApprovalApproved && a.Edited:
		title = "✅ 入力を変更して、%sの実行を承認しました。"
	}
	return fmt.Sprintf(title, "「"+runes.OneLine(a.Title, maxTitle)+"」")
}

// readable returns the arguments of a call as text: of an object, a line or more for each field in their order. whole
// is false if it is shortened.
func readable(arguments string) (text string, whole bool) {
	var lines []string
	parsed := gjson.Parse(arguments)
	switch {
	case parsed.IsObject() && json.Valid([]byte(arguments)):
		parsed.ForEach(func(name, item gjson.Result) bool {
			lines = append(lines, "• "+runes.OneLine(visible(name.Str), maxTitle)+"："+value(item))
			return true
		})
	case strings.TrimSpace(arguments) != "":
		lines = []string{visible(arguments)}
	}
	if len(lines) == 0 {
		return "入力はありません。", true
	}
	whole = true
	for i, line := range lines {
		short := runes.Truncate(line, maxValue)
		lines[i], whole = short, whole && short == line
	}
	all := strings.Join(lines, "\n")
	text = runes.Truncate(all, maxArguments)
	return text, whole && text == all
}

// value returns a JSON value as text. Its later lines are indented, so that they do not look like further fields.
func value(item gjson.Result) string {
	text := item.Str
	if item.Type != gjson.String {
		text = item.Get("@ugly").Raw
	}
	return strings.ReplaceAll(visible(text), "\n", "\n　　")
}

// newlines replaces all line separators by a newline.
var newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n",
	"\u2029", "\n")

// visible replaces invisible characters, which could disguise a text, by U+FFFD.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf) {
			return unicode.ReplacementChar
		}
		return r
	}, newlines.Replace(text))
}

// parseDecision parses the value of a button of a request for a decision: its id, and the hash of the shown arguments.
func parseDecision(in *channel.IncomingEvent, action, value string) {
	name, digits, _ := strings.Cut(value, ":")
	id, err := uuid.Parse(name)
	sum, invalid := hex.DecodeString(digits)
	if err != nil || invalid != nil || len(sum) != sha256.Size {
		return
	}
	in.Kind, in.ApprovalID, in.ArgumentsSHA256, in.Approved = channel.KindDecide, id, sum, action == actionApprove
}
