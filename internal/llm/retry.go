package llm

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// backoff returns the wait before retry number attempt (from 0): base doubled each time up to limit, minus a random
// part of up to one half, so that concurrent failures are not retried at the same time.
func backoff(attempt int, base, limit time.Duration) time.Duration {
	wait := base
	for range attempt {
		if wait *= 2; wait >= limit {
			break
		}
	}
	wait = min(wait, limit)
	return wait - rand.N(wait/2+1) //nolint:gosec // Spreads clients; no secret.
}

// parseRetryAfter parses the wait requested by the provider: OpenAI's retry-after-ms, or Retry-After in seconds or as
// a date (RFC 9110, section 10.2.3). It returns 0 for none and at most a day.
func parseRetryAfter(header http.Header, now time.Time) time.Duration {
	const longest = 24 * time.Hour
	if ms, err := strconv.ParseFloat(strings.TrimSpace(header.Get("Retry-After-Ms")), 64); err == nil && ms > 0 {
		return time.Duration(min(ms, float64(longest/time.Millisecond)) * float64(time.Millisecond))
	}
	value := strings.TrimSpace(header.Get("Retry-After"))
	if value == "" {
		return 0
	}
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		if !(seconds > 0) { // Also excludes NaN.
			return 0
		}
		return time.Duration(min(seconds, longest.Seconds()) * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil && at.After(now) {
		return min(at.Sub(now), longest)
	}
	return 0
}
