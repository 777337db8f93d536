package main

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestR63_HeadersThatDoNotEnd sends incomplete headers. The server closes the connection.
func TestR63_HeadersThatDoNotEnd(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "DATABASE_URL="+storetest.DSN(t))
	conn := must.Get(net.Dial("tcp", strings.Trim(strings.TrimPrefix(p.address, "http:"), "/")))(t)
	defer conn.Close()
	must.Succeed(t, conn.SetDeadline(time.Now().Add(6*readHeaderTimeout)))
	if _, err := io.WriteString(conn, "GET /ping HTTP/1.1\r\nHost: x\r\nX-Slow: "); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(conn); err != nil || len(rest) > 0 && !strings.HasPrefix(string(rest), "HTTP/1.1 4") {
		t.Errorf("%q, %v", rest, err)
	}
}
