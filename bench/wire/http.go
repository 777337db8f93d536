// Package wire writes requests and reads responses of plain HTTP/1.1 directly on the connection, because net/http's
// client would need more CPU time than the measured servers. The load generators bench and bench/loadgen use it. It is
// not part of the product and imports the standard library only.
package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Get returns the request for an event stream. An empty token is not sent. With an empty lastEventID, the stream starts
// at its beginning.
func Get(address, path, token, lastEventID string) []byte {
	request := "GET " + path + " HTTP/1.1\r\nHost: " + address + "\r\nAccept: text/event-stream\r\n" +
		authorization(token)
	if lastEventID != "" {
		request += "Last-Event-ID: " + lastEventID + "\r\n"
	}
	return []byte(request + "\r\n")
}

// Post returns a request with a JSON body whose response is an event stream. An empty token is not sent.
func Post(address, path, token string, body []byte) []byte {
	return append(fmt.Appendf(nil,
		"POST %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\n%s"+
			"Content-Length: %d\r\n\r\n", path, address, authorization(token), len(body)), body...)
}

func authorization(token string) string {
	if token == "" {
		return ""
	}
	return "Authorization: Bearer " + token + "\r\n"
}

// Dial connects to a server and sends a request, which may be empty.
func Dial(ctx context.Context, address string, request []byte) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(request); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// Sink receives the body of an event stream.
type Sink interface {
	// Take receives the next bytes, which are valid during the call only, and the time of reading them. It reports
	// whether the sink is complete. It is not called after it has returned true.
	Take(b []byte, at time.Time) bool
}

// Sizes of read buffers: for bursts, and for single tokens.
const (
	BigBuffer   = 64 << 10
	SmallBuffer = 4 << 10
)

// StatusError is a response with a status other than 200.
type StatusError struct {
	Status     int
	RetryAfter string // Header Retry-After.
	Body       string // Beginning of the body.
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("the server answered %d: %s", e.Status, e.Body)
}

// Follow reads a response into a sink. It returns nil when the sink is complete, io.EOF when the stream ends, and
// another error when the connection breaks or ctx ends. For a status other than 200, the error is a *StatusError.
// begun, if not nil, is called when the header has arrived.
func Follow(ctx context.Context, conn net.Conn, buffer int, begun func(), into Sink) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	buffered := bufio.NewReaderSize(conn, buffer)
	// The body is the connection, which the caller closes.
	response, err := http.ReadResponse(buffered, nil) //nolint:bodyclose
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		problem, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return &StatusError{response.StatusCode, response.Header.Get("Retry-After"), string(problem)}
	}
	if begun != nil {
		begun()
	}
	var chunks *dechunker
	if slices.Contains(response.TransferEncoding, "chunked") {
		chunks = &dechunker{}
	}
	return copyTo(into, buffered, chunks)
}

func copyTo(into Sink, from *bufio.Reader, chunks *dechunker) error {
	for {
		if _, err := from.Peek(1); err != nil {
			return err
		}
		at := time.Now()
		b, _ := from.Peek(from.Buffered())
		done := false
		var err error
		if chunks != nil {
			done, err = chunks.feed(b, func(body []byte) bool { return into.Take(body, at) })
		} else {
			done = into.Take(b, at)
		}
		if err != nil || done {
			return err
		}
		if _, err := from.Discard(len(b)); err != nil {
			return err
		}
	}
}

// dechunker decodes the chunked coding without copying. net/http's decoder is not used, because the body is read
// directly from the connection.
type dechunker struct {
	left int    // Remaining bytes of the current chunk.
	line []byte // Beginning of an incomplete size line.
	end  int    // Remaining bytes of the line break after a chunk.
}

var errChunk = errors.New("wire: a chunk's size cannot be read")

// feed passes the body's bytes in b to take. It stops and returns true when take returns true. It returns io.EOF after
// the last chunk.
func (d *dechunker) feed(b []byte, take func([]byte) bool) (bool, error) {
	for len(b) > 0 {
		switch {
		case d.left > 0:
			n := min(d.left, len(b))
			d.left -= n
			if d.left == 0 {
				d.end = 2
			}
			if take(b[:n]) {
				return true, nil
			}
			b = b[n:]
		case d.end > 0:
			n := min(d.end, len(b))
			d.end -= n
			b = b[n:]
		default:
			line, rest, found := bytes.Cut(b, []byte("\n"))
			d.line = append(d.line, line...)
			if b = rest; !found {
				return false, nil
			}
			size, err := strconv.ParseUint(strings.TrimSpace(string(d.line)), 16, 31)
			d.line = d.line[:0]
			if err != nil {
				return false, errChunk
			}
			if size == 0 {
				return false, io.EOF
			}
			d.left = int(size)
		}
	}
	return false, nil
}
