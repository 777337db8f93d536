package offline

import (
	"html"
	"slices"
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/answer"
)

// queriesName is the task of searchQuery.
const queriesName = "search_queries"

// maxQueryWords is how many words a query has at most.
const maxQueryWords = 8

// searchQuery returns what to search for: the words of the question, without those that only ask.
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
