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

// Attempt is what a call can be abused for, which decides how it is limited.
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

// AttemptOf returns what a call can be abused for, and a key of the account that it names. It reads and replaces the
// body, so that a call that holds a rate limiter's slot does not wait for its body. A refresh is not an attempt:
// refresh tokens cannot be guessed, and a whole office may send revoked ones.
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
	}{io.MultiReader(bytes.NewReader(head), &failing{r.Body, err}), r.Body}
	call := members(head)
	if operation == "InitiateAuth" && strings.HasPrefix(text(call["AuthFlow"]), "REFRESH_TOKEN") {
		return NoAttempt, ""
	}
	name := cmp.Or(text(call["Username"]), text(members(call["AuthParameters"])["USERNAME"]),
		text(members(call["ChallengeResponses"])["USERNAME"]), text(call["AccessToken"]))
	sum := sha256.Sum256([]byte(strings.ToLower(strings.TrimSpace(name))))
	return kind, string(sum[:])
}

// members parses a JSON object as parseInput does: a struct would also match names that differ in case.
func members(raw []byte) (object map[string]json.RawMessage) {
	_ = json.Unmarshal(raw, &object) // Anything else has no members.
	return object
}

func text(raw []byte) (value string) {
	_ = json.Unmarshal(raw, &value) // Anything else is not a string.
	return value
}

// failing reads the rest of a body, and then returns the error that reading it met.
type failing struct {
	rest io.Reader
	err  error
}

// Read implements io.Reader.
func (f *failing) Read(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return f.rest.Read(p)
}

// Examined reports whether the pool has examined the call that it answered with this status and header. It has not if
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
	_, _ = io.WriteString(w, `{"__type":"`+refused.kind+`","message":"`+refused.message+`"}`) // The client may be gone.
}
