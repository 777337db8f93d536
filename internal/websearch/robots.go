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
	maxRobots   = 512 << 10 // Bytes of a robots.txt that are read; RFC 9309 asks for 500 KiB at least.
	robotsBytes = 8 << 20   // Of the rules that are kept.
)

// robots knows what sites let robots read.
type robots struct {
	fetcher *fetcher
	keep    time.Duration
	known   *lru.Cache[string, kept[rules]] // By scheme and host.
}

func newRobots(f *fetcher, keep time.Duration) *robots {
	return &robots{fetcher: f, keep: keep, known: lru.New[string, kept[rules]](robotsBytes)}
}

// check returns errRobots for a page that its site does not let robots read.
func (r *robots) check(ctx context.Context, page *url.URL) error {
	origin := page.Scheme + "://" + page.Host
	found, ok := r.known.Get(origin)
	if !ok || time.Since(found.at) >= r.keep {
		read, err := r.fetch(ctx, origin)
		if err != nil {
			return err
		}
		found = kept[rules]{read, time.Now()}
		r.known.Put(origin, found, read.bytes())
	}
	if !found.value.allow(page.RequestURI()) {
		return errRobots
	}
	return nil
}

// fetch returns the rules of a site. A site without a robots.txt allows everything; one that fails to tell allows
// nothing for now.
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

// parseRobots returns the rules for this robot: those of the groups that name it, else of the groups for all (RFC
// 9309, 2.2.1).
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

// allow reports whether a path with its query may be read: by the longest rule that matches, and of equal ones by that
// which allows.
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

// matches reports whether a path begins with a pattern, in which * stands for anything and $ for the end. It takes
// linear time.
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

// normalized returns a path or a pattern in one spelling: characters that need none stand without percent encoding, all
// others with it, in capitals.
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

// isUnreserved reports whether a character means the same with and without percent encoding (RFC 3986, 2.3).
func isUnreserved(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || strings.IndexByte("-._~", c) >= 0
}
