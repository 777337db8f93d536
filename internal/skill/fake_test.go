package skill_test

import (
	"context"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// memoryStore is a Store in memory for one organization.
type memoryStore struct {
	skill.Store

	mu         sync.Mutex // Guards the fields below.
	categories []skill.Category
	skills     []skill.Skill
	favorites  map[uuid.UUID][]uuid.UUID // By user, oldest first.
}

func (m *memoryStore) ListCategories(context.Context, uuid.UUID, uuid.UUID) ([]skill.Category, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.categories), nil
}

func (m *memoryStore) ListSkills(_ context.Context, _, userID uuid.UUID, offset, limit int) ([]skill.Skill, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	page := slices.Clone(m.skills[min(offset, len(m.skills)):min(offset+limit, len(m.skills))])
	for i := range page {
		page[i].IsFavorite = slices.Contains(m.favorites[userID], page[i].ID)
	}
	return page, nil
}

func (m *memoryStore) FindSkill(_ context.Context, _, userID, skillID uuid.UUID) (skill.Skill, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.skills {
		if s.ID == skillID {
			s.IsFavorite = slices.Contains(m.favorites[userID], skillID)
			return s, nil
		}
	}
	return skill.Skill{}, fault.Errorf(fault.NotFound, "スキルが見つかりません。")
}

func (m *memoryStore) ListFavoriteSkills(_ context.Context, _, userID uuid.UUID, offset, limit int) ([]skill.Favorite,
	error,
) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var page []skill.Favorite
	for _, id := range slices.Backward(m.favorites[userID]) {
		page = append(page, skill.Favorite{SkillID: id})
	}
	return page[min(offset, len(page)):min(offset+limit, len(page))], nil
}

func (m *memoryStore) AddFavoriteSkill(ctx context.Context, organizationID, userID, skillID uuid.UUID) error {
	found, err := m.FindSkill(ctx, organizationID, userID, skillID)
	if err != nil || found.IsFavorite {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.favorites == nil {
		m.favorites = make(map[uuid.UUID][]uuid.UUID)
	}
	m.favorites[userID] = append(m.favorites[userID], skillID)
	return nil
}

func (m *memoryStore) RemoveFavoriteSkill(_ context.Context, _, userID, skillID uuid.UUID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.favorites[userID] = slices.DeleteFunc(m.favorites[userID], func(id uuid.UUID) bool { return id == skillID })
	return nil
}

func (m *memoryStore) SaveBuiltinSkills(_ context.Context, categories []skill.Category, skills []skill.Skill) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.categories, m.skills = categories, skills
	return nil
}
