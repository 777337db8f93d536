package main

import "context"

// measureStart starts the server on a data folder that it has used before.
func measureStart(ctx context.Context, b *bench) error {
	const row = "ms from starting the process to ready"
	t := newTable("Start of the second run",
		"bin/tsumugi with its own PostgreSQL, whose data folder is there, until /readyz answers 200.", "", ours)
	b.report.Sections = append(b.report.Sections, t)
	for i := range b.rounds + 1 {
		b.say("Start %d of %d", i, b.rounds)
		p, err := startProduct(ctx, b)
		if err != nil {
			return err
		}
		if i > 0 { // The first start is ignored, because it may have created the folder.
			t.add(row, ours, 0, float64(p.took.Microseconds())/1000)
		}
		p.stop()
	}
	b.report.atMostMedian("start of the second run", t, row, ours, 2000, 0, " ms")
	return nil
}
