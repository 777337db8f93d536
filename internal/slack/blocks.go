package slack

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	slackgo "github.com/slack-go/slack"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
)

// Slack's limits, and limits for the texts around the Markdown of a message, in characters.
const (
	maxSection  = 3_000
	maxSources  = 2_500
	maxTitle    = 150
	maxFallback = 150
	maxPrompts  = 4
	maxButton   = 75
)

// message returns the options of a message with a draft: its blocks, and a text for notifications.
func message(d channel.Draft, text string) []slackgo.MsgOption {
	var blocks []slackgo.Block
	switch {
	case d.Approval != nil:
		blocks = approvalBlocks(*d.Approval, d.URL)
	case text != "":
		blocks = append(blocks, slackgo.NewMarkdownBlock("", text))
	case d.State == channel.StateWriting:
		blocks = append(blocks, note("回答を書いています…"))
	}
	blocks = append(blocks, footer(d)...)
	return []slackgo.MsgOption{
		slackgo.MsgOptionText(fallback(d), false), slackgo.MsgOptionBlocks(blocks...),
		slackgo.MsgOptionMetadata(metadata(d)),
	}
}

// footer returns the blocks below an answer's text: the reason why it ended, its sources, and buttons.
func footer(d channel.Draft) []slackgo.Block {
	var blocks []slackgo.Block
	if d.State == channel.StateFailed && d.Reason != "" {
		blocks = append(blocks, paragraph("回答を完了できませんでした。"+d.Reason))
	}
	if !d.Last {
		return blocks
	}
	id := d.AnswerID.String()
	if d.State == channel.StateWriting {
		return append(blocks, slackgo.NewActionBlock("", button(actionStop, id, "停止")))
	}
	if d.Notice != "" {
		blocks = append(blocks, note("⚠️ "+d.Notice))
	}
	if sources := sourceList(d.Citations, d.URL); sources != "" {
		text := slackgo.NewTextBlockObject(slackgo.MarkdownType, sources, false, true)
		blocks = append(blocks, slackgo.NewContextBlock("", text))
	}
	if d.Attached {
		blocks = append(blocks, note("長い回答のため、全文をこのスレッドのファイルに添付しました。"))
	}
	if d.State == channel.StateStopped {
		blocks = append(blocks, note(cmp.Or(d.Reason, "回答を停止しました。")))
	}
	buttons := []slackgo.BlockElement{button(actionAgain, id, "再生成")}
	if d.State == channel.StateDone {
		buttons = append([]slackgo.BlockElement{
			button(actionGood, id, "👍 役に立った"), button(actionBad, id, "👎 役に立たなかった"),
		}, buttons...)
	}
	if d.URL != "" {
		buttons = append(buttons, button(actionOpen, id, "Tsumugiで開く").WithURL(d.URL))
	}
	return append(blocks, slackgo.NewActionBlock("", buttons...))
}

// sourceList returns the cited sources of an answer as links in mrkdwn, with the answer's numbers. Links to documents
// lead to the thread in the app.
func sourceList(citations []chat.Citation, thread string) string {
	var b strings.Builder
	seen := make(map[int]bool)
	more := 0
	for _, c := range citations {
		if seen[c.Index] {
			continue
		}
		seen[c.Index] = true
		label := fmt.Sprintf("[%d] %s", c.Index, runes.Truncate(c.Filename, maxTitle))
		switch {
		case c.URL != "":
		case c.Page > 0:
			label += fmt.Sprintf(" %dページ", c.Page)
		case c.Locator != "":
			label += " " + runes.Truncate(c.Locator, maxTitle)
		}
		line := "\n" + link(cmp.Or(c.URL, thread), label)
		if utf8.RuneCountInString(b.String()+line) > maxSources {
			more++
			continue
		}
		b.WriteString(line)
	}
	if b.Len() == 0 {
		return ""
	}
	if more > 0 {
		fmt.Fprintf(&b, "\nほか%d件", more)
	}
	return "出典" + b.String()
}

// unlinkable escapes characters that would end an address in a link.
var unlinkable = strings.NewReplacer("<", "%3C", ">", "%3E", "|", "%7C", "&", "&amp;")

// link returns a link in mrkdwn whose text has neither mentions nor markup. If address is not a web address, it returns
// the text only.
func link(address, text string) string {
	text = strings.NewReplacer("@", "@"+gap, "*", "*"+gap, "_", "_"+gap, "`", "`"+gap, "~", "~"+gap, "|", "｜",
		"\n", " ").Replace(escape(text))
	if !webAddress.MatchString(address) || strings.ContainsAny(address, " \t\r\n") {
		return text
	}
	return "<" + unlinkable.Replace(address) + "|" + text + ">"
}

// fallback returns the beginning of an answer as plain text, for notifications and screen readers.
func fallback(d channel.Draft) string {
	text := strings.Join(strings.Fields(d.Markdown), " ")
	switch {
	case d.Approval != nil:
		text = approvalTitle(*d.Approval)
	case text == "":
		text = cmp.Or(d.Reason, "回答を書いています…")
	}
	return escape(strings.ReplaceAll(runes.Truncate(text, maxFallback), "@", "@"+gap))
}

// bare returns the letters and digits of a text.
func bare(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, text)
}

// words returns a text that Slack shows unchanged, without processing markup and mentions.
func words(text string, most int) *slackgo.TextBlockObject {
	return slackgo.NewTextBlockObject(slackgo.PlainTextType, runes.Truncate(text, most), false, false)
}

func paragraph(text string) slackgo.Block {
	return slackgo.NewSectionBlock(words(text, maxSection), nil, nil)
}

// note returns a block with a text in small letters.
func note(text string) slackgo.Block {
	return slackgo.NewContextBlock("", words(text, maxSection))
}

func button(action, value, label string) *slackgo.ButtonBlockElement {
	return slackgo.NewButtonBlockElement(action, value, words(label, maxButton))
}
