package llmtest

import (
	"context"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
)

// Offers are models that an operator offers. The first one is the default.
type Offers []llm.Offer

// Offers returns the models.
func (o Offers) Offers() (defaultID string, offers []llm.Offer) { return o[0].ID, o }

// TitleModel says that titles are written by the model that answers.
func (Offers) TitleModel() string { return "" }

// Available says that all but the last one are listed, which cannot be asked for.
func (o Offers) Available(context.Context) map[string]bool {
	available := make(map[string]bool)
	for _, offer := range o[:len(o)-1] {
		available[offer.ID] = true
	}
	return available
}
