package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsumugi-ai/tsumugi/internal/websearch"
)

// WatchWebSearch adds metrics of web search.
func (t *Telemetry) WatchWebSearch(read func() websearch.Stats) {
	const pages, pagesHelp = "tsumugi_websearch_pages_total", "Pages, by what became of them."
	watch(t, read, func(s websearch.Stats) []prometheus.Metric {
		return []prometheus.Metric{
			counter("tsumugi_websearch_queries_total", "Queries that the search has answered.", s.Searches),
			counter("tsumugi_websearch_failures_total", "Queries that the search has not answered.", s.Failed),
			counter(pages, pagesHelp, s.Read, "result", "read"),
			counter(pages, pagesHelp, s.Unreadable, "result", "unread"),
			counter(pages, pagesHelp, s.Forbidden, "result", "forbidden"),
			counter("tsumugi_websearch_cached_total", "Queries and pages that were known already.", s.CacheHits),
		}
	})
}
