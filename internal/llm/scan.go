package llm

// scanChunk reads the chunks that an answer consists of, one choice with a piece of text nearly all of them, then its end and
// the usage, without building anything: a twentieth of what encoding/json takes. It reports false for whatever else it meets,
// be that a shape, a member, an escape or a mistake it does not know, and c is of no use then: what it accepts, it reads as
// encoding/json would. previous is the model's name in the chunk before, which is not made anew if it is the same. at is where
// the text's literal stands in data, if there is one.
func scanChunk(data []byte, c *chunk, previous string) (at int, known bool) {
	s := scanner{data: data}
	choices := false
	ok := s.object(func(key []byte) bool {
		switch string(key) {
		case "model":
			name, plain := s.plainString()
			if !plain || c.model != "" {
				return false
			}
			if c.model = previous; string(name) != previous {
				c.model = string(name)
			}
			return true
		case "object":
			kind, plain := s.plainString()
			return plain && string(kind) != "error"
		case "choices":
			if choices {
				return false
			}
			choices = true
			return s.take('[') && (s.take(']') || s.choice(c) && s.take(']'))
		case "usage":
			return c.usage == nil && (s.null() || s.usage(c))
		case "error":
			return s.null()
		}
		return s.scalar()
	})
	said := c.content != nil || c.finish != "" || c.usage != nil
	return s.content, ok && choices && said && s.at == len(s.data)
}

// scanner is a position in a chunk's JSON. Every method reports whether it found what it is named after, and stands
// behind it then.
type scanner struct {
	data    []byte
	at      int
	content int // Where the text's literal was found.
}

// choice reads a choice, with text in it, or none at its end.
func (s *scanner) choice(c *chunk) bool {
	delta := false
	return s.object(func(key []byte) bool {
		switch string(key) {
		case "index":
			return s.take('0')
		case "delta":
			if delta {
				return false
			}
			delta = true
			return s.object(func(key []byte) bool {
				switch string(key) {
				case "content":
					from := s.at
					if c.content != nil || !s.string() || s.at-from <= len(`""`) {
						return false
					}
					c.content, s.content = s.data[from:s.at], from
					return true
				case "refusal", "reasoning", "reasoning_content":
					return s.null()
				}
				return s.scalar()
			})
		case "finish_reason":
			return c.finish == "" && (s.null() || s.finish(c))
		case "message":
			return s.null()
		}
		return s.scalar()
	})
}

func (s *scanner) finish(c *chunk) bool {
	reason, plain := s.plainString()
	c.finish = string(reason)
	return plain
}

// usage reads an account of whole numbers, and objects of them that tell more.
func (s *scanner) usage(c *chunk) bool {
	c.usage = &Usage{}
	return s.object(func(key []byte) bool {
		switch string(key) {
		case "prompt_tokens":
			return s.number(&c.usage.InputTokens)
		case "completion_tokens":
			return s.number(&c.usage.OutputTokens)
		}
		if s.at < len(s.data) && s.data[s.at] == '{' {
			return s.object(func([]byte) bool { return s.scalar() })
		}
		return s.scalar()
	})
}

// number reads an integer from 0 of at most nine digits.
func (s *scanner) number(n *int) bool {
	from := s.at
	if !s.scalar() || s.at-from > 9 {
		return false
	}
	*n = 0
	for _, c := range s.data[from:s.at] {
		if c < '0' || c > '9' {
			return false
		}
		*n = *n*10 + int(c-'0')
	}
	return true
}

// object reads an object and calls member before each value, which member reads. Names that encoding/json might take for
// another one, since it does not tell capitals from small letters, are refused.
func (s *scanner) object(member func(key []byte) bool) bool {
	if !s.take('{') {
		return false
	}
	if s.take('}') {
		return true
	}
	for {
		key, ok := s.plainString()
		if !ok || !small(key) || !s.take(':') {
			return false
		}
		s.space()
		if !member(key) {
			return false
		}
		if s.take('}') {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
}

func small(key []byte) bool {
	for _, c := range key {
		if (c < 'a' || c > 'z') && c != '_' {
			return false
		}
	}
	return true
}

func (s *scanner) space() {
	for s.at < len(s.data) && s.data[s.at] == ' ' {
		s.at++
	}
}

// take reads one byte that stands there, after spaces.
func (s *scanner) take(c byte) bool {
	s.space()
	if s.at < len(s.data) && s.data[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *scanner) literal(word string) bool {
	if len(s.data)-s.at >= len(word) && string(s.data[s.at:s.at+len(word)]) == word {
		s.at += len(word)
		return true
	}
	return false
}

func (s *scanner) null() bool { return s.literal("null") }

// scalar reads a value that has no parts: a string, an integer from 0, or a word.
func (s *scanner) scalar() bool {
	if s.at == len(s.data) {
		return false
	}
	switch c := s.data[s.at]; {
	case c == '"':
		return s.string()
	case c >= '1' && c <= '9':
		for s.at < len(s.data) && s.data[s.at] >= '0' && s.data[s.at] <= '9' {
			s.at++
		}
		return true
	case c == '0':
		s.at++
		return true
	}
	return s.null() || s.literal("true") || s.literal("false")
}

// plainString reads a string without escapes that is ASCII, and returns its inside.
func (s *scanner) plainString() ([]byte, bool) {
	if !s.take('"') {
		return nil, false
	}
	from := s.at
	for ; s.at < len(s.data); s.at++ {
		switch c := s.data[s.at]; {
		case c == '"':
			s.at++
			return s.data[from : s.at-1], true
		case c < ' ' || c >= 0x80 || c == '\\':
			return nil, false
		}
	}
	return nil, false
}

// string reads any string.
func (s *scanner) string() bool {
	if s.at == len(s.data) || s.data[s.at] != '"' {
		return false
	}
	for s.at++; s.at < len(s.data); s.at++ {
		switch c := s.data[s.at]; {
		case c == '"':
			s.at++
			return true
		case c < ' ':
			return false
		case c == '\\':
			if s.at++; !s.escape() {
				return false
			}
		}
	}
	return false
}

// escape reads what stands behind a backslash, up to its last byte.
func (s *scanner) escape() bool {
	if s.at == len(s.data) {
		return false
	}
	switch s.data[s.at] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		for range 4 {
			s.at++
			if s.at == len(s.data) || !isHex(s.data[s.at]) {
				return false
			}
		}
		return true
	}
	return false
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
