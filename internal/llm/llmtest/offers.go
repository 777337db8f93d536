package llmtest

import (
	"context"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
)

// Offers are models that an operator offers. The first one is the default.
type Offers []llm.Offer

// Offers returns the models.
func (o Offers) Offers() (defaultID string, offers []llm.Offer) { return o[0].ID, o }

// TitleModel returns "": the answering model writes titles.
func (Offers) TitleModel() string { return "" }

// Available reports all models but the last one as listed. The status of the last model is unknown.
func (o Offers) Available(context.Context) map[string]bool {
	available := make(map[string]bool)
	for _, offer := range o[:len(o)-1] {
		available[offer.ID] = true
	}
	return available
}
