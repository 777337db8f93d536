package chat

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/picture"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// Pictures finds the pictures of questions. *picture.Service implements it.
type Pictures interface {
	// Find returns pictures in the order of their ids, or fault.NotFound if one is not the owner's.
	Find(ctx context.Context, owner identity.Owner, ids []uuid.UUID) ([]picture.Picture, error)
	// Load returns the full form of a picture.
	Load(ctx context.Context, owner identity.Owner, id uuid.UUID) ([]byte, error)
}

// PicturesNotAccepted is the code of a question with pictures for a model or a skill that does not accept them.
const PicturesNotAccepted fault.Code = "pictures_not_accepted"

// picturePlaceholder replaces a picture that the model does not receive.
const picturePlaceholder = "（画像）"

func (q Question) validatePictures() error {
	switch {
	case len(q.PictureIDs) > picture.MaxPerQuestion:
		return fault.InvalidField("picture_ids", "一つの質問に添えられる画像は%d枚までです。", picture.MaxPerQuestion)
	case q.PictureIDs != nil && q.Regenerate != nil:
		return fault.InvalidField("picture_ids", "picture_ids と regenerate は、どちらか一つだけを指定してください。")
	}
	return nil
}

// choosePictures sets the pictures of a question, and refuses them if the model or the skill cannot use them. Without
// given pictures, the question keeps its own or those of the question that it replaces.
func (s *Service) choosePictures(ctx context.Context, b *NewGeneration, q Question, sk skill.Skill,
	chosen AnswerModel,
) (err error) {
	if q.PictureIDs != nil {
		b.Question.Pictures = nil
	}
	earlier := slices.ContainsFunc(q.Earlier, func(m EarlierMessage) bool { return len(m.PictureIDs) > 0 })
	if len(q.PictureIDs)+len(b.Question.Pictures) == 0 && !earlier {
		return nil
	}
	if reason := s.pictureRefusal(sk, b.Question, chosen); reason != "" {
		refused := fault.InvalidField("picture_ids", "%s", reason)
		refused.Code = PicturesNotAccepted
		return refused
	}
	if len(q.PictureIDs) > 0 {
		b.Question.Pictures, err = s.pictures.Find(ctx, b.Owner, q.PictureIDs)
	}
	return err
}

// pictureRefusal returns the reason why a question of a skill to a model cannot have pictures, or "".
func (s *Service) pictureRefusal(sk skill.Skill, question Message, model AnswerModel) string {
	switch {
	case sk.IsExtension():
		return "ブラウザー拡張機能のスキルでは、画像を使えません。"
	case (&AnswerRequest{Skill: sk, Question: question}).Proofreads():
		return "文章の校正では、画像を使えません。"
	case s.pictures == nil || !model.Sees:
		return fmt.Sprintf("%sは、画像を読み取れません。画像を外すか、画像を読み取れるモデルを選択してください。"+
			"選択できるモデルがない場合は、管理者にご相談ください。", cmp.Or(model.Name, "このモデル"))
	}
	return ""
}

// promptPictures returns pictures for a prompt, without their data.
func promptPictures(pictures []picture.Picture) []llm.Picture {
	var list []llm.Picture
	for _, p := range pictures {
		list = append(list, llm.Picture{
			ID: p.ID.String(), MediaType: p.MediaType, Width: p.Width, Height: p.Height,
		})
	}
	return list
}

// withPictures returns a prompt with the data of its pictures: at most as many as a question may have, those of the
// newest questions. It replaces the others by a note, or all of them if the model does not read pictures.
func (s *Service) withPictures(ctx context.Context, owner identity.Owner, model AnswerModel,
	prompt []llm.Message,
) ([]llm.Message, error) {
	left := picture.MaxPerQuestion
	if !model.Sees {
		left = 0
	}
	prompt = slices.Clone(prompt)
	for i := range slices.Backward(prompt) {
		m := &prompt[i]
		shown := slices.Clone(m.Pictures[:min(left, len(m.Pictures))])
		left -= len(shown)
		if hidden := len(m.Pictures) - len(shown); hidden > 0 {
			m.Content += "\n" + strings.Repeat(picturePlaceholder, hidden)
		}
		for k := range shown {
			id, err := uuid.Parse(shown[k].ID)
			if err == nil {
				shown[k].Data, err = s.pictures.Load(ctx, owner, id)
			}
			if err != nil {
				return nil, err
			}
		}
		m.Pictures = shown
	}
	return prompt, nil
}
