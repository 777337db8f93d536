package offline

import (
	"html"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	openai "github.com/sashabaranov/go-openai"
	"golang.org/x/text/unicode/norm"

	"github.com/tsumugi-ai/tsumugi/internal/answer"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/proofread"
)

const (
	maxTitle  = 20  // In characters.
	maxWords  = 8   // Of a query for a web search.
	minPasted = 200 // In characters. A shorter text is not taken for a document,
	minText   = 20  // unless the message asks to summarize it.
)

// reply is the answer to a conversation.
type reply struct {
	text   string
	isJSON bool
	hidden bool // The app does not show this text while it is written.
	calls  []openai.ToolCall
}

// answer returns the complete answer to a conversation. It recognizes the task by the instructions and elements of the
// product's prompts.
func (h *handler) answer(messages []llm.Message) reply {
	p := readPrompt(messages)
	if strings.Contains(p.system, proofread.Instructions) {
		settings, _, _ := strings.Cut(p.question, "<text>")
		text, _ := element(p.question, "text")
		return reply{text: h.proof.answer(text, settings), isJSON: true, hidden: true}
	}
	subject, found := element(p.question, "question")
	switch {
	case found && strings.Contains(p.system, "検索語句"):
		return reply{text: p.searchQuery(subject)}
	case found && strings.HasPrefix(p.question, "<question>"):
		return reply{text: title(subject)}
	case len(p.sources) > 0 && p.question == "":
		return reply{text: p.notes(), hidden: true}
	case len(p.sources) == 0:
		return reply{text: p.answerPasted()}
	case strings.Contains(p.system, answer.SummaryInstructions) || summaryRequest.MatchString(p.question):
		return reply{text: p.summarize(p.sources, readWish(p.question))}
	}
	return reply{text: p.quote(p.question, p.earlier, p.sources)}
}

// answerPasted answers about a text in the message itself or in an earlier one.
func (p prompt) answerPasted() string {
	request, text := splitRequest(p.question)
	for _, earlier := range p.earlier {
		if utf8.RuneCountInString(text) < minText {
			request = p.question
			if _, before := splitRequest(earlier); utf8.RuneCountInString(before) >= minPasted {
				text = before
			}
		}
	}
	length, sources := utf8.RuneCountInString(text), []answer.Passage{{Text: text}}
	switch {
	case summaryRequest.MatchString(request) && length < minText:
		return "要約する文章が見当たりませんでした。\n\n文章をこの欄に貼り付けて、もう一度お送りください。"
	case summaryRequest.MatchString(request), request == "" && length >= minPasted:
		return p.summarize(sources, readWish(request))
	case interrogative.MatchString(request) && length >= minPasted:
		return p.quote(request, nil, sources)
	}
	return unanswered
}

// unanswered is the answer without a model. The app shows administrators how to connect one.
const unanswered = `AIモデルが未設定のため、お答えできません。管理者にお知らせください。

**AIモデルがなくても使えるスキル**

- **要約**: 貼り付けた文章やファイルから、重要な文を抜き出してまとめます。
- **文書に質問**: ファイルや貼り付けた文書から、質問に関係の深い箇所を引用してお答えします。
- **文章校正**: 二重敬語、ら抜き言葉、よくある誤字などを、決まった規則で確かめます。
`

var (
	summaryRequest = regexp.MustCompile(`(?i)^(?:please )?summar|tl;dr|(?:要約|まとめ|要点|抜き出|サマリー?|短く|簡潔に)(?:$|[。：:]|て|.*` +
		`(?:ください|下さい|て|願い(?:いた)?します|ほしい|欲しい|たい|せよ|ま(?:す|せん)か|please|[はを])[。．.！!？?:： 」）)]*$)`)
	firstSentence = regexp.MustCompile(`^[^\n。！？!?]{1,120}[。！？!?]*`)
	command       = regexp.MustCompile(`(?:ください|下さい|て|願い(?:いた)?します)[。：:]?$`)
)

// splitRequest splits a message into a request, which is its first sentence or its last line, and a text.
func splitRequest(message string) (request, text string) {
	if text, found := element(message, "text"); found {
		request, _, _ = strings.Cut(message, "<text>")
		return strings.TrimSpace(request), text
	}
	first := firstSentence.FindString(message)
	rest := message[len(first):]
	isRequest := func(text string) bool { return summaryRequest.MatchString(text) || interrogative.MatchString(text) }
	if isRequest(first) || command.MatchString(first) && (rest == "" || rest[0] == '\n') {
		return first, strings.TrimSpace(rest)
	}
	if at := strings.LastIndexByte(message, '\n'); at >= 0 && isRequest(message[at+1:]) {
		return message[at+1:], message[:at]
	}
	return "", message
}

var word = regexp.MustCompile(`[\p{Han}\p{Katakana}ー・A-Za-z0-9]{2,}`)

// searchQuery returns the query for a web search: the words of the question without interrogative words.
func (p prompt) searchQuery(question string) string {
	var earlier, words []string
	if before, found := element(p.question, "earlier"); found {
		earlier = []string{html.UnescapeString(before)}
	}
	query := asking.ReplaceAllString(answer.Query(html.UnescapeString(question), earlier), "\n")
	for _, found := range word.FindAllString(norm.NFKC.String(query), -1) {
		if !slices.Contains(words, found) {
			words = append(words, found)
		}
	}
	return strings.Join(words[:min(len(words), maxWords)], " ")
}

// formLabel matches the label of a text in a filled-in form.
var formLabel = regexp.MustCompile(`(?m)^\*\*[^*\n]{1,60}\*\*$`)

// title returns the first sentence of a question without greetings, cut to maxTitle characters. The subject of a
// filled-in form is its first text, else its first value.
func title(question string) string {
	if at := formLabel.FindStringIndex(question); at != nil && strings.HasPrefix(question, "**") {
		question = question[at[1]:]
	} else if after, found := strings.CutPrefix(question, "**"); found {
		_, question, _ = strings.Cut(after, "**")
	}
	for _, s := range splitSentences(strings.NewReplacer("**", "", "`", "").Replace(question)) {
		if hasLetters(s.text) && !pleasantry.MatchString(s.text) {
			return shorten(strings.Trim(s.text, " 　、。，．,.・:：;；-—*#>\"'`"))
		}
	}
	return "新しいチャット"
}

// shorten cuts a text to maxTitle characters, but never inside a grapheme of several code points.
func shorten(text string) string {
	runes, end := []rune(strings.Join(strings.Fields(text), " ")), maxTitle-1
	if len(runes) <= maxTitle {
		return string(runes)
	}
	for end > 0 && (isExtender(runes[end]) || runes[end-1] == '\u200d') {
		end--
	}
	return strings.TrimSpace(string(runes[:end])) + "…"
}
