package chat

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// Question is a person's question: Content, or Form for a skill with a form. With Edit it replaces an earlier question
// in a new branch. With Regenerate the model answers an earlier question again, in a new branch.
type Question struct {
	RequestID     uuid.UUID // Chosen by the client to identify repeated requests.
	ThreadID      uuid.UUID
	Content       string
	Form          map[string]string
	DataSourceIDs []uuid.UUID // For nil see dataSources. Empty for none.
	Regenerate    *uuid.UUID

	// Omitted from the hash if nil, so that hashes stored by versions without these fields remain valid.
	Edit     *uuid.UUID `json:",omitempty"` // The question that it replaces.
	ParentID *uuid.UUID `json:",omitempty"` // The answer that it follows. If nil, LoadThreadState finds the end of a branch.
	Prompt   string     `json:",omitempty"` // The text for the model, if Content is only a short form of it.
	ModelID  string     `json:",omitempty"` // The model for the answer; "" for the default.
	Thinking *bool      `json:",omitempty"` // Whether the model thinks first, if that can be switched.
	Params   *Params    `json:",omitempty"` // Parameters of the answer. Refused for a proofreading.
	// Pictures of the question. Nil for none, or those of the question that it replaces. Empty for none.
	PictureIDs []uuid.UUID `json:",omitzero"`

	// Set only by StartThread.
	Earlier      []EarlierMessage `json:",omitempty"` // Alternating messages before the question.
	Instructions string           `json:",omitempty"` // Of the thread: see NewThread.
	// MayWait means that the caller can handle an exchange without an answer: in a shared thread, the question waits
	// until the answers before it are complete. Otherwise the error is ErrThreadBusy.
	MayWait bool `json:"-"`

	// AcceptTokens is the estimate of a CostError that the person has accepted. The hash does not include it, so
	// that a repeated request finds its answer with and without it.
	AcceptTokens int `json:",omitempty"`
}

// hash identifies the content of the question.
func (q Question) hash() [32]byte {
	q.RequestID, q.AcceptTokens = uuid.Nil, 0
	return sha256.Sum256(encode(q)) // Sorts the keys of maps.
}

func (q Question) validate() error {
	given := 0
	for _, is := range []bool{strings.TrimSpace(q.Content) != "", q.Form != nil, q.Regenerate != nil} {
		if is {
			given++
		}
	}
	switch {
	case given == 0 && len(q.PictureIDs) > 0:
		return fault.InvalidField("content", "画像について尋ねたいことを入力してください。")
	case given == 0:
		return fault.InvalidField("content", "質問を入力してください。")
	case given > 1:
		return fault.InvalidField("content", "content、form、regenerate は、どれか一つだけを指定してください。")
	case q.Edit != nil && q.Regenerate != nil:
		return fault.InvalidField("edit", "edit と regenerate は、どちらか一つだけを指定してください。")
	case q.ParentID != nil && (q.Edit != nil || q.Regenerate != nil):
		return fault.InvalidField("parent_id", "parent_id は、edit や regenerate と同時には指定できません。")
	case utf8.RuneCountInString(q.Content) > MaxContent:
		return fault.InvalidField("content", "質問は%d文字以内で入力してください。", MaxContent)
	case strings.ContainsRune(q.Content, 0):
		return fault.InvalidField("content", "使えない文字（NUL）が含まれています。")
	case q.DataSourceIDs != nil && q.Regenerate != nil:
		return fault.InvalidField("data_source_ids", "data_source_ids と regenerate は、どちらか一つだけを指定してください。")
	case len(q.DataSourceIDs) > datasource.MaxSearchSources:
		return tooManySources()
	case utf8.RuneCountInString(q.Instructions) > maxInstructions:
		return fault.InvalidField("instructions", "指示は%d文字以内で入力してください。", maxInstructions)
	case q.AcceptTokens < 0:
		return fault.InvalidField("accept_tokens", "0以上の整数を指定してください。")
	}
	return q.validatePictures()
}

func tooManySources() error {
	return fault.InvalidField("data_source_ids", "一度に使えるファイルは%d件までです。", datasource.MaxSearchSources)
}

// commitTimeout bounds a transaction started by the Service. Storing a question does not end with the
// request, because a client that disconnects must find its question later.
const commitTimeout = 5 * time.Second

// Prefetch returns a context for authenticating the user who asks a question. The store then reads the user and the data
// for the next Send in one round trip. Only the ids of the question are used.
func (s *Service) Prefetch(ctx context.Context, q Question) context.Context {
	return s.store.PrefetchThreadState(ctx, q.ThreadID, q.ParentID, q.RequestID, s.cfg.history(q.Params))
}

// Send stores a question and starts its answer, or finds the exchange of a repeated request. It returns when the
// question is stored, within Config.SendTimeout. The error is a CostError if the answer would take more tokens than the
// question accepts. In a busy shared thread the question waits if it may: see Exchange and Question.MayWait.
func (s *Service) Send(ctx context.Context, owner identity.Owner, q Question) (exchange Exchange, err error) {
	ctx, span := s.tracer.Start(ctx, "chat.send")
	defer func() {
		if err != nil {
			span.SetStatus(codes.Error, string(fault.CodeOf(err)))
		} else {
			span.SetAttributes(attributes(exchange.Answer)...)
		}
		span.End()
	}()
	if err := q.validate(); err != nil {
		return Exchange{}, err
	}
	since := time.Now()
	ctx, cancel := context.WithDeadline(ctx, since.Add(s.cfg.SendTimeout))
	defer cancel()
	// One at a time per thread: of concurrent copies of a request, the first one begins the answer and the others find
	// it.
	unlock, err := s.lockSend(ctx, sendKey{owner.UserID, q.ThreadID})
	if err != nil {
		return Exchange{}, err
	}
	defer unlock()

	for {
		exchange, err = s.sendOnce(ctx, owner, q, since)
		if !errors.Is(err, errThreadFree) {
			return exchange, err
		}
	}
}

// errThreadFree means that a shared thread became free before the question could wait in it.
var errThreadFree = errors.New("chat: the thread is no longer busy")

// sendOnce begins an answer, or adds its question to the queue of the thread.
func (s *Service) sendOnce(ctx context.Context, owner identity.Owner, q Question, since time.Time) (Exchange, error) {
	b := NewGeneration{
		Owner: owner, RequestID: q.RequestID, RequestHash: q.hash(), ServerID: s.serverID, Regenerate: q.Regenerate != nil,
	}
	state, err := s.store.LoadThreadState(ctx, owner, q.ThreadID, q.ParentID, q.RequestID, b.RequestHash,
		s.cfg.history(q.Params))
	if err != nil {
		return Exchange{}, err
	}
	if state.Existing != nil {
		return *state.Existing, nil
	}
	shared := state.Project != nil && state.Project.Shared
	busy := state.Running || state.HasWaiting
	if busy && (!shared || !q.MayWait) {
		if err := s.budget.Check(ctx, owner.OrganizationID, owner.UserID); err != nil {
			return Exchange{}, err
		}
		return Exchange{}, ErrThreadBusy
	}
	req, err := s.compose(ctx, &b, q, state)
	if err != nil {
		return Exchange{}, err
	}
	if busy {
		return s.wait(ctx, b, q)
	}
	exchange, err := s.begin(ctx, b, req, since)
	if shared && q.MayWait && errors.Is(err, ErrThreadBusy) { // Another member has asked at the same time.
		return s.wait(ctx, b, q)
	}
	return exchange, err
}

// compose validates a question in the state of its thread, completes the generation to be stored, and returns the
// request for its answer.
func (s *Service) compose(ctx context.Context, b *NewGeneration, q Question, state ThreadState) (*AnswerRequest, error) {
	if state.Project != nil && state.Project.Archived {
		return nil, ErrReadOnly
	}
	if err := s.budget.Check(ctx, b.Owner.OrganizationID, b.Owner.UserID); err != nil {
		return nil, err
	}
	chosen, err := selectModel(s.offers, state.Models, state.Skill, Choice{ModelID: q.ModelID, Thinking: q.Thinking})
	if err != nil {
		return nil, err
	}
	before, err := s.prepare(ctx, b, q, state, chosen)
	if err != nil {
		return nil, err
	}
	before.Instructions, before.Project = state.Instructions, state.Project
	b.Answer.ModelID, b.Answer.ModelName, b.Answer.Thinking = chosen.ID, chosen.Name, chosen.Thinking
	req := newAsk(b.Owner, state.Skill, state.Guidance, before, b.Exchange, chosen)
	return req, s.checkCost(ctx, req, q.AcceptTokens)
}

// attributes returns the attributes of a generation for traces.
func attributes(answer Message) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("chat.thread_id", answer.ThreadID.String()),
		attribute.String("chat.message_id", answer.ID.String()),
		attribute.Int("chat.run", answer.Run),
	}
}

// sendKey is the key by which Sends are serialized. It includes the user, so that a person cannot block another
// person's thread.
type sendKey struct {
	userID, threadID uuid.UUID
}

// lockSend waits until no other Send is in progress for the turn.
func (s *Service) lockSend(ctx context.Context, key sendKey) (unlock func(), err error) {
	for {
		s.mu.Lock()
		busy, found := s.sending[key]
		if !found {
			done := make(chan struct{})
			s.sending[key] = done
			s.mu.Unlock()
			return func() {
				s.mu.Lock()
				delete(s.sending, key)
				s.mu.Unlock()
				close(done)
			}, nil
		}
		s.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return nil, fault.Wrap(ctx.Err(), fault.Unavailable, "ただいま混み合っています。少し時間をおいて、もう一度お試しください。")
			}
			return nil, fault.Wrap(ctx.Err(), fault.Canceled, "接続が切れました。")
		}
	}
}

// prepare validates a question, adds its messages, and returns the content before it.
func (s *Service) prepare(ctx context.Context, b *NewGeneration, q Question, state ThreadState, chosen AnswerModel) (branchContext, error) {
	if reason := s.skills.Unavailable(state.Skill); reason != "" {
		return branchContext{}, fault.Errorf(fault.SkillUnavailable, "%s", reason)
	}
	history, err := s.positionQuestion(ctx, b, q, state)
	if err != nil {
		return branchContext{}, err
	}
	if b.Regenerate {
		b.Title = questionTitle(b.Question.Content)
	} else {
		rendered, err := render(state.Skill, q)
		if err != nil {
			return branchContext{}, err
		}
		b.Question.Content, b.Question.Prompt, b.Question.Form = rendered.Display, rendered.Prompt, q.Form
		b.Question.Params = q.Params
		b.Title = questionTitle(rendered.Subject)
		if b.Question.DataSourceIDs, err = dataSources(q, state.Skill, b.Question.DataSourceIDs); err != nil {
			return branchContext{}, err
		}
		if lacksDocuments(state, b.Question) {
			return branchContext{}, fault.Errorf(SourcesDeleted,
				"このチャットのファイルは、すべて削除されています。ファイルを添付してから、もう一度お試しください。")
		}
		if q.Params != nil && (&AnswerRequest{Skill: state.Skill, Question: b.Question}).Proofreads() {
			return branchContext{}, fault.InvalidField("params", "文章の校正では、回答のパラメーターを指定できません。")
		}
	}
	if err := s.choosePictures(ctx, b, q, state.Skill, chosen); err != nil {
		return branchContext{}, err
	}
	b.Answer = newMessage(q.ThreadID, RoleAssistant, StatusPending)
	b.Answer.ParentID, b.Answer.Run = &b.Question.ID, max(s.cfg.Epoch(), 1)
	return s.withOpening(ctx, b.Owner, state.Skill, b.Question, history)
}

// dataSources returns the data sources of a new question: the given ones, else the files of its form, else inherited
// ones.
func dataSources(q Question, sk skill.Skill, inherited []uuid.UUID) ([]uuid.UUID, error) {
	if !sk.AcceptsDataSources {
		if len(q.DataSourceIDs) == 0 {
			return nil, nil
		}
		err := fault.InvalidField("data_source_ids", "このスキルでは、ファイルを使えません。")
		err.Code = SourcesNotAccepted
		return nil, err
	}
	files := sk.FormFiles(q.Form)
	ids := q.DataSourceIDs
	if ids == nil && len(files) == 0 {
		ids = inherited
	}
	ids = slices.Clone(ids)
	for _, id := range files {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) > datasource.MaxSearchSources {
		return nil, tooManySources()
	}
	return ids, nil
}

// lacksDocuments reports whether a question about documents has none because those of the thread were all deleted. The
// model would otherwise answer without sources.
func lacksDocuments(state ThreadState, question Message) bool {
	return state.Skill.TaskType == skill.TaskDocumentQA && state.HadSources && len(state.DataSourceIDs) == 0 &&
		len(question.DataSourceIDs)+len(state.Skill.Documents) == 0
}

// positionQuestion determines the position of a question in the thread, and returns the messages before it. A question
// is added at the end of a branch, in place of another question, or keeps its position to be answered again. It
// inherits the data sources of the thread, or the remaining ones of the question that it replaces, and the pictures of
// that question.
func (s *Service) positionQuestion(ctx context.Context, b *NewGeneration, q Question, state ThreadState) ([]Message, error) {
	b.Question = newMessage(q.ThreadID, RoleUser, StatusSuccess)
	switch {
	case q.Edit != nil:
		edited, err := s.findIn(ctx, b.Owner, q.ThreadID, *q.Edit, RoleUser)
		if err != nil {
			return nil, err
		}
		b.Question.ParentID, b.Question.Pictures = edited.ParentID, edited.Pictures
		b.Question.DataSourceIDs = slices.DeleteFunc(edited.DataSourceIDs, func(id uuid.UUID) bool {
			return !slices.Contains(state.DataSourceIDs, id)
		})
	case q.Regenerate != nil:
		answer, err := s.findIn(ctx, b.Owner, q.ThreadID, *q.Regenerate, RoleAssistant)
		if err != nil {
			return nil, err
		}
		if b.Question, err = s.store.FindMessage(ctx, b.Owner, *answer.ParentID); err != nil {
			return nil, err
		}
	default:
		b.Question.ParentID, b.Question.DataSourceIDs = state.Leaf, state.DataSourceIDs
		return state.History, nil
	}
	return s.historyBefore(ctx, b.Owner, b.Question)
}

// historyBefore returns the messages before a question in its branch.
func (s *Service) historyBefore(ctx context.Context, owner identity.Owner, question Message) ([]Message, error) {
	if question.ParentID == nil {
		return nil, nil
	}
	return s.store.History(ctx, owner, question.ThreadID, *question.ParentID, s.cfg.history(question.Params))
}

func newMessage(threadID uuid.UUID, role Role, status Status) Message {
	return Message{
		ID: uuidv7.New(), ThreadID: threadID, Role: role, Status: status, Citations: []Citation{}, Steps: []Step{},
	}
}

// findIn returns a question, or an answer, of a thread.
func (s *Service) findIn(
	ctx context.Context, owner identity.Owner, threadID, id uuid.UUID, role Role,
) (Message, error) {
	message, err := s.store.FindMessage(ctx, owner, id)
	if err == nil && (message.ThreadID != threadID || message.Role != role) {
		err = ErrNoMessage
	}
	return message, err
}

// render returns the text shown in the thread for a question, and the text for the model if it differs. A thread that
// began with a form continues with free text.
func render(sk skill.Skill, q Question) (skill.Question, error) {
	if q.Form == nil {
		return skill.Question{Display: q.Content, Prompt: q.Prompt, Subject: q.Content}, nil
	}
	if sk.FormType != skill.FormForm {
		return skill.Question{}, fault.InvalidField("form", "このスキルにフォームはありません。")
	}
	if err := sk.CheckForm(q.Form); err != nil {
		return skill.Question{}, err
	}
	return sk.RenderForm(q.Form), nil
}

// begin stores a question while the model is already generating, and returns when it is stored. If the store refuses
// it, the model's answer is dropped; no client has seen it.
func (s *Service) begin(ctx context.Context, b NewGeneration, req *AnswerRequest, since time.Time) (Exchange, error) {
	slot, err := s.admit(b.Owner)
	if err != nil {
		return Exchange{}, err
	}
	if slot.isGranted() {
		b.Answer.Status = StatusRunning
	}
	g := &generation{req: req, answer: b.Answer, since: since, slot: slot}
	if err := s.launch(ctx, g); err != nil {
		s.metrics.Refused(RefusedStopping) // The only error of launch.
		return Exchange{}, err
	}
	began := time.Now()
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), since.Add(commitTimeout))
	defer cancel()
	stored, err := s.store.BeginGeneration(ctx, b)
	if err != nil || stored.Existing {
		g.stored <- false
		g.cancel(errRefused)
		return stored.Exchange, err
	}
	if stored.Untitled {
		s.beginTitle(g)
	}
	s.confirmOwnership(g, began)
	if s.events == (noEvents{}) {
		close(g.announced)
	} else {
		// In the background, to avoid delaying the client's first token.
		s.jobs.Go(func() { s.publishBegin(g, stored) })
	}
	return stored.Exchange, nil
}
