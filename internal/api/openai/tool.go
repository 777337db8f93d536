package openai

import (
	"slices"

	"github.com/tsumugi-ai/tsumugi/chat"
)

// Bounds of tools and their calls.
const (
	maxTools    = 128       // Also of the calls of a message.
	maxToolNote = 4_096     // In characters of a tool's description.
	maxToolText = 256 << 10 // Total bytes of all schemas and descriptions of tools.
	maxCallID   = 256       // In bytes.
)

// takeTools takes the parameters of tools. nested is the member of a tool with its function, or "" if the function's
// fields are members of the tool itself.
func (req *Request) takeTools(o object, nested string) {
	p := &req.params
	size := 0
	o.each("tools", o.takeList("tools", maxTools), func(tool object) {
		function := tool.takeFunction(nested)
		read := chat.ProgramTool{
			Name: function.takeName(), Description: function.takeText("description", maxToolNote),
			Parameters: function.takeRaw("parameters"), Strict: takeOr(function, "strict", false),
		}
		function.refuseRest()
		tool.refuseRest()
		if slices.ContainsFunc(p.Tools, func(t chat.ProgramTool) bool { return t.Name == read.Name }) {
			function.fail("name", InvalidValue, "同じ名前のツールがあります。")
		}
		if size += len(read.Description) + len(read.Parameters); size > maxToolText {
			o.fail("tools", InvalidValue, "説明と引数のスキーマは、合計 %d KiB 以内にしてください。", maxToolText>>10)
		}
		p.Tools = append(p.Tools, read)
	})
	choice := takeToolChoice(o, nested)
	parallel := take[bool](o, "parallel_tool_calls")
	switch {
	case len(p.Tools) > 0:
		p.ToolChoice, p.ParallelToolCalls = choice, parallel
	case choice.Mode == chat.ChooseRequired, choice.Mode == chat.ChooseNamed:
		o.fail("tool_choice", InvalidValue, "tools も指定してください。")
	}
	known := slices.ContainsFunc(p.Tools, func(t chat.ProgramTool) bool { return t.Name == choice.Name })
	if choice.Mode == chat.ChooseNamed && !known {
		o.fail("tool_choice", InvalidValue, "tools にない名前です。")
	}
}

// takeFunction takes the type of a tool, and returns the object with its function's fields; see takeTools.
func (o object) takeFunction(nested string) object {
	if kind := need[string](o, "type"); kind != "function" {
		o.fail("type", InvalidValue, "function を指定してください。")
	}
	if nested == "" {
		return o
	}
	return o.needObject(nested)
}

// takeToolChoice takes tool_choice. The zero value lets the model decide.
func takeToolChoice(o object, nested string) (choice chat.ToolChoice) {
	raw := o.members["tool_choice"]
	if raw == nil || raw[0] != '{' {
		switch mode := takeOr(o, "tool_choice", "auto"); mode {
		case "auto":
		case string(chat.ChooseNone):
			choice.Mode = chat.ChooseNone
		case string(chat.ChooseRequired):
			choice.Mode = chat.ChooseRequired
		default:
			o.fail("tool_choice", InvalidValue, "auto、none、required か、関数を指定してください。")
		}
		return choice
	}
	named, _ := o.takeObject("tool_choice")
	function := named.takeFunction(nested)
	choice = chat.ToolChoice{Mode: chat.ChooseNamed, Name: need[string](function, "name")}
	function.refuseRest()
	named.refuseRest()
	return choice
}
