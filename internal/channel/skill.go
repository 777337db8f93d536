package channel

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// skill returns the skill for a question, and the question without the skill's name: the named skill, else the thread's
// skill, else that of the channel's project, else the first skill for plain questions.
func (h *eventHandler) skill(
	ctx context.Context, owner identity.Owner, thread *chat.Thread,
) (skill.Skill, string, error) {
	in := h.event.Incoming
	skills, err := h.listSkills(ctx, owner)
	if err != nil {
		return skill.Skill{}, "", err
	}
	if in.Kind == KindSummarize {
		i := slices.IndexFunc(skills, func(s skill.Skill) bool { return s.TaskType == skill.TaskSummarization })
		if i < 0 {
			return skill.Skill{}, "", fault.Errorf(fault.NotFound, textNoSkill, "要約")
		}
		return skills[i], "", nil
	}
	if in.SkillName != "" {
		for _, s := range skills {
			if strings.EqualFold(s.Name, strings.TrimSpace(in.SkillName)) {
				return s, strings.TrimSpace(in.Text), nil
			}
		}
		return skill.Skill{}, "", fault.Errorf(fault.NotFound, textNoSkill, in.SkillName)
	}
	for _, s := range skills {
		if rest, ok := cutName(in.Text, s.Name); ok {
			return s, rest, nil
		}
	}
	if thread != nil {
		s, err := h.Skills.Get(ctx, owner.OrganizationID, owner.UserID, thread.SkillID)
		return s, strings.TrimSpace(in.Text), err
	}
	if h.project != nil && h.project.SkillID != nil {
		s, err := h.Skills.Get(ctx, owner.OrganizationID, owner.UserID, *h.project.SkillID)
		if fault.CodeOf(err) != fault.NotFound { // The member may not use the skill.
			return s, strings.TrimSpace(in.Text), err
		}
	}
	i := slices.IndexFunc(skills, func(s skill.Skill) bool {
		return s.Kind == "" && s.TaskType == "" && s.FormType == skill.FormChat
	})
	if i < 0 {
		return skill.Skill{}, "", fault.Errorf(fault.NotFound, textNoSkill, "汎用チャット")
	}
	return skills[i], strings.TrimSpace(in.Text), nil
}

// listSkills returns the member's skills.
func (h *eventHandler) listSkills(ctx context.Context, owner identity.Owner) (skills []skill.Skill, _ error) {
	for {
		page, err := h.Skills.List(ctx, owner.OrganizationID, owner.UserID, len(skills), skill.MaxPage)
		skills = append(skills, page...)
		if err != nil || len(page) < skill.MaxPage {
			return skills, err
		}
	}
}

// cutName removes the name of a skill from the beginning of a text. The name must be on its own line or be followed by
// a colon.
func cutName(text, name string) (rest string, ok bool) {
	text = strings.TrimSpace(text)
	if len(text) < len(name) || !strings.EqualFold(text[:len(name)], name) {
		return "", false
	}
	for _, end := range []string{"\n", ":", "："} {
		if rest, ok = strings.CutPrefix(text[len(name):], end); ok {
			return strings.TrimSpace(rest), true
		}
	}
	return "", false
}

// fill fills in a form that requires a single text, or a file for proofreading. ok is false if the form requires more.
func fill(sk skill.Skill, text string, files []uuid.UUID) (values map[string]string, ok bool) {
	values = make(map[string]string)
	proofreads := sk.Kind == skill.KindProofreading
	for _, f := range sk.FormFields {
		switch {
		case proofreads && f.Type == skill.FieldFile && len(files) == 1:
			values[f.Name], ok = files[0].String(), true
		case proofreads && f.Type == skill.FieldTextarea && len(files) == 0:
			values[f.Name], ok = text, true
		case !f.Required:
		case f.Type == skill.FieldSelect && len(f.Options) > 0:
			values[f.Name] = f.Options[0]
		case ok || f.Type != skill.FieldText && f.Type != skill.FieldTextarea:
			return nil, false
		default:
			values[f.Name], ok = text, true
		}
	}
	return values, ok
}
