package streamtest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/stream"
)

// Client is the state of a client that reads several streams one after the other. Its methods return an error if the
// protocol is violated: if a cursor is not the length of the text or does not increase, or if an event follows the end.
type Client struct {
	Text      string
	Reasoning string
	Cursor    string // The last event id.
	End       string // The type of the terminal event; "" before it.
	Done      bool   // [DONE] was read.
	Resets    int
	Titles    []string
	Steps     []string          // In the form "kind status".
	Changes   map[string]string // By id, in the form "before → after".
	Run       int
}

// Read processes whole events.
func (c *Client) Read(raw []byte) error {
	text := []byte(c.Text)
	defer func() { c.Text = string(text) }()
	for block := range strings.SplitSeq(string(raw), "\n\n") {
		id, data := "", ""
		for line := range strings.SplitSeq(block, "\n") {
			if v, ok := strings.CutPrefix(line, "id: "); ok {
				id = v
			} else if v, ok := strings.CutPrefix(line, "data: "); ok {
				data = v
			} else if line != "" && line != ":" && !strings.HasPrefix(line, "retry: ") {
				return fmt.Errorf("a line that no event of ours has: %q", line)
			}
		}
		if data == "" {
			continue
		}
		var err error
		if text, err = c.event(text, id, data); err != nil {
			return err
		}
	}
	return nil
}

// chunk is the part of a UI message chunk that the suite reads.
type chunk struct {
	Type     string `json:"type"`
	ID       string `json:"id"`
	Delta    string `json:"delta"`
	Metadata struct {
		Run int `json:"run"`
	} `json:"messageMetadata"`
	Data struct {
		Status string `json:"status"`
		Title  string `json:"title"`
		Before string `json:"before"`
		After  string `json:"after"`
	} `json:"data"`
}

func (c *Client) event(text []byte, id, data string) ([]byte, error) {
	switch {
	case c.Done, c.End != "" && data != "[DONE]":
		return text, fmt.Errorf("an event after the end: %q", data)
	case data == "[DONE]":
		c.Done = true
		return text, nil
	}
	var ch chunk
	if err := json.Unmarshal([]byte(data), &ch); err != nil {
		return text, fmt.Errorf("data is no JSON: %q: %w", data, err)
	}
	switch ch.Type {
	case "start":
		c.Run = ch.Metadata.Run
		if c.Cursor == "" {
			c.Reasoning = "" // The client requested the text from its start.
			clear(c.Changes)
		}
	case "reasoning-start":
		if c.Reasoning != "" {
			return text, fmt.Errorf("reasoning began twice, after %q", c.Reasoning)
		}
	case "reasoning-delta":
		if len(text) > 0 {
			return text, fmt.Errorf("reasoning %q after text", ch.Delta)
		}
		c.Reasoning += ch.Delta
	case "text-delta":
		text = append(text, ch.Delta...)
	case "data-reset":
		text, c.Reasoning = text[:0], ""
		clear(c.Changes)
		c.Resets++
	case "data-title":
		c.Titles = append(c.Titles, ch.Data.Title)
	case "data-step":
		c.Steps = append(c.Steps, ch.ID+" "+ch.Data.Status)
	case "data-change":
		if c.Changes == nil {
			c.Changes = make(map[string]string)
		}
		c.Changes[ch.ID] = ch.Data.Before + " → " + ch.Data.After
	case "finish", "abort", "error":
		c.End = ch.Type
	}
	if id == "" {
		return text, nil
	}
	cursor, ok := stream.ParseCursor(id)
	last, _ := stream.ParseCursor(c.Cursor)
	switch {
	case !ok, ch.Type == "start", cursor.Offset != len(text):
		return text, fmt.Errorf("cursor %q where the text has %d bytes", id, len(text))
	case ch.Type == "text-delta" && cursor.Run == last.Run && cursor.Offset <= last.Offset, cursor.Run < last.Run:
		return text, fmt.Errorf("cursor %q after %q", id, c.Cursor)
	}
	c.Cursor = id
	return text, nil
}

// Follow reads a message through a hub like a client of the server. It reconnects with its cursor when a stream ends
// without [DONE], until the answer is complete or until returns true. until may be nil.
func (c *Client) Follow(ctx context.Context, hub *stream.Hub, messageID string, until func(*Client) bool) error {
	interest := hub.Join(messageID)
	defer interest.Leave()
	for !c.Done {
		text := interest.Text()
		if text == nil {
			interest.Mirror()
			select {
			case <-interest.Opened():
			case <-ctx.Done():
				return fmt.Errorf("no text after %d bytes: %w", len(c.Text), ctx.Err())
			}
			continue
		}
		if !waitForCursor(ctx, text, c.Cursor) {
			continue
		}
		if left, err := c.watch(ctx, text, until); left || err != nil {
			return err
		}
	}
	return nil
}

// waitForCursor waits like the server until the text contains the client's cursor.
func waitForCursor(ctx context.Context, text *stream.Text, cursor string) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return text.WaitForCursor(ctx, cursor)
}

// watch reads one stream until it ends, or until returns true.
func (c *Client) watch(ctx context.Context, text *stream.Text, until func(*Client) bool) (left bool, err error) {
	w := text.Watch(c.Cursor)
	for {
		for b := w.Take(); b != nil; b = w.Take() {
			if err := c.Read(b); err != nil {
				return false, err
			}
		}
		if until != nil && until(c) {
			return true, nil
		}
		more, over := w.Wait()
		if over {
			return false, nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return false, fmt.Errorf("nothing more after %d bytes: %w", len(c.Text), ctx.Err())
		}
	}
}
