package api

import (
	"context"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
)

func (s *Server) listOrganizationFeedback(c *call) (any, error) {
	query := c.reviewQuery()
	query.Offset, query.Limit = c.page()
	if err := c.err(); err != nil {
		return nil, err
	}
	reviews, total, err := s.Reviews.List(c.ctx(), c.actor, query)
	return OrganizationFeedbackList{Items: convert(reviews, toOrganizationFeedback), Total: total}, err
}

// reviewQuery parses the filter of the ratings.
func (c *checks) reviewQuery() chat.ReviewQuery {
	return chat.ReviewQuery{
		Rating: chat.Rating(choice[FeedbackRating](c, "rating")), SkillID: c.optionalQueryID("skill_id"),
		Search: c.text("q", maxSearch), From: c.time("from"), To: c.time("to"),
	}
}

func (s *Server) getOrganizationFeedback(c *call) (any, error) {
	review, err := s.Reviews.Find(c.ctx(), c.actor, c.pathID)
	out := toOrganizationFeedback(review.Review)
	out.Question, out.Answer = review.Question, review.Answer
	return out, err
}

func (s *Server) listSkillFeedback(c *call) (any, error) {
	from, to := c.time("from"), c.time("to")
	if err := c.err(); err != nil {
		return nil, err
	}
	skills, err := s.Reviews.BySkill(c.ctx(), c.actor, from, to)
	return SkillFeedbackList{
		Items: convert(skills, func(k chat.SkillRatings) SkillFeedback {
			return SkillFeedback{Skill: toFeedbackSkill(k.SkillID, k.SkillName), Good: k.Good, Bad: k.Bad}
		}),
	}, err
}

func (s *Server) exportFeedback(c *call) error {
	query := c.reviewQuery()
	if err := c.err(); err != nil {
		return err
	}
	return writeCSV(c, table{
		name:   "tsumugi-feedback",
		header: []string{"日時", "スキル", "モデル", "評価", "コメント", "質問と回答の送信"},
		rows: func(ctx context.Context, limit int, write func(row ...string)) error {
			query.Limit = limit
			return s.Reviews.Each(ctx, c.actor, query, func(v chat.Review) { write(reviewRow(v)...) })
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
