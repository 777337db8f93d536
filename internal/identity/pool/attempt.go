package pool

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
)

// Attempt is the kind of abuse that a call allows. It determines the call's rate limit.
type Attempt int

// The kinds of attempts.
const (
	NoAttempt Attempt = iota
	Guess             // It tries a password or a code.
	SendsMail         // It sends mail to the named account.
)

var operationForm = regexp.MustCompile(`^[A-Za-z]{1,64}$`)

// OperationOf returns the operation named by a call, such as InitiateAuth, or "".
func OperationOf(r *http.Request) string {
	operation, ok := strings.CutPrefix(r.Header.Get("X-Amz-Target"), targetPrefix)
	if !ok || !operationForm.MatchString(operation) {
		return ""
	}
	return operation
}

// AttemptOf returns the kind of abuse that a call allows, and a key of the account in the call. It reads and replaces
// the body, so that a call does not wait for its body while it occupies a rate limiter's slot. A refresh is not an
// attempt: refresh tokens cannot be guessed, and a whole office may send revoked ones. Neither is USER_AUTH, which tries
// nothing.
func AttemptOf(r *http.Request) (kind Attempt, account string) {
	operation := OperationOf(r)
	kind = Guess
	switch operation {
	case "ForgotPassword":
		kind = SendsMail
	case "InitiateAuth", "RespondToAuthChallenge", "ConfirmForgotPassword", "ChangePassword":
	default:
		return NoAttempt, ""
	}
	head, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), &failingReader{r.Body, err}), r.Body}
	call := members(head)
	flow := text(call["AuthFlow"])
	if operation == "InitiateAuth" && (strings.HasPrefix(flow, "REFRESH_TOKEN") || flow == flowChoice) {
		return NoAttempt, ""
	}
	name := cmp.Or(text(call["Username"]), text(members(call["AuthParameters"])["USERNAME"]),
		text(members(call["ChallengeResponses"])["USERNAME"]), text(call["AccessToken"]),
		text(call["Session"])) // The answer of a passkey has no name.
	sum := sha256.Sum256([]byte(strings.ToLower(strings.TrimSpace(name))))
	return kind, string(sum[:])
}

// members parses a JSON object like parseInput. A struct would also match names that differ in case.
func members(raw []byte) (object map[string]json.RawMessage) {
	_ = json.Unmarshal(raw, &object) // Other values have no members.
	return object
}

func text(raw []byte) (value string) {
	_ = json.Unmarshal(raw, &value) // Other values are not strings.
	return value
}

// failingReader returns the rest of a body, followed by the error of reading it.
type failingReader struct {
	rest io.Reader
	err  error
}

func (f *failingReader) Read(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return f.rest.Read(p)
}

// Examined reports whether the pool has executed the call, given the status and header of its response. It has not if
// it was too busy or the database was unavailable.
func Examined(status int, header http.Header) bool {
	return status < http.StatusInternalServerError && header.Get("X-Amzn-Errortype") != tooManyRequests().kind+":"
}

// WriteBusy rejects a call, in the pool's protocol, before it reaches the pool: with TooManyRequestsException and 429
// if the caller was limited, else with ServiceUnavailableException and 503. retryAfter is the value of the header
// Retry-After.
func WriteBusy(w http.ResponseWriter, limited bool, retryAfter string) {
	refused, status := unavailable(), http.StatusServiceUnavailable
	if limited {
		refused, status = tooManyRequests(), http.StatusTooManyRequests
	}
	h := w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Amzn-Errortype", refused.kind+":")
	h.Set("Retry-After", retryAfter)
	w.WriteHeader(status)
	// The client may have disconnected.
	_, _ = io.WriteString(w, `{"__type":"`+refused.kind+`","message":"`+refused.message+`"}`)
}
