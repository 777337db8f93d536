package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/channel/workspace"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/slack"
)

// Slack holds the services for Slack's requests and for its configuration.
type Slack struct {
	Setup *workspace.Setup
	Links *workspace.Linker

	// Enqueue stores an event. It is the method of channel.Service.
	Enqueue func(ctx context.Context, in channel.IncomingEvent) error
}

const (
	maxSlackBody = 1 << 20                 // In bytes. Slack's events have at most about 100 KiB.
	slackTimeout = 2500 * time.Millisecond // Slack waits for 3 s before it sends the request again.

	// Cookies that bind an OAuth flow with Slack to the browser in which it began.
	slackLinkCookie    = "tsumugi_slack_link"
	slackInstallCookie = "tsumugi_slack_install"
	slackCookieAge     = 10 * 60 // In seconds.

	// The app's pages after the flow.
	slackAdminPage   = "/admin/slack"
	slackSettingPage = "/setting/slack"
)

// slackEvent stores an event, or answers the challenge that verifies the address.
func (s *Server) slackEvent(w http.ResponseWriter, r *http.Request) error {
	return s.takeSlack(w, r, slack.ParseEvent)
}

// slackInteraction stores a pressed button or a shortcut.
func (s *Server) slackInteraction(w http.ResponseWriter, r *http.Request) error {
	return s.takeSlack(w, r, func(body []byte) (slack.Event, error) {
		in, err := slack.ParseInteraction(body)
		return slack.Event{Incoming: in}, err
	})
}

// slackCommand stores a command.
func (s *Server) slackCommand(w http.ResponseWriter, r *http.Request) error {
	return s.takeSlack(w, r, func(body []byte) (slack.Event, error) {
		in, err := slack.ParseCommand(body)
		return slack.Event{Incoming: in}, err
	})
}

// takeSlack stores the content of a signed request, and then acknowledges it. An unsigned request receives 401 with an
// empty body.
func (s *Server) takeSlack(w http.ResponseWriter, r *http.Request, parse func([]byte) (slack.Event, error)) error {
	ctx, cancel := context.WithTimeout(r.Context(), slackTimeout)
	defer cancel()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSlackBody))
	if err != nil {
		w.WriteHeader(http.StatusUnauthorized) // A request that cannot be read has no valid signature.
		return nil
	}
	signers, err := s.slackSigners(ctx, r.Header, body)
	switch {
	case err != nil:
		return err
	case len(signers) == 0:
		w.WriteHeader(http.StatusUnauthorized)
		return nil
	}
	event, err := parse(body)
	switch {
	case err != nil:
		return err
	case event.Challenge != "":
		acknowledge(w)
		_, _ = io.WriteString(w, event.Challenge) //nolint:gosec // Plain text, with nosniff.
		return nil
	}
	mine, err := s.speaksFor(ctx, signers, event.Incoming)
	switch {
	case errors.Is(err, errForeign):
		w.WriteHeader(http.StatusUnauthorized)
		return nil
	case err != nil:
		return err
	case mine:
		if err := s.Slack.Enqueue(ctx, event.Incoming); err != nil {
			return err
		}
	}
	acknowledge(w)
	return nil
}

// acknowledge confirms a request to Slack. An empty text shows nothing to the person who pressed a button.
func acknowledge(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusOK)
}

// slackSigners returns the signers whose secret signed a request. Several installations may have the same app.
func (s *Server) slackSigners(ctx context.Context, header http.Header, body []byte) ([]workspace.Signer, error) {
	for _, fresh := range []bool{false, true} { // A secret may have been stored just now.
		known, err := s.Slack.Setup.Signers(ctx, fresh)
		if err != nil {
			return nil, err
		}
		var found []workspace.Signer
		for _, signer := range known {
			if slack.Verify(signer.Secret, header, body) == nil {
				found = append(found, signer)
			}
		}
		if len(found) > 0 {
			return found, nil
		}
	}
	return nil, nil
}

// errForeign means that a request is signed by one app and concerns the workspace of another one.
var errForeign = errors.New("signed by another app")

// speaksFor reports whether there is an event to store for an installation whose secret signed the request. The
// workspace is part of the body: without this check, an app of one workspace could send events for any other.
func (s *Server) speaksFor(ctx context.Context, signers []workspace.Signer, in channel.IncomingEvent) (bool, error) {
	if in.Kind == channel.KindIgnored {
		return false, nil
	}
	found, err := s.Slack.Setup.FindInstallation(ctx, in.Surface, in.EnterpriseID, in.TeamID)
	switch {
	case errors.Is(err, channel.ErrNotInstalled):
		for _, signer := range signers {
			if signer.InstallationID == uuid.Nil { // Not loaded yet; make Slack retry.
				return false, fault.Errorf(fault.Unavailable, busyDetail)
			}
		}
		return false, nil // The app was installed in an unknown workspace.
	case err != nil:
		return false, err
	}
	for _, signer := range signers {
		if signer.InstallationID == found.ID || signer.InstallationID == uuid.Nil &&
			found.Source == channel.SourceEnvironment {
			return true, nil
		}
	}
	return false, errForeign
}

// slackInstalled finishes the installation of the app in the browser in which a super-admin began it.
func (s *Server) slackInstalled(w http.ResponseWriter, r *http.Request) error {
	return s.returned(w, r, slackInstallCookie, slackAdminPage, "installed", s.Slack.Setup.FinishInstall)
}

// slackLinked links the member who began the flow in this browser with the person who signed in at Slack.
func (s *Server) slackLinked(w http.ResponseWriter, r *http.Request) error {
	return s.returned(w, r, slackLinkCookie, slackSettingPage, "linked", s.Slack.Links.Finish)
}

// returned handles a browser that Slack redirects to this server, and redirects it to a page of the app with the
// result.
func (s *Server) returned(
	w http.ResponseWriter, r *http.Request, cookie, page, result string,
	finish func(ctx context.Context, state, browser, code string) error,
) error {
	query, browser := r.URL.Query(), ""
	if found, err := r.Cookie(s.cookie(cookie, 0).Name); err == nil {
		browser = found.Value
	}
	err := finish(r.Context(), query.Get("state"), browser, query.Get("code"))
	outcome := url.Values{"result": {result}}
	if err != nil {
		outcome = url.Values{"error": {s.problem(r, err).Code}} // Logs internal errors.
	}
	http.SetCookie(w, s.cookie(cookie, -1)) //nolint:gosec // Secure wherever there is TLS.
	return toPage(w, page, outcome)
}

// bindFlow sets the cookie that binds an OAuth flow to this browser. The other side redirects the browser by a link,
// so SameSite=Lax is sufficient.
func (s *Server) bindFlow(w http.ResponseWriter, name, value string) {
	cookie := s.cookie(name, slackCookieAge) //nolint:gosec // Secure wherever there is TLS.
	cookie.Value, cookie.SameSite = value, http.SameSiteLaxMode
	http.SetCookie(w, cookie)
}
