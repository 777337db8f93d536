package websearch

import (
	"bytes"
	"strings"
	"time"

	"golang.org/x/net/html"
)

// dateForms are how services and pages write dates.
var dateForms = []string{
	time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05-0700", "2006-01-02 15:04:05",
	time.RFC1123, time.RFC1123Z, "2006-01-02", "2006/01/02", "2006/1/2", "20060102", "January 2, 2006", "Jan 2, 2006",
	"2006年1月2日",
}

// date returns the day that a text says, or zero.
func date(text string) time.Time {
	text = strings.TrimSpace(text)
	if len(text) > 40 {
		return time.Time{}
	}
	for _, form := range dateForms {
		if t, err := time.Parse(form, text); err == nil {
			return plausible(t)
		}
	}
	return time.Time{}
}

// plausible returns a date, or zero if a page cannot have it.
func plausible(t time.Time) time.Time {
	if t.Year() < 1990 || t.After(time.Now().Add(24*time.Hour)) {
		return time.Time{}
	}
	return t
}

// headBytes is how much of a page is looked through for its date.
const headBytes = 128 << 10

// dateNames are the names of the meta elements that say when a page was published, the most telling ones first.
var dateNames = []string{
	"article:published_time", "datepublished", "dc.date.issued", "dcterms.issued", "date", "dc.date", "pubdate",
	"article:modified_time", "datemodified", "dcterms.modified", "og:updated_time", "last-modified",
}

// published returns when an HTML page says that it was published, or zero.
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

// dated returns what a meta or a time element calls its date, and the date.
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
