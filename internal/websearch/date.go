package websearch

import (
	"bytes"
	"strings"
	"time"

	"golang.org/x/net/html"

	"github.com/tsumugi-ai/tsumugi/internal/japan"
)

// dateForms are the date formats of search services and pages.
var dateForms = []string{
	time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05-0700", "2006-01-02 15:04:05",
	time.RFC1123, time.RFC1123Z, "2006-01-02", "2006/01/02", "2006/1/2", "20060102", "January 2, 2006", "Jan 2, 2006",
	"2006年1月2日",
}

// date parses a date as a time in Japan. A date without a zone is one of Japan. date returns the zero time if the text is
// not a plausible date.
func date(text string) time.Time {
	text = strings.TrimSpace(text)
	if len(text) > 40 {
		return time.Time{}
	}
	for _, form := range dateForms {
		if t, err := time.ParseInLocation(form, text, japan.Zone); err == nil {
			return plausible(t.In(japan.Zone))
		}
	}
	return time.Time{}
}

// plausible returns t, or the zero time if a page cannot have this date.
func plausible(t time.Time) time.Time {
	if t.Year() < 1990 || t.After(time.Now().Add(24*time.Hour)) {
		return time.Time{}
	}
	return t
}

// headBytes is the size of the beginning of a page in which to search for the date.
const headBytes = 128 << 10

// dateNames are the names of meta elements with the publication date, the most reliable first.
var dateNames = []string{
	"article:published_time", "datepublished", "dc.date.issued", "dcterms.issued", "date", "dc.date", "pubdate",
	"article:modified_time", "datemodified", "dcterms.modified", "og:updated_time", "last-modified",
}

// published returns the publication date in an HTML page, or the zero time.
func published(page []byte) time.Time {
	found := make(map[string]time.Time)
	z := html.NewTokenizer(bytes.NewReader(page[:min(len(page), headBytes)]))
	z.SetMaxBuf(headBytes)
	for {
		switch z.Next() {
		case html.ErrorToken:
			for _, name := range dateNames {
				if t := found[name]; !t.IsZero() {
					return t
				}
			}
			return found["time"]
		case html.StartTagToken, html.SelfClosingTagToken:
			name, content := dated(z)
			if t := date(content); name != "" && found[name].IsZero() {
				found[name] = t
			}
		}
	}
}

// dated returns the name and the date of a meta or time element.
func dated(z *html.Tokenizer) (name, content string) {
	tag, more := z.TagName()
	element := string(tag)
	if element != "meta" && element != "time" {
		return "", ""
	}
	for more {
		var key, value []byte
		key, value, more = z.TagAttr()
		switch string(key) {
		case "property", "name", "itemprop", "http-equiv":
			if element == "meta" {
				name = strings.ToLower(string(value))
			}
		case "content":
			content = string(value)
		case "datetime":
			if element == "time" {
				name, content = element, string(value)
			}
		}
	}
	return name, content
}
