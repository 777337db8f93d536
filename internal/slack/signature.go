package slack

import (
	"net/http"
	"net/url"

	slackgo "github.com/slack-go/slack"
	"github.com/tidwall/gjson"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// Verify reports whether a request was signed with a signing secret within the last five minutes (v0 HMAC over the raw
// body). All that may be read of a body before is Claims. See
// https://docs.slack.dev/authentication/verifying-requests-from-slack.
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

// Workspace names where an event comes from.
type Workspace struct {
	AppID        string
	EnterpriseID string
	TeamID       string
}

// Claims returns where a body says it comes from, so that its signature can be checked with the right secret. Nothing
// of it is true before Verify. The fields are empty where the body does not say.
func Claims(body []byte) Workspace {
	if len(body) > 0 && body[0] == '{' {
		return claims(body)
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return Workspace{}
	}
	if payload := form.Get("payload"); payload != "" {
		return claims([]byte(payload))
	}
	return Workspace{form.Get("api_app_id"), form.Get("enterprise_id"), form.Get("team_id")}
}

// claims reads the places in which events and interactions name their workspace.
func claims(body []byte) Workspace {
	first := func(paths ...string) string {
		for _, value := range gjson.GetManyBytes(body, paths...) {
			if value.Type == gjson.String && value.Str != "" {
				return value.Str
			}
		}
		return ""
	}
	return Workspace{
		AppID:        first("api_app_id"),
		EnterpriseID: first("authorizations.0.enterprise_id", "enterprise_id", "enterprise.id", "team.enterprise_id"),
		TeamID:       first("authorizations.0.team_id", "team_id", "team.id", "user.team_id"),
	}
}
