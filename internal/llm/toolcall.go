package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/tidwall/gjson"
)

// Bounds of the calls in one answer of a model.
const (
	maxToolCalls  = 32
	maxArguments  = 256 << 10 // Bytes of the arguments of all calls.
	maxToolName   = 128       // In bytes, as sent by a model.
	maxToolCallID = 256       // In bytes.
	maxExtra      = 64 << 10  // Bytes of a call's Extra.
)

var errToolCalls = errors.New("llm: the calls of tools exceed the limits")

// toolCalls joins the calls of tools, which servers send in pieces. The zero value is ready for use.
//
// A piece belongs to the call of its index. Some servers send index 0 for every call, or none: Ollama and Gemini send
// whole calls, each with another id, or without one. A piece with a name therefore begins a new call if the call of its
// index has another id or name, or if it has no id and the call's arguments are complete.
type toolCalls struct {
	calls    []pendingCall
	size     int  // Bytes of all arguments.
	changed  bool // There are pieces that inputs has not returned.
	reported bool // inputs has returned calls.
}

type pendingCall struct {
	index     int64
	id, name  string
	finalID   string // In the result; "" until it is needed.
	arguments []byte
	joiner    joiner
	extra     json.RawMessage
}

// add adds a piece of a call.
func (t *toolCalls) add(piece gjson.Result) error {
	function := piece.Get("function")
	id, name, arguments := piece.Get("id").Str, function.Get("name").Str, function.Get("arguments")
	if len(id) > maxToolCallID || len(name) > maxToolName {
		return errToolCalls
	}
	call := t.find(piece.Get("index").Int(), id, name)
	if call == nil {
		if len(t.calls) == maxToolCalls {
			return errToolCalls
		}
		t.calls = append(t.calls, pendingCall{index: piece.Get("index").Int()})
		call = &t.calls[len(t.calls)-1]
	}
	if id != "" {
		call.id = id
	}
	if name != "" {
		call.name = name
	}
	before := len(call.arguments)
	switch {
	case arguments.Type == gjson.String:
		call.arguments = call.joiner.add(call.arguments, arguments.Raw)
	case arguments.IsObject(): // Some servers send the object itself instead of its JSON text.
		call.arguments = append(call.arguments, arguments.Raw...)
	}
	if extra := piece.Get("extra_content"); extra.IsObject() && len(extra.Raw) <= maxExtra {
		call.extra = json.RawMessage(extra.Raw)
	}
	if t.size += len(call.arguments) - before; t.size > maxArguments {
		return errToolCalls
	}
	t.changed = true
	return nil
}

// inputs returns the calls so far whose names are known.
func (t *toolCalls) inputs() []ToolInput {
	t.changed, t.reported = false, true
	list := make([]ToolInput, 0, len(t.calls))
	for i := range t.calls {
		if call := &t.calls[i]; call.name != "" {
			list = append(list, ToolInput{ID: t.idOf(call), Name: call.name, Arguments: call.arguments})
		}
	}
	return list
}

// idOf returns the id of a call in the result: the server's, unless it is missing or another call has it.
func (t *toolCalls) idOf(call *pendingCall) string {
	if call.finalID == "" {
		id := call.id
		if id == "" || slices.ContainsFunc(t.calls, func(other pendingCall) bool { return other.finalID == id }) {
			id = NewCallID()
		}
		call.finalID = id
	}
	return call.finalID
}

// find returns the call of a piece, or nil if the piece begins a new call.
func (t *toolCalls) find(index int64, id, name string) *pendingCall {
	for i := range slices.Backward(t.calls) {
		call := &t.calls[i]
		switch {
		case call.index != index:
			continue
		case id != "" && call.id != "" && id != call.id:
			if name != "" {
				return nil
			}
		case name != "" && call.name != "" && (name != call.name || id == "" && json.Valid(call.arguments)):
			return nil
		}
		return call
	}
	return nil
}

// end returns the complete calls. Those without a usable id get a new one. A call whose arguments were cut off is
// dropped.
func (t *toolCalls) end(cut bool) []ToolCall {
	var calls []ToolCall
	for i := range t.calls {
		pending := &t.calls[i]
		arguments := cmp.Or(string(bytes.TrimSpace(pending.joiner.flush(pending.arguments))), "{}")
		if pending.name == "" || cut && !json.Valid([]byte(arguments)) {
			continue
		}
		calls = append(calls, ToolCall{
			ID: t.idOf(pending), Name: pending.name, Arguments: arguments, Extra: pending.extra,
		})
	}
	return calls
}

// NewCallID returns an id for a call that every provider accepts: Mistral accepts nine letters and digits only.
func NewCallID() string {
	return strings.ReplaceAll(uuid.NewString(), "-", "")[:9]
}

// endCalls sets the calls and the finish reason of a complete answer. Some servers report a stop for an answer that
// calls tools.
func (a *answer) endCalls(finish FinishReason) {
	calls := a.calls.end(finish == FinishLength)
	if len(calls) == 0 {
		calls = a.textCalls.calls
	}
	if len(a.run.req.Tools) == 0 || finish == FinishLength { // Without tools, calls are a mistake of the model.
		calls = nil
	}
	switch {
	case len(calls) > 0:
		finish = FinishTools
	case finish == FinishTools:
		finish = FinishStop
	}
	a.result.FinishReason, a.result.ToolCalls = finish, calls
	for _, call := range calls {
		a.tokens.add(call.Name)
		a.tokens.add(call.Arguments)
	}
}

// textCalls finds calls that a model writes into its text, because its server does not recognize them. These are the
// forms of Hermes and Qwen (<tool_call>{…}</tool_call>), Mistral ([TOOL_CALLS][{…}]) and Llama (a JSON object with
// the name of a tool, as the whole text). Text that is not a call is passed on unchanged, later.
type textCalls struct {
	tools []Tool
	calls []ToolCall
	held  []byte // Text that may belong to a call.
	begun bool   // There was text or a call before held.
	after bool   // held follows a call: blanks are dropped.
	size  int    // Bytes of the arguments of all calls.
}

var (
	callOpen    = []byte("<tool_call>")
	callEnd     = []byte("</tool_call>")
	mistralCall = []byte("[TOOL_CALLS]")
)

// add adds the next piece of the text. It returns the text that does not belong to a call, valid until the next call.
func (c *textCalls) add(piece []byte) (text []byte) {
	c.held = append(c.held, piece...)
	for {
		if c.after {
			c.held = bytes.TrimLeft(c.held, blanks)
		}
		switch at := bytes.Index(c.held, callOpen); {
		case len(c.held) > maxArguments:
			return append(text, c.release(len(c.held))...)
		case at >= 0:
			text = append(text, c.release(at)...)
			end := bytes.Index(c.held, callEnd)
			if end < 0 {
				return text
			}
			whole := c.held[:end+len(callEnd)]
			if c.after = c.parse(c.held[len(callOpen):end]); !c.after {
				text = append(text, whole...)
			}
			c.held, c.begun = c.held[len(whole):], true
		case c.wholeText():
			return text
		default:
			held := max(partOfTag(c.held, callOpen), partOfTag(c.held, mistralCall))
			return append(text, c.release(len(c.held)-held)...)
		}
	}
}

// wholeText reports whether the text may be a call as a whole.
func (c *textCalls) wholeText() bool {
	if c.begun {
		return false
	}
	start := bytes.TrimLeft(c.held, blanks)
	return len(start) == 0 || start[0] == '{' || bytes.HasPrefix(start, mistralCall) || bytes.HasPrefix(mistralCall, start)
}

// release removes n held bytes, which do not belong to a call, and returns them.
func (c *textCalls) release(n int) []byte {
	released := c.held[:n]
	c.held = c.held[n:]
	c.after = c.after && n == 0
	c.begun = c.begun || len(bytes.TrimLeft(released, blanks)) > 0
	return released
}

// flush decides what the held text is at the end of the answer, and returns it unless it is a call.
func (c *textCalls) flush() []byte {
	held := c.held
	c.held = nil
	text := bytes.TrimSpace(held)
	list, isList := bytes.CutPrefix(text, mistralCall)
	var calls []json.RawMessage
	switch {
	case isList:
		if json.Unmarshal(list, &calls) != nil {
			return held
		}
	case c.begun && !bytes.HasPrefix(text, callOpen):
		return held
	default:
		calls = []json.RawMessage{bytes.TrimPrefix(text, callOpen)}
	}
	before := c.calls
	for _, call := range calls {
		if !c.parse(call) {
			c.calls = before // The whole list is text.
			return held
		}
	}
	return nil
}

// parse adds a call if the JSON is a call of one of the tools.
func (c *textCalls) parse(data []byte) bool {
	call := gjson.ParseBytes(data)
	name, arguments := call.Get("name").Str, call.Get("arguments")
	if !arguments.Exists() {
		arguments = call.Get("parameters") // Llama.
	}
	if !json.Valid(data) || len(c.calls) == maxToolCalls ||
		!slices.ContainsFunc(c.tools, func(t Tool) bool { return t.Name == name }) {
		return false
	}
	if c.size += len(arguments.Raw); c.size > maxArguments {
		return false
	}
	// String returns the JSON of an object, and the content of a string, which is the JSON text of the arguments.
	c.calls = append(c.calls, ToolCall{ID: NewCallID(), Name: name, Arguments: cmp.Or(arguments.String(), "{}")})
	return true
}
