package stream

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// textPartID is the id of the one text part that an answer has.
const textPartID = "0"

// maxDelta bounds the text in one event, in bytes, so that a client whose connection breaks every few kilobytes still
// makes progress.
const maxDelta = 4 << 10

var (
	textStartFrame = []byte(`data: {"type":"text-start","id":"` + textPartID + "\"}\n\n")
	textEndFrame   = []byte(`data: {"type":"text-end","id":"` + textPartID + "\"}\n\n")
	doneFrame      = []byte("data: [DONE]\n\n")
)

// Head is what the first event of a stream says.
type Head struct {
	Run       int
	MessageID string
	// Metadata is what stands beside the run in the start chunk's messageMetadata: {"name":…} on one line, or nil.
	Metadata json.RawMessage
}

// Outcome says how an answer ended.
type Outcome string

// The ways an answer can end.
const (
	Finished Outcome = "finish" // The model was done, or reached its limit.
	Aborted  Outcome = "abort"  // Its owner stopped it.
	Failed   Outcome = "error"
)

// End is what the last event of a stream says.
type End struct {
	Outcome      Outcome
	FinishReason string          // Finished: "stop" or "length".
	Metadata     json.RawMessage // Finished: the finish chunk's messageMetadata, an object, or nil.
	Reason       string          // Aborted: "stopped".
	ErrorText    string          // Failed: for a person to read.
	Code         string          // Failed: stable, for programs.
	Retryable    bool            // Failed: asking again may help.
}

// isObject reports whether metadata can be spliced into an event as it is: nil, or an object on one line with at least
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

// dataChunk is a chunk of our own. It is transient: the AI SDK passes it on and does not add it to the message.
type dataChunk struct {
	Type      string `json:"type"`
	ID        string `json:"id,omitempty"`
	Data      any    `json:"data"`
	Transient bool   `json:"transient"`
}

func newDataChunk(kind, id string, data any) dataChunk {
	return dataChunk{Type: "data-" + kind, ID: id, Data: data, Transient: true}
}

// Step is something that the assistant does before it writes.
type Step struct {
	Kind   string `json:"kind"`
	Status string `json:"status"`
	Detail string `json:"detail,omitempty"` // For a person to read.
	Done   int    `json:"done,omitempty"`   // How much of Total is done.
	Total  int    `json:"total,omitempty"`  // 0 if it cannot be counted.
}

// Source is a passage of a document, or a page of the web.
type Source struct {
	SourceID     string // Id of the passage, or the page.
	MediaType    string
	Title        string
	Filename     string
	Index        int // As in "[1]".
	Page         int
	DataSourceID string // Id of the document.
	Locator      string // Where in the document it stands, for a reader.

	// Of a page of the web, which has nothing of the above but id, title and index:
	URL         string
	Site        string
	PublishedOn string // As 2006-01-02; "" if unknown.
}

// proofreadBlock is a block of a text that is proofread.
type proofreadBlock struct {
	Index  int    `json:"index"`
	Offset int    `json:"offset"`
	Text   string `json:"text"`
}

// sourceChunk is a source-document chunk. Index and Page are our own, as is what stands in ProviderMetadata, which is
// all of it that the AI SDK keeps.
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
		// v is a value that JSON cannot express: a programming error.
		panic("stream: " + err.Error())
	}
	return append(dst, body...)
}

// startFrame returns the start event. It and the finish event are encoded by hand: for a short answer, encoding/json
// took longer for the two than for all of its text.
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

// appendStart appends the first events of a stream. frame is the startFrame. It has no id, because a client that is cut
// off after it would hold the id of a new run with the text of the old one: the first id of a run is on its reset, or
// on its first text.
func appendStart(dst, frame []byte, run int, at start) []byte {
	dst = append(dst, frame...)
	if at.reset {
		dst = appendEvent(dst, Cursor{Run: run}, newDataChunk("reset", "", map[string]int{"run": run}))
	}
	return dst
}

// appendID ends the data line of an event and appends its id. The id comes last because some clients take it at its
// line, whether or not they ever see the end of the event.
func appendID(dst []byte, c Cursor) []byte {
	dst = strconv.AppendInt(append(dst, "\nid: "...), int64(c.Run), 10)
	dst = strconv.AppendInt(append(dst, '-'), int64(c.Offset), 10)
	return append(dst, "\n\n"...)
}

// appendText appends the text from an offset as text-delta events of at most maxDelta bytes. It splits no character.
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

// appendEscaped appends the inside of a JSON string. s is valid UTF-8. Control characters are escaped, line breaks
// among them, so that the result stays on one line of the event stream.
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
