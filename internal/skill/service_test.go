package skill_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// newSeeded returns a service on a store with the built-in skills.
func newSeeded(t *testing.T, config skill.Config) (*skill.Service, *memoryStore) {
	t.Helper()
	store := &memoryStore{}
	if err := skill.Seed(t.Context(), store); err != nil {
		t.Fatalf("seed: %v", err)
	}
	return skill.NewService(store, config), store
}

func TestSeedIsIdempotent(t *testing.T) {
	t.Parallel()
	service, store := newSeeded(t, skill.Config{})
	first := store.skills
	must.Succeed(t, skill.Seed(t.Context(), store))
	if len(first) != len(store.skills) {
		t.Fatalf("%d skills became %d", len(first), len(store.skills))
	}
	for i := range first {
		if first[i].ID != store.skills[i].ID {
			t.Errorf("%s: the id changed", first[i].Name)
		}
	}
	categories, err := service.Categories(t.Context(), uuid.New(), uuid.New())
	if err != nil || len(categories) != 7 || categories[0].Name != "対話" {
		t.Errorf("categories = %v, %v", categories, err)
	}
}

func TestWebSearchIsUnavailable(t *testing.T) {
	t.Parallel()
	for _, configured := range []bool{false, true} {
		service, _ := newSeeded(t, skill.Config{WebSearch: configured})
		skills := must.Get(service.List(t.Context(), uuid.New(), uuid.New(), 0, skill.MaxPage))(t)
		for _, s := range skills {
			want := s.Kind == skill.KindWebSearch && !configured
			for _, setting := range []string{"TSUMUGI_SEARCH_URL", "TSUMUGI_SEARCH_PROVIDER"} {
				if want && !strings.Contains(s.Unavailable, setting) {
					t.Errorf("%q does not say what to set", s.Unavailable)
				}
			}
			if got := s.Unavailable != ""; got != want {
				t.Errorf("web search configured %v: %s unavailable %v, want %v", configured, s.Name, got, want)
			}
			one, err := service.Get(t.Context(), uuid.New(), uuid.New(), s.ID)
			if err != nil || one.Unavailable != s.Unavailable {
				t.Errorf("Get(%s) says %q, List %q (%v)", s.Name, one.Unavailable, s.Unavailable, err)
			}
		}
	}
}

func TestFavorites(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	service, store := newSeeded(t, skill.Config{})
	organization, user := uuid.New(), uuid.New()
	first, second := store.skills[0].ID, store.skills[1].ID
	for _, id := range []uuid.UUID{first, second, first} {
		must.Succeed(t, service.AddFavorite(ctx, organization, user, id))
	}
	favorites, err := service.Favorites(ctx, organization, user, 0, 10)
	if err != nil || len(favorites) != 2 || favorites[0].SkillID != second || favorites[1].SkillID != first {
		t.Errorf("favourites = %v, %v", favorites, err)
	}
	if one, err := service.Get(ctx, organization, user, first); err != nil || !one.IsFavorite {
		t.Errorf("Get after AddFavorite: favourite %v, %v", one.IsFavorite, err)
	}
	for range 2 {
		must.Succeed(t, service.RemoveFavorite(ctx, organization, user, first))
	}
	if one, err := service.Get(ctx, organization, user, first); err != nil || one.IsFavorite {
		t.Errorf("Get after RemoveFavorite: favourite %v, %v", one.IsFavorite, err)
	}
	if err := service.AddFavorite(ctx, organization, user, uuid.New()); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("AddFavorite of nothing = %v", err)
	}
}

// TestWithoutAModel: a skill that needs a model reports so before a person fills in its form. Skills that need none
// stay available.
func TestWithoutAModel(t *testing.T) {
	t.Parallel()
	accepts := map[string]bool{"汎用チャット": true, "要約": true, "文書に質問": true, "文章校正": true}
	open := map[string]bool{
		"汎用チャット": true, "要約": true, "文書に質問": true, "文章校正": true, "ページの要約": true, "ページへの質問": true,
		"ウェブ検索": true,
	}
	for _, without := range []bool{false, true} {
		service, _ := newSeeded(t, skill.Config{WebSearch: true, NoModel: without})
		skills, err := service.List(t.Context(), uuid.New(), uuid.New(), 0, skill.MaxPage)
		if err != nil || len(skills) < len(open) {
			t.Fatalf("%d skills, %v", len(skills), err)
		}
		for _, s := range skills {
			if want := without && !open[s.Name]; (s.Unavailable != "") != want ||
				strings.Contains(s.Unavailable, "OPENAI") {
				t.Errorf("%s without a model (%v): %q", s.Name, without, s.Unavailable)
			}
			if s.AcceptsDataSources != accepts[s.Name] {
				t.Errorf("%s accepts data sources: %v", s.Name, s.AcceptsDataSources)
			}
		}
	}
}
