package chat

import (
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
)

// A tool may ask for input by the person instead of returning a result. The call consists of rounds then: each one is a
// request to the tool, which is made once, and the person's response to its result. The request for input is stored
// before the person is asked, and the response before the next round. The wait is that for a decision; see await.go.

// maxInputRounds is the number of times that a call may ask for input.
const maxInputRounds = 5

// ToolInput is the last request for input of a call, with the person's response.
type ToolInput struct {
	tool.InputRequest

	Round    int                 `json:"round"` // From 1.
	Response *tool.InputResponse `json:"response,omitempty"`
}

var errTooManyInputs = fault.Errorf(fault.Conflict,
	"ツールが何度も入力を求めたため（%d回まで）、呼び出しを終了しました。", maxInputRounds)

// askInput makes a running call wait for input by the person, even if the answer was stopped. It retries until the
// database accepts it: otherwise the call would be repeated.
func (s *Service) askInput(g *generation, call *ToolCall, request tool.InputRequest) error {
	asked := *call
	asked.Input = &ToolInput{InputRequest: request, Round: 1}
	if call.Input != nil {
		asked.Input.Round += call.Input.Round
	}
	if asked.Input.Round > maxInputRounds {
		return errTooManyInputs
	}
	asked.ask(CauseInput, time.Now().Add(s.cfg.Approval))
	if err := s.storeAsked(s.root, g, []ToolCall{asked}); err != nil {
		return err
	}
	*call = asked
	return nil
}

// respond applies the person's response to the request for input. The next round of the call sends it.
func (c *ToolCall) respond(d Decision) error {
	response := d.Input
	switch {
	case d.Arguments != nil:
		return fault.InvalidField("arguments", "入力を求められた呼び出しの引数は、変更できません。")
	case d.Remember:
		return fault.InvalidField("remember", "入力は、その都度必要です。")
	case response == nil && d.Approved:
		return fault.InvalidField("input", "入力を指定してください。")
	case response == nil:
		response = &tool.InputResponse{Action: tool.InputDecline}
	case d.Approved != (response.Action == tool.InputAccept):
		return fault.InvalidField("input.action", "approved と一致しません。")
	}
	if err := c.Input.Check(*response); err != nil {
		return err
	}
	input := *c.Input
	input.Response = response
	c.State, c.Input = ToolApproved, &input
	return nil
}
