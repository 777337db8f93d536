package channel

// Piece is a piece of a split text, for tests.
type Piece struct {
	Markdown string
	Body     string
}

// Split is split.
func Split(text string, limit int, complete bool) (pieces []Piece) {
	for _, p := range split(text, limit, complete) {
		pieces = append(pieces, Piece{Markdown: p.markdown(text), Body: text[p.from:p.to]})
	}
	return pieces
}

// AskPrompt is askPrompt.
func AskPrompt(said []Said, question string) string { return askPrompt(said, question) }
