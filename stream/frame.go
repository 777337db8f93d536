package stream

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// textPartID is the id of the one text part that an answer has.
const textPartID = "0"

// maxDelta bounds the text in one event that catches a client up, in bytes.
const maxDelta = 16 << 10

var (
	textStartFrame = []byte(`data: {"type":"text-start","id":"` + textPartID + "\"}\n\n")
	textEndFrame   = []byte(`data: {"type":"text-end","id":"` + textPartID + "\"}\n\n")
	doneFrame      = []byte("data: [DONE]\n\n")
	heartbeatFrame = []byte(":\n\n")
)

// Head is what a stream tells first.
type Head struct {
	Run       int
	MessageID string
	Metadata  json.RawMessage // What stands beside the run in the start chunk's messageMetadata: {"name":…}, on one line; nil for nothing.
}

// Outcome says how an answer ended.
type Outcome string

// The ways an answer can end.
const (
	Finished Outcome = "finish" // The model was done.
	Aborted  Outcome = "abort"  // Somebody stopped it.
	Failed   Outcome = "error"  // It could not go on.
)

// End is what a stream tells last.
type End struct {
	Outcome      Outcome
	FinishReason string          // Finished: "stop" or "length".
	Metadata     json.RawMessage // Finished: the finish chunk's messageMetadata, an object, or nil.
	Reason       string          // Aborted: who ended it, "stopped".
	ErrorText    string          // Failed: what a person reads.
	Code         string          // Failed: stable, machine-readable.
	Retryable    bool            // Failed: asking again may help.
}

// isObject reports whether metadata can be spliced into an event as it is: nothing, or one line that is an object with
// members, without space before the first one.
func isObject(metadata json.RawMessage) bool {
	return metadata == nil || (bytes.HasPrefix(metadata, []byte(`{"`)) && isLine(metadata))
}

type abortChunk struct {
	Type   Outcome `json:"type"`
	Reason string  `json:"reason"`
}

type errorChunk struct {
	Type      Outcome `json:"type"`
	ErrorText string  `json:"errorText"`
	Code      string  `json:"code"`
	Retryable bool    `json:"retryable"`
}

type dataChunk struct {
	Type string `json:"type"`
	ID   string `json:"id,omitempty"`
	Data any    `json:"data"`
}

// Source is a source-document chunk with our two extra fields.
type Source struct {
	SourceID  string // Id of the passage.
	MediaType string
	Title     string
	Filename  string
	Index     int // As in "[1]".
	Page      int
}

type sourceChunk struct {
	Type      string `json:"type"`
	SourceID  string `json:"sourceId"`
	MediaType string `json:"mediaType"`
	Title     string `json:"title"`
	Filename  string `json:"filename"`
	Index     int    `json:"index"`
	Page      int    `json:"page"`
}

// appendEvent appends an event whose data is v as JSON, which holds no line break. id is "" for none.
func appendEvent(dst []byte, id string, v any) []byte {
	if id != "" {
		dst = append(append(append(dst, "id: "...), id...), '\n')
	}
	return append(appendJSON(append(dst, "data: "...), v), "\n\n"...)
}

// appendData appends an event whose data is ready made.
func appendData(dst, data []byte) []byte {
	return append(append(append(dst, "data: "...), data...), "\n\n"...)
}

func appendJSON(dst []byte, v any) []byte {
	body, err := json.Marshal(v)
	if err != nil {
		// Only a value that JSON cannot express gets here, which is a defect of the caller.
		panic("stream: " + err.Error())
	}
	return append(dst, body...)
}

// startFrame returns the start event without its id. Every stream has one, and a finish event, as a rule: they are written by
// hand, since encoding/json took longer for them than for all that a short answer says.
func startFrame(head Head) []byte {
	dst := appendEscaped([]byte("data: {\"type\":\"start\",\"messageId\":\""), head.MessageID)
	dst = strconv.AppendInt(append(dst, "\",\"messageMetadata\":{\"run\":"...), int64(head.Run), 10)
	if head.Metadata == nil {
		dst = append(dst, '}')
	} else {
		dst = append(append(dst, ','), head.Metadata[1:]...)
	}
	return append(dst, "}\n\n"...)
}

// appendStart appends the first events of a stream. frame is the startFrame.
func appendStart(dst, frame []byte, run int, at start) []byte {
	dst = append(appendID(dst, Cursor{run, at.offset}), frame...)
	if at.reset {
		dst = appendEvent(dst, "", dataChunk{Type: "data-reset", Data: map[string]int{"run": run}})
	}
	return dst
}

// appendID appends the line that holds an event's id.
func appendID(dst []byte, c Cursor) []byte {
	dst = strconv.AppendInt(append(dst, "id: "...), int64(c.Run), 10)
	dst = strconv.AppendInt(append(dst, '-'), int64(c.Offset), 10)
	return append(dst, '\n')
}

// appendText appends the text from an offset on as few deltas. It splits no character.
func appendText(dst []byte, run int, text []byte, offset int) []byte {
	for offset < len(text) {
		end := min(offset+maxDelta, len(text))
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end--
		}
		dst = appendDelta(dst, run, end, text[offset:end])
		offset = end
	}
	return dst
}

// appendDelta appends one text-delta event. offset is the length of the text once the delta is in.
func appendDelta[T string | []byte](dst []byte, run, offset int, delta T) []byte {
	dst = appendID(dst, Cursor{run, offset})
	dst = append(dst, "data: {\"type\":\"text-delta\",\"id\":\""+textPartID+"\",\"delta\":\""...)
	dst = appendEscaped(dst, delta)
	return append(dst, "\"}\n\n"...)
}

// appendEscaped appends the inside of a JSON string. Its argument is valid UTF-8. Control characters are escaped, line
// breaks among them, so that what is appended stays on one line of the event stream.
func appendEscaped[T string | []byte](dst []byte, s T) []byte {
	const hex = "0123456789abcdef"
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c != 0x7f {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		}
	}
	return append(dst, s[from:]...)
}

// appendEnd appends the terminal event and the end mark.
func appendEnd(dst []byte, at Cursor, end End) []byte {
	switch end.Outcome {
	case Aborted:
		dst = appendEvent(dst, at.String(), abortChunk{Aborted, end.Reason})
	case Failed:
		dst = appendEvent(dst, at.String(), errorChunk{Failed, end.ErrorText, end.Code, end.Retryable})
	default:
		dst = append(appendID(dst, at), "data: {\"type\":\"finish\",\"finishReason\":\""...)
		dst = append(appendEscaped(dst, end.FinishReason), '"')
		if end.Metadata != nil {
			dst = append(append(dst, ",\"messageMetadata\":"...), end.Metadata...)
		}
		dst = append(dst, "}\n\n"...)
	}
	return append(dst, doneFrame...)
}
