package slack

import (
	"net/http"

	slackgo "github.com/slack-go/slack"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// Verify reports whether a request was signed with a signing secret within the last five minutes (v0 HMAC over the raw
// body). Nothing of a body is read before. See https://docs.slack.dev/authentication/verifying-requests-from-slack.
func Verify(secret string, header http.Header, body []byte) error {
	verifier, err := slackgo.NewSecretsVerifier(header, secret)
	if err != nil {
		return fault.Wrap(err, fault.Unauthenticated, "Slackの署名を確認できません。")
	}
	// A hash takes everything.
	_, _ = verifier.Write(body)
	if err := verifier.Ensure(); err != nil {
		return fault.Wrap(err, fault.Unauthenticated, "Slackの署名を確認できません。")
	}
	return nil
}
