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
	"maps"
	"net/http"
	"slices"
	"strconv"
)

// Event is an event sent to the app, with its deliveries.
type Event struct {
	ID, Type   string
	Body       json.RawMessage // The event_callback envelope.
	Deliveries []Delivery
	Done       bool // All copies were accepted or given up.
}

// Delivery is one attempt to deliver an event.
type Delivery struct {
	Status int    // 0 without a response; 200 for an acknowledgement over a socket.
	Reason string // The reason of a retry: http_timeout, http_error, connection_failed.
}

// Signature signs a request's body as Slack does. timestamp is in seconds.
func Signature(secret, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = fmt.Fprintf(mac, "v0:%s:%s", timestamp, body) // Writing to a hash never fails.
	return "v0=" + hex.EncodeToString(mac.Sum(nil))
}

func (a *App) subscribes(event string) bool {
	return a.Events == nil || slices.Contains(a.Events, event)
}

// emit sends an event to the app if it subscribes to it and its bot is in the channel of the event, which may be nil.
// The caller holds w.mu.
func (w *Workspace) emit(event object, channel *Channel) {
	kind, _ := event["type"].(string)
	subscription := kind
	if channel != nil {
		place, messages := "channel", "message.channels"
		switch {
		case !w.member(channel, DemoBot):
			return
		case channel.direct != "":
			place, messages = "im", "message.im"
		case channel.Private:
			place, messages = "group", "message.groups"
		}
		if kind == "message" {
			subscription = messages
		}
		event["channel"], event["channel_type"] = channel.ID, place
	}
	if !w.app.subscribes(subscription) || w.closed {
		return
	}
	event["event_ts"] = w.ts()
	e := &Event{ID: w.id("Ev"), Type: kind}
	var err error
	e.Body, err = json.Marshal(object{
		"team_id": DemoTeam, "api_app_id": DemoApp, "event": event, "type": "event_callback", "event_id": e.ID,
		"event_time": w.clock.now().Unix(), "is_ext_shared_channel": channel != nil && channel.Shared,
		"authorizations": []object{{
			"enterprise_id": nil, "team_id": DemoTeam, "user_id": DemoBot, "is_bot": true, "is_enterprise_install": false,
		}},
	})
	if err != nil {
		panic(err) // Unreachable: an object of strings and numbers.
	}
	w.events = append(w.events, e)
	left := 1 + w.copies[kind]
	delete(w.copies, kind)
	for range left {
		w.work.Go(func() {
			w.deliver(e)
			w.mu.Lock()
			defer w.mu.Unlock()
			left--
			e.Done = left == 0
			w.touch()
		})
	}
}

// deliver sends an event until the app accepts it, at most four times.
func (w *Workspace) deliver(e *Event) {
	reason := ""
	for retry := 0; retry <= len(w.config.Retries); retry++ {
		if retry > 0 && w.clock.wait(w.ctx, w.config.Retries[retry-1]) != nil {
			return
		}
		app := w.configured()
		if !app.SocketMode && app.Server == "" {
			return
		}
		var status int
		var err error
		if app.SocketMode {
			_, err = w.envelope(w.ctx, "events_api", e.Body, object{"retry_attempt": retry, "retry_reason": reason})
			status = http.StatusOK
		} else {
			header := http.Header{"Content-Type": {"application/json"}}
			if retry > 0 {
				header.Set("X-Slack-Retry-Num", strconv.Itoa(retry))
				header.Set("X-Slack-Retry-Reason", reason)
			}
			status, _, err = w.send(w.ctx, app, "event", header, e.Body)
		}
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			status, reason = 0, "http_timeout"
		case err != nil:
			status, reason = 0, "connection_failed"
		case status == http.StatusOK:
			reason = ""
		default:
			reason = "http_error"
		}
		w.mu.Lock()
		e.Deliveries = append(e.Deliveries, Delivery{Status: status, Reason: reason})
		w.touch()
		w.mu.Unlock()
		if reason == "" || w.ctx.Err() != nil {
			return
		}
	}
}

// configured returns the app's present configuration.
func (w *Workspace) configured() App {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.app
}

// send posts a signed request to the app's server and returns the response.
func (w *Workspace) send(
	ctx context.Context, app App, path string, header http.Header, body []byte,
) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, w.config.Timeout)
	defer cancel()
	target := app.Server + "/external/slack/v1/" + path
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	timestamp := strconv.FormatInt(w.clock.now().Unix(), 10)
	maps.Copy(request.Header, header)
	request.Header.Set("X-Slack-Request-Timestamp", timestamp)
	request.Header.Set("X-Slack-Signature", Signature(app.SigningSecret, timestamp, body))
	response, err := w.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answered, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	return response.StatusCode, answered, err
}
