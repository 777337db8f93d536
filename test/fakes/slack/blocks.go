package slack

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// The limits that Slack documents, in characters.
const (
	maxMarkdown = 12_000
	maxText     = 40_000 // A longer text is truncated.
	maxUpdate   = 4_000  // The text of chat.update.
	maxBlocks   = 50
	maxSection  = 3_000
	maxHeader   = 150
	maxButton   = 75
)

var (
	// mention matches a control sequence that notifies people. Slack reads them in text, mrkdwn and Markdown, unless
	// their < is escaped as an entity. Slack documents no exemption for code, so mention matches in code too.
	mention = regexp.MustCompile(
		`<(@[UW][A-Z0-9]+|!channel|!here|!everyone|!group|!subteam\^[A-Z0-9]+)(?:\|[^<>]*)?>`)
	bareMention = regexp.MustCompile(`(?:^|[^\w@])@(channel|here|everyone|group|[a-z0-9][a-z0-9._-]*)`)
	link        = regexp.MustCompile(`https?://[^\s<>|)\]"'` + "`" + `]+`)

	mdBold    = regexp.MustCompile(`\*\*([^*\n]+)\*\*`)
	mdStrike  = regexp.MustCompile(`~~([^~\n]+)~~`)
	mdLink    = regexp.MustCompile(`\[([^\]\n]+)\]\((https?://[^)\s]+)\)`)
	mdHeading = regexp.MustCompile(`(?m)^#{1,6} +(.+)$`)
)

// mrkdwn returns the text that clients receive for a Markdown message. Code is unchanged.
func mrkdwn(markdown string) string {
	parts := strings.Split(markdown, "```")
	for i := 0; i < len(parts); i += 2 {
		text := mdBold.ReplaceAllString(parts[i], "*$1*")
		text = mdStrike.ReplaceAllString(text, "~$1~")
		text = mdLink.ReplaceAllString(text, "<$2|$1>")
		parts[i] = mdHeading.ReplaceAllString(text, "*$1*")
	}
	return strings.Join(parts, "```")
}

// pings lists the control sequences of a bot's message that notify people. The caller holds w.mu.
func (w *Workspace) pings(m *Message) []string {
	var found []string
	for _, text := range texts(m) {
		found = append(found, mention.FindAllString(text, -1)...)
		if !m.linkNames {
			continue
		}
		names := []string{"channel", "here", "everyone", "group"}
		for _, person := range w.people {
			names = append(names, person.Name)
		}
		for _, hit := range bareMention.FindAllStringSubmatch(text, -1) {
			if slices.Contains(names, hit[1]) {
				found = append(found, "@"+hit[1])
			}
		}
	}
	return found
}

// texts returns the texts of a message that may contain control sequences and links: its text, its Markdown, and the
// mrkdwn objects and markdown blocks of its blocks.
func texts(m *Message) []string {
	found := []string{m.Text, m.Markdown}
	walk(m.Blocks, func(o map[string]any) {
		text, _ := o["text"].(string)
		if o["type"] == "mrkdwn" || o["type"] == "markdown" {
			found = append(found, text)
		}
	})
	return found
}

// walk calls visit with every object within a JSON value.
func walk(raw json.RawMessage, visit func(map[string]any)) {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return
	}
	var into func(any)
	into = func(value any) {
		switch value := value.(type) {
		case []any:
			for _, element := range value {
				into(element)
			}
		case map[string]any:
			visit(value)
			for _, element := range value {
				into(element)
			}
		}
	}
	into(value)
}

// unfurls returns the links of an app's message that Slack expands to a preview: media unless unfurl_media is false,
// other links only if unfurl_links is true. Streams have neither argument and no previews.
func unfurls(m *Message) []string {
	if m.Stream != "" {
		return nil
	}
	var found []string
	for _, text := range texts(m) {
		for _, address := range link.FindAllString(text, -1) {
			if media(address) && m.unfurlMedia || !media(address) && m.unfurlLinks {
				found = append(found, address)
			}
		}
	}
	return found
}

func media(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := strings.TrimPrefix(u.Hostname(), "www.")
	return slices.Contains([]string{".png", ".jpg", ".jpeg", ".gif", ".webp", ".mp4", ".mp3"},
		strings.ToLower(path.Ext(u.Path))) || host == "youtube.com" || host == "youtu.be" || host == "vimeo.com"
}

// block is a block of a message or a view.
type block struct {
	Type     string          `json:"type"`
	Text     json.RawMessage `json:"text"` // A text object; of a markdown block, a string.
	Elements []struct {
		Type     string          `json:"type"`
		ActionID string          `json:"action_id"`
		Value    string          `json:"value"`
		Text     json.RawMessage `json:"text"`
	} `json:"elements"`
}

// textOf returns the text of a text object, or a string.
func textOf(raw json.RawMessage) string {
	var text string
	var object struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &text) != nil && json.Unmarshal(raw, &object) == nil {
		text = object.Text
	}
	return text
}

// checkBlocks returns an error with Slack's code and messages if blocks are invalid. A message may have at most 50, a
// view 100. It knows only the types that Tsumugi uses.
func checkBlocks(raw string, most int) error {
	var blocks []block
	if raw == "" {
		return nil
	}
	if json.Unmarshal([]byte(raw), &blocks) != nil {
		return fail("invalid_blocks_format")
	}
	var wrong []string
	if len(blocks) > most {
		wrong = append(wrong, fmt.Sprintf("[ERROR] no more than %d items allowed [json-pointer:/blocks]", most))
	}
	markdown := 0
	for i, b := range blocks {
		if problem := b.check(); problem != "" {
			wrong = append(wrong, fmt.Sprintf("[ERROR] %s [json-pointer:/blocks/%d]", problem, i))
		}
		if b.Type == "markdown" {
			markdown += utf8.RuneCountInString(textOf(b.Text))
		}
	}
	if markdown > maxMarkdown {
		return fail("msg_blocks_too_long")
	}
	if wrong != nil {
		return invalid("invalid_blocks", wrong...)
	}
	return nil
}

// check returns the problem of a block, or an empty string.
func (b block) check() string {
	length, most := utf8.RuneCountInString(textOf(b.Text)), 0
	switch b.Type {
	case "divider", "markdown":
		return ""
	case "section", "header":
		if longest := map[string]int{"section": maxSection, "header": maxHeader}[b.Type]; length == 0 || length > longest {
			return fmt.Sprintf("must be between 1 and %d characters", longest)
		}
		return ""
	case "context":
		most = 10
	case "actions":
		most = 25
	default:
		return "unsupported type: " + b.Type
	}
	if len(b.Elements) == 0 || len(b.Elements) > most {
		return fmt.Sprintf("must have between 1 and %d items", most)
	}
	for _, e := range b.Elements {
		label := utf8.RuneCountInString(textOf(e.Text))
		if e.Type == "button" && (label == 0 || label > maxButton || len(e.Value) > 2000 || len(e.ActionID) > 255) {
			return "invalid button"
		}
	}
	return ""
}
