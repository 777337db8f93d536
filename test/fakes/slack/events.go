package slack

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// Event is an event sent to an app, with its deliveries.
type Event struct {
	ID, Type   string
	App, Team  string
	Body       json.RawMessage // The event_callback envelope.
	Deliveries []Delivery
	Done       bool // All copies were accepted or given up.
}

// Delivery is one attempt to deliver an event.
type Delivery struct {
	At     time.Time // By the workspace's clock.
	Retry  int       // 0 is the first attempt.
	Status int       // 0 without a response; 200 for an acknowledgement over a socket.
	Reason string    // The reason of the retry: http_timeout, http_error, connection_failed.
	Took   time.Duration
}

// Signature signs a request's body as Slack does. timestamp is in seconds.
func Signature(secret, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = fmt.Fprintf(mac, "v0:%s:%s", timestamp, body) // Writing to a hash never fails.
	return "v0=" + hex.EncodeToString(mac.Sum(nil))
}

// sign adds the headers of a signed request.
func sign(request *http.Request, secret string, at time.Time, body []byte) {
	timestamp := strconv.FormatInt(at.Unix(), 10)
	request.Header.Set("X-Slack-Request-Timestamp", timestamp)
	request.Header.Set("X-Slack-Signature", Signature(secret, timestamp, body))
	request.Header.Set("User-Agent", "Slackbot 1.0 (+https://api.slack.com/robots)")
}

func (a *App) subscribes(event string) bool {
	return a.Events == nil || slices.Contains(a.Events, event)
}

// emit sends an event to an app that subscribes to it. channel is the channel of the event, or nil. The caller holds
// w.mu.
func (w *Workspace) emit(in *installation, event object, channel *Channel) {
	kind, _ := event["type"].(string)
	subscription := kind
	if kind == "message" {
		subscription = "message." + w.channelType(channel) + "s"
		if channel.direct != "" {
			subscription = "message.im"
		}
	}
	if !in.app.subscribes(subscription) {
		return
	}
	if event["event_ts"] == nil {
		event["event_ts"] = w.ts()
	}
	envelope := object{
		"token": "verification", "team_id": in.team.ID, "context_team_id": in.team.ID, "context_enterprise_id": nil,
		"api_app_id": in.app.ID, "event": event, "type": "event_callback", "event_id": w.id("Ev"),
		"event_time": w.clock.now().Unix(), "is_ext_shared_channel": channel != nil && len(channel.SharedWith) > 0,
		"authorizations": []object{{
			"enterprise_id": nil, "team_id": in.team.ID, "user_id": in.UserID, "is_bot": true,
			"is_enterprise_install": false,
		}},
		"event_context": "4-" + secret(),
	}
	if id := in.team.EnterpriseID; id != "" {
		envelope["enterprise_id"], envelope["context_enterprise_id"] = id, id
		envelope["authorizations"].([]object)[0]["enterprise_id"] = id
	}
	body, err := json.Marshal(envelope)
	if err != nil {
		panic(err) // Unreachable: an object of strings and numbers.
	}
	id, _ := envelope["event_id"].(string)
	e := &Event{ID: id, Type: kind, App: in.app.ID, Team: in.team.ID, Body: body}
	fault := w.eventFault(kind)
	if fault.Lost {
		return
	}
	w.events = append(w.events, e)
	w.dispatch(e, in.app, 1+fault.Copies)
}

// dispatch delivers an event in the given number of copies. The caller holds w.mu.
func (w *Workspace) dispatch(e *Event, app *App, copies int) {
	if w.closed {
		return
	}
	e.Done = false
	left := copies
	for range copies {
		w.work.Go(func() {
			w.deliver(e, app)
			w.mu.Lock()
			defer w.mu.Unlock()
			left--
			e.Done = left == 0
			w.touch()
		})
	}
}

// deliver sends an event until the app accepts it, at most four times.
func (w *Workspace) deliver(e *Event, app *App) {
	reason := ""
	for retry := 0; retry <= len(w.config.Retries); retry++ {
		if retry > 0 && w.clock.wait(w.ctx, w.config.Retries[retry-1]) != nil {
			return
		}
		w.mu.Lock()
		socketMode, target, key := app.SocketMode, app.EventURL, app.SigningSecret
		w.mu.Unlock()
		if !socketMode && target == "" {
			return // The app has no address for events.
		}
		begun, at := time.Now(), w.clock.now()
		var status int
		var final bool
		if socketMode {
			status, final = w.overSocket(app, "events_api", e.Body, retry, reason), false
		} else {
			status, final = w.overHTTP(target, key, e.Body, retry, reason)
		}
		reason = failureReason(status)
		w.mu.Lock()
		e.Deliveries = append(e.Deliveries, Delivery{
			At: at, Retry: retry, Status: max(status, 0), Reason: reason, Took: time.Since(begun),
		})
		w.touch()
		w.mu.Unlock()
		if reason == "" || final || w.ctx.Err() != nil {
			return
		}
	}
}

// The statuses of a delivery without a response.
const (
	timedOut = -1
	unheard  = 0
)

func failureReason(status int) string {
	switch {
	case status >= 200 && status < 300:
		return ""
	case status == timedOut:
		return "http_timeout"
	case status == unheard:
		return "connection_failed"
	}
	return "http_error"
}

// overHTTP posts an event. final reports whether the app declines retries.
func (w *Workspace) overHTTP(target, key string, body []byte, retry int, reason string) (status int, final bool) {
	ctx, cancel := context.WithTimeout(w.ctx, w.config.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return unheard, false
	}
	request.Header.Set("Content-Type", "application/json")
	if retry > 0 {
		request.Header.Set("X-Slack-Retry-Num", strconv.Itoa(retry))
		request.Header.Set("X-Slack-Retry-Reason", reason)
	}
	sign(request, key, w.clock.now(), body)
	response, err := w.client.Do(request)
	if errors.Is(err, context.DeadlineExceeded) {
		return timedOut, false
	}
	if err != nil {
		return unheard, false
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxBody)) // Allows the connection to be reused.
	return response.StatusCode, response.Header.Get("X-Slack-No-Retry") == "1"
}

// Verify sends the challenge to an app's event address, as Slack does when a developer enters the address.
func (w *Workspace) Verify(ctx context.Context, appID string) error {
	w.mu.Lock()
	target, key := w.apps[appID].EventURL, w.apps[appID].SigningSecret
	w.mu.Unlock()
	challenge := secret()
	body, err := json.Marshal(object{"token": "verification", "challenge": challenge, "type": "url_verification"})
	if err != nil {
		return err
	}
	answered, err := w.send(ctx, target, key, "application/json", body)
	if err != nil {
		return err
	}
	var said struct {
		Challenge string `json:"challenge"`
	}
	if string(answered) != challenge && (json.Unmarshal(answered, &said) != nil || said.Challenge != challenge) {
		return fmt.Errorf("the challenge was answered with %q", answered)
	}
	return nil
}

// send posts a signed request once and returns the response.
func (w *Workspace) send(ctx context.Context, target, key, kind string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, w.config.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", kind)
	sign(request, key, w.clock.now(), body)
	response, err := w.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answered, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("answered with %s", response.Status)
	}
	return answered, err
}

// payload encodes the body of an interaction.
func payload(value object) ([]byte, error) {
	raw, err := json.Marshal(value)
	return []byte(url.Values{"payload": {string(raw)}}.Encode()), err
}
