package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/google/uuid"

	tsumugi "github.com/tsumugi-ai/tsumugi/clients/go"
)

// The skills of the comparison.
const (
	withoutTools = "without tools"
	withTools    = "with tools"
)

// measureTools measures answers of skills with tools.
func measureTools(ctx context.Context, b *bench) error {
	if err := measureUncalled(ctx, b); err != nil {
		return err
	}
	return measureApprovals(ctx, b)
}

// measureUncalled asks a skill with all built-in tools, which the model does not call, and the same skill without them.
func measureUncalled(ctx context.Context, b *bench) error {
	const row = "first token, p50 ms"
	t := newTable("Tools that are not called",
		"From sending the question to reading the first text of the answer, in one chat, each question in a new thread. "+
			"Both skills are asked in turn at one server.", "", withoutTools, withTools)
	b.report.Sections = append(b.report.Sections, t)
	p, err := startProduct(ctx, b)
	if err != nil {
		return err
	}
	defer p.stop()
	skills := make(map[string]string)
	for _, name := range t.Columns {
		var tools []string
		if name == withTools {
			tools = []string{"calendar", "calculate", "search_documents", "search_web", "read_page"}
		}
		if skills[name], err = addSkill(ctx, p.client, name, tools...); err != nil {
			return err
		}
	}
	turns := 20
	if b.quick {
		turns = 2
	}
	if _, err := b.askInTurn(ctx, p, skills, 2); err != nil { // Warms the server up.
		return err
	}
	for range b.rounds {
		b.say("Tools")
		took, err := b.askInTurn(ctx, p, skills, turns)
		if err != nil {
			return err
		}
		for _, name := range t.Columns {
			t.add(row, name, 2, quantile(took[name], 0.5))
		}
	}
	b.report.atMostTimes("first token with tools that are not called", t, row, withTools, withoutTools, 1.1, 2)
	return nil
}

// askInTurn asks 10 questions to each skill, turns times, and returns the milliseconds to the first text of the answers.
// skills are ids by name.
func (b *bench) askInTurn(
	ctx context.Context, p *product, skills map[string]string, turns int,
) (map[string][]float64, error) {
	c, m, took := productChat(p), chatRound{bench: b}, make(map[string][]float64)
	for range turns {
		for _, name := range slices.Sorted(maps.Keys(skills)) {
			p.skill.ID = skills[name]
			r, err := m.load(ctx, c, chatLoad{chats: 1, answers: 10, tokens: 4, perSecond: 1000})
			if err != nil {
				return nil, err
			}
			took[name] = append(took[name], r.first...)
		}
	}
	if m.wrong+m.refused > 0 {
		return nil, fmt.Errorf("%d texts differ, %d questions got no answer", m.wrong, m.refused)
	}
	return took, nil
}

// addSkill adds a skill of the demo user and returns its id.
func addSkill(ctx context.Context, client *tsumugi.Client, name string, tools ...string) (string, error) {
	var categories struct {
		Items []struct{ ID string }
	}
	if err := client.Call(ctx, http.MethodGet, "/v1/category?limit=1", nil, &categories); err != nil {
		return "", err
	}
	if len(categories.Items) == 0 {
		return "", errors.New("there is no category")
	}
	var made struct{ ID string }
	err := client.Call(ctx, http.MethodPost, "/v1/skill", map[string]any{
		"request_id": uuid.NewString(), "audience": "self", "content": map[string]any{
			"name": name, "description": "計測のスキルです。", "icon": "chat", "category_id": categories.Items[0].ID,
			"prompt": "質問に答える。", "tools": append([]string{}, tools...),
		},
	}, &made)
	return made.ID, err
}
