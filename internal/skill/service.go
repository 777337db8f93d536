package skill

import (
	"context"

	"github.com/google/uuid"
)

// MaxPage is the largest number of records that one list call returns.
const MaxPage = 100

// Texts for unavailable skills.
const (
	webSearchMissing = "ウェブ検索の接続先が未設定です。管理者に、TSUMUGI_SEARCH_URL または TSUMUGI_SEARCH_PROVIDER の設定を依頼してください。"
	withdrawn        = "このスキルは公開が終了したため、新しい質問には使えません。これまでの内容は引き続きご覧いただけます。"
	archived         = "このスキルはアーカイブされたため、新しい質問には使えません。これまでの内容は引き続きご覧いただけます。"
	modelMissing     = "AIモデルが未設定のため、利用できません。"
)

// Config describes the server's facilities for skills.
type Config struct {
	WebSearch bool // Web search is available.
	NoModel   bool // Answers come from the engine without a language model.
}

// Service lists and finds skills, and stores favourites. It is safe for concurrent use.
//
// organizationID and userID identify the actor, whom the caller has authenticated.
type Service struct {
	store  Store
	config Config
}

// NewService returns a Service on the given store.
func NewService(store Store, config Config) *Service {
	return &Service{store: store, config: config}
}

// Categories returns the categories with a skill that is visible to the user, in order.
func (s *Service) Categories(ctx context.Context, organizationID, userID uuid.UUID) ([]Category, error) {
	return s.store.ListCategories(ctx, organizationID, userID)
}

// List returns a page of the skills that are visible to the user, by category and position.
func (s *Service) List(ctx context.Context, organizationID, userID uuid.UUID, offset, limit int) ([]Skill, error) {
	skills, err := s.store.ListSkills(ctx, organizationID, userID, offset, limit)
	if err != nil {
		return nil, err
	}
	for i := range skills {
		skills[i] = s.present(skills[i])
	}
	return skills, nil
}

// Get returns one skill. If it is not visible to the user, the error has the code fault.NotFound.
func (s *Service) Get(ctx context.Context, organizationID, userID, skillID uuid.UUID) (Skill, error) {
	found, err := s.store.FindSkill(ctx, organizationID, userID, skillID)
	if err != nil {
		return Skill{}, err
	}
	return s.present(found), nil
}

// Favorites returns a page of the user's favourites, newest first.
func (s *Service) Favorites(ctx context.Context, organizationID, userID uuid.UUID, offset, limit int) ([]Favorite,
	error,
) {
	return s.store.ListFavoriteSkills(ctx, organizationID, userID, offset, limit)
}

// AddFavorite stars a skill for the user. It may be repeated. If the skill is not visible to the user, the
// error has the code fault.NotFound.
func (s *Service) AddFavorite(ctx context.Context, organizationID, userID, skillID uuid.UUID) error {
	return s.store.AddFavoriteSkill(ctx, organizationID, userID, skillID)
}

// RemoveFavorite removes the star. A missing star is not an error.
func (s *Service) RemoveFavorite(ctx context.Context, organizationID, userID, skillID uuid.UUID) error {
	return s.store.RemoveFavoriteSkill(ctx, organizationID, userID, skillID)
}

// present sets the fields of a skill that depend on this server.
func (s *Service) present(skill Skill) Skill {
	skill.Unavailable = s.Unavailable(skill)
	return skill
}

// Unavailable returns the reason why a skill cannot be used on this server, or "".
func (s *Service) Unavailable(skill Skill) string {
	if skill.Withdrawn {
		return withdrawn
	}
	if skill.Archived {
		return archived
	}
	if skill.Kind == KindWebSearch && !s.config.WebSearch {
		return webSearchMissing
	}
	if s.config.NoModel && needsModel(skill) {
		return modelMissing
	}
	return ""
}

// needsModel reports whether a skill does not work with the engine without a model. Plain conversations work, because
// the engine can at least summarize pasted text.
func needsModel(skill Skill) bool {
	if skill.TaskType != "" {
		return false
	}
	switch skill.Kind {
	case KindProofreading, KindPageWholeSummary, KindPageWholeSummaryFollowUp, KindWebSearch:
		return false
	case "":
		return skill.FormType == FormForm
	}
	return true
}
