package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/test/fakes/slack"
	"github.com/tsumugi-ai/tsumugi/test/leak"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestServesTheWebAPI(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	said, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, []string{"--listen", "127.0.0.1:0", "--socket-mode"}, out, io.Discard)
		_ = out.Close()
		ended <- err
	}()
	lines := bufio.NewScanner(said)
	if !lines.Scan() {
		t.Fatalf("nothing was said: %v", <-ended)
	}
	url := lines.Text()
	request := must.Get(http.NewRequestWithContext(
		t.Context(),
		http.MethodGet,
		url+"/api/users.info?user="+slack.DemoTaro,
		nil,
	))(t)
	request.Header.Set("Authorization", "Bearer "+slack.DemoToken)
	answer := must.Get((&http.Transport{DisableKeepAlives: true}).RoundTrip(request))(t)
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err != nil || !strings.Contains(string(body), `"email":"taro@demo.example"`) {
		t.Errorf("%v: %s", err, body)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestInvalidSettings(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"more"}, {"--listen", "nowhere"}} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
}
