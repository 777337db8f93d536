package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/test/leak"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestServesItsMetadata(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	said, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, []string{"--listen", "127.0.0.1:0", "--user", "hanako:secret:hanako@demo.example:山田 花子:n1"},
			out, io.Discard)
		_ = out.Close()
		ended <- err
	}()
	lines := bufio.NewScanner(said)
	if !lines.Scan() {
		t.Fatalf("nothing was said: %v", <-ended)
	}
	request := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, lines.Text(), nil))(t)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer := must.Get(client.Do(request))(t)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(body),
		`entityID="`+lines.Text()+`"`) {
		t.Errorf("got %d, %v: %s", answer.StatusCode, err, body)
	}
	for lines.Scan() { // The printed attributes.
		if strings.Contains(lines.Text(), "name:") {
			break
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestInvalidSettings(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"more"},
		{"--user", "a:b:c"},
		{"--user", ":b:c:d", "--listen", "127.0.0.1:0"},
		{"--listen", "nowhere"},
	} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
}
