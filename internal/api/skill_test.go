package api_test

import (
	"net/http"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

func TestSkillsAndFavourites(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	list := get[api.SkillList](f, http.StatusOK, call{
		method: "GET", path: "/v1/skill?limit=100",
		token: f.alice.Subject,
	})
	if len(list.Items) != len(f.skills) || len(list.Items) < 12 {
		t.Fatalf("got %d skills", len(list.Items))
	}
	for i, s := range list.Items {
		one := get[api.Skill](f, http.StatusOK, call{
			method: "GET", path: "/v1/skill/" + s.ID.String(),
			token: f.alice.Subject,
		})
		if one.Name != s.Name || (s.Kind == string(skill.KindWebSearch)) != (s.UnavailableReason != "") {
			t.Errorf("skill %d: %+v", i, one)
		}
	}
	first, second := list.Items[0].ID, list.Items[1].ID
	for _, id := range []any{first, second, second} {
		if resp := f.do(call{
			method: "POST", path: "/v1/favorite_skill", token: f.alice.Subject,
			body: map[string]any{"skill_id": id},
		}); resp.status != http.StatusNoContent {
			t.Fatalf("got %d %s", resp.status, resp.body)
		}
	}
	favourites := get[api.FavoriteSkillList](f, http.StatusOK,
		call{method: "GET", path: "/v1/favorite_skill", token: f.alice.Subject})
	if len(favourites.Items) != 2 || favourites.Items[0].ID != second || favourites.Items[0].IconPath == "" {
		t.Errorf("got %+v", favourites)
	}
	if others := get[api.FavoriteSkillList](f, http.StatusOK,
		call{method: "GET", path: "/v1/favorite_skill", token: f.bob.Subject}); len(others.Items) != 0 {
		t.Errorf("Bob has %+v", others)
	}
	if resp := f.do(call{
		method: "DELETE", path: "/v1/favorite_skill", token: f.alice.Subject,
		body: map[string]any{"skill_id": second},
	}); resp.status != http.StatusNoContent {
		t.Errorf("got %d", resp.status)
	}
	if s := get[api.Skill](f, http.StatusOK, call{
		method: "GET", path: "/v1/skill/" + second.String(),
		token: f.alice.Subject,
	}); s.IsFavorite {
		t.Error("it is still a favourite")
	}
	if resp := f.do(call{
		method: "POST", path: "/v1/favorite_skill", token: f.alice.Subject,
		body: map[string]any{"skill_id": newID()},
	}); resp.status != http.StatusNotFound {
		t.Errorf("an unknown skill: %d", resp.status)
	}
}
