package openai

import (
	"github.com/tsumugi-ai/tsumugi/chat"
)

// ParseCompletion parses the body of a request for a chat completion.
func ParseCompletion(body []byte) (Request, error) {
	return parse(body, func(req *Request, o object) {
		messages := o.needList("messages", maxMessages)
		req.setGiven(o, "temperature", "top_p", "stop", "seed", "max_tokens", "max_completion_tokens", "response_format",
			"tools", "tool_choice", "parallel_tool_calls")
		req.takeCommon(o)
		req.Store = takeOr(o, "store", true)
		if options, found := o.takeObject("stream_options"); found {
			if !req.Stream {
				o.fail("stream_options", InvalidValue, "stream が true のときだけ指定できます。")
			}
			req.includeUsage = takeOr(options, "include_usage", false)
			options.refuseRest()
		}
		if n := take[int](o, "n"); n != nil && *n != 1 {
			o.fail("n", InvalidValue, "1 だけを指定できます。")
		}
		req.takeMaxTokens(o)
		req.params.Seed, req.params.Stop = take[int](o, "seed"), takeStops(o)
		if format, found := o.takeObject("response_format"); found {
			req.params.Schema = format.takeFormat("json_schema")
		}
		req.takeTools(o, "function")
		o.refuseRest()
		c := conversation{o: o, list: "messages"}
		o.each(c.list, messages, c.takeMessage)
		c.end(req)
	})
}

// takeMaxTokens takes the limit of the answer, which has two names.
func (req *Request) takeMaxTokens(o object) {
	if o.members["max_tokens"] != nil && o.members["max_completion_tokens"] != nil {
		o.fail("max_tokens", InvalidValue, "max_completion_tokens と同時には指定できません。")
	}
	if o.members["max_completion_tokens"] != nil {
		req.renamed = map[string]string{"max_tokens": "max_completion_tokens"}
	}
	for _, name := range []string{"max_tokens", "max_completion_tokens"} {
		if most := takeNumber(o, name, 1, maxAnswer); most != nil {
			req.params.MaxTokens = *most
		}
	}
}

// takeMessage parses a message of a completion.
func (c *conversation) takeMessage(m object) {
	switch role := need[string](m, "role"); {
	case role == "system" || role == "developer":
		text, _ := m.takeContent(role)
		c.addInstructions(text)
	case role == "tool":
		if len(c.waiting) == 0 {
			m.fail("role", InvalidValue, "tool のメッセージは、tool_calls のある assistant のメッセージの後に指定してください。")
			return
		}
		text, _ := m.takeContent(role)
		c.addResult(m, "tool_call_id", need[string](m, "tool_call_id"), text)
	case role == string(chat.RoleUser):
		text, pictures := m.takeContent(role)
		c.addMessage(chat.RoleUser, text, pictures, m.param("content"))
	case role != string(chat.RoleAssistant):
		m.fail("role", InvalidValue, "system、developer、user、assistant、tool のどれかを指定してください。")
	case len(c.turns) == 0:
		m.fail("role", InvalidValue, "メッセージは user から始めてください。")
	default:
		c.takeAnswer(m)
	}
	m.refuseRest()
}

// takeAnswer parses a message of the assistant, which has a text, calls of tools, or both. OpenAI's library for
// JavaScript adds fields with parsed JSON to an earlier answer.
func (c *conversation) takeAnswer(m object) {
	m.ignore("parsed")
	calls := m.takeList("tool_calls", maxTools)
	text := ""
	if len(calls) == 0 || m.members["content"] != nil {
		text, _ = m.takeContent(string(chat.RoleAssistant))
	}
	c.addMessage(chat.RoleAssistant, text, nil, m.param("content"))
	if len(calls) == 0 {
		return
	}
	c.beginRound(m.param("tool_calls"))
	m.each("tool_calls", calls, func(o object) {
		if kind := takeOr(o, "type", "function"); kind != "function" {
			o.fail("type", InvalidValue, "function を指定してください。")
		}
		function := o.needObject("function")
		function.ignore("parsed_arguments")
		c.addCall(o, "id", function)
		function.refuseRest()
		o.refuseRest()
	})
}

// takeContent takes the content of a message of a completion.
func (o object) takeContent(role string) (text string, pictures []Picture) {
	return o.takeParts("content", func(part object, kind string) (string, []Picture) {
		switch {
		case kind == "text":
			return need[string](part, "text"), nil
		case kind == "image_url" && role == string(chat.RoleUser):
			image := part.needObject("image_url")
			defer image.refuseRest()
			return "", []Picture{readPicture(image, "url")}
		case kind == "image_url":
			part.refusePicture()
		default:
			part.fail("type", InvalidValue, "text か image_url を指定してください。")
		}
		return "", nil
	})
}
