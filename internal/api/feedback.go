package api

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

func (s *Server) listOrganizationFeedback(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	query, err := reviewQuery(r.URL.Query())
	if err != nil {
		return err
	}
	if query.Offset, query.Limit, err = page(r); err != nil {
		return err
	}
	reviews, total, err := s.Reviews.List(r.Context(), actor, query)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, OrganizationFeedbackList{
		Items: convert(reviews, toOrganizationFeedback), Total: total,
	})
}

// reviewQuery parses the filter of the ratings.
func reviewQuery(values url.Values) (chat.ReviewQuery, error) {
	var c checks
	query := chat.ReviewQuery{
		Rating:  chat.Rating(choice[FeedbackRating](&c, "rating", values["rating"])),
		SkillID: c.optionalID("skill_id", values.Get("skill_id")), Search: c.text("q", values["q"], maxSearch),
		From: c.time("from", values["from"]), To: c.time("to", values["to"]),
	}
	return query, c.err()
}

func (s *Server) getOrganizationFeedback(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "message_id")
	if err != nil {
		return err
	}
	review, err := s.Reviews.Find(r.Context(), actor, id)
	if err != nil {
		return err
	}
	out := toOrganizationFeedback(review.Review)
	out.Question, out.Answer = review.Question, review.Answer
	return writeJSON(w, http.StatusOK, out)
}

func (s *Server) listSkillFeedback(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var c checks
	values := r.URL.Query()
	from, to := c.time("from", values["from"]), c.time("to", values["to"])
	if err := c.err(); err != nil {
		return err
	}
	skills, err := s.Reviews.BySkill(r.Context(), actor, from, to)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, SkillFeedbackList{
		Items: convert(skills, func(k chat.SkillRatings) SkillFeedback {
			return SkillFeedback{Skill: toFeedbackSkill(k.SkillID, k.SkillName), Good: k.Good, Bad: k.Bad}
		}),
	})
}

func (s *Server) exportFeedback(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	query, err := reviewQuery(r.URL.Query())
	if err != nil {
		return err
	}
	if query.To.IsZero() {
		query.To = time.Now() // New ratings must not move the others.
	}
	return writeCSV(w, r, table{
		name:   "tsumugi-feedback",
		header: []string{"日時", "スキル", "モデル", "評価", "コメント", "質問と回答の送信"},
		rows: func(ctx context.Context, offset, limit int) ([][]string, error) {
			query.Offset, query.Limit = offset, limit
			list, _, err := s.Reviews.List(ctx, actor, query)
			return convert(list, reviewRow), err
		},
	})
}

func reviewRow(v chat.Review) []string {
	name, rating, sent := v.SkillName, "良い", "なし"
	if v.SkillID == nil {
		name = "個人のスキル"
	}
	if v.Rating == chat.RatingBad {
		rating = "良くない"
	}
	if v.WithText {
		sent = "あり"
	}
	return []string{local(&v.At), name, v.Model, rating, v.Comment, sent}
}

func toOrganizationFeedback(v chat.Review) OrganizationFeedback {
	return OrganizationFeedback{
		ID: v.ID, At: v.At.UTC(), Skill: toFeedbackSkill(v.SkillID, v.SkillName), Model: v.Model,
		Rating: FeedbackRating(v.Rating), Comment: v.Comment, WithText: v.WithText, Person: v.Person,
	}
}

func toFeedbackSkill(id *uuid.UUID, name string) FeedbackSkill {
	if id == nil {
		return FeedbackSkill{}
	}
	return FeedbackSkill{ID: *id, Name: name}
}
