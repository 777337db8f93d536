package slack

import (
	"cmp"
	"regexp"
	"strings"
)

// token matches a token of Slack in a message's text: <@U1>, <#C1|name>, <!here>, <https://…|label>.
var token = regexp.MustCompile(`<([^<>|\n]*)(?:\|([^<>\n]*))?>`)

// entities unescapes the characters that Slack escapes in messages.
var entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

// plain returns a message's text as shown by Slack, with links as Markdown and without the mention of the assistant,
// whose id is bot. name returns the name of a person, or "" to use the id.
func plain(text, bot string, name func(id string) string) string {
	var b strings.Builder
	at := 0
	for _, m := range token.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(entities.Replace(text[at:m[0]]))
		label := ""
		if m[4] >= 0 {
			label = entities.Replace(text[m[4]:m[5]])
		}
		b.WriteString(plainToken(text[m[2]:m[3]], label, bot, name))
		at = m[1]
	}
	b.WriteString(entities.Replace(text[at:]))
	return strings.TrimSpace(b.String())
}

func plainToken(body, label, bot string, name func(string) string) string {
	switch {
	case strings.HasPrefix(body, "@"):
		id := body[1:]
		if id == bot && bot != "" {
			return ""
		}
		if called := name(id); called != "" {
			return "@" + called
		}
		return "@" + cmp.Or(label, id)
	case strings.HasPrefix(body, "#"):
		return "#" + cmp.Or(label, body[1:])
	case strings.HasPrefix(body, "!"):
		kind, _, _ := strings.Cut(body[1:], "^")
		return cmp.Or(label, "@"+kind)
	}
	address := entities.Replace(body)
	if label == "" || label == address || "mailto:"+label == address || "tel:"+label == address {
		return cmp.Or(label, address)
	}
	return "[" + label + "](" + address + ")"
}

// nobody returns "" for each id, for use as name in plain.
func nobody(string) string { return "" }

// mentions reports whether a message's text mentions a person.
func mentions(text, id string) bool {
	return id != "" && (strings.Contains(text, "<@"+id+">") || strings.Contains(text, "<@"+id+"|"))
}

// escape escapes a plain text for mrkdwn, so that it contains no tokens.
func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}
