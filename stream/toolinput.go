package stream

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// maxToolInput bounds the published arguments of an unfinished call, in bytes. The call itself has all of them.
const maxToolInput = 16 << 10

// ToolInput is a call of a tool whose arguments the model is writing.
type ToolInput struct {
	ID        string // That of the later ToolCall.
	Name      string
	Title     string // The tool's name for people.
	Arguments []byte // The arguments so far. PutToolInputs does not retain the slice.
}

// toolInput is the published part of a ToolInput. Cursors do not count it, it has no position, and other servers do not
// receive it. Every client that connects receives it from its start, so a client discards the arguments of a call at its
// start event.
type toolInput struct {
	id, name  string
	quotedID  []byte // The id as JSON.
	start     []byte // The start event.
	arguments []byte // Only appended to: a slice of it stays valid.
	read      int    // Bytes of the ToolInput's arguments that were published.
}

// PutToolInputs publishes the progress of the calls that the model is writing. calls holds all of them: published calls
// that it lacks are withdrawn. PutToolCall completes a call. The end of the round, or of the text, withdraws the others.
func (t *Text) PutToolInputs(calls []ToolInput) {
	t.mu.Lock()
	defer t.unlock()
	if t.over() {
		return
	}
	b := t.withdrawInputs(t.log.room(), func(in toolInput) bool {
		return !slices.ContainsFunc(calls, func(c ToolInput) bool { return c.ID == in.id && c.Name == in.name })
	})
	for _, call := range calls {
		b = t.appendInput(b, call)
	}
	if len(b) > 0 {
		t.publish(b)
	}
}

// appendInput appends the events of the new arguments of a call, unless the call is complete. The caller holds mu.
func (t *Text) appendInput(b []byte, call ToolInput) []byte {
	i := slices.IndexFunc(t.inputs, func(in toolInput) bool { return in.id == call.ID })
	if i < 0 {
		if slices.ContainsFunc(t.parts, func(p Part) bool { return p.Key == toolPart+call.ID }) {
			return b
		}
		i = len(t.inputs)
		t.inputs = append(t.inputs, toolInput{
			id: call.ID, name: call.Name, quotedID: appendJSON(nil, call.ID), start: appendChunk(nil, toolChunk{
				Type: "tool-input-start", ToolCallID: call.ID, ToolName: call.Name, Title: call.Title,
				ProviderExecuted: true, Dynamic: true, ProviderMetadata: toolPlace{"tsumugi": {"offset": len(t.text)}},
			}),
		})
		b = append(b, t.inputs[i].start...)
	}
	in := &t.inputs[i]
	to := wholeRunes(call.Arguments, maxToolInput)
	if to <= in.read {
		return b
	}
	from := len(in.arguments)
	in.arguments = append(in.arguments, bytes.ToValidUTF8(call.Arguments[in.read:to], []byte("\uFFFD"))...)
	in.read = to
	return in.appendArguments(b, from)
}

// endInputs appends the events before a part with the key: the end of a round withdraws its unfinished calls, and a
// complete call is no longer unfinished. The caller holds mu.
func (t *Text) endInputs(b []byte, key string) []byte {
	if id, ok := strings.CutPrefix(key, toolPart); ok {
		t.inputs = slices.DeleteFunc(t.inputs, func(in toolInput) bool { return in.id == id })
	}
	if strings.HasPrefix(key, roundEnd) {
		b = t.withdrawInputs(b, func(toolInput) bool { return true })
	}
	return b
}

// withdrawInputs withdraws the unfinished calls that match. The caller holds mu.
func (t *Text) withdrawInputs(b []byte, match func(toolInput) bool) []byte {
	if !slices.ContainsFunc(t.inputs, match) {
		return b
	}
	var rest []toolInput
	for _, in := range t.inputs {
		if !match(in) {
			rest = append(rest, in)
			continue
		}
		b = appendChunk(b, toolChunk{
			Type: "tool-input-error", ToolCallID: in.id, ToolName: in.name, Input: json.RawMessage(`""`),
			ErrorText: "ツールは呼び出されませんでした。", ProviderExecuted: true, Dynamic: true,
		})
	}
	t.inputs = rest
	return b
}

// appendChunk appends an event without an id.
func appendChunk(b []byte, chunk any) []byte { return appendData(b, appendJSON(nil, chunk)) }

// appendWhole appends the events of an unfinished call from its start.
func (in toolInput) appendWhole(b []byte) []byte {
	return in.appendArguments(append(b, in.start...), 0)
}

// appendArguments appends the arguments from an offset as tool-input-delta events. It does not split a character.
func (in toolInput) appendArguments(b []byte, offset int) []byte {
	for offset < len(in.arguments) {
		end := wholeRunes(in.arguments, offset+maxDelta)
		b = append(append(b, `data: {"type":"tool-input-delta","toolCallId":`...), in.quotedID...)
		b = append(appendEscaped(append(b, `,"inputTextDelta":"`...), in.arguments[offset:end]), "\"}\n\n"...)
		offset = end
	}
	return b
}
