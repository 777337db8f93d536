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

// logReader forwards the server's messages to the log and stores the last error, which is the reason why the server
// ended.
type logReader struct {
	pipe *os.File
	log  *slog.Logger

	mu    sync.Mutex // Guards the fields below.
	quiet bool       // While starting and stopping, refused connections are expected.
	last  []string   // The last error or unprefixed message with its hints.
	level slog.Level // Of the message that continuation lines belong to.

	severity string // Prefix of the last line that was not a continuation, or "".
	fatal    bool   // The message is the last one of a process.
	withheld bool   // The message is not logged, because it may contain users' texts.
}

func newLogReader(pipe *os.File, log *slog.Logger) *logReader {
	return &logReader{pipe: pipe, log: log, quiet: true}
}

// run reads until every writing process has ended, or close is called.
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

// line processes one line. Continuation lines begin with a tab.
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

// begin processes the first line of a message or of an addition to a message, and returns it without its severity.
// PostgreSQL begins such lines with a severity, a colon and two spaces. Statements, contexts and details are withheld,
// because they contain users' texts, such as a row that violates a constraint. Details of a process that ends are
// logged, because they contain no such texts and explain the end. The caller holds mu.
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
	default: // The dynamic linker and the shell write no severities.
		l.level, l.fatal, l.severity, message = slog.LevelWarn, false, "", text
		l.last = []string{message}
	}
	return message
}

// settled discards earlier errors. It is called when the server accepts connections.
func (l *logReader) settled() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.quiet, l.last = false, nil
}

// ending is called before the server receives the signal to stop.
func (l *logReader) ending() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.quiet = true
}

// lastError returns the last error with its hints on one line, or "".
func (l *logReader) lastError() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.last, "; ")
}
