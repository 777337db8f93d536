package offline

import (
	"html"
	"slices"
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/answer"
)

// queriesName is the task of searchQuery.
const queriesName = "search_queries"

// maxQueryWords is the maximum number of words in a query.
const maxQueryWords = 8

// searchQuery returns the query for a web search: the words of the question without interrogative words.
func searchQuery(p prompt) string {
	question, _ := tagged(p.question, "question")
	var earlier []string
	if before, ok := tagged(p.question, "earlier"); ok {
		earlier = append(earlier, html.UnescapeString(before))
	}
	var words []string
	for _, word := range compounds(stripAsking(answer.Query(html.UnescapeString(question), earlier))) {
		if !slices.Contains(words, word) && len(words) < maxQueryWords {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}
