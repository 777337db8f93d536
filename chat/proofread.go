package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/proofread"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/stream"
)

const (
	proofreadBlock  = 32 << 10 // In bytes of the original text in one part of the stream.
	proofreadAtOnce = 2        // Parts of the text for which the model is called concurrently.
	proofreadTries  = 2        // Attempts for a part, in addition to those of the model's client.

	// Consecutive failed parts after which the rest is not tried.
	proofreadFailures = 3
)

// Original is a text to proofread.
type Original struct {
	Text string
	File *proofread.File // The file of the text; nil for an entered text.
}

// Proofreads reports whether the answer is a list of changes to a text. Further questions in the thread are a plain
// conversation, unless a form is sent again.
func (req *AnswerRequest) Proofreads() bool {
	return req.Skill.Kind == skill.KindProofreading && (req.Question.Form != nil || req.Question.ParentID == nil)
}

// original returns the text to proofread: of the file, else of the form, else the question.
func (req *AnswerRequest) original() Original {
	text := req.Question.Content
	if req.Question.Form != nil {
		text = req.Skill.FormText(req.Question.Form)
	}
	return Original{Text: text}
}

// proofreading is the state of an answer that is a list of changes. It belongs to the generation's goroutine.
type proofreading struct {
	proof *proofread.Proof
	file  *proofread.File
	lines int // Number of changes in the text of the answer.
}

// result returns the stored form.
func (p *proofreading) result() *proofread.Result {
	if p == nil {
		return nil
	}
	r := p.proof.Result()
	r.File = p.file
	return &r
}

// proofread calls the model for changes, part by part, and publishes each change that matches the text. It notes a part
// that cannot be checked. The answer fails if all parts fail.
func (s *Service) proofread(ctx context.Context, g *generation) (llm.Result, error) {
	original := g.req.original()
	if g.grounds.Original != nil {
		original = *g.grounds.Original
	}
	text := lineEnds.Replace(withoutNUL(strings.ToValidUTF8(original.Text, "\uFFFD")))
	switch n := utf8.RuneCountInString(text); {
	case strings.TrimSpace(text) == "":
		return llm.Result{}, fault.Errorf(fault.Invalid, "校正する文章がありません。文章を入力するか、文字のあるファイルを選んでください。")
	case n > proofread.MaxText:
		return llm.Result{}, fault.Errorf(fault.TooLarge, "文章が長すぎます（%d文字）。%d文字以内に分けて、もう一度お試しください。", n,
			proofread.MaxText)
	}
	g.proofreading = &proofreading{proof: proofread.New(text), file: original.File}
	s.ensureLease()
	putOriginal(g.text, text)
	result, err := s.proofreadParts(ctx, g)
	if err != nil {
		return result, err
	}
	if g.proofreading.lines > 0 {
		s.publish(g, "\n")
	}
	s.publish(g, g.proofreading.proof.Closing())
	if s.cfg.ProofreadNote != "" {
		s.publish(g, "\n---\n\n"+s.cfg.ProofreadNote+"\n")
	}
	result.FinishReason = llm.FinishStop
	if g.truncated {
		result.FinishReason = llm.FinishLength
	}
	return result, nil
}

// lineEnds normalizes line ends. Offsets in the text refer to its result.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// proofreadParts calls the model for all parts of the text, some concurrently, and publishes the changes in their
// order.
func (s *Service) proofreadParts(ctx context.Context, g *generation) (total llm.Result, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	parts := g.proofreading.proof.Parts()
	answers := make([]*partAnswer, len(parts))
	step := Step{Kind: StepProofread, Status: StatusRunning, Total: countParts(parts)}
	s.publishProgress(g, step)
	defer func() {
		cancel()
		asking.Wait()
		total = sumParts(answers)
		if step.Status = StatusSuccess; err != nil {
			step.Status = StatusFailed
		}
		s.publishProgress(g, step)
	}()
	g.span.AddEvent("asked")
	begin := func(i int) {
		if i < len(parts) && !parts[i].IsBlank() {
			answers[i] = newPartAnswer(i, s.partRequest(g, parts[i]))
			asking.Go(func() { answers[i].ask(ctx, s, g.req.Owner) })
		}
	}
	for i := range proofreadAtOnce - 1 {
		begin(i)
	}
	failures := 0
	for i := range parts {
		if failures < proofreadFailures {
			begin(i + proofreadAtOnce - 1)
		}
		if answers[i] == nil {
			continue
		}
		failed := s.publishPart(g, answers[i])
		switch {
		case g.truncated:
			return total, nil
		case ctx.Err() != nil:
			return total, llm.Canceled(ctx)
		case failed != nil:
			failures++
			err = failed
			s.log.WarnContext(ctx, "chat: proofreading a part failed", "message_id", g.answer.ID, "part", i, "err",
				failed)
		default:
			step.Done, failures = step.Done+1, 0
			s.publishProgress(g, step)
		}
	}
	if step.Done > 0 {
		err = nil
	}
	return total, err
}

// countParts returns the number of parts for which the model is called.
func countParts(parts []proofread.Part) int {
	return len(slices.DeleteFunc(slices.Clone(parts), proofread.Part.IsBlank))
}

// publishProgress reports the number of checked parts of a long text.
func (s *Service) publishProgress(g *generation, step Step) {
	if step.Total < 2 {
		return
	}
	step.Detail = fmt.Sprintf("%d区分中%d区分を確認", step.Total, step.Done)
	if step.Status == StatusRunning {
		step.Detail = fmt.Sprintf("校正中 %d/%d", step.Done, step.Total)
	}
	s.publishStep(g, step)
}

// sumParts returns the total usage of the answers about all parts, and the model of the last answer.
func sumParts(answers []*partAnswer) (total llm.Result) {
	for _, a := range answers {
		if a == nil {
			continue
		}
		total.Usage.Add(a.result.Usage)
		total.Model = cmp.Or(a.result.Model, total.Model)
		total.ModelID = cmp.Or(a.result.ModelID, total.ModelID)
	}
	return total
}

// publishPart publishes the model's answer about a part while it is streamed.
func (s *Service) publishPart(g *generation, a *partAnswer) error {
	p := g.proofreading
	for piece := range a.pieces {
		if piece.reasoning != "" {
			s.publishReasoning(g, piece.reasoning)
			continue
		}
		if g.truncated {
			break // The stored changes must equal the published ones.
		}
		if change, ok := p.proof.AddProposal(a.index, piece.proposal); ok {
			s.publishChange(g, change)
		}
	}
	if g.truncated {
		return nil
	}
	p.proof.AddDropped(a.malformed)
	p.proof.MarkChecked(a.index, a.err == nil && a.result.FinishReason == llm.FinishStop)
	return a.err
}

// publishChange publishes a change, and a line of the text unless it is a question. Questions follow at the end of the
// text.
func (s *Service) publishChange(g *generation, change proofread.Change) {
	s.ensureLease()
	g.text.PutChange(change.ID, encode(change))
	if change.Question {
		return
	}
	line := g.proofreading.proof.Line(change)
	if g.proofreading.lines++; g.proofreading.lines == 1 {
		line = proofread.Heading + line
	}
	s.publish(g, line)
}

// partRequest returns the model's request for a part.
func (s *Service) partRequest(g *generation, part proofread.Part) llm.Request {
	settings := g.req.Skill.FormSettings(g.req.Question.Form)
	question := part.Prompt(settings, g.proofreading.proof.Changes(), func(text string) string {
		return skill.Neutralize(text, proofread.Tags()...)
	})
	return llm.Request{
		Model: g.req.Model.ID, Thinking: g.req.Model.Thinking,
		Params: llm.Params{Schema: &llm.Schema{Name: "proofread", JSON: proofread.Schema(), Strict: true}},
		Messages: []llm.Message{
			{Role: llm.RoleSystem, Content: g.grounds.Prompt[0].Content + "\n" + proofread.Instructions},
			{Role: llm.RoleUser, Content: question},
		},
	}
}

// partAnswer is the model's answer about a part of the text. The fields after pieces may be read when pieces is closed.
type partAnswer struct {
	index   int
	request llm.Request
	pieces  chan partPiece

	result    llm.Result // Total of all attempts, with the finish reason of the last one.
	malformed int        // Number of malformed changes.
	err       error
}

// partPiece is a change or a piece of reasoning.
type partPiece struct {
	proposal  proofread.Proposal
	reasoning string
}

func newPartAnswer(index int, request llm.Request) *partAnswer {
	return &partAnswer{index: index, request: request, pieces: make(chan partPiece, 100)}
}

// errMalformed means that the model's answer does not have the requested format.
var errMalformed = fault.Errorf(llm.CodeBadResponse, "モデルの応答を校正の結果として読み取れませんでした。もう一度お試しください。")

// ask calls the model, and again if its answer breaks off or has another format. It drops repeated changes.
func (a *partAnswer) ask(ctx context.Context, s *Service, owner identity.Owner) {
	defer close(a.pieces)
	for try := 1; ; try++ {
		if a.err = s.budget.Check(ctx, owner.OrganizationID, owner.UserID); a.err != nil {
			return
		}
		a.err = a.askOnce(ctx, s.model)
		if a.err == nil || try == proofreadTries || ctx.Err() != nil ||
			!llm.Retryable(a.err) && fault.CodeOf(a.err) != llm.CodeBadResponse {
			return
		}
	}
}

func (a *partAnswer) askOnce(ctx context.Context, model llm.Model) error {
	var reader proofread.Reader
	send := func(piece partPiece) {
		select {
		case a.pieces <- piece:
		case <-ctx.Done():
		}
	}
	request := a.request
	request.Reasoning = func(delta string) {
		if a.index == 0 { // The reasoning of other parts would arrive after the beginning of the text.
			send(partPiece{reasoning: delta})
		}
	}
	result, err := model.Stream(ctx, request, func(delta string) {
		for _, p := range reader.Write(delta) {
			send(partPiece{proposal: p})
		}
	})
	a.result.Usage.Add(result.Usage)
	a.result.Model, a.result.ModelID, a.result.FinishReason = result.Model, result.ModelID, result.FinishReason
	a.malformed = reader.Malformed()
	if err == nil && !reader.WellFormed() {
		err = errMalformed
	}
	return err
}

// putOriginal publishes the text to proofread.
func putOriginal(to *stream.Text, text string) {
	for i, block := range proofread.Blocks(text, proofreadBlock) {
		to.PutProofreadText(i, block.Offset, block.Text)
	}
}

// putProofread publishes the result of a proofreading, if the answer is one.
func putProofread(to *stream.Text, r *proofread.Result) {
	if r == nil {
		return
	}
	to.PutProofread(encode(struct {
		Changes   int               `json:"changes"`
		Dropped   int               `json:"dropped"`
		Unchecked []proofread.Range `json:"unchecked,omitempty"`
		File      *proofread.File   `json:"file,omitempty"`
	}{len(r.Changes), r.Dropped, r.Unchecked, r.File}))
}

// encode encodes a value of strings, numbers, ids and maps of them as JSON, which cannot fail.
func encode(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic("chat: " + err.Error())
	}
	return data
}

// FindProofreading returns an answer of the owner that is a list of changes. If the answer is not such a list, or is
// not complete, the error has the code fault.Conflict.
func (s *Service) FindProofreading(ctx context.Context, owner identity.Owner, id uuid.UUID) (Message, error) {
	m, err := s.find(ctx, owner, id)
	switch {
	case err != nil:
		return Message{}, err
	case !m.Status.Terminal():
		return Message{}, fault.Errorf(fault.Conflict, "校正が終わってから、もう一度お試しください。")
	case m.Proofread == nil:
		return Message{}, fault.Errorf(fault.Conflict, "この回答には、校正した文章がありません。文章校正の回答で、もう一度お試しください。")
	}
	return m, nil
}

// Decide stores the owner's decisions on the changes of an answer, and replaces earlier ones.
func (s *Service) Decide(ctx context.Context, owner identity.Owner, id uuid.UUID, d proofread.Decisions) error {
	m, err := s.FindProofreading(ctx, owner, id)
	if err != nil {
		return err
	}
	d, ok := m.Proofread.NormalizeDecisions(d)
	if !ok {
		return fault.InvalidField("accepted", "校正の結果にない番号か、accepted と refused の両方にある番号が含まれています。")
	}
	if err := s.store.PutDecisions(ctx, owner, id, d); err != nil {
		return err
	}
	s.publishMessage(ctx, owner, id)
	return nil
}
