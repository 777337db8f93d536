package main

import (
	"context"
	"fmt"
	"time"

	"github.com/tsumugi-ai/tsumugi/bench/wire"
)

const (
	resumedEvents = 5000
	resumers      = 100
)

// Rows of the section.
const (
	rowResume     = "ms until every client has all"
	rowLost       = "tokens lost"
	rowDuplicated = "tokens twice"
	rowResumeText = "clients whose text differs"
)

// measureResume reconnects many clients at the same time. All of them lack the same 5,000 events.
func measureResume(ctx context.Context, b *bench) error {
	t := newTable("100 clients resume 5,000 events",
		"All come at once with the id of the first event they have; counted are the tokens behind it. In brackets "+
			"the ratio to "+
			r3labs+".",
		r3labs, ours, oursHTTP, r3labs, tmaxmax, bare)
	b.report.Sections = append(b.report.Sections, t)
	for round := range b.rounds {
		b.say("Resumes, round %d of %d", round+1, b.rounds)
		for _, name := range t.Columns {
			if err := resume(ctx, b, t, name); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	for _, name := range []string{ours, oursHTTP} {
		b.report.atMostMedian("resume of 5,000 events by 100 clients, "+name, t, rowResume, name, 100, 0, " ms")
		b.report.atMost("resume: tokens lost or twice, "+name, t.worst(rowLost, name)+t.worst(rowDuplicated, name), 0,
			0, "")
	}
	return nil
}

func resume(ctx context.Context, b *bench, t *table, name string) error {
	const published = resumedEvents + 1
	s, err := startSystem(ctx, b, spec{Name: name, Replay: published}, 1)
	if err != nil {
		return err
	}
	defer s.stop()
	if _, err := s.tell(order{Op: "burst", Events: published}); err != nil {
		return err
	}
	// Id of the first event. Both peers number their events themselves, from 0.
	first := "0"
	if name == ours || name == oursHTTP || name == bare {
		first = string(appendID(nil, 0))
	}
	readers := make([]*reader, resumers)
	for i := range readers {
		readers[i] = newReader(1, resumedEvents)
	}
	began := time.Now()
	watch, err := watchAll(ctx, s, wire.BigBuffer, readers, func(int) []byte {
		return wire.Get(s.address, "/?stream=0",
			"", first)
	})
	if err != nil {
		return err
	}
	watch.wait()
	took := time.Since(began)
	watch.leave()
	lost, duplicated, wrong := 0, 0, 0
	want := wantedText(1, resumedEvents)
	for _, r := range readers {
		lost += r.lost + published - r.next
		duplicated += r.duplicated
		if r.sum() != want {
			wrong++
		}
	}
	t.add(rowResume, name, 0, float64(took.Microseconds())/1000)
	t.add(rowLost, name, 0, float64(lost))
	t.add(rowDuplicated, name, 0, float64(duplicated))
	t.add(rowResumeText, name, 0, float64(wrong))
	return nil
}
