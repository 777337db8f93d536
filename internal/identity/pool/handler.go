package pool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

const (
	mediaType    = "application/x-amz-json-1.1"
	targetPrefix = "AWSCognitoIdentityProviderService."
	maxBody      = 64 << 10
	maxHeader    = 512 // In bytes, of one header: proxies reject responses whose headers exceed their buffers.
)

// Retry-After is a random number of seconds in this range, so that rejected clients do not all return at once.
const (
	retryMin = 2
	retryMax = 10
)

// Handler returns the pool's HTTP handler, to be mounted anywhere. A POST is a call of the user pool protocol. A GET of
// a path that ends with /<pool id>/.well-known/jwks.json returns the public keys, and one that ends with
// openid-configuration instead returns the metadata with their address.
//
// It allows no other origins, and bodies of up to 64 KiB. The caller must limit requests by address.
func (p *Pool) Handler() http.Handler { return http.HandlerFunc(p.serve) }

func (p *Pool) serve(w http.ResponseWriter, r *http.Request) {
	_, document, known := strings.Cut(r.URL.Path, "/"+p.cfg.PoolID+"/.well-known/")
	known = known && (document == "jwks.json" || document == "openid-configuration")
	switch {
	case known && r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		p.respond(w, r, nil, unknownOperation(http.StatusMethodNotAllowed))
	case known && document == "jwks.json":
		p.serveDocument(w, r, p.keySet(r.Context()))
	case known:
		p.serveDocument(w, r, p.configuration())
	case r.Method == http.MethodPost:
		answer, err := p.call(w, r)
		p.respond(w, r, answer, err)
	default:
		w.Header().Set("Allow", http.MethodPost)
		p.respond(w, r, nil, unknownOperation(http.StatusMethodNotAllowed))
	}
}

// call runs the operation named by a request.
func (p *Pool) call(w http.ResponseWriter, r *http.Request) (any, error) {
	name, isTarget := strings.CutPrefix(r.Header.Get("X-Amz-Target"), targetPrefix)
	op, known := p.operations[name]
	// Prevents cross-site requests: browsers send this media type and the target header only after a CORS preflight.
	if got, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || got != mediaType || !isTarget ||
		!known {
		return nil, unknownOperation(http.StatusBadRequest)
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, &refusal{
			kind: "UnsupportedMediaTypeException", status: http.StatusUnsupportedMediaType,
			message: "Compressed bodies are not supported.",
		}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, &refusal{
			kind: "RequestEntityTooLargeException", status: http.StatusRequestEntityTooLarge,
			message: "The request body is larger than 64 KiB.",
		}
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.Canceled, "the request's body ended early")
	}
	if op.signed {
		if err := p.authorize(r, body); err != nil {
			return nil, err
		}
	}
	in, err := parseInput(body)
	if err != nil {
		return nil, err
	}
	return op.run(r.Context(), in)
}

// respond writes an answer, or the refusal for an error.
func (p *Pool) respond(w http.ResponseWriter, r *http.Request, answer any, err error) {
	requestID := uuid.NewString()
	header := w.Header()
	header.Set("Content-Type", mediaType)
	header.Set("Cache-Control", "no-store")
	header.Set("X-Amzn-Requestid", requestID)
	status := http.StatusOK
	if err != nil {
		refused := p.translate(r.Context(), err, requestID)
		status = refused.statusCode()
		// AWS sends the colon; clients cut the name there.
		header.Set("X-Amzn-Errortype", refused.kind+":")
		if refused.again {
			//nolint:gosec // Spreads clients; no secret.
			header.Set("Retry-After", strconv.Itoa(retryMin+rand.N(retryMax-retryMin+1)))
		}
		if len(refused.message) <= maxHeader && !strings.ContainsFunc(refused.message, not(isHeaderText)) {
			header.Set("X-Amzn-Errormessage", refused.message)
		}
		answer = struct {
			Type    string `json:"__type"`
			Message string `json:"message"`
		}{refused.kind, refused.message}
	}
	if _, bodiless := answer.(noBody); bodiless {
		w.WriteHeader(status)
		return
	}
	body, err := json.Marshal(answer)
	if err != nil { // Unreachable: answers are structs of strings and numbers.
		p.cfg.Logger.ErrorContext(r.Context(), "pool: encoding a response failed", "err", err,
			"amzn_request_id",
			requestID)
		status, body = http.StatusInternalServerError,
			[]byte(`{"__type":"InternalErrorException","message":"Internal error"}`)
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // The client may have disconnected.
}

// translate returns the refusal for an error. An unexpected error is logged, and its text is not sent to the client.
func (p *Pool) translate(ctx context.Context, err error, requestID string) *refusal {
	if refused, ok := errors.AsType[*refusal](err); ok {
		return refused
	}
	if errors.Is(err, errBusy) {
		return tooManyRequests()
	}
	code := fault.CodeOf(err)
	// The client has disconnected, or this server is stopping.
	if code == fault.Canceled || errors.Is(err, context.Canceled) {
		return unavailable()
	}
	p.cfg.Logger.ErrorContext(ctx, "pool: call failed", "err", err, "amzn_request_id", requestID)
	if code == fault.Unavailable || errors.Is(err, context.DeadlineExceeded) {
		return unavailable()
	}
	return &refusal{kind: "InternalErrorException", message: "Internal error", status: http.StatusInternalServerError}
}

func isHeaderText(r rune) bool { return ' ' <= r && r < 0x7f }

// keySet returns the public keys as a JWK set (RFC 7517).
func (p *Pool) keySet(ctx context.Context) any {
	set := struct {
		Keys []jwk `json:"keys"`
	}{Keys: []jwk{}}
	for _, s := range p.keys.all(ctx) {
		set.Keys = append(set.Keys, newJWK(s.id, &s.key.PublicKey))
	}
	return set
}

// configuration returns the metadata for verifying the pool's tokens (OpenID Connect Discovery 1.0, section 3). It has
// no endpoints: users sign in with the user pool's own protocol, and not with a flow of OAuth.
func (p *Pool) configuration() any {
	return struct {
		Issuer            string   `json:"issuer"`
		JWKSURI           string   `json:"jwks_uri"`
		ResponseTypes     []string `json:"response_types_supported"`
		GrantTypes        []string `json:"grant_types_supported"`
		SubjectTypes      []string `json:"subject_types_supported"`
		SigningAlgorithms []string `json:"id_token_signing_alg_values_supported"`
		Claims            []string `json:"claims_supported"`
	}{
		p.cfg.Issuer, p.cfg.Issuer + "/.well-known/jwks.json",
		[]string{},
		[]string{},
		[]string{"public"},
		[]string{"RS256"},
		[]string{
			"sub", "iss", "aud", "exp", "iat", "auth_time", "email", "email_verified", "name", "cognito:groups",
			"cognito:username",
		},
	}
}

// serveDocument writes one of the public documents.
func (p *Pool) serveDocument(w http.ResponseWriter, r *http.Request, document any) {
	body, err := json.Marshal(document)
	if err != nil { // Unreachable.
		p.respond(w, r, nil, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", fmt.Sprintf("public, max-age=%d", int(jwksMaxAge.Seconds())))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body) // The client may have disconnected.
}
