package tsumugi

import (
	"io"
	"time"
)

// ReadEvents reads an event stream to its end.
func ReadEvents(r io.Reader, take func(data, id string, retry time.Duration)) error {
	for events := newEventReader(r); ; {
		event, err := events.next()
		if err != nil {
			return err
		}
		take(string(event.data), event.id, event.retry)
	}
}
