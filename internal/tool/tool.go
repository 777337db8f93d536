// Package tool has the tools that assistants call while they answer: their definitions for models and for people, and
// the built-in ones.
//
// It imports fault, japan, golang.org/x/text and the standard library. It does not use models, chats or the database.
package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// Tool is a function that a model may call.
type Tool struct {
	Name        string          // Letters, digits and _; at most 64.
	Title       string          // For people.
	Description string          // For the model.
	Parameters  json.RawMessage // A JSON schema of the arguments, an object.

	Rule       Rule // Whether calls need a decision of the person. Tools with RuleDeny are not offered to models.
	Effects    bool // Calls may change something. After untrusted text in the same answer, they need a decision.
	Idempotent bool // A call whose result is unknown may be repeated. Tools without effects are idempotent.

	Version string // Differs after a change of the tool's definition or of its server. An approval holds for one version.

	// Check refuses arguments that do not match Parameters, with the code fault.Invalid, before a person is asked about
	// the call. It is nil for a tool whose Call refuses them.
	Check func(arguments json.RawMessage) error

	// Call makes one call. The arguments are JSON written by a model; they may have any form. The detail of an error is
	// shown to the person and sent to the model.
	Call func(ctx context.Context, arguments json.RawMessage) (Result, error)

	// Resume makes the next request of a call after a result with Input. It is nil if the tool never asks for input.
	Resume func(ctx context.Context, arguments json.RawMessage, request InputRequest, response InputResponse) (Result, error)
}

// ErrWithdrawn is the error of a call whose tool, or its server, has changed since the call was begun.
var ErrWithdrawn = fault.Errorf(fault.Conflict,
	"このツールは、管理者の変更により使えなくなったため、呼び出しを終了しました。")

// Rule is allow, ask or deny.
type Rule string

// The rules of tools.
const (
	RuleAllow Rule = "allow"
	RuleAsk   Rule = "ask" // Each call needs a decision of the person whose question it is.
	RuleDeny  Rule = "deny"
)

// Result is the result of a call.
type Result struct {
	Text      string // For the model.
	Untrusted bool   // The text was written by others than the organization, such as a web page.

	// Found has the sources found by SearchDocuments, SearchWeb or ReadPage, a []chat.Source. Text is then a note about
	// them, which the tool itself has written.
	Found any

	// Input is the request for input without which the call has no result yet. nil for a complete call.
	Input *InputRequest
}

// BuiltIn returns the built-in tools that need no service. now returns the current time.
func BuiltIn(now func() time.Time) []Tool { return []Tool{calendarTool(now), calculateTool()} }

// Names returns the names of the built-in tools.
func Names() []string {
	return []string{calendarName, calculateName, SearchDocuments, SearchWeb, ReadPage}
}

// newTool returns a built-in tool whose arguments are decoded for call.
func newTool[A any](t Tool, call func(ctx context.Context, arguments A) (Result, error)) Tool {
	t.Rule = RuleAllow
	t.Call = func(ctx context.Context, arguments json.RawMessage) (Result, error) {
		var decoded A
		if err := decode(arguments, &decoded); err != nil {
			return Result{}, err
		}
		return call(ctx, decoded)
	}
	return t
}

// decode decodes the arguments of a call. Members of unknown names are an error, so that the model corrects them.
func decode(arguments json.RawMessage, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(arguments))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(v)
	if err == nil && decoder.More() {
		err = io.ErrUnexpectedEOF
	}
	if err == nil {
		return nil
	}
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && mismatch.Field != "" {
		return fault.Wrap(err, fault.Invalid, "引数 %s の型が正しくありません。", mismatch.Field)
	}
	return fault.Wrap(err, fault.Invalid, "引数を読み取れませんでした。定義された名前と型で指定してください。")
}

// Separator separates the key of a tool server from the rest in the names of the tools of organizations' servers.
const Separator = "__"

var serverName = regexp.MustCompile(`^[a-z](?:_?[a-z0-9]){0,23}` + Separator + `[A-Za-z0-9_-]+$`)

// IsServerName reports whether a name has the form of the names of tools of organizations' servers, such as
// crm__find_customer. The tool need not exist.
func IsServerName(name string) bool { return len(name) <= 64 && serverName.MatchString(name) }
