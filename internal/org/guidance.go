package org

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// Limits of guidance, in characters.
const (
	maxInstructions = 4_000
	maxAboutLine    = 100
	maxAboutText    = 500
)

// Guidance is additional instructions and information for every skill.
type Guidance struct {
	Instructions string // The organization's instructions, or "".
	About        About
}

// About is a person's information about themselves. Any field may be "".
type About struct {
	Name       string // The name by which the assistant addresses them.
	Department string
	Tone       string // The desired tone of answers.
	Signature  string // The signature for texts written for them; it may have several lines.
}

// Guidance returns the guidance for the actor.
func (s *Service) Guidance(ctx context.Context, actor identity.Actor) (Guidance, error) {
	return s.store.Guidance(ctx, actor.OrganizationID, actor.ID)
}

// SetAbout replaces the actor's information about themselves, and returns its stored form.
func (s *Service) SetAbout(ctx context.Context, actor identity.Actor, about About) (About, error) {
	for _, field := range []struct {
		name  string
		value *string
		limit int
		lines bool
	}{
		{"name", &about.Name, maxAboutLine, false},
		{"department", &about.Department, maxAboutLine, false},
		{"tone", &about.Tone, maxAboutText, true},
		{"signature", &about.Signature, maxAboutText, true},
	} {
		text, err := guidanceText(field.name, *field.value, field.limit)
		if err != nil {
			return About{}, err
		}
		if !field.lines && strings.ContainsAny(text, "\r\n") {
			return About{}, fault.InvalidField(field.name, "改行は使えません。")
		}
		*field.value = text
	}
	return about, s.store.SetAbout(ctx, actor.OrganizationID, actor.ID, about)
}

// SetInstructions replaces the instructions of the actor's organization, and returns their stored form. For
// administrators.
func (s *Service) SetInstructions(ctx context.Context, actor identity.Actor, text string) (string, error) {
	if err := administers(actor); err != nil {
		return "", err
	}
	text, err := guidanceText("instructions", text, maxInstructions)
	if err != nil {
		return "", err
	}
	return text, s.store.SetInstructions(ctx, actor, text, stillAdministers)
}

// guidanceText trims and validates a text.
func guidanceText(field, text string, limit int) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case strings.ContainsRune(text, 0):
		return "", fault.InvalidField(field, "使えない文字（NUL）が含まれています。")
	case utf8.RuneCountInString(text) > limit:
		return "", fault.InvalidField(field, "%d文字以内で入力してください。", limit)
	}
	return text, nil
}
