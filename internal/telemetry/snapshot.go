package telemetry

import "github.com/prometheus/client_golang/prometheus"

// watch adds metrics that are derived from one snapshot on each scrape, so that they are consistent.
func watch[S any](t *Telemetry, read func() S, metrics func(S) []prometheus.Metric) {
	t.registry.MustRegister(collector(func() []prometheus.Metric { return metrics(read()) }))
}

// collector is a prometheus.Collector that calls itself on each scrape.
type collector func() []prometheus.Metric

// Describe implements prometheus.Collector. Without descriptions, the registry checks the metrics on each scrape.
func (collector) Describe(chan<- *prometheus.Desc) {}

func (c collector) Collect(metrics chan<- prometheus.Metric) {
	for _, m := range c() {
		metrics <- m
	}
}

// counter returns a metric that never decreases. labels are alternating names and values.
func counter[N int | int64 | uint64](name, help string, value N, labels ...string) prometheus.Metric {
	return constant(prometheus.CounterValue, name, help, float64(value), labels)
}

// gauge returns a metric that may increase and decrease. labels are alternating names and values.
func gauge[N int | int32 | int64](name, help string, value N, labels ...string) prometheus.Metric {
	return constant(prometheus.GaugeValue, name, help, float64(value), labels)
}

func constant(kind prometheus.ValueType, name, help string, value float64, labels []string) prometheus.Metric {
	pairs := prometheus.Labels{}
	for i := 0; i+1 < len(labels); i += 2 {
		pairs[labels[i]] = labels[i+1]
	}
	return prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, pairs), kind, value)
}
