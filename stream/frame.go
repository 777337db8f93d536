package stream

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"
)

// textPartID is the id of an answer's only text part.
const textPartID = "0"

// maxDelta bounds the text in one event, in bytes, so that a client whose connection breaks every few kilobytes makes
// progress.
const maxDelta = 4 << 10

var (
	textStartFrame = []byte(`data: {"type":"text-start","id":"` + textPartID + "\"}\n\n")
	textEndFrame   = []byte(`data: {"type":"text-end","id":"` + textPartID + "\"}\n\n")
	doneFrame      = []byte("data: [DONE]\n\n")
)

// Head is the content of the first event of a stream.
type Head struct {
	Run       int
	MessageID string
	// Metadata is the further content of the start chunk's messageMetadata: {"name":…} on one line, or nil.
	Metadata json.RawMessage

	// Continued holds the ends of the texts of earlier runs that this run continues: up to there, the text of such a run
	// is the beginning of this one. It is nil if the answer was restarted.
	Continued []Cursor
}

// Accepts reports whether the text before a cursor is the beginning of this run's text.
func (h Head) Accepts(c Cursor) bool {
	return c.Run == h.Run || slices.ContainsFunc(h.Continued, func(end Cursor) bool {
		return c.Run == end.Run && c.Offset <= end.Offset
	})
}

// Continue returns the Continued of a later run whose text begins with the first length bytes of this run's text.
func (h Head) Continue(length int) []Cursor {
	if length == 0 {
		return nil
	}
	continued := make([]Cursor, 0, len(h.Continued)+1)
	for _, end := range h.Continued {
		continued = append(continued, Cursor{end.Run, min(end.Offset, length)})
	}
	return append(continued, Cursor{h.Run, length})
}

// Outcome is the way in which an answer ended.
type Outcome string

// The ways an answer can end.
const (
	Finished Outcome = "finish" // The model finished, or reached its limit.
	Aborted  Outcome = "abort"  // Its owner stopped it.
	Failed   Outcome = "error"
)

// End is the content of the last event of a stream.
type End struct {
	Outcome      Outcome
	FinishReason string          // For Finished: "stop" or "length".
	Metadata     json.RawMessage // For Finished: the finish chunk's messageMetadata, an object, or nil.
	Reason       string          // For Aborted: "stopped".
	ErrorText    string          // For Failed: a text for people.
	Code         string          // For Failed: a stable code for programs.
	Retryable    bool            // For Failed: a retry may help.
}

// isObject reports whether metadata can be copied into an event unchanged: nil, or an object on one line with at least
// one member and no space before it.
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

// dataChunk is a chunk of this product. It is transient: the AI SDK delivers it and does not add it to the message.
type dataChunk struct {
	Type      string `json:"type"`
	ID        string `json:"id,omitempty"`
	Data      any    `json:"data"`
	Transient bool   `json:"transient"`
}

func newDataChunk(kind, id string, data any) dataChunk {
	return dataChunk{Type: "data-" + kind, ID: id, Data: data, Transient: true}
}

// Step is an action of the assistant before it writes.
type Step struct {
	Kind   string `json:"kind"`
	Status string `json:"status"`
	Detail string `json:"detail,omitempty"` // For people.
	Done   int    `json:"done,omitempty"`   // Finished part of Total.
	Total  int    `json:"total,omitempty"`  // 0 if it cannot be counted.
}

// Source is a passage of a document, or a page of the web.
type Source struct {
	SourceID     string // Id of the passage, or the page.
	MediaType    string
	Title        string
	Filename     string
	Index        int // The number in "[1]".
	Page         int
	DataSourceID string // Id of the document.
	Locator      string // The location in the document, for people.

	// For a page of the web, which has only id, title and index of the fields above.
	URL         string
	Site        string
	PublishedOn string // In the form 2006-01-02; "" if unknown.
}

// proofreadBlock is a block of the proofread text.
type proofreadBlock struct {
	Index  int    `json:"index"`
	Offset int    `json:"offset"`
	Text   string `json:"text"`
}

// sourceChunk is a source-document chunk. Index, Page and ProviderMetadata are extensions. The AI SDK keeps only
// ProviderMetadata of them.
type sourceChunk struct {
	Type             string         `json:"type"`
	SourceID         string         `json:"sourceId"`
	MediaType        string         `json:"mediaType"`
	Title            string         `json:"title"`
	Filename         string         `json:"filename"`
	Index            int            `json:"index"`
	Page             int            `json:"page"`
	ProviderMetadata sourceMetadata `json:"providerMetadata"`
}

type sourceMetadata struct {
	Tsumugi sourcePlace `json:"tsumugi"`
}

// pageChunk is a source-url chunk, with Index and ProviderMetadata as in a sourceChunk.
type pageChunk struct {
	Type             string       `json:"type"`
	SourceID         string       `json:"sourceId"`
	URL              string       `json:"url"`
	Title            string       `json:"title"`
	Index            int          `json:"index"`
	ProviderMetadata pageMetadata `json:"providerMetadata"`
}

type pageMetadata struct {
	Tsumugi pagePlace `json:"tsumugi"`
}

type pagePlace struct {
	Index       int    `json:"index"`
	Site        string `json:"site,omitempty"`
	PublishedOn string `json:"published_on,omitempty"`
}

type sourcePlace struct {
	Index        int    `json:"index"`
	Page         int    `json:"page"`
	DataSourceID string `json:"data_source_id"`
	Locator      string `json:"locator,omitempty"`
}

func newSourceChunk(s Source) any {
	if s.URL != "" {
		return pageChunk{
			Type: "source-url", SourceID: s.SourceID, URL: s.URL, Title: s.Title, Index: s.Index,
			ProviderMetadata: pageMetadata{pagePlace{s.Index, s.Site, s.PublishedOn}},
		}
	}
	return sourceChunk{
		Type: "source-document", SourceID: s.SourceID, MediaType: s.MediaType, Title: s.Title, Filename: s.Filename,
		Index: s.Index, Page: s.Page,
		ProviderMetadata: sourceMetadata{sourcePlace{s.Index, s.Page, s.DataSourceID, s.Locator}},
	}
}

// appendEvent appends an event whose data is v as JSON.
func appendEvent(dst []byte, at Cursor, v any) []byte {
	return appendID(appendJSON(append(dst, "data: "...), v), at)
}

// appendData appends an event whose data is already encoded.
func appendData(dst, data []byte) []byte {
	return append(append(append(dst, "data: "...), data...), "\n\n"...)
}

func appendJSON(dst []byte, v any) []byte {
	body, err := json.Marshal(v)
	if err != nil {
		// v is a value that JSON cannot express, which is a programming error.
		panic("stream: " + err.Error())
	}
	return append(dst, body...)
}

// startFrame returns the start event. It and the finish event are encoded without encoding/json, because for a short
// answer that took longer for the two events than for all of its text.
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

// appendStart appends the first events of a stream. frame is the result of startFrame. The start event has no id: a
// client whose connection breaks after it would combine the id of a new run with the text of the old one. The first id
// of a run is on its reset, or on its first text.
func appendStart(dst, frame []byte, run int, at start) []byte {
	dst = append(dst, frame...)
	if at.reset {
		dst = appendEvent(dst, Cursor{Run: run}, newDataChunk("reset", "", map[string]int{"run": run}))
	}
	return dst
}

// appendID ends the data line of an event and appends its id. The id is last because some clients adopt it at its line,
// even if they do not receive the end of the event.
func appendID(dst []byte, c Cursor) []byte {
	dst = strconv.AppendInt(append(dst, "\nid: "...), int64(c.Run), 10)
	dst = strconv.AppendInt(append(dst, '-'), int64(c.Offset), 10)
	return append(dst, "\n\n"...)
}

// appendText appends the text from an offset as text-delta events of at most maxDelta bytes. It does not split a
// character.
func appendText(dst []byte, run int, text []byte, offset int) []byte {
	for offset < len(text) {
		end := min(offset+maxDelta, len(text))
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end--
		}
		dst = append(dst, "data: {\"type\":\"text-delta\",\"id\":\""+textPartID+"\",\"delta\":\""...)
		dst = appendID(append(appendEscaped(dst, text[offset:end]), "\"}"...), Cursor{run, end})
		offset = end
	}
	return dst
}

// appendEscaped appends the content of a JSON string. s is valid UTF-8. It escapes control characters, including line
// breaks, so that the result is a single line of the event stream.
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
		dst = appendEvent(dst, at, abortChunk{Aborted, end.Reason})
	case Failed:
		dst = appendEvent(dst, at, errorChunk{Failed, end.ErrorText, end.Code, end.Retryable})
	default:
		dst = append(dst, "data: {\"type\":\"finish\",\"finishReason\":\""...)
		dst = append(appendEscaped(dst, end.FinishReason), '"')
		if end.Metadata != nil {
			dst = append(append(dst, ",\"messageMetadata\":"...), end.Metadata...)
		}
		dst = appendID(append(dst, '}'), at)
	}
	return append(dst, doneFrame...)
}
