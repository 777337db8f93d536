package wire_test

import (
	"testing"

	"github.com/tsumugi-ai/tsumugi/bench/wire"
)

func TestAddress(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]string{
		"http://127.0.0.1:8080": "127.0.0.1:8080", "http://example.com/": "example.com:80",
		"127.0.0.1:8080": "", "https://example.com": "", "http://example.com/app": "",
	} {
		if got, err := wire.Address(server); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", server, got, err)
		}
	}
}
