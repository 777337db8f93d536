package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/api/ratelimit"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// members is a store in which every subject except "nobody" is a member. It does not respond for "stalled".
type members struct{ identity.Store }

func (members) UserBySubject(ctx context.Context, claims identity.Claims) (identity.UserStatus, error) {
	switch subject := claims.Subject; subject {
	case "nobody":
		return identity.UserStatus{}, fault.Errorf(fault.NotFound, "ユーザーが見つかりません。")
	case "stalled":
		return stalled{}.UserBySubject(ctx, claims)
	}
	return identity.UserStatus{User: identity.User{
		ID: uuid.NewSHA1(uuid.Nil, []byte(claims.Subject)), OrganizationID: uuid.NewSHA1(uuid.Nil, []byte("org")),
		State: identity.StateActive,
	}}, nil
}

// userTopic is the topic of a member of members.
func userTopic(subject string) string {
	return "user/" + uuid.NewSHA1(uuid.Nil, []byte(subject)).String()
}

// liveServer is a server with live sockets, for a synctest bubble: its connections are pipes.
type liveServer struct {
	t      *testing.T
	feed   *stream.Feed
	live   *api.Live
	client *http.Client
}

func newLiveServer(t *testing.T, cfg api.LiveConfig, limits ratelimit.Limits) *liveServer {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	feed := must.Get(stream.NewFeed(nil))(t)
	people := identity.NewService(members{}, verifier{}, log)
	limiter := ratelimit.New(limits, nil)
	live := api.NewLive(feed, people, limiter, log, cfg)
	handler := must.Get(api.New(api.Services{
		Identity: people, Live: live, Limiter: limiter,
		App: fstest.MapFS{"index.html": {Data: []byte("<!doctype html>")}},
	}, api.Config{}, log))(t)
	listener := pipeListener{make(chan net.Conn)}
	served := make(chan struct{})
	server := &http.Server{Handler: handler}
	go func() { defer close(served); _ = server.Serve(listener) }()
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		client, conn := net.Pipe()
		listener.conns <- conn
		return client, nil
	}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := live.Drain(context.Background(), 0); err != nil {
			t.Errorf("draining: %v", err)
		}
		close(listener.conns)
		<-served
	})
	return &liveServer{t: t, feed: feed, live: live, client: &http.Client{Transport: transport}}
}

func (s *liveServer) dial() *socketClient {
	s.t.Helper()
	return dialLive(s.t, "http://tsumugi.example", &websocket.DialOptions{HTTPClient: s.client})
}

// socketClient is the client of a live socket.
type socketClient struct {
	*websocket.Conn
	t      *testing.T
	events *openapi3.Schema
}

func dialLive(t *testing.T, url string, options *websocket.DialOptions) *socketClient {
	t.Helper()
	conn, resp, err := websocket.Dial(context.Background(), url+"/v1/live", options)
	if err != nil {
		t.Fatalf("%v: %+v", err, resp)
	}
	if extensions := resp.Header.Get("Sec-Websocket-Extensions"); extensions != "" {
		t.Errorf("extensions %q", extensions)
	}
	conn.SetReadLimit(-1)
	t.Cleanup(func() { _ = conn.CloseNow() })
	return &socketClient{Conn: conn, t: t, events: liveSchema(t)}
}

func (c *socketClient) send(frame string) {
	c.t.Helper()
	must.Succeed(c.t, c.Write(context.Background(), websocket.MessageText, []byte(frame)))
}

func (c *socketClient) auth(token string) {
	c.t.Helper()
	frame := must.Get(json.Marshal(api.LiveAuth{Type: "auth", Token: token}))(c.t)
	c.send(string(frame))
}

// join signs in.
func (c *socketClient) join(token string) *socketClient {
	c.t.Helper()
	c.auth(token)
	c.want("ready")
	return c
}

// liveEvent has the fields of events that the tests read.
type liveEvent struct {
	Type         string            `json:"type"`
	ID           uuid.UUID         `json:"id"`
	Deleted      bool              `json:"deleted"`
	Ended        bool              `json:"ended"`
	Thread       *api.Thread       `json:"thread"`
	Message      *api.LiveMessage  `json:"message"`
	Notification *api.Notification `json:"notification"`
	DataSource   *api.DataSource   `json:"data_source"`
	Read         []uuid.UUID       `json:"read"`
}

// next returns the next frame, which must be an event of the contract.
func (c *socketClient) next() (liveEvent, []byte) {
	c.t.Helper()
	kind, frame, err := c.Read(context.Background())
	if err != nil || kind != websocket.MessageText {
		c.t.Fatalf("%v, %v", kind, err)
	}
	var value any
	var event liveEvent
	must.Succeed(c.t, errors.Join(json.Unmarshal(frame, &value), json.Unmarshal(frame, &event)))
	if err := c.events.VisitJSON(value); err != nil {
		c.t.Errorf("openapi.yaml does not know %s: %v", frame, err)
	}
	return event, frame
}

func (c *socketClient) want(kind string) liveEvent {
	c.t.Helper()
	event, frame := c.next()
	if event.Type != kind {
		c.t.Fatalf("got %s, want %s", frame, kind)
	}
	return event
}

// closed reads to the end and returns the close frame.
func (c *socketClient) closed() websocket.CloseError {
	c.t.Helper()
	for {
		if _, _, err := c.Read(context.Background()); err != nil {
			var end websocket.CloseError
			if !errors.As(err, &end) {
				c.t.Fatalf("no close frame: %v", err)
			}
			return end
		}
	}
}

func liveSchema(t *testing.T) *openapi3.Schema {
	t.Helper()
	doc := must.Get(document())(t)
	return doc.Components.Schemas["LiveEvent"].Value
}

func TestR19_SocketsEndWithTheRightCode(t *testing.T) {
	t.Parallel()
	after := func(d time.Duration) { <-time.After(d) } // On the bubble's clock.
	for name, test := range map[string]struct {
		do     func(s *liveServer, c *socketClient)
		code   websocket.StatusCode
		reason string
		took   time.Duration
	}{
		"no auth": {func(*liveServer, *socketClient) {}, 4408, "no auth in time", 5 * time.Second},
		"forged":  {func(_ *liveServer, c *socketClient) { c.auth("forged") }, 4401, "Not authenticated", 0},
		"run out": {func(_ *liveServer, c *socketClient) { c.auth("expired") }, 4401, "jwt expired", 0},
		"nobody": {
			func(_ *liveServer, c *socketClient) { c.auth("nobody") }, 4401,
			"Not authenticated: no user found", 0,
		},
		"no database": {
			func(_ *liveServer, c *socketClient) { c.auth("stalled") }, 1013,
			"tokens cannot be looked at now", 5 * time.Second,
		},
		"token runs out": {
			func(_ *liveServer, c *socketClient) { c.join("short:alice") }, 4401, "jwt expired",
			100 * time.Millisecond,
		},
		"token of an hour": {func(_ *liveServer, c *socketClient) { c.join("alice") }, 4401, "jwt expired", time.Hour},
		"renewed": {func(_ *liveServer, c *socketClient) {
			c.join("alice")
			reading := make(chan struct{})
			go func() {
				defer close(reading)
				after(30 * time.Minute)
				if err := c.Write(context.Background(), websocket.MessageText,
					[]byte(`{"type":"auth","token":"alice"}`)); err != nil {
					c.t.Error(err)
				}
			}()
			c.t.Cleanup(func() { <-reading })
		}, 4401, "jwt expired", 90 * time.Minute},
		"renewed with one that ran out": {
			func(_ *liveServer, c *socketClient) { c.join("alice").auth("expired") },
			4401, "jwt expired", 0,
		},
		"renewed by another person": {
			func(_ *liveServer, c *socketClient) { c.join("alice").auth("bob") }, 4401,
			"the token belongs to somebody else", 0,
		},
		"binary": {func(_ *liveServer, c *socketClient) {
			_ = c.Write(context.Background(), websocket.MessageBinary, []byte(`{"type":"auth","token":"alice"}`))
		}, 1008, "not a text frame", 0},
		"no JSON": {
			func(_ *liveServer, c *socketClient) { c.send(`{"type":`) }, 1008,
			"not a JSON object with type and token", 0,
		},
		"two values": {
			func(_ *liveServer, c *socketClient) { c.send(`{"type":"auth","token":"alice"} {}`) }, 1008,
			"not a JSON object with type and token", 0,
		},
		"unknown field": {
			func(_ *liveServer, c *socketClient) { c.send(`{"type":"auth","token":"alice","x":1}`) },
			1008, "not a JSON object with type and token", 0,
		},
		"no token": {
			func(_ *liveServer, c *socketClient) { c.send(`{"type":"auth"}`) }, 1008,
			"not a JSON object with type and token", 0,
		},
		"unknown type": {
			func(_ *liveServer, c *socketClient) { c.join("alice").send(`{"type":"subscribe","token":""}`) }, 1008,
			"unknown type", 0,
		},
		"oversize frame": {func(_ *liveServer, c *socketClient) {
			big := []byte(`{"type":"auth","token":"` + strings.Repeat("x", 17<<10) + `"}`)
			go func() { _ = c.Write(context.Background(), websocket.MessageText, big) }()
		}, 1009, "read limited at 16385 bytes", 0},
		"too many sockets": {func(s *liveServer, c *socketClient) {
			s.dial().join("alice")
			c.auth("alice")
		}, 1013, "too many sockets of one person or organization", 0},
		"too slow": {func(s *liveServer, c *socketClient) {
			c.join("alice")
			for range 1000 {
				s.feed.Publish(userTopic("alice"), []byte(`{"type":"ready"}`))
			}
		}, 1013, "too slow", 0},
		"takes nothing": {func(s *liveServer, c *socketClient) {
			c.join("alice")
			s.feed.Publish(userTopic("alice"), []byte(`{"type":"ready"}`))
			after(12 * time.Second)
		}, 1013, "too slow", 12 * time.Second},
		"the server stops": {func(s *liveServer, c *socketClient) {
			c.join("alice")
			drained := make(chan struct{})
			go func() { defer close(drained); _ = s.live.Drain(context.Background(), time.Minute) }()
			c.t.Cleanup(func() { <-drained })
		}, 1012, "the server is about to stop", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newLiveServer(t, api.LiveConfig{}, ratelimit.Limits{ratelimit.KindSocket: {Each: 1}})
				c := s.dial()
				began := time.Now()
				test.do(s, c)
				if end := c.closed(); end.Code != test.code || end.Reason != test.reason {
					t.Errorf("got %v", end)
				}
				if took := time.Since(began); took != test.took {
					t.Errorf("after %v, want %v", took, test.took)
				}
			})
		})
	}
}

func TestR19_ClientThatDoesNotAnswerPingsIsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newLiveServer(t, api.LiveConfig{}, nil)
		pinged := 0
		c := dialLive(t, "http://tsumugi.example", &websocket.DialOptions{
			HTTPClient: s.client,
			OnPingReceived: func(context.Context, []byte) bool {
				pinged++
				return pinged < 3
			},
		})
		began := time.Now()
		c.join("alice")
		end := c.closed()
		if end.Code != websocket.StatusTryAgainLater || end.Reason != "no pong" || pinged != 3 {
			t.Errorf("got %v after %d pings", end, pinged)
		}
		if took := time.Since(began); took != 3*25*time.Second+10*time.Second {
			t.Errorf("after %v", took)
		}
	})
}

func TestClientThatDoesNotAnswerTheCloseIsCutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newLiveServer(t, api.LiveConfig{}, nil)
		c := s.dial().join("alice")
		// Not read by the client, so that the write blocks.
		s.feed.Publish(userTopic("alice"), []byte(`{"type":"ready"}`))
		began := time.Now()
		if err := s.live.Drain(context.Background(), 0); err != nil || time.Since(began) != 5*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		_ = c.CloseNow()
	})
}

func TestDrainIsSpreadAndEndsInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newLiveServer(t, api.LiveConfig{}, nil)
		ends := make(chan time.Duration)
		for range 4 {
			c := s.dial().join("alice")
			began := time.Now()
			go func() {
				if end := c.closed(); end.Code != websocket.StatusServiceRestart {
					t.Errorf("got %v", end)
				}
				ends <- time.Since(began)
			}()
		}
		stuck := s.dial()
		stuck.auth("bob") // The client does not even read the response to its authentication.
		synctest.Wait()
		const patience = 6500 * time.Millisecond
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		drained := make(chan error)
		began := time.Now()
		go func() { drained <- s.live.Drain(ctx, 5*time.Second) }()
		seen := make(map[time.Duration]bool)
		for range 4 {
			seen[<-ends] = true
		}
		if len(seen) != 4 {
			t.Errorf("clients were told after %v", seen)
		}
		if _, resp, err := websocket.Dial(context.Background(), "http://tsumugi.example/v1/live",
			&websocket.DialOptions{HTTPClient: s.client}); err == nil ||
			resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("a new one: %+v, %v", resp, err)
		}
		err := <-drained
		if took := time.Since(began); took > patience || (err != nil) != (took == patience) || s.live.Open() != 0 {
			t.Errorf("%v after %v, %d open", err, took, s.live.Open())
		}
	})
}

func TestSocketLivesAsLongAsItsNewToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newLiveServer(t, api.LiveConfig{}, nil)
		c := s.dial().join("short:alice")
		c.auth("alice") // The person matters, not the token.
		go func() {
			<-time.After(time.Minute)
			s.feed.MarkMissed()
		}()
		c.want("ready")
	})
}

func TestReadyAfterMissedEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newLiveServer(t, api.LiveConfig{}, nil)
		c := s.dial().join("alice")
		s.feed.MarkMissed()
		s.feed.Publish(userTopic("alice"), []byte(`{"type":"thread","id":"`+newID()+`","deleted":true}`))
		c.want("ready")
		c.want("thread")
	})
}

func FuzzLiveFrame(f *testing.F) {
	for _, seed := range []string{
		`{"type":"auth","token":"a"}`, `{"type":"auth"}`, `{"type":"auth","token":7}`, `[]`, `null`, ``,
		`{"type":"auth","token":"a"}{}`,
		`{"type":"x","token":"a"}`, "{\"type\":\"auth\",\"token\":\"\xff\"}", strings.Repeat(`{"type":`, 1000), "\x00",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		token, err := api.ParseLiveAuth(frame)
		if (err == nil) != (token != "") {
			t.Fatalf("%q, %v", token, err)
		}
		if err != nil && len(err.Error()) > 123 {
			t.Fatalf("the reason does not fit into a close frame: %v", err)
		}
		if err == nil && !bytes.Contains(bytes.ToLower(frame), []byte("type")) && !bytes.Contains(frame, []byte(`\u`)) {
			t.Fatalf("taken: %q", frame)
		}
	})
}
