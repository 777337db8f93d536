package slack

import (
	"net/http"

	slackgo "github.com/slack-go/slack"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// Verify returns an error unless a request was signed with a signing secret within the last five minutes (v0 HMAC over
// the raw body). Callers must verify a body before parsing it. See
// https://docs.slack.dev/authentication/verifying-requests-from-slack.
func Verify(secret string, header http.Header, body []byte) error {
	verifier, err := slackgo.NewSecretsVerifier(header, secret)
	if err != nil {
		return fault.Wrap(err, fault.Unauthenticated, "Slackの署名を確認できません。")
	}
	// Writing to a hash never fails.
	_, _ = verifier.Write(body)
	if err := verifier.Ensure(); err != nil {
		return fault.Wrap(err, fault.Unauthenticated, "Slackの署名を確認できません。")
	}
	return nil
}
