package llm

import "bytes"

// reasoningTags enclose the reasoning of models whose servers leave it in the text: DeepSeek's and Qwen's, and Gemini's
// in its layer for OpenAI's clients.
var reasoningTags = []reasoningTag{
	{[]byte("<think>"), []byte("</think>")},
	{[]byte("<thought>"), []byte("</thought>")},
}

type reasoningTag struct{ open, end []byte }

const (
	blanks    = " \t\r\n"
	maxBlanks = 1 << 10 // A text that begins with more is text.
)

// splitter tells the reasoning at the beginning of a text from the answer after it. The text comes in pieces of any
// length: what may be a part of a tag is held until that is known. The zero value is ready for use.
type splitter struct {
	held     []byte
	end      []byte // The tag that ends the reasoning; nil outside of it.
	reasoned bool   // There was reasoning: blanks between it and the answer belong to neither.
	answer   bool   // The answer has begun: all that follows is text.
}

// add takes the next piece, and returns what is known to be reasoning by now, and what is known to be text after it.
// Both are valid until the next call.
func (s *splitter) add(piece []byte) (reasoning, text []byte) {
	if s.answer {
		return nil, piece
	}
	s.held = append(s.held, piece...)
	for {
		if s.end != nil {
			at := bytes.Index(s.held, s.end)
			if at < 0 {
				known := len(s.held) - partOfTag(s.held, s.end)
				reasoning = append(reasoning, s.held[:known]...)
				s.held = s.held[known:]
				return reasoning, nil
			}
			reasoning = append(reasoning, s.held[:at]...)
			s.held, s.end = s.held[at+len(s.end):], nil
		}
		rest := bytes.TrimLeft(s.held, blanks)
		tag, known := openingTag(rest)
		switch {
		case tag.end != nil:
			s.held, s.end, s.reasoned = rest[len(tag.open):], tag.end, true
		case !known && len(s.held) <= maxBlanks:
			return reasoning, nil
		default:
			s.answer = true
			return reasoning, s.undecided()
		}
	}
}

// flush returns what is held when nothing more comes.
func (s *splitter) flush() (reasoning, text []byte) {
	switch {
	case s.answer:
	case s.end != nil:
		reasoning = s.held
	case len(bytes.TrimLeft(s.held, blanks)) > 0:
		text = s.undecided()
	}
	s.answer = true
	return reasoning, text
}

// undecided returns what is held, and turned out to be text.
func (s *splitter) undecided() []byte {
	if s.reasoned {
		return bytes.TrimLeft(s.held, blanks)
	}
	return s.held
}

// openingTag returns the tag that a text begins with, the zero value for none. It reports whether that is known
// already.
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

// partOfTag returns how many bytes at the end of b may be the beginning of a tag.
func partOfTag(b, tag []byte) int {
	for n := min(len(tag)-1, len(b)); n > 0; n-- {
		if bytes.HasSuffix(b, tag[:n]) {
			return n
		}
	}
	return 0
}
