package openai

import (
	"net/http"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// OpenAI's codes of refused requests.
const (
	UnknownModel         fault.Code = "model_not_found"
	UnknownParameter     fault.Code = "unknown_parameter"
	UnsupportedParameter fault.Code = "unsupported_parameter" // Refused by the answering model.
	MissingParameter     fault.Code = "missing_required_parameter"
	InvalidType          fault.Code = "invalid_type"
	InvalidValue         fault.Code = "invalid_value"
)

// refuseParam returns the error of a parameter.
func refuseParam(code fault.Code, param, format string, args ...any) error {
	err := fault.InvalidField(param, format, args...)
	err.Code = code
	return err
}

// NewError returns an error with a status, a code and a message. param is the parameter that caused it, or nil.
func NewError(status int, code, message string, param *string) OpenAIError {
	body := OpenAIErrorBody{Message: message, Code: code, Param: param, Type: "invalid_request_error"}
	switch {
	case status == http.StatusUnauthorized:
		body.Type = "authentication_error"
	case status == http.StatusForbidden:
		body.Type = "permission_error"
	case status == http.StatusTooManyRequests:
		body.Type = "rate_limit_error"
	case status >= http.StatusInternalServerError:
		body.Type = "server_error"
	}
	return OpenAIError{Error: body}
}
