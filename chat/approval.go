package chat

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
	"github.com/tsumugi-ai/tsumugi/stream"
)

// Limits of decisions.
const (
	maxReason    = 500 // Characters.
	maxArguments = 64 << 10
)

// ApprovalCause is why a call needs a decision.
type ApprovalCause string

// The causes.
const (
	CauseRule      ApprovalCause = "rule"      // The tool's rule.
	CauseUntrusted ApprovalCause = "untrusted" // The tool changes something after the model has read untrusted text.
	CauseUnknown   ApprovalCause = "unknown"   // The call may have been made before a failure; its result is unknown.
	CauseInput     ApprovalCause = "input"     // The tool asks for input by the person.
)

// ApprovalState is the state of a request for a decision.
type ApprovalState string

// The states of approvals.
const (
	ApprovalWaiting  ApprovalState = "waiting"
	ApprovalApproved ApprovalState = "approved"
	ApprovalDenied   ApprovalState = "denied"
	ApprovalExpired  ApprovalState = "expired"
	ApprovalCanceled ApprovalState = "canceled" // The answer ended before the decision.
)

// Approval is a request for a decision about a call. Its JSON form is the stored form.
type Approval struct {
	ID        uuid.UUID     `json:"id"`
	Cause     ApprovalCause `json:"cause"`
	State     ApprovalState `json:"state"`
	ExpiresAt time.Time     `json:"expires_at"`
	Reason    string        `json:"reason,omitempty"` // For a refusal.
	Edited    bool          `json:"edited,omitempty"` // The person has changed the arguments.
}

// ToolApproval is an Approval with its call.
type ToolApproval struct {
	Approval

	UserID          uuid.UUID // The person who decides.
	ThreadID        uuid.UUID
	ThreadTitle     string
	SkillID         uuid.UUID // Of the thread.
	MessageID       uuid.UUID
	CallID          string
	Tool            string
	Title           string
	Arguments       string     // Empty after the end of the answer.
	Input           *ToolInput // The request for input; only while an approval with CauseInput waits.
	ArgumentsSHA256 []byte     // Of the arguments to decide on or, after the decision, of the approved ones.
	CreatedAt       time.Time
	DecidedAt       *time.Time
}

// Decision is a person's decision about a call.
type Decision struct {
	ID              uuid.UUID // Of the Approval.
	RequestID       uuid.UUID
	Approved        bool
	Arguments       json.RawMessage // Replaces the arguments; nil to keep them.
	ArgumentsSHA256 []byte          // Of the arguments that were shown.
	Reason          string
	Remember        bool // The person approves further calls of the tool in the thread.

	// Input is the response to a request for input. Approved is true exactly for tool.InputAccept. If it is nil, a refusal
	// is tool.InputDecline.
	Input *tool.InputResponse `json:",omitempty"`
}

// Errors of decisions.
var (
	ErrNoToolCall       = fault.Errorf(fault.NotFound, "ツールの呼び出しが見つかりません。")
	ErrDecided          = fault.Errorf(fault.Conflict, "この呼び出しは、すでに承認または拒否されています。")
	ErrNotDecider       = fault.Errorf(fault.Forbidden, "承認または拒否できるのは、質問した人だけです。")
	ErrApprovalExpired  = fault.Errorf(fault.Conflict, "承認の期限が切れました。")
	ErrApprovalCanceled = fault.Errorf(fault.Conflict, "回答が終わったため、承認または拒否できません。")
	ErrArgumentsChanged = fault.Errorf(fault.Conflict, "表示された引数と、呼び出しの引数が異なります。画面を読み込み直してください。")
)

// Wait is the state of an answer's wait for decisions.
type Wait struct {
	Waits   bool       // A decision is missing.
	Stopped bool       // The answer shall stop.
	Calls   []ToolCall // All calls of the answer; only if it does not wait.
}

// DecideToolCall approves or refuses a call of a tool. Only the person whose question is answered may decide.
func (s *Service) DecideToolCall(ctx context.Context, actor identity.Actor, d Decision) (ToolApproval, error) {
	owner := actor.Owner()
	if err := d.validate(); err != nil {
		return ToolApproval{}, err
	}
	if err := s.checkEdited(ctx, owner, d); err != nil {
		return ToolApproval{}, err
	}
	decided, err := s.store.DecideToolCall(ctx, owner, d, org.AuditActorOf(actor))
	if err != nil {
		return ToolApproval{}, err
	}
	s.decided(decided)
	s.events.ToolCallChanged(owner, decided)
	return decided, nil
}

func (d Decision) validate() error {
	switch {
	case utf8.RuneCountInString(d.Reason) > maxReason:
		return fault.InvalidField("reason", "理由は%d文字以内で入力してください。", maxReason)
	case len(d.ArgumentsSHA256) != sha256.Size:
		return fault.InvalidField("arguments_sha256", "引数のSHA-256を指定してください。")
	case d.Arguments == nil:
		return nil
	case !d.Approved:
		return fault.InvalidField("arguments", "引数を変更できるのは、承認するときだけです。")
	case len(d.Arguments) > maxArguments:
		return fault.InvalidField("arguments", "引数が長すぎます。")
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(d.Arguments, &object) != nil || object == nil {
		return fault.InvalidField("arguments", "引数はJSONのオブジェクトで入力してください。")
	}
	if repeatsName(json.NewDecoder(bytes.NewReader(d.Arguments))) {
		return fault.InvalidField("arguments", repeatedName)
	}
	return nil
}

// checkEdited refuses edited arguments that do not match the tool's definition, so that the person can correct them. All
// other errors are those of the decision or of the call.
func (s *Service) checkEdited(ctx context.Context, owner identity.Owner, d Decision) error {
	if d.Arguments == nil {
		return nil
	}
	waiting, err := s.store.WaitingToolApproval(ctx, owner, d.ID)
	if errors.Is(err, ErrNoToolCall) {
		return nil
	}
	if err != nil {
		return err
	}
	tools, err := s.tools.Of(ctx, owner, []string{waiting.Tool})
	if found, exists := findTool(tools, waiting.Tool); exists && found.Check != nil {
		if err := found.Check(d.Arguments); fault.CodeOf(err) == fault.Invalid {
			return fault.InvalidField("arguments", "%s", fault.DetailOf(err))
		}
	}
	return err
}

// Hash returns the hash of the decision, without its request id.
func (d Decision) Hash() [32]byte {
	d.RequestID = uuid.Nil
	return sha256.Sum256(encode(d))
}

// ListToolApprovals returns a page of the calls that wait for a decision of the owner, oldest first.
func (s *Service) ListToolApprovals(ctx context.Context, owner identity.Owner, offset, limit int) ([]ToolApproval, error) {
	return s.store.ListToolApprovals(ctx, owner, offset, limit)
}

// ListAnswerApprovals returns the requests for the owner's decisions about the calls of an answer, with their states,
// oldest first.
func (s *Service) ListAnswerApprovals(
	ctx context.Context, owner identity.Owner, messageID uuid.UUID,
) ([]ToolApproval, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return s.store.ListAnswerApprovals(ctx, owner, messageID)
}

// expireApprovals lets calls fail that were not decided in time.
func (s *Service) expireApprovals() {
	ctx, cancel := context.WithTimeout(s.root, commitTimeout)
	defer cancel()
	expired, err := s.store.ExpireToolCalls(ctx, takeOverBatch)
	if err != nil {
		s.log.ErrorContext(ctx, "chat: expired approvals not ended", "err", err)
	}
	for _, approval := range expired {
		s.decided(approval)
		s.events.ToolCallChanged(identity.Owner{UserID: approval.UserID}, approval)
	}
}

// errNothingToDecide is the error of a damaged row.
var errNothingToDecide = errors.New("chat: the stored call lacks its request for a decision or input")

// Decide applies a decision to the call. The error has the code fault.Invalid, unless the stored call is damaged.
func (c *ToolCall) Decide(state ApprovalState, d Decision) error {
	if c.Approval == nil || c.Approval.Cause == CauseInput && c.Input == nil {
		return errNothingToDecide
	}
	approval := *c.Approval
	approval.State, approval.Reason = state, d.Reason
	isInput := approval.Cause == CauseInput
	switch {
	case isInput && state == ApprovalExpired:
		c.State, c.Error = ToolFailed, "入力の期限が切れました。"
	case isInput:
		if err := c.respond(d); err != nil {
			return err
		}
	case d.Input != nil:
		return fault.InvalidField("input", "この呼び出しは、入力を求めていません。")
	default:
		c.apply(&approval, d)
	}
	c.Approval = &approval
	return nil
}

// apply applies a decision about making the call.
func (c *ToolCall) apply(approval *Approval, d Decision) {
	switch approval.State {
	case ApprovalApproved:
		c.State = ToolApproved
		if d.Arguments != nil {
			approval.Edited, c.Arguments, c.Input = true, string(d.Arguments), nil // Another call, from its first round.
		}
	case ApprovalDenied:
		c.State, c.Result = ToolDenied, "利用者が拒否しました。"
		if d.Reason != "" {
			c.Result += "理由：" + d.Reason
		}
	default:
		c.State, c.Error = ToolFailed, ErrApprovalExpired.Detail
	}
}

// ask makes the call wait for a decision.
func (c *ToolCall) ask(cause ApprovalCause, expiresAt time.Time) {
	c.State = ToolWaiting
	c.Approval = &Approval{
		ID: uuidv7.New(), Cause: cause, State: ApprovalWaiting, ExpiresAt: expiresAt.UTC().Truncate(time.Millisecond),
	}
}

// repeatable reports whether a call whose result is unknown may be made again.
func repeatable(t tool.Tool) bool { return !t.Effects || t.Idempotent }

// approvalCause returns why a call needs a decision, or "". permitted are the tools that the person has
// approved for the thread.
func (g *generation) approvalCause(t tool.Tool, permitted []string) ApprovalCause {
	if t.Effects && g.readsUntrusted() {
		return CauseUntrusted
	}
	if t.Rule == tool.RuleAsk && !slices.Contains(permitted, t.Name) {
		return CauseRule
	}
	return ""
}

// readsUntrusted reports whether the model has read text for the answer that was written by others than the organization:
// a page of the browser extension, pages of the web, or results of calls.
func (g *generation) readsUntrusted() bool {
	isPage := func(source Source) bool { return source.URL != "" }
	if g.req.Skill.IsExtension() || slices.ContainsFunc(g.grounds.Sources, isPage) {
		return true
	}
	return slices.ContainsFunc(g.calls(), func(call ToolCall) bool { return call.Untrusted })
}

// streamApproval returns the state of the decision about a call for streams.
func streamApproval(callID string, a Approval, argumentsSHA256 []byte) stream.ToolApproval {
	return stream.ToolApproval{
		ID: a.ID.String(), CallID: callID, Cause: string(a.Cause), State: string(a.State), ExpiresAt: a.ExpiresAt,
		SHA256: hex.EncodeToString(argumentsSHA256), Reason: a.Reason, Edited: a.Edited,
	}
}
