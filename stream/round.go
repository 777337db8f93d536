package stream

import (
	"strconv"
	"strings"
)

// A round is a request to the model and the resulting calls of tools. The AI SDK calls it a step. Answers without tools
// have no rounds. In the AI SDK a text part ends with its step, so each round has its own text part. A client that
// connects later receives all rounds before the text.

// The prefixes of the keys of a round's parts.
const (
	roundStart = "round "
	roundEnd   = "round-end "
)

// roundChunk is a start-step or finish-step chunk. Step is an extension: clients detect repeated chunks by it.
type roundChunk struct {
	Type string `json:"type"`
	Step int    `json:"step"`
}

// PutRound publishes the beginning of a round, and the end of the previous one. Rounds are numbered from 0. While the
// model's reasoning continues, which is one part, no round begins.
func (t *Text) PutRound(number int) {
	t.mu.Lock()
	defer t.unlock()
	if t.over() || t.round == number+1 || t.reasoning != nil && !t.reasoning.over {
		return
	}
	if t.round > 0 {
		last := t.round - 1
		t.putPart(Part{
			t.partSeq + 1, roundEnd + strconv.Itoa(last), appendJSON(nil, roundChunk{"finish-step", last}),
		})
	}
	t.putPart(Part{t.partSeq + 1, roundStart + strconv.Itoa(number), appendJSON(nil, roundChunk{"start-step", number})})
}

// beginPart appends the events before a part: the end of a round ends its text part. It notes the round. The caller
// holds mu.
func (t *Text) beginPart(b []byte, p Part) []byte {
	if number, ok := strings.CutPrefix(p.Key, roundStart); ok {
		if n, err := strconv.Atoi(number); err == nil {
			t.round = n + 1
		}
	}
	if len(t.inputs) > 0 {
		b = t.endInputs(b, p.Key)
	}
	if t.open && strings.HasPrefix(p.Key, roundEnd) {
		t.open = false
		b = append(b, textEndFrame...)
	}
	return b
}

// appendRoundEnd appends the end of the last round, if there is one. round is its number plus 1.
func appendRoundEnd(b []byte, round int) []byte {
	if round == 0 {
		return b
	}
	return appendData(b, appendJSON(nil, roundChunk{"finish-step", round - 1}))
}
