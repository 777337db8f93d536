package telemetry

import "github.com/tsumugi-ai/tsumugi/internal/websearch"

// WatchWebSearch adds metrics of web search.
func (t *Telemetry) WatchWebSearch(read func() websearch.Stats) {
	const pages, pagesHelp = "tsumugi_websearch_pages_total", "Pages, by what became of them."
	t.registry.MustRegister(newSnapshots(read, []series[websearch.Stats]{
		counter("tsumugi_websearch_queries_total", "Queries that the search has answered.",
			func(s websearch.Stats) int64 { return s.Searches }),
		counter("tsumugi_websearch_failures_total", "Queries that the search has not answered.",
			func(s websearch.Stats) int64 { return s.Failed }),
		counter(pages, pagesHelp, func(s websearch.Stats) int64 { return s.Read }, "result", "read"),
		counter(pages, pagesHelp, func(s websearch.Stats) int64 { return s.Unreadable }, "result", "unread"),
		counter(pages, pagesHelp, func(s websearch.Stats) int64 { return s.Forbidden }, "result", "forbidden"),
		counter("tsumugi_websearch_cached_total", "Queries and pages that were known already.",
			func(s websearch.Stats) int64 { return s.CacheHits }),
	}))
}
