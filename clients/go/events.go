package tsumugi

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
	"time"
)

// serverEvent is one complete event of an event stream. data is valid until the next event.
type serverEvent struct {
	data  []byte
	id    string        // Id of this event; "" if it has none, even if an earlier event had one.
	retry time.Duration // 0 if the event has no retry time.
}

// maxLine is the maximum length of a line in bytes. The server's lines are far shorter: 4 KiB of text, with at most six
// bytes in JSON for each byte.
const maxLine = 1 << 20

var byteOrderMark = []byte("\ufeff")

// eventReader parses an event stream by the HTML Standard's section on server-sent events. It discards an incomplete
// event at the end.
type eventReader struct {
	lines *bufio.Scanner
	first bool // The next line is the first one.
	data  []byte
}

func newEventReader(r io.Reader) *eventReader {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 4<<10), maxLine)
	lines.Split(splitLine)
	return &eventReader{lines: lines, first: true}
}

// next returns the next event with data or a retry time. At the end of the stream, it returns io.EOF.
func (r *eventReader) next() (serverEvent, error) {
	event, has := serverEvent{}, false
	r.data = r.data[:0]
	for r.lines.Scan() {
		line := r.lines.Bytes()
		if r.first {
			line, r.first = bytes.TrimPrefix(line, byteOrderMark), false
		}
		if len(line) == 0 {
			if has || event.retry != 0 {
				event.data = bytes.TrimSuffix(r.data, []byte("\n"))
				return event, nil
			}
			event.id = ""
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			r.data = append(append(r.data, value...), '\n')
			has = true
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				event.id = string(value)
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 20); err == nil {
				event.retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
	if err := r.lines.Err(); err != nil {
		return serverEvent{}, err
	}
	return serverEvent{}, io.EOF
}

// splitLine is a bufio.SplitFunc for lines that end in LF, CR LF or CR. It discards an incomplete last line.
func splitLine(data []byte, atEOF bool) (int, []byte, error) {
	i := bytes.IndexAny(data, "\r\n")
	switch {
	case i < 0, data[i] == '\r' && i == len(data)-1 && !atEOF: // An LF may follow.
		return 0, nil, nil
	case data[i] == '\r' && i+1 < len(data) && data[i+1] == '\n':
		return i + 2, data[:i], nil
	}
	return i + 1, data[:i], nil
}
