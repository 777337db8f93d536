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

// pings lists the control sequences of a message that notify people; w.mu is held.
func (w *Workspace) pings(m *Message) []string {
	if w.people[m.User] == nil || !w.people[m.User].Bot {
		return nil // People may ping each other.
	}
	var found []string
	texts := append([]string{m.Text, m.Markdown}, blockTexts(m.Blocks)...)
	for _, text := range texts {
		found = append(found, mention.FindAllString(text, -1)...)
		if m.linkNames {
			for _, hit := range bareMention.FindAllStringSubmatch(text, -1) {
				if slices.Contains([]string{"channel", "here", "everyone", "group"}, hit[1]) || w.named(hit[1]) {
					found = append(found, "@"+hit[1])
				}
			}
		}
	}
	return append(found, richMentions(m.Blocks)...)
}

func (w *Workspace) named(name string) bool {
	for _, person := range w.people {
		if person.Name == name {
			return true
		}
	}
	return false
}

// blockTexts returns the texts of blocks that may contain control sequences: mrkdwn objects and markdown blocks.
func blockTexts(blocks json.RawMessage) []string {
	var found []string
	walk(blocks, func(o map[string]any) {
		text, _ := o["text"].(string)
		if o["type"] == "mrkdwn" || o["type"] == "markdown" {
			found = append(found, text)
		}
	})
	return found
}

// richMentions are the elements of rich text that notify people.
func richMentions(blocks json.RawMessage) []string {
	var found []string
	walk(blocks, func(o map[string]any) {
		switch o["type"] {
		case "user":
			found = append(found, fmt.Sprintf("<@%v>", o["user_id"]))
		case "broadcast":
			found = append(found, fmt.Sprintf("<!%v>", o["range"]))
		case "usergroup":
			found = append(found, fmt.Sprintf("<!subteam^%v>", o["usergroup_id"]))
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
	if m.AppID == "" || m.Stream != "" {
		return nil
	}
	var found []string
	for _, text := range append([]string{m.Text, m.Markdown}, blockTexts(m.Blocks)...) {
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

// blockLimits are the most characters of a text at a place within a block of a type.
var blockLimits = map[string]map[string]int{ //nolint:gochecknoglobals // A table of Slack's documentation.
	"section": {"text": maxSection},
	"header":  {"text": 150},
}

// blockTypes are the types of blocks that messages and views may have.
var blockTypes = []string{ //nolint:gochecknoglobals // A table of Slack's documentation.
	"section", "header", "divider", "context", "actions", "image", "rich_text", "markdown", "table", "context_actions",
	"input", "file", "video", "task_card", "plan", "alert", "card", "carousel",
}

// checkBlocks decodes blocks. For invalid blocks it returns Slack's error code and messages.
func checkBlocks(raw string) (blocks json.RawMessage, code string, messages []string) {
	if raw == "" {
		return nil, "", nil
	}
	var list []map[string]any
	if json.Unmarshal([]byte(raw), &list) != nil {
		return nil, "invalid_blocks_format", nil
	}
	if len(list) == 0 {
		return nil, "", nil
	}
	wrong := func(format string, args ...any) { messages = append(messages, fmt.Sprintf("[ERROR] "+format, args...)) }
	if len(list) > maxBlocks {
		wrong("no more than %d items allowed [json-pointer:/blocks]", maxBlocks)
	}
	markdown := 0
	for i, block := range list {
		kind, _ := block["type"].(string)
		if !slices.Contains(blockTypes, kind) {
			wrong("unsupported type: %s [json-pointer:/blocks/%d/type]", kind, i)
			continue
		}
		if kind == "markdown" {
			text, _ := block["text"].(string)
			markdown += utf8.RuneCountInString(text)
		}
		checkBlock(block, kind, i, wrong)
	}
	if markdown > maxMarkdown {
		return nil, "msg_blocks_too_long", nil
	}
	if messages != nil {
		return nil, "invalid_blocks", messages
	}
	return json.RawMessage(raw), "", nil
}

func checkBlock(block map[string]any, kind string, i int, wrong func(string, ...any)) {
	for place, most := range blockLimits[kind] {
		object, _ := block[place].(map[string]any)
		text, _ := object["text"].(string)
		if n := utf8.RuneCountInString(text); n > most {
			wrong("must be less than %d characters [json-pointer:/blocks/%d/%s/text]", most+1, i, place)
		} else if n == 0 && (kind == "header" || block["fields"] == nil) {
			wrong("must be more than 0 characters [json-pointer:/blocks/%d/%s/text]", i, place)
		}
	}
	elements, _ := block["elements"].([]any)
	most := map[string]int{"actions": 25, "context": 10, "context_actions": 5}[kind]
	if most > 0 && len(elements) > most {
		wrong("no more than %d items allowed [json-pointer:/blocks/%d/elements]", most, i)
	}
	if most > 0 && len(elements) == 0 {
		wrong("no fewer than 1 items allowed [json-pointer:/blocks/%d/elements]", i)
	}
	for j, element := range elements {
		button, _ := element.(map[string]any)
		text, _ := button["text"].(map[string]any)
		label, _ := text["text"].(string)
		value, _ := button["value"].(string)
		action, _ := button["action_id"].(string)
		if button["type"] != "button" {
			continue
		}
		at := fmt.Sprintf("[json-pointer:/blocks/%d/elements/%d", i, j)
		if n := utf8.RuneCountInString(label); n > 75 || n == 0 {
			wrong("must be between 1 and 75 characters %s/text/text]", at)
		}
		if len(value) > 2000 || len(action) > 255 {
			wrong("value or action_id too long %s]", at)
		}
	}
}
