package offline

import (
	"context"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
)

// Minimum lengths of a document, in characters. A shorter text is a follow-up, or a request that lacks its text.
const (
	minMaterial = 60  // Where a text is expected.
	minText     = 20  // Where there is no other text.
	minPasted   = 200 // For a message that may contain a text.
)

// engine answers conversations. It is stateless.
type engine struct {
	proof proofreader
}

func newEngine() *engine { return &engine{proof: newProofreader()} }

// answer returns the complete answer to a conversation, in Markdown.
func (e *engine) answer(ctx context.Context, messages []llm.Message) string {
	p := readPrompt(messages)
	switch p.task {
	case "title":
		return title(p)
	case notesName:
		return notesTask(ctx, p)
	case queriesName:
		return searchQuery(p)
	case "summarization", pageSummary:
		return summarizeTask(ctx, p)
	case "document_qa", pageQuestion:
		return documentTask(ctx, p)
	case "minutes":
		return minutesTask(ctx, p)
	case "proofreading":
		if p.text != "" {
			return e.proof.answer(p.text, scopeOf(p.entries))
		}
	}
	if p.task == "web_search" && len(p.sources) > 0 {
		return answerFrom(p.question, p.earlier, p.sources)
	}
	if p.task == "chat" || p.task == "" {
		if len(p.sources) > 0 {
			return documentTask(ctx, p)
		}
		if wantsSummary(p.question) {
			if text := findMaterial(p, minPasted); text != "" {
				return summarizeText(ctx, text, readWish(p.question))
			}
		}
	}
	return unanswered(p.task)
}

func title(p prompt) string {
	if question, ok := tagged(p.question, "question"); ok {
		return makeTitle(question)
	}
	if n := len(p.earlier); n > 0 {
		return makeTitle(p.earlier[n-1])
	}
	return makeTitle(p.question)
}

func summarizeTask(ctx context.Context, p prompt) string {
	instruction, _ := splitInstruction(p.question)
	if len(p.sources) > 0 {
		return summarizeText(ctx, joinSources(p.sources), readWish(p.question), p.sources...)
	}
	for _, least := range []int{minMaterial, minText} {
		if text := findMaterial(p, least); text != "" {
			return summarizeText(ctx, text, readWish(instruction))
		}
	}
	return noMaterial
}

const noMaterial = "要約する文章が見当たりませんでした。\n\n" +
	"文章をこの欄に貼り付けて、もう一度お送りください。"

const noDocument = "参照できる文書がありません。\n\n文書の文章を、質問と一緒に貼り付けてください。"

func documentTask(ctx context.Context, p prompt) string {
	earlier := p.earlier
	if len(p.sources) == 0 {
		earlier = nil // The earlier messages may be the document.
		question, text := splitPasted(p)
		if text == "" {
			return noDocument
		}
		p.question, p.sources = question, []source{{index: "1", filename: "貼り付けた文章", text: text}}
	}
	if wantsSummary(p.question) {
		return summarizeText(ctx, joinSources(p.sources), readWish(p.question), p.sources...)
	}
	return answerFrom(p.question, earlier, p.sources)
}

// splitPasted splits a message that contains its document into the question, which is its first or last line, and the
// document. A message that is only a question refers to the document of an earlier one.
func splitPasted(p prompt) (question, text string) {
	for i, message := range append([]string{p.question}, p.earlier...) {
		if utf8.RuneCountInString(message) < minPasted {
			continue
		}
		message = strings.TrimSpace(message)
		first, rest, _ := strings.Cut(message, "\n")
		asked, text := first, rest
		if at := strings.LastIndexByte(message, '\n'); at >= 0 && !isQuestion(first) && isQuestion(message[at+1:]) {
			asked, text = message[at+1:], message[:at]
		}
		if i > 0 {
			return p.question, message // The earlier question among the sentences has no effect.
		}
		if strings.TrimSpace(text) == "" {
			continue
		}
		return asked, text
	}
	return "", ""
}

func isQuestion(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasSuffix(line, "？") || strings.HasSuffix(line, "?") || asks(line)
}

func minutesTask(ctx context.Context, p prompt) string {
	text := findMaterial(p, 1)
	if text == "" {
		return "議事録にするメモや文字起こしが見当たりませんでした。文章を入力して、もう一度お送りください。"
	}
	m := extractMinutes(text)
	if m.empty() && utf8.RuneCountInString(text) >= minPasted {
		return "決定事項や期限とみられる文は見つかりませんでした。代わりに、要点を抜き出します。\n\n" +
			summarizeText(ctx, text, wish{})
	}
	return m.markdown(p.entries)
}

// summarizeText returns the summary of a text with citations of its sources, or a message that the text cannot be
// shortened.
func summarizeText(ctx context.Context, text string, w wish, sources ...source) string {
	n := len(candidates(splitSentences(text)))
	if n <= 2 && w.chars == 0 {
		return "文章が短く、抜き出してまとめられる量がありませんでした。もう少し長い文章でお試しください。\n\n---\n\n" +
			"AIモデルが未設定のため、原文から重要な文を抜き出す要約だけをご利用いただけます。"
	}
	s := summarize(ctx, text, w)
	s.sources = sources
	if s.lead == "" && len(s.points) == 0 {
		// No sentence fits into the requested number of characters.
		s = summarize(ctx, text, wish{points: 1})
		s.sources = sources
		return "ご指定の字数に収まる文がなかったため、最も重要とみられる文を抜き出します。\n\n" + s.markdown(wish{})
	}
	return s.markdown(w)
}

func joinSources(sources []source) string {
	var b strings.Builder
	for _, s := range sources {
		b.WriteString(strings.TrimSpace(s.text))
		b.WriteString("\n\n")
	}
	return b.String()
}

// findMaterial returns the text to work on: the text of the form, the text pasted below the request, or an earlier
// message.
func findMaterial(p prompt, least int) string {
	if p.text != "" {
		return p.text
	}
	for _, message := range append([]string{p.question}, p.earlier...) {
		if _, body := splitInstruction(message); utf8.RuneCountInString(body) >= least {
			return body
		}
	}
	return ""
}

// wantsSummary reports whether a message clearly asks for a summary.
func wantsSummary(question string) bool {
	instruction, _ := splitInstruction(question)
	return instruction != ""
}

// splitInstruction splits a message into the request for a summary, at its beginning or end, and the text. The request
// is "" without one.
func splitInstruction(message string) (instruction, body string) {
	sentences := splitSentences(message)
	first, last := 0, len(sentences)
	for i, one := range sentences[:min(3, len(sentences))] {
		if utf8.RuneCountInString(one.text) > 120 {
			break
		}
		if isSummaryRequest(one.text) {
			first = i + 1
		}
	}
	for last > first && len(sentences)-last < 2 && isSummaryRequest(sentences[last-1].text) {
		last--
	}
	instruction = joinSentences(sentences[:first]) + joinSentences(sentences[last:])
	if first > 0 && last == len(sentences) {
		// Split the message itself to preserve its lines and bullets.
		if at := strings.Index(message, lastPart(sentences[first-1].text)); at >= 0 {
			return instruction, strings.TrimLeft(message[at+len(lastPart(sentences[first-1].text)):], " 　\n\r\t:：")
		}
	}
	if first == 0 && last == len(sentences) {
		return "", message
	}
	lines := make([]string, 0, last-first)
	for _, s := range sentences[first:last] {
		lines = append(lines, s.text)
	}
	return instruction, strings.Join(lines, "\n")
}

// lastPart returns the end of a sentence. The message contains it even if lines were joined.
func lastPart(text string) string {
	runes := []rune(text)
	return string(runes[max(0, len(runes)-8):])
}

func joinSentences(sentences []sentence) string {
	var b strings.Builder
	for _, s := range sentences {
		b.WriteString(s.text)
	}
	return b.String()
}

// isSummaryRequest distinguishes 「…を要約してください」 from a sentence that only mentions a summary.
func isSummaryRequest(text string) bool {
	lower := strings.ToLower(text)
	if !containsAny(lower, "要約", "まとめ", "要点", "サマリ", "短くして", "短くし", "詳しくして", "summar", "tl;dr") {
		return false
	}
	trimmed := strings.TrimRight(lower, "。．.！!？?:： 」）)")
	for _, ending := range []string{
		"ください", "下さい", "要約", "まとめて", "要約して", "して", "お願いします", "お願いいたします", "ほしい", "ほしいです", "欲しいです", "たい", "たいです", "せよ",
		"ますか", "ませんか",
		"please", "要点は", "要点を", "要約を", "まとめ", "サマリー",
	} {
		if strings.HasSuffix(trimmed, ending) {
			return true
		}
	}
	return strings.HasPrefix(lower, "summar") || strings.HasPrefix(lower, "please summar")
}

// readWish parses the requested form: 五つの箇条書き, 3点で, 200字以内, 短く.
func readWish(instruction string) wish {
	text := normalize(instruction)
	var w wish
	for _, unit := range []string{"文字", "字"} {
		if n := numberBefore(text, unit); n >= 20 && n <= 5000 {
			w.chars = n
			return w
		}
	}
	for _, unit := range []string{"つ", "点", "項目", "箇条書き", "個", "行", "文で"} {
		if n := numberBefore(text, unit); n >= 1 && n <= 30 {
			w.points = n
			return w
		}
	}
	w.brief = containsAny(text, "短く", "簡潔", "一言", "ひとこと", "手短", "1分", "一分")
	w.full = containsAny(text, "詳しく", "くわしく", "詳細", "長め")
	return w
}

// numberBefore returns the number directly before a word, in digits or kanji up to ten, or 0.
func numberBefore(text, unit string) int {
	for at := 0; ; {
		next := strings.Index(text[at:], unit)
		if next < 0 {
			return 0
		}
		at += next
		head := text[:at]
		digits := head[len(strings.TrimRight(head, "0123456789")):]
		if n, err := strconv.Atoi(digits); err == nil {
			return n
		}
		r, size := utf8.DecodeLastRuneInString(head)
		if i := strings.IndexRune("一二三四五六七八九十", r); i >= 0 && size > 0 {
			return i/3 + 1
		}
		at += len(unit)
	}
}
