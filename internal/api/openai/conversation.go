package openai

import (
	"strings"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/picture"
)

// conversation collects the messages of a request: the instructions, and turns. A question is one or more messages of
// the user, and an answer is one or more messages of the assistant with the results of its calls of tools.
type conversation struct {
	o            object // The request.
	list         string // The parameter with the messages.
	instructions []string
	turns        []Turn
	size         int // Bytes of all texts.
	pictures     int

	rounds  int             // Of the last turn.
	waiting map[string]bool // The calls of the last round without a result, by id.
	caller  string          // The parameter of these calls.
}

// addMessage adds a message of the user or the assistant, or appends it to the last turn if both have the same author,
// because questions and answers must alternate in a thread.
func (c *conversation) addMessage(role chat.Role, text string, pictures []Picture, param string) {
	c.endRound()
	c.size, c.pictures = c.size+len(text), c.pictures+len(pictures)
	last := len(c.turns) - 1
	if last < 0 || c.turns[last].Role != role {
		c.turns = append(c.turns, Turn{chat.EarlierMessage{Role: role, Content: text}, pictures, param})
		c.rounds = 0
		return
	}
	turn := &c.turns[last]
	if turn.Content != "" && text != "" {
		turn.Content += "\n\n"
	}
	turn.Content += text
	turn.param, turn.Pictures = param, append(turn.Pictures, pictures...)
}

// addInstructions adds a text to the instructions.
func (c *conversation) addInstructions(text string) {
	c.size += len(text)
	if text != "" {
		c.instructions = append(c.instructions, text)
	}
}

// endRound requires that the calls of the last round have results.
func (c *conversation) endRound() {
	if len(c.waiting) > 0 && *c.o.wrong == nil {
		*c.o.wrong = refuseParam(InvalidValue, c.caller, "ツールの呼び出しの直後に、すべての結果を指定してください。")
	}
}

// beginRound begins a round of calls of the last turn, which is an answer.
func (c *conversation) beginRound(param string) {
	c.rounds, c.waiting, c.caller = c.rounds+1, make(map[string]bool), param
}

// addCall adds a call to the last round. o is the call, name its member with the id, and function its part with the name
// and the arguments.
func (c *conversation) addCall(o object, name string, function object) {
	call := chat.ToolCall{State: chat.ToolDone}
	call.ID, call.Name, call.Arguments = need[string](o, name), function.takeName(), need[string](function, "arguments")
	call.Extra = o.takeRaw("extra_content")
	switch {
	case call.ID == "" || len(call.ID) > maxCallID:
		o.fail(name, InvalidValue, "1バイト以上%dバイト以内で指定してください。", maxCallID)
	case c.waiting[call.ID]:
		o.fail(name, InvalidValue, "同じIDの呼び出しがあります。")
	}
	c.waiting[call.ID] = true
	c.size += len(call.Name) + len(call.Arguments) + len(call.Extra)
	turn := &c.turns[len(c.turns)-1]
	call.Title, call.Offset, call.Round = call.Name, len(turn.Content), c.rounds-1
	turn.ToolCalls = append(turn.ToolCalls, call)
}

// addResult sets the result of a call of the last round. o is the result, and name its member with the call's id.
func (c *conversation) addResult(o object, name, id, result string) {
	if !c.waiting[id] {
		o.fail(name, InvalidValue, "直前の呼び出しのうち、結果がまだないもののIDを指定してください。")
		return
	}
	delete(c.waiting, id)
	c.size += len(result)
	calls := c.turns[len(c.turns)-1].ToolCalls
	for i := range calls {
		if calls[i].ID == id && calls[i].Round == c.rounds-1 {
			calls[i].Result = result
		}
	}
}

// end sets the turns of the request, its instructions and, if the results of calls come last, its rounds.
func (c *conversation) end(req *Request) {
	if *c.o.wrong != nil {
		return
	}
	c.endRound()
	if last := len(c.turns) - 1; last > 0 && c.turns[last].Role == chat.RoleAssistant {
		rounds, rest := chat.Rounds(c.turns[last].Content, c.turns[last].ToolCalls)
		if len(rounds) > 0 && rest == "" {
			req.params.Rounds, c.turns = rounds, c.turns[:last]
		}
	}
	req.Turns, req.instructions = c.turns, strings.Join(c.instructions, "\n\n")
	switch last := len(c.turns) - 1; {
	case last < 0 || c.turns[last].Role != chat.RoleUser:
		c.o.fail(c.list, InvalidValue, "最後は user のメッセージか、ツールの結果にしてください。")
	case c.size > maxMessageText:
		c.o.fail(c.list, InvalidValue, "文章は合計 %d KiB 以内にしてください。", maxMessageText>>10)
	case c.pictures > picture.MaxPerQuestion:
		c.o.fail(c.list, InvalidValue, "画像は合計%d枚までです。", picture.MaxPerQuestion)
	}
}

// takeParts takes a text, or a list of parts that read parses. The pictures of all parts follow the text.
func (o object) takeParts(name string, read func(part object, kind string) (string, []Picture)) (text string,
	pictures []Picture,
) {
	if raw := o.members[name]; raw == nil || raw[0] != '[' {
		return need[string](o, name), nil
	}
	var b strings.Builder
	o.each(name, o.needList(name, maxParts), func(part object) {
		text, shown := read(part, need[string](part, "type"))
		part.refuseRest()
		b.WriteString(text)
		pictures = append(pictures, shown...)
	})
	return b.String(), pictures
}

// refusePicture refuses a picture in a message that may have none.
func (o object) refusePicture() {
	o.fail("type", InvalidValue, "画像は user のメッセージにだけ指定できます。")
}
