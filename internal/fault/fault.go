// Package fault gives errors a stable machine-readable code and a text for people.
//
// Domains and the store raise faults; package api translates them to problem documents (RFC 9457) in one place. An
// error without a code is internal: it is logged and never shown. The package imports the standard library only.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Code identifies a kind of failure. It is part of the API, because clients switch on it.
type Code string

// Codes shared by all domains. Package api determines their HTTP status. A domain may use a more specific code with
// Errorf(code, …) if the API defines one.
const (
	Invalid          Code = "invalid"             // The input is malformed or breaks a rule.
	Unauthenticated  Code = "unauthenticated"     // No credentials, or invalid ones.
	Forbidden        Code = "forbidden"           // Signed in, but not allowed.
	NotFound         Code = "not_found"           // The resource does not exist, or has another owner.
	Conflict         Code = "conflict"            // The state of the resource does not allow the operation.
	TooLarge         Code = "too_large"           // The body or file exceeds its limit.
	RateLimited      Code = "rate_limited"        // Too many requests; try again later.
	Unavailable      Code = "unavailable"         // A component is down or the server is overloaded; try again.
	Internal         Code = "internal"            // A defect or an unexpected failure. Only the log has details.
	Canceled         Code = "canceled"            // The caller has cancelled the request.
	ThreadBusy       Code = "thread_busy"         // A generation is running in this thread.
	SkillUnavailable Code = "skill_unavailable"   // A facility that the skill needs is not configured.
	ReadOnly         Code = "read_only"           // The caller may read the thread but not ask in it.
	QueueFull        Code = "queue_full"          // Too many questions wait in the shared thread.
	RequestConflict  Code = "request_id_conflict" // The same request id was used with another body.
	NoSeat           Code = "no_seat"             // The contract allows no more active members.
	//nolint:gosec // No credential. The contract's tokens of the month are used up.
	TokenLimit Code = "token_limit_reached"
	//nolint:gosec // No credential. The member's tokens of the month are used up.
	MemberLimit   Code = "member_limit_reached"
	ContractEnded Code = "contract_ended" // The contract is suspended or has ended.
)

// FieldError describes an error in one field of the input.
type FieldError struct {
	Field   string `json:"field"`   // Path of the field, for example "users[2].email".
	Message string `json:"message"` // For people, in Japanese.
}

// Error is a failure with a code. Detail may be shown to users. The wrapped error must not be shown.
type Error struct {
	Code   Code
	Detail string
	Fields []FieldError

	// RetryAfter is the time after which a retry may succeed, for RateLimited and Unavailable. If it is 0, the API
	// chooses the time.
	RetryAfter time.Duration

	err error
}

// Error implements error. The text is for logs; it includes the wrapped error.
func (e *Error) Error() string {
	if e.err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Detail, e.err)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Detail)
}

// Unwrap returns the cause, which is only logged.
func (e *Error) Unwrap() error { return e.err }

// Errorf returns an error with the given code. The formatted text may be shown to users.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Wrap returns an error with the given code and text. Its cause err is only logged.
func Wrap(err error, code Code, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...), err: err}
}

// InvalidField returns an Invalid error that names one field.
func InvalidField(field, format string, args ...any) *Error {
	message := fmt.Sprintf(format, args...)
	return &Error{Code: Invalid, Detail: message, Fields: []FieldError{{Field: field, Message: message}}}
}

// CodeOf returns the code of the first fault in err's chain. It returns "" for nil and Internal for an error without a
// code.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}

// DetailOf returns the Detail of the first fault in err's chain, or "" if the chain has no fault.
func DetailOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Detail
	}
	return ""
}

// FieldsOf returns the field errors of the first fault in err's chain.
func FieldsOf(err error) []FieldError {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Fields
	}
	return nil
}

// RetryAfterOf returns the RetryAfter of the first fault in err's chain, or 0.
func RetryAfterOf(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.RetryAfter
	}
	return 0
}
