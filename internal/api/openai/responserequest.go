package openai

import (
	"encoding/json"
	"strconv"

	"github.com/tsumugi-ai/tsumugi/chat"
)

// responseRequest has the parameters of a request for a response that the response repeats, as they were sent.
type responseRequest map[string]json.RawMessage

// repeated are the names of these parameters.
var repeated = []string{
	"instructions", "max_output_tokens", "metadata", "parallel_tool_calls", "reasoning", "temperature", "text",
	"tool_choice", "tools", "top_p", "user",
}

// ParseResponse parses the body of a request for a response.
func ParseResponse(body []byte) (Request, error) {
	return parse(body, func(req *Request, o object) {
		req.response = make(responseRequest)
		for _, name := range repeated {
			if raw := o.members[name]; raw != nil {
				req.response[name] = raw
			}
		}
		req.renamed = map[string]string{"max_tokens": "max_output_tokens", "response_format": "text.format"}
		req.setGiven(o, "temperature", "top_p", "max_output_tokens", "text", "tools", "tool_choice", "parallel_tool_calls")
		req.takeCommon(o)
		if most := takeNumber(o, "max_output_tokens", 1, maxAnswer); most != nil {
			req.params.MaxTokens = *most
		}
		text, _ := o.takeObject("text")
		if format, found := text.takeObject("format"); found {
			req.params.Schema = format.takeFormat("")
		}
		text.refuseRest()
		req.takeTools(o, "")
		req.thinking = takeReasoning(o)
		checkResponseOptions(o, req.Stream)
		c := conversation{o: o, list: "input"}
		c.addInstructions(takeOr(o, "instructions", ""))
		take := c.prepareInput()
		o.refuseRest()
		take()
		c.end(req)
	})
}

// takeReasoning takes reasoning, whose efforts none and medium switch the model's thinking.
func takeReasoning(o object) *bool {
	reasoning, _ := o.takeObject("reasoning")
	defer reasoning.refuseRest()
	effort := take[string](reasoning, "effort")
	if effort == nil {
		return nil
	}
	if *effort != "none" && *effort != "medium" {
		reasoning.fail("effort", InvalidValue, "none か medium を指定してください。")
	}
	return new(*effort == "medium")
}

// checkResponseOptions takes parameters that have no effect with their only permitted values.
func checkResponseOptions(o object, streams bool) {
	if takeOr(o, "store", false) {
		o.fail("store", InvalidValue, "false だけを指定できます。応答は保存されません。")
	}
	if takeOr(o, "truncation", "disabled") != "disabled" {
		o.fail("truncation", InvalidValue, "disabled だけを指定できます。")
	}
	for i, raw := range o.takeList("include", maxParts) {
		if string(raw) != `"reasoning.encrypted_content"` { // Responses contain no reasoning.
			o.fail("include["+strconv.Itoa(i)+"]", InvalidValue, "この項目は返せません。")
		}
	}
	options, found := o.takeObject("stream_options")
	if !found {
		return
	}
	if !streams {
		o.fail("stream_options", InvalidValue, "stream が true のときだけ指定できます。")
	}
	if takeOr(options, "include_obfuscation", false) {
		options.fail("include_obfuscation", InvalidValue, "false だけを指定できます。")
	}
	options.refuseRest()
}

// prepareInput removes input, a text or a list of items, from the request. The result parses it.
func (c *conversation) prepareInput() func() {
	if raw := c.o.members["input"]; raw == nil || raw[0] != '[' {
		text := need[string](c.o, "input")
		return func() { c.addMessage(chat.RoleUser, text, nil, "input") }
	}
	items := c.o.needList("input", maxMessages)
	return func() { c.o.each("input", items, c.takeItem) }
}

// takeItem parses an item of the input. Items of an earlier response have an id and a status; OpenAI's library for
// JavaScript adds fields with parsed JSON to them.
func (c *conversation) takeItem(item object) {
	kind := takeOr(item, "type", "message")
	if kind == "reasoning" {
		return // Its content is meaningful only to the provider that made it.
	}
	item.ignore("id", "status", "parsed_arguments")
	switch kind {
	case "message":
		c.takeItemMessage(item)
	case "function_call":
		c.takeItemCall(item)
	case "function_call_output":
		output, _ := item.takeItemContent("output", "")
		c.addResult(item, "call_id", need[string](item, "call_id"), output)
	default:
		item.fail("type", InvalidValue, "message、function_call、function_call_output、reasoning のどれかを指定してください。")
	}
	item.refuseRest()
}

// takeItemMessage parses a message of the input.
func (c *conversation) takeItemMessage(item object) {
	role := need[string](item, "role")
	text, pictures := item.takeItemContent("content", role)
	switch {
	case role == "system" || role == "developer":
		c.addInstructions(text)
	case role != string(chat.RoleUser) && role != string(chat.RoleAssistant):
		item.fail("role", InvalidValue, "system、developer、user、assistant のどれかを指定してください。")
	case len(c.turns) == 0 && role == string(chat.RoleAssistant):
		item.fail("role", InvalidValue, "メッセージは user から始めてください。")
	default:
		c.addMessage(chat.Role(role), text, pictures, item.param("content"))
	}
}

// takeItemCall parses a call of the assistant. Consecutive calls are one round.
func (c *conversation) takeItemCall(item object) {
	if len(c.turns) == 0 {
		item.fail("type", InvalidValue, "メッセージは user から始めてください。")
		return
	}
	if len(c.waiting) == 0 {
		c.addMessage(chat.RoleAssistant, "", nil, item.path)
		c.beginRound(item.path)
	}
	c.addCall(item, "call_id", item)
}

// takeItemContent takes the content of an item: a text, or a list of parts.
func (o object) takeItemContent(name, role string) (text string, pictures []Picture) {
	return o.takeParts(name, func(part object, kind string) (string, []Picture) {
		switch {
		case kind == "input_text":
			return need[string](part, "text"), nil
		case kind == "input_image" && role == string(chat.RoleUser):
			return "", []Picture{readPicture(part, "image_url")}
		case kind == "output_text" && role == string(chat.RoleAssistant):
			part.ignore("annotations", "logprobs", "parsed")
			return need[string](part, "text"), nil
		case kind == "refusal" && role == string(chat.RoleAssistant):
			return need[string](part, "refusal"), nil
		case kind == "input_image":
			part.refusePicture()
		default:
			part.fail("type", InvalidValue, "input_text、input_image、output_text のどれかを指定してください。")
		}
		return "", nil
	})
}
