package pool

import (
	"fmt"
	"net/http"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// refusal is an error response of the protocol, with Cognito's names and texts.
type refusal struct {
	kind    string // The exception's name: __type.
	message string
	status  int  // 400 if zero.
	again   bool // Whether the same call may succeed later.
}

func (r *refusal) Error() string { return r.kind + ": " + r.message }

func (r *refusal) statusCode() int {
	if r.status == 0 {
		return http.StatusBadRequest
	}
	return r.status
}

// refusedIf returns the refusal for an error with the code, and other errors unchanged.
func refusedIf(err error, code fault.Code, refused *refusal) error {
	if fault.CodeOf(err) == code {
		return refused
	}
	return err
}

func notAuthorized(message string) *refusal {
	return &refusal{kind: "NotAuthorizedException", message: message}
}

func incorrectPassword() *refusal { return notAuthorized("Incorrect username or password.") }

func invalidPassword(lacks string) *refusal {
	return &refusal{kind: "InvalidPasswordException", message: "Password does not conform to policy: " + lacks}
}

func invalidParameter(format string, args ...any) *refusal {
	return &refusal{kind: "InvalidParameterException", message: fmt.Sprintf(format, args...)}
}

func missingParameter(name string) *refusal {
	return invalidParameter("Missing required parameter %s", name)
}

func serialization(message string) *refusal {
	return &refusal{kind: "SerializationException", message: message}
}

func tooManyRequests() *refusal {
	return &refusal{kind: "TooManyRequestsException", message: "Rate exceeded", again: true}
}

// unavailable is the refusal of calls for which the database did not respond in time. The SDKs retry them.
func unavailable() *refusal {
	return &refusal{
		kind: "ServiceUnavailableException", message: "The service is temporarily unavailable.",
		status: http.StatusServiceUnavailable, again: true,
	}
}

func unknownOperation(status int) *refusal {
	return &refusal{kind: "UnknownOperationException", message: "The requested operation is not known.", status: status}
}
