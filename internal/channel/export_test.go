package channel

// Piece is a message's part of a split text.
type Piece struct {
	Markdown string
	Body     string
}

// Split exports split.
func Split(text string, limit int, complete bool) (pieces []Piece) {
	for _, p := range split(text, limit, complete) {
		pieces = append(pieces, Piece{Markdown: p.markdown(text), Body: text[p.from:p.to]})
	}
	return pieces
}

// AskPrompt exports askPrompt.
func AskPrompt(messages []Message, question string) string { return askPrompt(messages, question) }
