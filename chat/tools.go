package chat

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
	"github.com/tsumugi-ai/tsumugi/stream"
)

// An answer with tools consists of rounds: the model writes text and calls tools, receives the results, and continues.
// The calls of a round, with the text before them, are stored before they are made. A later run of the answer begins
// with the stored rounds: their text is never withdrawn, and completed calls are not repeated. A call without a result
// is repeated.

// Limits of the calls in one answer.
const (
	maxToolCalls  = 20
	toolTimeout   = time.Minute // Of a call.
	maxToolTokens = 1_000_000   // Of all requests to the model. It must then answer without further calls.
	maxToolResult = 100 << 10   // Bytes of a result for the model.
	maxShown      = 16 << 10    // Bytes of the arguments, and of a result, for people.
)

// Tools finds the tools of skills.
type Tools interface {
	// Of returns the tools with these names that exist and that a person may use. owner asks the question.
	Of(ctx context.Context, owner identity.Owner, names []string) ([]tool.Tool, error)
}

// noTools has no tools.
type noTools struct{}

func (noTools) Of(context.Context, identity.Owner, []string) ([]tool.Tool, error) { return nil, nil }

// ToolState is the progress of a call.
type ToolState string

// The states of calls.
const (
	ToolRunning ToolState = "running"
	ToolDone    ToolState = "success"
	ToolFailed  ToolState = "failed"

	// ToolReturned is a call of a tool of the program that asked. The program makes the call; the answer has no result.
	ToolReturned ToolState = "returned"

	ToolWaiting  ToolState = "waiting"  // For a decision of the person.
	ToolApproved ToolState = "approved" // By the person, but not made yet.
	ToolDenied   ToolState = "denied"   // By the person.
)

// ToolCall is a call of a tool in an answer. Its JSON form is the stored form.
type ToolCall struct {
	llm.ToolCall

	Title    string        `json:"title"`           // The tool's name for people.
	Offset   int           `json:"offset"`          // Bytes of the answer's text before the call.
	Round    int           `json:"round,omitempty"` // The number of rounds before the call.
	State    ToolState     `json:"state"`
	Result   string        `json:"result,omitempty"` // For the model. In a complete answer it is shortened.
	Error    string        `json:"error,omitempty"`  // For people and the model; "" unless the call failed.
	Duration time.Duration `json:"duration"`

	Rule      tool.Rule `json:"rule,omitempty"`      // Of the tool when it was called; "" for a tool that does not exist.
	Effects   bool      `json:"effects,omitempty"`   // The call may change something.
	Version   string    `json:"version,omitempty"`   // Of the tool when it was called. Not in a complete answer.
	Mismatch  bool      `json:"mismatch,omitempty"`  // The tool has refused the arguments. Not in a complete answer.
	Untrusted bool      `json:"untrusted,omitempty"` // The result was written by others than the organization.
	Summary   string    `json:"summary,omitempty"`   // The result for people; "" if it is Result.
	Sources   []Source  `json:"sources,omitempty"`   // Found by the call. Not in a complete answer, which has citations.
	Approval  *Approval `json:"approval,omitempty"`  // The last request for a decision; nil if none was needed.

	Input *ToolInput `json:"input,omitempty"` // Of the current round of the call; nil in its first one and after its end.
}

// ToolRound is a part of an answer that ends with calls of tools.
type ToolRound struct {
	Text      string     `json:"text,omitempty"`      // The answer's text before the calls, since the previous round.
	Reasoning string     `json:"reasoning,omitempty"` // The model's reasoning in the round.
	Calls     []ToolCall `json:"calls"`
}

// toolsOf returns the tools of an answer. Answers that must have a certain form, and those for programs that set
// parameters, such as their own tools, have none.
func (s *Service) toolsOf(
	ctx context.Context, req *AnswerRequest, sources func() []Source,
) ([]tool.Tool, error) {
	if len(req.Skill.Tools) == 0 || req.Proofreads() || req.Question.Params != nil {
		return nil, nil
	}
	tools, err := s.tools.Of(ctx, req.Owner, req.Skill.Tools)
	if s.sourceTools != nil {
		tools = append(tools, s.sourceTools(req, sources)...)
	}
	return tools, err
}

// roundsText returns the text of rounds.
func roundsText(rounds []ToolRound) string {
	var text strings.Builder
	for _, round := range rounds {
		text.WriteString(round.Text)
	}
	return text.String()
}

// restoreRounds prepares the continuation of an answer by the rounds of its earlier run. It drops them if the sources
// of the answer have changed, or if its skill has no tools any more: then the answer is restarted. It keeps rounds with
// effects or decisions, so that no call with effects is made twice.
func (g *generation) restoreRounds(hasTools bool) {
	known := &g.known
	if len(known.Rounds) == 0 || g.opened.Load() {
		return
	}
	if !hasTools || g.hasOtherSources() {
		if !slices.ContainsFunc(known.Rounds, ToolRound.final) {
			g.known = KnownText{}
			return
		}
		known.Text, known.Sources = roundsText(known.Rounds), g.sourceIDs()
	}
	g.rounds, g.roundsText = known.Rounds, roundsText(known.Rounds)
	g.restoreFound()
}

// final reports whether the round has calls that the answer must not forget.
func (r ToolRound) final() bool {
	return slices.ContainsFunc(r.Calls, func(call ToolCall) bool { return call.Effects || call.Approval != nil })
}

// putRounds publishes the reasoning and the calls of restored rounds. Reasoning after the beginning of the text was not
// published.
func (g *generation) putRounds() {
	hasText := false
	for i, round := range g.rounds {
		g.text.PutRound(i)
		if !hasText && round.Reasoning != "" {
			g.text.AppendReasoning(round.Reasoning)
			g.reasoningLength += len(round.Reasoning)
		}
		hasText = hasText || round.Text != ""
		for _, call := range round.Calls {
			g.putFound(call)
			putToolCall(g.text, call)
		}
	}
	if n := len(g.rounds); n > 0 && !g.rounds[n-1].isOpen() {
		g.text.PutRound(n)
	}
}

// askWithTools asks the model until it answers without calling tools.
func (s *Service) askWithTools(
	ctx context.Context, cancel context.CancelCauseFunc, g *generation, req llm.Request, tools []tool.Tool,
) (result llm.Result, err error) {
	var spent llm.Usage
	deadline := time.Now().Add(s.cfg.ToolTime)
	for _, t := range tools {
		req.Tools = append(req.Tools, llm.Tool{Name: t.Name, Description: t.Description, Parameters: t.Parameters})
	}
	req.Messages = withResultInstructions(req.Messages, tools)
	if err := s.finishRounds(ctx, g, tools); err != nil {
		return llm.Result{}, err
	}
	for _, round := range g.rounds {
		req.Messages = append(req.Messages, round.messages()...)
	}
	reason := req.Reasoning
	for {
		if len(g.calls()) >= maxToolCalls || time.Now().After(deadline.Add(g.waited)) ||
			spent.InputTokens+spent.OutputTokens >= maxToolTokens {
			req.ToolChoice = llm.ToolChoice{Mode: llm.ToolNone}
		}
		if g.opened.Load() || len(g.rounds) == 0 { // Otherwise open publishes it, after the restored rounds.
			g.text.PutRound(len(g.rounds))
		}
		round, start := ToolRound{}, max(g.length, len(g.roundsText))
		req.Reasoning = func(delta string) {
			if round.Reasoning == "" && g.reasoningLength > 0 {
				delta = "\n\n" + delta
			}
			round.Reasoning = runes.FirstBytes(round.Reasoning+delta, s.cfg.MaxReasoning)
			reason(delta)
		}
		ids := newCallIDs(g.rounds)
		req.ToolInputs = nil
		if len(tools) > 0 && req.ToolChoice.Mode != llm.ToolNone {
			req.ToolInputs = func(calls []llm.ToolInput) { s.putToolInputs(g, tools, ids, calls) }
		}
		result, err = s.askOnce(ctx, cancel, g, req)
		spent.Add(result.Usage)
		result.Usage = spent
		if result.ToolsRefused && err == nil {
			s.publishStep(g, Step{
				Kind: StepToolsRefused, Status: StatusFailed,
				Detail: "このモデルはツールを使えないため、ツールなしで回答しました。",
			})
		}
		if err != nil || result.FinishReason != llm.FinishTools {
			return result, err
		}
		if req.ToolChoice.Mode == llm.ToolNone { // The model calls tools nevertheless.
			result.FinishReason = llm.FinishStop
			return result, nil
		}
		round.Text = g.text.Text()[start:]
		if err := s.callTools(ctx, g, tools, round, ids.replace(result.ToolCalls)); err != nil {
			return result, err
		}
		req.Prefix = ""
		req.Messages = append(req.Messages, g.rounds[len(g.rounds)-1].messages()...)
		g.newParagraph = g.length > 0
	}
}

// isOpen reports whether a call of the round has no result.
func (r ToolRound) isOpen() bool { return slices.ContainsFunc(r.Calls, ToolCall.open) }

// messages returns the round as messages for the model.
func (r ToolRound) messages() []llm.Message {
	messages := []llm.Message{{
		Role: llm.RoleAssistant, Content: strings.TrimSpace(r.Text), Reasoning: strings.TrimSpace(r.Reasoning),
	}}
	for _, call := range r.Calls {
		messages[0].ToolCalls = append(messages[0].ToolCalls, call.ToolCall)
		messages = append(messages, llm.Message{Role: llm.RoleTool, Content: call.forModel(), ToolCallID: call.ID})
	}
	return messages
}

// calls returns the calls so far.
func (g *generation) calls() (calls []ToolCall) {
	for _, round := range g.rounds {
		calls = append(calls, round.Calls...)
	}
	return calls
}

// callTools stores the calls of a round, and makes them.
func (s *Service) callTools(
	ctx context.Context, g *generation, tools []tool.Tool, round ToolRound, requested []llm.ToolCall,
) error {
	made := len(g.calls())
	permitted, err := s.permittedTools(ctx, g, tools)
	if err != nil {
		return err
	}
	for i, asked := range requested {
		// As it is stored, so that the hash for the decision is that of the stored arguments. NUL is not valid JSON.
		asked.Arguments = strings.ToValidUTF8(asked.Arguments, "\uFFFD")
		call := ToolCall{
			ToolCall: asked, Title: asked.Name, Round: len(g.rounds), Offset: g.length, State: ToolRunning,
		}
		found, exists := findTool(tools, asked.Name)
		switch {
		case !exists:
			call.State, call.Error = ToolFailed, "このツールはありません。"
		case made+i >= maxToolCalls:
			call.State, call.Error = ToolFailed, "一つの回答で使えるツールの回数の上限に達しました。"
		case !json.Valid([]byte(asked.Arguments)):
			call.State, call.Error = ToolFailed, "引数がJSONではありません。"
		case repeatsName(json.NewDecoder(strings.NewReader(asked.Arguments))):
			call.State, call.Error = ToolFailed, repeatedName
		case g.mismatches(asked.Name) >= maxMismatches:
			call.State, call.Error = ToolFailed, "引数が二度、ツールの定義に合わなかったため、この回答では使えません。"
		default:
			var err error
			if s.countTool != nil {
				err = s.countTool(g.req.Owner, found.Name)
			}
			if err == nil && found.Check != nil {
				err = found.Check(json.RawMessage(asked.Arguments))
				call.Mismatch = err != nil
			}
			if err != nil {
				call.State, call.Error = ToolFailed, toolError(ctx, err)
			}
		}
		if exists {
			call.Title, call.Rule, call.Effects, call.Version = found.Title, found.Rule, found.Effects, found.Version
		}
		if cause := g.approvalCause(found, permitted); cause != "" && call.State == ToolRunning {
			call.ask(cause, time.Now().Add(s.cfg.Approval))
		}
		round.Calls = append(round.Calls, call)
	}
	if err := s.storeRound(ctx, g, round); err != nil {
		return err
	}
	g.rounds = append(g.rounds, round)
	s.ensureLease()
	for _, call := range round.Calls {
		putToolCall(g.text, call)
	}
	g.text.PutToolInputs(nil)
	s.publishAsked(g, round.Calls)
	return s.runCalls(ctx, g, tools, round.Calls)
}

// maxMismatches is the maximum number of rounds with invalid arguments for a tool. The model can correct them once.
const maxMismatches = 2

// mismatches returns the number of rounds with invalid arguments for a tool.
func (g *generation) mismatches(name string) (n int) {
	for _, round := range g.rounds {
		if slices.ContainsFunc(round.Calls, func(call ToolCall) bool { return call.Name == name && call.Mismatch }) {
			n++
		}
	}
	return n
}

// repeatedName is the error of arguments with an object that repeats a name.
const repeatedName = "引数に、同じ名前の項目が二つ以上あります。"

// repeatsName reports whether an object in the next value, which is valid JSON, has two members with the same name.
// People would see only one of their values, and the tool may use the other one.
func repeatsName(decoder *json.Decoder) bool {
	begin, _ := decoder.Token()
	if begin != json.Delim('{') && begin != json.Delim('[') {
		return false
	}
	names := make(map[string]bool)
	for decoder.More() {
		if begin == json.Delim('{') {
			token, _ := decoder.Token()
			name, _ := token.(string)
			if names[name] {
				return true
			}
			names[name] = true
		}
		if repeatsName(decoder) {
			return true
		}
	}
	_, _ = decoder.Token() // The end.
	return false
}

// permittedTools returns the tools that the person has approved for the thread, if one of the tools needs decisions.
func (s *Service) permittedTools(ctx context.Context, g *generation, tools []tool.Tool) (permitted []string, err error) {
	if !slices.ContainsFunc(tools, func(t tool.Tool) bool { return t.Rule == tool.RuleAsk }) {
		return nil, nil
	}
	err = s.persist(ctx, func(ctx context.Context) (err error) {
		permitted, err = s.store.PermittedTools(ctx, g.req.Owner, g.answer.ThreadID)
		return err
	})
	return permitted, err
}

// toolCalls returns the calls of the answer to be stored with it.
func (g *generation) toolCalls() []ToolCall {
	calls := g.calls()
	for i, call := range calls {
		call.Extra, call.Sources, call.Input, call.Version, call.Mismatch = nil, nil, nil, "", false
		calls[i] = call.Shown()
	}
	return append(calls, g.returned...)
}

// toolUses returns the calls of the answer to be counted. Calls of tools that do not exist are not included.
func (g *generation) toolUses() []ToolCall {
	return slices.DeleteFunc(g.calls(), func(call ToolCall) bool { return call.Rule == "" })
}

// Shown returns the call with its texts for people, shortened.
func (c ToolCall) Shown() ToolCall {
	if c.Summary != "" {
		c.Result, c.Summary = c.Summary, ""
	}
	c.Result, c.Arguments = shown(c.Result), shown(c.Arguments)
	return c
}

// shown shortens a text for people.
func shown(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return runes.FirstBytes(text, maxShown) + "…"
}

// putToolCall publishes a call, and its result if it has ended.
func putToolCall(text *stream.Text, call ToolCall) {
	input := json.RawMessage(call.Arguments)
	var compact bytes.Buffer
	if len(input) > maxShown || json.Compact(&compact, input) != nil || hasLongNumbers(input) {
		input = encode(shown(call.Arguments))
	} else {
		input = compact.Bytes()
	}
	text.PutToolCall(stream.ToolCall{
		ID: call.ID, Name: call.Name, Title: call.Title, Input: input, Offset: call.Offset,
		Returned: call.State == ToolReturned,
	})
	if call.Approval != nil {
		sum := sha256.Sum256([]byte(call.Arguments))
		text.PutToolApproval(streamApproval(call.ID, *call.Approval, sum[:]))
	}
	if !call.open() && call.State != ToolReturned {
		putToolResult(text, call)
	}
}

// hasLongNumbers reports whether JSON has a number that JavaScript, whose numbers are doubles, would round.
func hasLongNumbers(arguments []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(arguments))
	decoder.UseNumber()
	for token, err := decoder.Token(); err == nil; token, err = decoder.Token() {
		number, ok := token.(json.Number)
		if !ok {
			continue
		}
		double, err := number.Float64()
		if err != nil || significant(strconv.FormatFloat(double, 'e', -1, 64)) != significant(number.String()) {
			return true
		}
	}
	return false
}

// significant returns the significant digits of a decimal number.
func significant(number string) string {
	mantissa, _, _ := strings.Cut(strings.ToLower(number), "e")
	return strings.Trim(strings.NewReplacer("-", "", ".", "").Replace(mantissa), "0")
}

func putToolResult(text *stream.Text, call ToolCall) {
	text.PutToolResult(stream.ToolResult{
		ID: call.ID, Output: call.Shown().Result, Error: call.Error, Denied: call.State == ToolDenied,
	})
}
