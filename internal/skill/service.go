package skill

import (
	"context"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// MaxPage is the largest number of records that one list call returns.
const MaxPage = 100

// What a person reads where a skill cannot be used.
const (
	webSearchMissing = "ウェブ検索は、まだご利用いただけません。"
	modelMissing     = "AIモデルが未設定です。管理者にお知らせください。"
)

// Config says which means the server has that a skill may need.
type Config struct {
	WebSearch   bool // The web can be searched.
	NoModel     bool // The engine without a model answers.
	DataSources bool // Answers rest on data sources.
}

// Service is what the rest of the program asks about skills. It is safe for concurrent use.
//
// organizationID and userID name the actor, whom the caller has authenticated.
type Service struct {
	store  Store
	config Config
}

// NewService returns a Service on the given store.
func NewService(store Store, config Config) *Service {
	return &Service{store: store, config: config}
}

// Categories returns the categories that have a skill the organization can see, in order.
func (s *Service) Categories(ctx context.Context, organizationID uuid.UUID) ([]Category, error) {
	return s.store.ListCategories(ctx, organizationID)
}

// List returns a page of the skills that the organization can see, by category and position. offset is at least 0 and
// limit 1 to MaxPage, else the error has the code fault.Invalid.
func (s *Service) List(ctx context.Context, organizationID, userID uuid.UUID, offset, limit int) ([]Skill, error) {
	if err := checkPage(offset, limit); err != nil {
		return nil, err
	}
	skills, err := s.store.ListSkills(ctx, organizationID, userID, offset, limit)
	if err != nil {
		return nil, err
	}
	for i := range skills {
		skills[i] = s.present(skills[i])
	}
	return skills, nil
}

// Get returns one skill. A skill that the organization cannot see does not exist: the error has the code
// fault.NotFound.
func (s *Service) Get(ctx context.Context, organizationID, userID, skillID uuid.UUID) (Skill, error) {
	found, err := s.store.FindSkill(ctx, organizationID, userID, skillID)
	if err != nil {
		return Skill{}, err
	}
	return s.present(found), nil
}

// Favorites returns a page of the user's favourites, newest first, with the bounds of List.
func (s *Service) Favorites(ctx context.Context, organizationID, userID uuid.UUID, offset, limit int) ([]Favorite,
	error,
) {
	if err := checkPage(offset, limit); err != nil {
		return nil, err
	}
	return s.store.ListFavoriteSkills(ctx, organizationID, userID, offset, limit)
}

// AddFavorite stars a skill for the user. Doing it twice is no error. A skill that the organization cannot see gives
// fault.NotFound.
func (s *Service) AddFavorite(ctx context.Context, organizationID, userID, skillID uuid.UUID) error {
	return s.store.AddFavoriteSkill(ctx, organizationID, userID, skillID)
}

// RemoveFavorite takes the star away. It is no error if there is none.
func (s *Service) RemoveFavorite(ctx context.Context, organizationID, userID, skillID uuid.UUID) error {
	return s.store.RemoveFavoriteSkill(ctx, organizationID, userID, skillID)
}

// present says of a skill what it can do on this server.
func (s *Service) present(skill Skill) Skill {
	skill.Unavailable = s.Unavailable(skill)
	skill.AcceptsDataSources = skill.AcceptsDataSources && s.config.DataSources
	return skill
}

// Unavailable returns the reason why a skill cannot do its work on this server, or "".
func (s *Service) Unavailable(skill Skill) string {
	if skill.Kind == KindWebSearch && !s.config.WebSearch {
		return webSearchMissing
	}
	if s.config.NoModel && needsModel(skill) {
		return modelMissing
	}
	return ""
}

// needsModel says whether the engine without a model has nothing to offer for a skill. A plain conversation stays open:
// it can at least summarise what is pasted.
func needsModel(skill Skill) bool {
	if skill.TaskType != "" {
		return false
	}
	switch skill.Kind {
	case KindProofreading, KindMinutes:
		return false
	case "":
		return skill.FormType == FormForm
	}
	return true
}

// checkPage refuses a page outside the bounds that the API promises.
func checkPage(offset, limit int) error {
	if offset < 0 {
		return fault.InvalidField("offset", "0以上の整数を指定してください。")
	}
	if limit < 1 || limit > MaxPage {
		return fault.InvalidField("limit", "1から%dまでの整数を指定してください。", MaxPage)
	}
	return nil
}
