package postgres

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
)

const maxLogLine = 8 << 10 // Longer lines are cut.

// logReader passes the server's messages on to the log and remembers the last error, which says why it ended.
type logReader struct {
	pipe *os.File
	log  *slog.Logger

	mu    sync.Mutex // Guards what follows.
	quiet bool       // While starting and stopping, refused connections are to be expected.
	last  []string   // The last error or unprefixed message with the hints that belong to it.
	level slog.Level // Of the message that further lines belong to.

	severity string // What the last line that was no continuation began with; "" for none.
	fatal    bool   // The message ends a process.
	withheld bool   // Its lines are not logged: people's texts may stand in them.
}

func newLogReader(pipe *os.File, log *slog.Logger) *logReader {
	return &logReader{pipe: pipe, log: log, quiet: true}
}

// run reads until every process that writes has ended, or close is called.
func (l *logReader) run() {
	r := bufio.NewReaderSize(l.pipe, maxLogLine)
	for cut := false; ; {
		line, err := r.ReadSlice('\n')
		if text := strings.TrimRight(string(line), "\r\n"); text != "" && !cut {
			l.line(text)
		}
		if cut = errors.Is(err, bufio.ErrBufferFull); err != nil && !cut {
			return
		}
	}
}

func (l *logReader) close() { _ = l.pipe.Close() }

// line files one line. Lines that go on with the one before begin with a tab.
func (l *logReader) line(text string) {
	l.mu.Lock()
	message, continues := strings.CutPrefix(text, "\t")
	if !continues {
		message = l.begin(text)
	}
	level, severity, withheld := l.level, l.severity, l.withheld
	if l.quiet {
		level = slog.LevelDebug
	}
	l.mu.Unlock()
	if !withheld {
		l.log.Log(context.Background(), level, "postgresql: "+message, "severity", severity)
	}
}

// begin files a line that is no continuation and returns it without its severity. PostgreSQL's messages begin with one
// and two spaces, and so does what it adds to them. Statements, what they were called from, and details, such as a row
// that breaks a rule, hold what people have written. Those of a process that ends do not, and tell why. The caller
// holds mu.
func (l *logReader) begin(text string) string {
	severity, message, _ := strings.Cut(text, ":  ")
	l.severity, l.withheld = severity, false
	switch severity {
	case "STATEMENT", "QUERY", "CONTEXT", "LOCATION", "BACKTRACE":
		l.withheld = true
	case "DETAIL", "HINT":
		if l.withheld = severity == "DETAIL" && !l.fatal; !l.withheld && len(l.last) > 0 && len(l.last) < 4 {
			l.last = append(l.last, message)
		}
	case "LOG", "DEBUG", "INFO", "NOTICE":
		l.level, l.fatal = slog.LevelDebug, false
	case "WARNING":
		l.level, l.fatal = slog.LevelWarn, false
	case "FATAL", "PANIC", "ERROR":
		l.level, l.fatal = slog.LevelError, severity != "ERROR"
		l.last = []string{message}
	default: // The dynamic linker and the shell know no severities.
		l.level, l.fatal, l.severity, message = slog.LevelWarn, false, "", text
		l.last = []string{message}
	}
	return message
}

// settled is called when the server runs: errors are news from now on, and what was said before is over.
func (l *logReader) settled() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.quiet, l.last = false, nil
}

// ending is called before the server is asked to stop.
func (l *logReader) ending() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.quiet = true
}

// lastError returns the last error with its hints in one line, or "".
func (l *logReader) lastError() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.last, "; ")
}
