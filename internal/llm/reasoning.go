package llm

import "bytes"

// reasoningTags enclose reasoning in the text: DeepSeek's and Qwen's, and Gemini's in its OpenAI compatibility layer.
var reasoningTags = []reasoningTag{
	{[]byte("<think>"), []byte("</think>")},
	{[]byte("<thought>"), []byte("</thought>")},
}

type reasoningTag struct{ open, end []byte }

const (
	blanks    = " \t\r\n"
	maxBlanks = 1 << 10 // A text that begins with more blanks has no tag.
)

// splitter separates reasoning at the beginning of a text from the answer after it. Pieces may have any length: the
// splitter holds a possible part of a tag until the next piece. The zero value is ready for use.
type splitter struct {
	pending      []byte
	end          []byte // The tag that ends the reasoning; nil outside of it.
	hasReasoning bool   // There was reasoning: blanks between it and the answer are dropped.
	answer       bool   // The answer has begun: everything that follows is text.
}

// add adds the next piece. It returns the new reasoning and the new text, both valid until the next call.
func (s *splitter) add(piece []byte) (reasoning, text []byte) {
	if s.answer {
		return nil, piece
	}
	s.pending = append(s.pending, piece...)
	for {
		if s.end != nil {
			at := bytes.Index(s.pending, s.end)
			if at < 0 {
				known := len(s.pending) - partOfTag(s.pending, s.end)
				reasoning = append(reasoning, s.pending[:known]...)
				s.pending = s.pending[known:]
				return reasoning, nil
			}
			reasoning = append(reasoning, s.pending[:at]...)
			s.pending, s.end = s.pending[at+len(s.end):], nil
		}
		rest := bytes.TrimLeft(s.pending, blanks)
		tag, known := openingTag(rest)
		switch {
		case tag.end != nil:
			s.pending, s.end, s.hasReasoning = rest[len(tag.open):], tag.end, true
		case !known && len(s.pending) <= maxBlanks:
			return reasoning, nil
		default:
			s.answer = true
			return reasoning, s.undecided()
		}
	}
}

// flush returns the held bytes at the end of the stream.
func (s *splitter) flush() (reasoning, text []byte) {
	switch {
	case s.answer:
	case s.end != nil:
		reasoning = s.pending
	case len(bytes.TrimLeft(s.pending, blanks)) > 0:
		text = s.undecided()
	}
	s.answer = true
	return reasoning, text
}

// undecided returns the held bytes as text.
func (s *splitter) undecided() []byte {
	if s.hasReasoning {
		return bytes.TrimLeft(s.pending, blanks)
	}
	return s.pending
}

// openingTag returns the tag at the beginning of a text, or the zero value. known is false if more text is required to
// decide.
func openingTag(text []byte) (tag reasoningTag, known bool) {
	known = true
	for _, tag := range reasoningTags {
		if bytes.HasPrefix(text, tag.open) {
			return tag, true
		}
		known = known && !bytes.HasPrefix(tag.open, text)
	}
	return reasoningTag{}, known
}

// partOfTag returns the number of bytes at the end of b that may be the beginning of a tag.
func partOfTag(b, tag []byte) int {
	for n := min(len(tag)-1, len(b)); n > 0; n-- {
		if bytes.HasSuffix(b, tag[:n]) {
			return n
		}
	}
	return 0
}
