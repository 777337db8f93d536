// Package websearchtest is a fake SearXNG server with web pages for tests and demonstrations. Some pages have other
// encodings and formats. Others redirect, are slow or endless, or are disallowed for robots.
package websearchtest

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/tsumugi-ai/tsumugi/internal/ngram"
)

// Page is a web page. The search finds it by the words of its title and excerpt.
type Page struct {
	Path      string
	Title     string
	Excerpt   string
	Published string // In the format of the search; may be empty.
	Serve     http.HandlerFunc
}

// Server serves the search at /search and its pages. It is safe for concurrent use.
type Server struct {
	base  string
	pages []Page
	mux   *http.ServeMux

	mu     sync.Mutex
	asked  map[string]int // Guarded by mu. Number of requests by path.
	agents map[string]bool
}

// New returns a Server with the given base URL and additional pages.
func New(base string, more ...Page) *Server {
	s := &Server{
		base: strings.TrimRight(base, "/"), pages: append(pages(), more...), mux: http.NewServeMux(),
		asked: make(map[string]int), agents: make(map[string]bool),
	}
	for _, p := range s.pages {
		s.mux.HandleFunc("GET "+p.Path, p.Serve)
	}
	s.mux.HandleFunc("GET /search", s.search)
	s.mux.HandleFunc("GET /robots.txt", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("User-agent: *\nDisallow: /private/\n"))
	})
	return s
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked[r.URL.Path]++
	s.agents[r.UserAgent()] = true
	s.mu.Unlock()
	if r.Header.Get("Cookie") != "" {
		http.Error(w, "a cookie came", http.StatusBadRequest)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: "visitor", Value: "1"}) //nolint:gosec // Clients must not send it back.
	s.mux.ServeHTTP(w, r)
}

// Asked returns the number of requests for a path.
func (s *Server) Asked(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[path]
}

// Agents returns the User-Agent values of the clients.
func (s *Server) Agents() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for agent := range s.agents {
		list = append(list, agent)
	}
	return list
}

// response is the response of SearXNG with format=json.
type response struct {
	Query               string   `json:"query"`
	NumberOfResults     int      `json:"number_of_results"`
	Results             []result `json:"results"`
	Answers             []string `json:"answers"`
	Corrections         []string `json:"corrections"`
	Infoboxes           []string `json:"infoboxes"`
	Suggestions         []string `json:"suggestions"`
	UnresponsiveEngines []string `json:"unresponsive_engines"`
}

type result struct {
	URL           string   `json:"url"`
	Title         string   `json:"title"`
	Content       string   `json:"content"`
	PublishedDate *string  `json:"publishedDate"` //nolint:tagliatelle // SearXNG's name.
	Engine        string   `json:"engine"`
	Template      string   `json:"template"`
	ParsedURL     []string `json:"parsed_url"`
	Engines       []string `json:"engines"`
	Positions     []int    `json:"positions"`
	Score         float64  `json:"score"`
	Category      string   `json:"category"`
}

// search returns the pages that contain words of the query, best match first.
func (s *Server) search(w http.ResponseWriter, r *http.Request) {
	query := r.FormValue("q")
	switch {
	case r.FormValue("format") != "json":
		http.Error(w, "this server answers in JSON alone", http.StatusForbidden)
		return
	case strings.TrimSpace(query) == "":
		http.Error(w, "No query", http.StatusBadRequest)
		return
	}
	found := response{
		Query: query, Results: []result{}, Answers: []string{}, Corrections: []string{}, Infoboxes: []string{},
		Suggestions: []string{}, UnresponsiveEngines: []string{},
	}
	for _, p := range s.pages {
		if score := fit(query, p.Title+" "+p.Excerpt); score > 0 {
			found.Results = append(found.Results, s.result(p, score))
		}
	}
	slices.SortStableFunc(found.Results, func(a, b result) int { return int(b.Score - a.Score) })
	found.NumberOfResults = len(found.Results)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(found)
}

func (s *Server) result(p Page, score float64) result {
	address := s.base + p.Path
	found := result{
		URL: address, Title: p.Title, Content: p.Excerpt, Engine: "fake", Template: "default.html",
		Engines: []string{"fake"}, Positions: []int{1}, Score: score, Category: "general",
	}
	if u, err := url.Parse(address); err == nil {
		found.ParsedURL = []string{u.Scheme, u.Host, u.Path, "", "", ""}
	}
	if p.Published != "" {
		found.PublishedDate = &p.Published
	}
	return found
}

// fit returns the number of a query's words, or pairs of characters, in a text.
func fit(query, text string) (score float64) {
	held := make(map[string]bool)
	for token := range ngram.Fold(text).Tokens() {
		held[token] = true
	}
	for token := range ngram.Fold(query).Tokens() {
		if held[token] {
			score++
		}
	}
	return score
}

// HTML returns a handler that serves an HTML page.
func HTML(title, body string) http.HandlerFunc {
	return encoded("text/html; charset=utf-8", document(title, "", body))
}

func document(title, head, body string) []byte {
	return fmt.Appendf(nil, "<!DOCTYPE html><html lang=\"ja\"><head>%s<title>%s</title></head><body>"+
		"<nav><a href=\"/\">トップ</a></nav>%s<footer>サイトマップ</footer></body></html>", head, title, body)
}

func encoded(contentType string, content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(content)
	}
}

// Hostile is a page that contains instructions, closes elements of the prompt, cites sources that do not exist, or
// hides text, also in its title.
type Hostile struct{ Name, Text string }

// Page returns the page with a number in its path.
func (h Hostile) Page(number int) Page {
	return Page{
		Path: fmt.Sprintf("/hostile/%d", number), Title: h.Name + " " + h.Text, Excerpt: h.Text,
		Serve: HTML(html.EscapeString(h.Name), "<p>"+strings.ReplaceAll(html.EscapeString(h.Text), "\n", "<br>")+"</p>"),
	}
}
