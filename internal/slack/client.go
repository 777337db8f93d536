package slack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	slackgo "github.com/slack-go/slack"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
)

// apiURL is the URL of Slack's Web API.
const apiURL = slackgo.APIURL

// callTimeout bounds one call of the Web API.
const callTimeout = 10 * time.Second

// client returns a client of the Web API with an installation's token. It returns responses with status 429 as errors
// without waiting, because the caller schedules the retry.
func (a *Adapter) client(i channel.Installation) *slackgo.Client {
	return slackgo.New(i.Credentials.BotToken, slackgo.OptionAPIURL(a.config.APIURL), slackgo.OptionHTTPClient(a.http),
		slackgo.OptionAppLevelToken(i.Credentials.AppToken))
}

// Error codes of the Web API, grouped by their meaning for a caller. They are the same for all methods. See the
// methods' pages at https://docs.slack.dev/reference/methods.
var (
	revoked = []string{"token_revoked", "account_inactive", "app_uninstalled"}
	gone    = []string{
		"channel_not_found", "not_in_channel", "is_archived", "message_not_found", "thread_not_found",
		"cant_update_message", "edit_window_closed", "update_failed", "user_not_in_channel", "user_not_found",
		"restricted_action", "restricted_action_read_only_channel", "restricted_action_thread_only_channel",
		"restricted_action_non_threadable_channel", "restricted_action_thread_locked", "no_permission",
		"external_channel_migrating", "team_not_found", "access_denied", "file_not_found", "file_deleted",
		"cannot_reply_to_message", "messages_tab_disabled", "ekm_access_denied",
	}
	notStreaming = []string{
		"message_not_in_streaming_state", "streaming_mode_mismatch", "streaming_state_conflict",
		"message_not_owned_by_app",
	}
	// passing are errors of Slack itself, and of workspaces that move to an enterprise.
	passing = []string{
		"internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_added_to_org", "org_login_required",
	}
	tooLong = []string{"msg_too_long", "msg_blocks_too_long", "markdown_text_too_long", "text_too_long"}
	// unknown are the errors if a workspace does not have a method, or its app may not call it.
	unknown = []string{
		"unknown_method", "method_not_supported", "missing_scope", "feature_not_enabled", "not_allowed",
		"not_allowed_token_type", "channel_type_not_supported", "not_supported_in_channel_type", "app_not_agent",
		"not_an_agent", "agent_not_enabled", "no_permission", "access_denied", "invalid_thread_ts",
		"missing_recipient_team_id", "missing_recipient_user_id", "recipient_not_found", "invalid_arguments",
	}
)

// result translates the error of a method. It removes the address from network errors, because some addresses contain
// secrets.
func result(method string, err error) error {
	if err == nil {
		return nil
	}
	if limited, ok := errors.AsType[*slackgo.RateLimitedError](err); ok {
		return &channel.RateLimitError{Method: method, RetryAfter: max(limited.RetryAfter, time.Second)}
	}
	switch code := refusal(err); {
	case code == "ratelimited" || code == "rate_limited":
		return &channel.RateLimitError{Method: method, RetryAfter: time.Second}
	case slices.Contains(revoked, code):
		return fmt.Errorf("slack: %s: %s: %w", method, code, channel.ErrRevoked)
	case slices.Contains(gone, code):
		return fmt.Errorf("slack: %s: %s: %w", method, code, channel.ErrGone)
	case slices.Contains(notStreaming, code):
		return fmt.Errorf("slack: %s: %s: %w", method, code, channel.ErrCannotAppend)
	case slices.Contains(tooLong, code):
		return fmt.Errorf("slack: %s: %s: %w", method, code, channel.ErrTooLong)
	case code != "" && !slices.Contains(passing, code):
		return fmt.Errorf("slack: %s: %w: %w", method, err, channel.ErrRefused)
	}
	return fmt.Errorf("slack: %s: %w", method, unaddressed(err))
}

// refusal returns Slack's code of an error, or "" for errors of other origins.
func refusal(err error) string {
	if refused, ok := errors.AsType[slackgo.SlackErrorResponse](err); ok {
		return refused.Err
	}
	return ""
}

// unaddressed returns an error without the address of the request, because addresses of uploads and sockets contain a
// ticket.
func unaddressed(err error) error {
	if at, ok := errors.AsType[*url.Error](err); ok {
		return at.Err
	}
	return err
}

// newHTTP returns a client that follows redirects to Slack only.
func (a *Adapter) newHTTP(timeout time.Duration) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 32
	return &http.Client{
		Timeout:   timeout,
		Transport: transport,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) >= 5 || !a.isSlack(r.URL) {
				return errors.New("slack: redirected elsewhere")
			}
			return nil
		},
	}
}

// isSlack reports whether an address belongs to Slack. Tokens are sent to such addresses only.
func (a *Adapter) isSlack(u *url.URL) bool {
	if u.Scheme == a.api.Scheme && u.Host == a.api.Host {
		return true
	}
	return u.Scheme == "https" && slices.ContainsFunc([]string{"slack.com", "slack-gov.com"}, func(domain string) bool {
		host := u.Hostname()
		return host == domain || len(host) > len(domain) && host[len(host)-len(domain)-1:] == "."+domain
	})
}

// self returns the user id of the assistant in a workspace.
func (a *Adapter) self(ctx context.Context, i channel.Installation) (string, error) {
	if i.BotUserID != "" {
		return i.BotUserID, nil
	}
	test, err := a.client(i).AuthTestContext(ctx)
	if err != nil {
		return "", result("auth.test", err)
	}
	return test.UserID, nil
}
