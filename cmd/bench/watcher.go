package main

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

// Requests and responses are plain HTTP/1.1, written and read by hand: net/http's client would cost more than the servers
// that are measured.

// get returns the request for a stream, from an event id on if there is one.
func get(address, path, lastEventID string) []byte {
	request := "GET " + path + " HTTP/1.1\r\nHost: " + address + "\r\nAccept: text/event-stream\r\n"
	if lastEventID != "" {
		request += "Last-Event-ID: " + lastEventID + "\r\n"
	}
	return []byte(request + "\r\n")
}

// post returns the request with a JSON body. token is "" for nobody's.
func post(address, path, token string, body []byte) []byte {
	request := "POST " + path + " HTTP/1.1\r\nHost: " + address + "\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\n"
	if token != "" {
		request += "Authorization: Bearer " + token + "\r\n"
	}
	return append([]byte(fmt.Sprintf("%sContent-Length: %d\r\n\r\n", request, len(body))), body...)
}

// dial connects to a server and sends a request.
func dial(ctx context.Context, address string, request []byte) (net.Conn, error) {
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

// sink takes the body of an event stream.
type sink interface {
	// take is given the next bytes, which are valid during the call, and when they were read. It reports whether the
	// sink has all that it waits for; it is given no more then.
	take(b []byte, at time.Time) bool
}

// Sizes of read buffers: for bursts, and where a token comes at a time.
const (
	bigBuffer   = 64 << 10
	smallBuffer = 8 << 10
)

// follow reads a response into a sink until that has all, the connection ends, or ctx does.
func follow(ctx context.Context, conn net.Conn, buffer int, into sink) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	buffered := bufio.NewReaderSize(conn, buffer)
	response, err := http.ReadResponse(buffered, nil) //nolint:bodyclose // The body is the connection, which is the caller's.
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		problem, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return fmt.Errorf("the server answered %s: %s", response.Status, problem)
	}
	chunked := slices.Contains(response.TransferEncoding, "chunked")
	chunks := dechunker{}
	for {
		if _, err := buffered.Peek(1); err != nil {
			return err
		}
		at := time.Now()
		b, _ := buffered.Peek(buffered.Buffered())
		var done bool
		if chunked {
			done, err = chunks.feed(b, func(body []byte) bool { return into.take(body, at) })
		} else {
			done = into.take(b, at)
		}
		if err != nil || done {
			return err
		}
		if _, err := buffered.Discard(len(b)); err != nil {
			return err
		}
	}
}

// dechunker undoes the chunked coding, without copying. net/http's own is not used, since the response's body is read
// past it.
type dechunker struct {
	left int    // Bytes of the current chunk that are to come.
	line []byte // The part of a size line that has come.
	end  int    // Bytes of the line break behind a chunk that are to come.
}

var errChunk = errors.New("a chunk's size cannot be read, or the stream has ended")

// feed passes the body's bytes in b on. It stops and returns true as soon as take does.
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
			if err != nil || size == 0 {
				return false, errChunk // No stream ends while it is watched.
			}
			d.left = int(size)
		}
	}
	return false, nil
}
