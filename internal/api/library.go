package api

import (
	"cmp"
	"errors"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

func (s *Server) createSkill(c *call, req SkillCreateRequest) (any, error) {
	input := c.saving(req.RequestID, req.Audience, req.MemberIds, req.GroupIds, req.Content)
	if err := c.err(); err != nil {
		return nil, err
	}
	custom, err := s.Library.Create(c.ctx(), c.actor, input)
	return created(toMadeSkill(custom)), inContent(err)
}

func (s *Server) changeSkill(c *call, req SkillChangeRequest) (any, error) {
	input := c.saving(req.RequestID, req.Audience, req.MemberIds, req.GroupIds, req.Content)
	if input.BaseVersion = req.Version; req.Version < 1 {
		c.fail("version", "編集した版の番号を指定してください。")
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	custom, err := s.Library.Change(c.ctx(), c.actor, c.pathID, input)
	return toMadeSkill(custom), inContent(err)
}

// saving parses the input for saving a skill.
func (c *checks) saving(
	requestID string, audience SkillAudience, members, groups []string, content SkillContentInput,
) skill.Input {
	input := skill.Input{
		RequestID: c.requiredRequestID(requestID), Audience: skill.Audience(audience), Content: c.content(content),
	}
	if !audience.Valid() {
		c.fail("audience", "self、organization、members のどれかを指定してください。")
	}
	input.MemberIDs, input.GroupIDs = c.ids("member_ids", members), c.ids("group_ids", groups)
	return input
}

// content parses the content of a skill. Package skill validates it.
func (c *checks) content(in SkillContentInput) skill.Content {
	return skill.Content{
		Name: in.Name, Description: in.Description, Icon: in.Icon,
		CategoryID: c.id("content.category_id", in.CategoryID),
		Kind:       skill.Kind(in.Kind), TaskType: skill.TaskType(in.TaskType), Suggestions: in.Suggestions,
		Keywords: in.Keywords, AcceptsDataSources: in.AcceptsDataSources, Prompt: in.Prompt,
		AnswerLength: skill.AnswerLength(in.AnswerLength), Model: in.Model,
		FormFields: convert(in.FormFields, func(f FormField) skill.FormField {
			return skill.FormField{
				Name: f.Name, Label: f.Label, Type: skill.FieldType(f.Type), Required: f.Required,
				Options: f.Options, Placeholder: f.Placeholder, MaxLength: f.MaxLength,
			}
		}),
		Examples: convert(in.Examples, func(e SkillExample) skill.Example {
			return skill.Example{Question: e.Question, Answer: e.Answer}
		}),
		DocumentIDs: c.ids("content.document_ids", in.DocumentIds), Tools: in.Tools,
	}
}

// inContent converts the field names in errors of a content to those of the API's bodies.
func inContent(err error) error {
	failed, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	named := *failed
	named.Fields = convert(failed.Fields, func(f fault.FieldError) fault.FieldError {
		if f.Field != "audience" && f.Field != "member_ids" && f.Field != "group_ids" {
			f.Field = "content." + f.Field
		}
		return f
	})
	return &named
}

func (s *Server) trySkill(c *call, req SkillTryRequest) (any, error) {
	requestID, slot, content := c.requiredRequestID(req.RequestID), c.id("slot", req.Slot), c.content(req.Content)
	if err := c.err(); err != nil {
		return nil, err
	}
	skillID, err := s.Library.Try(c.ctx(), c.actor, slot, content)
	if err != nil {
		return nil, inContent(err)
	}
	thread, err := s.Chat.CreateThread(c.ctx(), c.actor.Owner(), chat.NewThread{
		SkillID: skillID, RequestID: &requestID, Lifetime: chat.TemporaryLifetime,
	})
	return created(c.thread(thread)), err
}

func (s *Server) listMadeSkills(c *call) (any, error) {
	shelf := cmp.Or(choice[skill.Shelf](&c.checks, "shelf"), skill.ShelfOwn)
	archived := c.flag("archived")
	offset, limit := c.page()
	if err := c.err(); err != nil {
		return nil, err
	}
	list, total, err := s.Library.List(c.ctx(), c.actor, shelf, archived, offset, limit)
	return MadeSkillList{Items: convert(list, toMadeSkill), Total: total}, err
}

func (s *Server) getSkillContent(c *call) (any, error) {
	custom, err := s.Library.Find(c.ctx(), c.actor, c.pathID)
	return toMadeSkill(custom), err
}

func (s *Server) archiveSkill(c *call) (any, error) {
	_, err := s.Library.Archive(c.ctx(), c.actor, c.pathID, true)
	return nil, err
}

func (s *Server) restoreSkill(c *call) (any, error) {
	custom, err := s.Library.Archive(c.ctx(), c.actor, c.pathID, false)
	return toMadeSkill(custom), err
}

func (s *Server) copySkill(c *call, req SkillCopyRequest) (any, error) {
	requestID, audience := c.requiredRequestID(req.RequestID), skill.Audience(req.Audience)
	if audience != skill.AudienceSelf && audience != skill.AudienceOrganization {
		c.fail("audience", "self か organization を指定してください。")
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	custom, err := s.Library.Copy(c.ctx(), c.actor, c.pathID, requestID, audience)
	return created(toMadeSkill(custom)), err
}

func (s *Server) listSkillVersions(c *call, offset, limit int) (any, error) {
	versions, total, err := s.Library.Versions(c.ctx(), c.actor, c.pathID, offset, limit)
	return SkillVersionList{Items: convert(versions, toSkillVersion), Total: total}, err
}

func (s *Server) getSkillVersion(c *call) (any, error) {
	number, _ := strconv.Atoi(chi.URLParam(c.r, "version")) // Version 0 does not exist.
	version, err := s.Library.Version(c.ctx(), c.actor, c.pathID, number)
	return toSkillVersion(version), err
}

func (s *Server) exportSkill(c *call) error {
	file, err := s.Library.Export(c.ctx(), c.actor, c.pathID)
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Disposition", `attachment; filename="skill.yaml"`)
	return writeBytes(c.w, "application/yaml", "no-store", file)
}

func (s *Server) readSkills(c *call, req SkillImportRequest) (any, error) {
	contents, err := s.Library.Read(c.ctx(), c.actor, req.Yaml)
	return SkillContentList{Items: convert(contents, toSkillContent)}, err
}

func toMadeSkill(m skill.CustomSkill) MadeSkill {
	return MadeSkill{
		ID: m.ID, Audience: SkillAudience(m.Audience), IconPath: m.Content.Skill(m.ID).IconPath,
		Members: convert(m.Members, func(u skill.Member) SkillMember {
			return SkillMember{ID: u.ID, Name: u.Name, Email: u.Email}
		}),
		Groups:  convert(m.Groups, func(g skill.Group) SkillGroup { return SkillGroup{ID: g.ID, Name: g.Name} }),
		Content: toSkillContent(m.Content), Documents: convert(m.Documents, toSkillDocument), Version: m.Version,
		MissingDocuments: m.MissingDocuments, Archived: m.Archived, UpdatedAt: m.UpdatedAt.UTC(), UpdatedBy: m.UpdatedBy,
		Request: optional(m.Request, toSkillRequest),
	}
}

func toSkillContent(c skill.Content) SkillContent {
	return SkillContent{
		Name: c.Name, Description: c.Description, Icon: c.Icon, CategoryID: c.CategoryID, Kind: string(c.Kind),
		TaskType: string(c.TaskType), FormFields: convert(c.FormFields, toFormField),
		Suggestions: nonNil(c.Suggestions), Keywords: nonNil(c.Keywords), AcceptsDataSources: c.AcceptsDataSources, Prompt: c.Prompt,
		AnswerLength: string(c.AnswerLength), Model: c.Model,
		Examples: convert(c.Examples, func(e skill.Example) SkillExample {
			return SkillExample{Question: e.Question, Answer: e.Answer}
		}),
		DocumentIds: nonNil(c.DocumentIDs), Tools: nonNil(c.Tools),
	}
}

func toSkillDocument(d skill.DocumentInfo) SkillDocument {
	return SkillDocument{ID: d.ID, Filename: d.Filename, Status: JobStatus(d.Status), OwnerName: d.OwnerName}
}

func toSkillVersion(v skill.Version) SkillVersion {
	return SkillVersion{
		Version: v.Version, UserName: v.UserName, CreatedAt: v.CreatedAt.UTC(),
		Content: optional(v.Content, toSkillContent),
	}
}
