package websearch

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/lru"
)

const (
	maxRobots   = 512 << 10 // Bytes of a robots.txt to read; RFC 9309 requires at least 500 KiB.
	robotsBytes = 8 << 20   // Size of the cache of rules.
)

// robots checks the robots.txt of sites and caches their rules.
type robots struct {
	fetcher  *fetcher
	lifetime time.Duration
	rules    *lru.Cache[string, cacheEntry[rules]] // By scheme and host.
}

func newRobots(f *fetcher, keep time.Duration) *robots {
	return &robots{fetcher: f, lifetime: keep, rules: lru.New[string, cacheEntry[rules]](robotsBytes)}
}

// check returns errRobots for a page that its site disallows for robots.
func (r *robots) check(ctx context.Context, page *url.URL) error {
	origin := page.Scheme + "://" + page.Host
	found, ok := r.rules.Get(origin)
	if !ok || time.Since(found.at) >= r.lifetime {
		read, err := r.fetch(ctx, origin)
		if err != nil {
			return err
		}
		found = cacheEntry[rules]{read, time.Now()}
		r.rules.Put(origin, found, read.bytes())
	}
	if !found.value.allow(page.RequestURI()) {
		return errRobots
	}
	return nil
}

// fetch returns the rules of a site. Without a robots.txt, everything is allowed. It returns errRobots for a server
// error, which check does not cache.
func (r *robots) fetch(ctx context.Context, origin string) (rules, error) {
	response, err := r.fetcher.follow(ctx, origin+"/robots.txt", func(context.Context, *url.URL) error { return nil })
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	switch {
	case response.StatusCode >= http.StatusInternalServerError:
		return nil, fmt.Errorf("%w: %s", errRobots, response.Status)
	case response.StatusCode != http.StatusOK:
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxRobots))
	if err != nil {
		return nil, err
	}
	return parseRobots(string(body)), nil
}

// rules are the lines of a robots.txt for one robot.
type rules []rule

type rule struct {
	allow   bool
	pattern string // Normalized.
}

func (r rules) bytes() (size int) {
	for _, one := range r {
		size += len(one.pattern) + 24
	}
	return size
}

// parseRobots returns the rules for this robot: those of the groups with its name, or otherwise those of the groups for
// all robots (RFC 9309, 2.2.1).
func parseRobots(text string) rules {
	var own, all rules
	named, isOwn, isAll, began := false, false, false, false
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		line, _, _ = strings.Cut(line, "#")
		key, value, found := strings.Cut(line, ":")
		if !found {
			continue
		}
		key, value = strings.ToLower(strings.Trim(key, " \t\uFEFF")), strings.Trim(value, " \t")
		switch key {
		case "user-agent":
			if began {
				isOwn, isAll, began = false, false, false
			}
			token, _, _ := strings.Cut(value, "/")
			isOwn = isOwn || strings.EqualFold(strings.TrimSpace(token), robot)
			isAll = isAll || value == "*"
			named = named || isOwn
		case "allow", "disallow":
			began = true
			if value == "" {
				continue
			}
			one := rule{key == "allow", normalized(value)}
			if isOwn {
				own = append(own, one)
			}
			if isAll {
				all = append(all, one)
			}
		}
	}
	if named {
		return own
	}
	return all
}

// allow reports whether a path with its query is allowed. The longest matching rule decides; among rules of equal
// length, an allowing rule has priority.
func (r rules) allow(path string) bool {
	path = normalized(path)
	longest, allowed := -1, true
	for _, one := range r {
		length := len(one.pattern)
		if length < longest || length == longest && !one.allow || !matches(one.pattern, path) {
			continue
		}
		longest, allowed = length, one.allow
	}
	return allowed
}

// matches reports whether a pattern matches the beginning of a path. * matches any characters and $ the end of the
// path. The running time is linear.
func matches(pattern, path string) bool {
	pattern, toEnd := strings.CutSuffix(pattern, "$")
	parts := strings.Split(pattern, "*")
	rest, found := strings.CutPrefix(path, parts[0])
	if !found {
		return false
	}
	if len(parts) == 1 {
		return !toEnd || rest == ""
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		if _, rest, found = strings.Cut(rest, part); !found {
			return false
		}
	}
	if toEnd {
		return strings.HasSuffix(rest, parts[last])
	}
	return strings.Contains(rest, parts[last])
}

// normalized returns a path or pattern in canonical form. Unreserved characters are not percent-encoded. All others
// are, with upper-case digits.
func normalized(path string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '%' && i+2 < len(path) && isHex(path[i+1]) && isHex(path[i+2]) {
			c = unhex(path[i+1])<<4 | unhex(path[i+2])
			i += 2
			if isUnreserved(c) {
				b.WriteByte(c)
				continue
			}
		} else if c > ' ' && c < 0x7f {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&0xf])
	}
	return b.String()
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

// isUnreserved reports whether percent encoding does not change the meaning of a character (RFC 3986, 2.3).
func isUnreserved(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || strings.IndexByte("-._~", c) >= 0
}
