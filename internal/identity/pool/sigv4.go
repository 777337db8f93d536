package pool

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// Credentials are an access key that signs requests.
type Credentials struct {
	AccessKeyID     string
	SecretAccessKey string
}

// NewCredentials returns random credentials, for a process that calls its own pool.
func NewCredentials() Credentials {
	return Credentials{AccessKeyID: "TSMG" + rand.Text()[:16], SecretAccessKey: rand.Text() + rand.Text()}
}

// Parts of Signature Version 4. See
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
const (
	sigAlgorithm  = "AWS4-HMAC-SHA256"
	sigService    = "cognito-idp"
	sigTerminator = "aws4_request"
	sigTime       = "20060102T150405Z"
	sigDay        = 8 // Length of the day in a timestamp.
	maxSkew       = 5 * time.Minute
	maxSigned     = 64 // Maximum number of signed headers.
)

// signature is the parsed Authorization header of a signed request.
type signature struct {
	keyID, day, region, service, terminator string
	headers                                 []string // The names of the signed headers.
	mac                                     []byte
}

// authorize rejects a request that is not signed with the administrator's credentials, for this pool and at about the
// current time. The refusals and the order of the checks are AWS's.
func (p *Pool) authorize(r *http.Request, body []byte) error {
	values := r.Header.Values("Authorization")
	if len(values) == 0 || !strings.HasPrefix(values[0], sigAlgorithm) {
		return &refusal{kind: "MissingAuthenticationTokenException", message: "Missing Authentication Token"}
	}
	at := r.Header.Get("X-Amz-Date")
	if len(values) > 1 || at == "" {
		return incompleteSignature(
			"Authorization header requires existence of an 'X-Amz-Date' header, and of one 'Authorization' header.",
		)
	}
	sig, err := parseSignature(values[0])
	if err != nil {
		return err
	}
	if err := p.checkScope(sig, at); err != nil {
		return err
	}
	known := subtle.ConstantTimeCompare([]byte(sig.keyID), []byte(p.cfg.Admin.AccessKeyID)) == 1
	if !known || p.cfg.Admin.SecretAccessKey == "" {
		return &refusal{
			kind:    "UnrecognizedClientException",
			message: "The security token included in the request is invalid.",
		}
	}
	if err := checkSigned(sig.headers, r.Header); err != nil {
		return err
	}
	if !sig.matches(r, body, p.cfg.Admin, at) {
		return invalidSignature("The request signature we calculated does not match the signature you provided. " +
			"Check your AWS Secret Access Key and signing method. Consult the service documentation for details.")
	}
	return p.checkSkew(at)
}

func incompleteSignature(message string) *refusal {
	return &refusal{kind: "IncompleteSignatureException", message: message}
}

func invalidSignature(message string) *refusal {
	return &refusal{kind: "InvalidSignatureException", message: message}
}

// parseSignature parses the Authorization header. Errors do not repeat its content.
func parseSignature(header string) (signature, error) {
	rest, ok := strings.CutPrefix(header, sigAlgorithm+" ")
	if !ok {
		return signature{}, incompleteSignature(
			"Authorization header requires 'Credential', 'SignedHeaders' and 'Signature' parameters.",
		)
	}
	params := map[string]string{}
	for part := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if _, twice := params[name]; twice {
			return signature{}, incompleteSignature("Authorization header has a parameter twice.")
		}
		params[name] = value
	}
	for _, name := range []string{"Credential", "SignedHeaders", "Signature"} {
		if params[name] == "" {
			return signature{}, incompleteSignature("Authorization header requires '" + name + "' parameter.")
		}
	}
	credential := strings.Split(params["Credential"], "/")
	if len(credential) != 5 {
		return signature{}, incompleteSignature(
			"Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term.",
		)
	}
	headers := strings.Split(params["SignedHeaders"], ";")
	mac, err := hex.DecodeString(params["Signature"])
	if err != nil || len(mac) != sha256.Size || len(headers) > maxSigned {
		return signature{}, incompleteSignature("Authorization header has a parameter that is not of its form.")
	}
	return signature{
		keyID: credential[0], day: credential[1], region: credential[2], service: credential[3],
		terminator: credential[4], headers: headers, mac: mac,
	}, nil
}

// checkScope rejects a signature for another date, region or service.
func (p *Pool) checkScope(sig signature, at string) error {
	region, _, _ := strings.Cut(p.cfg.PoolID, "_")
	switch {
	case sig.region != region:
		return invalidSignature("Credential should be scoped to a valid region.")
	case sig.service != sigService:
		return invalidSignature("Credential should be scoped to correct service: '" + sigService + "'.")
	case sig.terminator != sigTerminator:
		return invalidSignature("Credential should be scoped with a valid terminator: '" + sigTerminator + "'.")
	case len(at) != len(sigTime) || sig.day != at[:sigDay]:
		return invalidSignature(
			"Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP.",
		)
	}
	return nil
}

// checkSigned rejects a signature that does not cover every header that determines the request.
func checkSigned(signed []string, header http.Header) error {
	for _, name := range []string{"host", "content-type"} {
		if !slices.Contains(signed, name) {
			return invalidSignature("'" + name + "' must be a 'SignedHeader' in the AWS Authorization.")
		}
	}
	for name := range header {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-amz-") && !slices.Contains(signed, name) {
			return invalidSignature("'" + name + "' must be a 'SignedHeader' in the AWS Authorization.")
		}
	}
	return nil
}

// checkSkew rejects a time that is too far from now, which limits the replay of an intercepted request.
func (p *Pool) checkSkew(at string) error {
	signed, err := time.Parse(sigTime, at)
	now := p.now()
	limit := func(sign string, d time.Duration) string {
		return now.Add(d).Format(sigTime) + " (" + now.Format(sigTime) + " " + sign + " 5 min.)"
	}
	switch {
	case err != nil:
		return incompleteSignature("Date must be in ISO-8601 'basic format'.")
	case signed.Before(now.Add(-maxSkew)):
		return invalidSignature("Signature expired: " + at + " is now earlier than " + limit("-", -maxSkew))
	case signed.After(now.Add(maxSkew)):
		return invalidSignature("Signature not yet current: " + at + " is still later than " + limit("+", maxSkew))
	}
	return nil
}

// matches reports whether a client with the given key would sign a request in this way.
func (s signature) matches(r *http.Request, body []byte, key Credentials, at string) bool {
	signedAt, err := time.Parse(sigTime, at)
	if err != nil {
		return false
	}
	address := *r.URL
	again := &http.Request{Method: r.Method, URL: &address, Host: r.Host, Header: make(http.Header)}
	for _, name := range s.headers {
		if values := r.Header.Values(name); len(values) > 0 {
			again.Header[http.CanonicalHeaderKey(name)] = values
		}
		if name == "content-length" {
			again.ContentLength = r.ContentLength
		}
	}
	sum := sha256.Sum256(body)
	credentials := aws.Credentials{AccessKeyID: key.AccessKeyID, SecretAccessKey: key.SecretAccessKey}
	if err := v4.NewSigner().SignHTTP(r.Context(), credentials, again, hex.EncodeToString(sum[:]), s.service, s.region,
		signedAt); err != nil {
		return false
	}
	want, err := parseSignature(again.Header.Get("Authorization"))
	return err == nil && hmac.Equal(s.mac, want.mac)
}
