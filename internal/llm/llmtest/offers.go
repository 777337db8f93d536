package llmtest

import "github.com/tsumugi-ai/tsumugi/internal/llm"

// Offers are models that an operator offers. The first one is the default.
type Offers []llm.Offer

// Offers returns the models.
func (o Offers) Offers() (defaultID string, offers []llm.Offer) { return o[0].ID, o }

// TitleModel says that titles are written by the model that answers.
func (Offers) TitleModel() string { return "" }
