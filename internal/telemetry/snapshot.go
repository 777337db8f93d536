package telemetry

import "github.com/prometheus/client_golang/prometheus"

// series is one metric that is read from a snapshot S on each scrape.
type series[S any] struct {
	name, help string
	kind       prometheus.ValueType
	labels     []string // Alternating names and values.
	value      func(S) float64
}

// counter declares a metric that never decreases.
func counter[S any, N int | int64 | uint64](name, help string, value func(S) N, labels ...string) series[S] {
	return series[S]{name, help, prometheus.CounterValue, labels, func(s S) float64 { return float64(value(s)) }}
}

// gauge declares a metric that may increase and decrease.
func gauge[S any, N int | int64 | uint64](name, help string, value func(S) N, labels ...string) series[S] {
	return series[S]{name, help, prometheus.GaugeValue, labels, func(s S) float64 { return float64(value(s)) }}
}

// snapshots is a collector whose metrics come from one snapshot, so that they are consistent.
type snapshots[S any] struct {
	read   func() S
	series []series[S]
	descs  []*prometheus.Desc
}

func newSnapshots[S any](read func() S, list []series[S]) *snapshots[S] {
	c := &snapshots[S]{read: read, series: list}
	for _, s := range list {
		labels := prometheus.Labels{}
		for i := 0; i+1 < len(s.labels); i += 2 {
			labels[s.labels[i]] = s.labels[i+1]
		}
		c.descs = append(c.descs, prometheus.NewDesc(s.name, s.help, nil, labels))
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *snapshots[S]) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range c.descs {
		descs <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *snapshots[S]) Collect(metrics chan<- prometheus.Metric) {
	s := c.read()
	for i, one := range c.series {
		metrics <- prometheus.MustNewConstMetric(c.descs[i], one.kind, one.value(s))
	}
}
