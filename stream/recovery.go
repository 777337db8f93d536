package stream

import (
	"context"
	"errors"
)

// ReadLog returns the text of the newest run in a message's log as far as the server that writes it has sent it to other
// servers. The text is not registered. ReadLog returns nil if the log is empty or malformed, or if the hub has no
// transport.
func (h *Hub) ReadLog(ctx context.Context, messageID string) *Text {
	if h.cfg.Transport == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var text *Text
	run, complete := 0, false
	err := h.cfg.Transport.Follow(ctx, messageID, func(entry []byte, more bool) {
		if complete {
			return
		}
		if err := replayEntry(&text, &run, messageID, entry); err != nil {
			h.cfg.Logger.Warn("stream: reading a log failed", "message_id", messageID, "err", err)
			more = false
		}
		if !more {
			complete = true
			cancel()
		}
	})
	if !complete {
		h.cfg.Logger.Warn("stream: reading a log failed", "message_id", messageID, "err", err)
	}
	return text
}

// replayEntry applies an entry of a log to the text of the newest run so far, which is nil before the run's first entry.
func replayEntry(text **Text, run *int, messageID string, entry []byte) error {
	if entry == nil {
		return nil
	}
	u, err := ParseUpdate(entry)
	switch {
	case errors.Is(err, errVersion):
		return nil
	case err != nil:
		return err
	case u.Run < *run:
		return nil
	case u.Head != nil && u.Head.MessageID != messageID:
		return errEntry
	}
	if u.Run > *run {
		*run, *text = u.Run, nil
	}
	if *text == nil && u.Head != nil {
		*text = NewText(*u.Head)
	}
	if *text == nil {
		return nil
	}
	return (*text).Apply(u)
}
