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

// logReader passes the server's messages on to the log and remembers the last error for whoever asks why it ended.
type logReader struct {
	pipe *os.File
	log  *slog.Logger

	mu    sync.Mutex // Guards what follows.
	quiet bool       // While starting and stopping, refused connections are to be expected.
	last  []string   // The last error or unprefixed message with the hints that belong to it.
	level slog.Level // Of the message that continuation lines belong to.
}

func newLogReader(pipe *os.File, log *slog.Logger) *logReader {
	return &logReader{pipe: pipe, log: log, quiet: true}
}

// run reads until every process that writes has ended, or close is called.
func (l *logReader) run() {
	r := bufio.NewReaderSize(l.pipe, maxLogLine)
	for {
		line, err := r.ReadSlice('\n')
		if text := strings.TrimRight(string(line), "\r\n"); text != "" {
			l.line(text)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

func (l *logReader) close() { _ = l.pipe.Close() }

// line files one line. PostgreSQL's messages begin with their severity and two spaces.
func (l *logReader) line(text string) {
	l.mu.Lock()
	severity, message, found := strings.Cut(text, ":  ")
	if !found {
		severity, message = "", text
	}
	switch severity {
	case "DETAIL", "HINT", "CONTEXT", "STATEMENT", "LOCATION":
		if len(l.last) > 0 && len(l.last) < 4 && severity != "STATEMENT" {
			l.last = append(l.last, message)
		}
	case "LOG", "DEBUG", "INFO", "NOTICE":
		l.level = slog.LevelDebug
	case "WARNING":
		l.level = slog.LevelWarn
	case "FATAL", "PANIC", "ERROR":
		l.level = slog.LevelError
		l.last = []string{message}
	default: // The dynamic linker and the shell know no severities.
		l.level = slog.LevelWarn
		l.last = []string{message}
	}
	level := l.level
	if l.quiet {
		level = slog.LevelDebug
	}
	l.mu.Unlock()
	l.log.Log(context.Background(), level, "postgresql: "+message, "severity", severity)
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
