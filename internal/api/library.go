package api

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

func (s *Server) createSkill(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var req SkillCreateRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	var c checks
	input := c.saving(r, req.RequestID, req.Audience, req.MemberIds, req.Content)
	if err := c.err(); err != nil {
		return err
	}
	custom, err := s.Library.Create(r.Context(), actor, input)
	if err != nil {
		return inContent(err)
	}
	return writeJSON(w, http.StatusCreated, toMadeSkill(custom))
}

func (s *Server) changeSkill(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "skill_id")
	if err != nil {
		return err
	}
	var req SkillChangeRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	var c checks
	input := c.saving(r, req.RequestID, req.Audience, req.MemberIds, req.Content)
	if input.BaseVersion = req.Version; req.Version < 1 {
		c.fail("version", "編集した版の番号を指定してください。")
	}
	if err := c.err(); err != nil {
		return err
	}
	custom, err := s.Library.Change(r.Context(), actor, id, input)
	if err != nil {
		return inContent(err)
	}
	return writeJSON(w, http.StatusOK, toMadeSkill(custom))
}

// saving parses the input for saving a skill.
func (c *checks) saving(
	r *http.Request, requestID string, audience SkillAudience, members []string, content SkillContentInput,
) skill.Input {
	input := skill.Input{
		RequestID: c.requiredRequestID(r, requestID), Audience: skill.Audience(audience), Content: c.content(content),
	}
	if !input.Audience.Valid() {
		c.fail("audience", "self、organization、members のどれかを指定してください。")
	}
	for i, id := range members {
		input.MemberIDs = append(input.MemberIDs, c.id(fmt.Sprintf("member_ids[%d]", i), id))
	}
	return input
}

// content parses the content of a skill. Package skill validates it.
func (c *checks) content(in SkillContentInput) skill.Content {
	content := skill.Content{
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
	}
	for i, id := range in.DocumentIds {
		content.DocumentIDs = append(content.DocumentIDs, c.id(fmt.Sprintf("content.document_ids[%d]", i), id))
	}
	return content
}

// inContent converts the field names in errors of a content to those of the API's bodies.
func inContent(err error) error {
	failed, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	named := *failed
	named.Fields = convert(failed.Fields, func(f fault.FieldError) fault.FieldError {
		if f.Field != "audience" && f.Field != "member_ids" {
			f.Field = "content." + f.Field
		}
		return f
	})
	return &named
}

func (s *Server) trySkill(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var req SkillTryRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	var c checks
	requestID, slot, content := c.requiredRequestID(r, req.RequestID), c.id("slot", req.Slot), c.content(req.Content)
	if err := c.err(); err != nil {
		return err
	}
	skillID, err := s.Library.Try(r.Context(), actor, slot, content)
	if err != nil {
		return inContent(err)
	}
	thread, err := s.Chat.CreateThread(r.Context(), actor.Owner(), chat.NewThread{
		SkillID: skillID, RequestID: &requestID, Lifetime: chat.TemporaryLifetime,
	})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusCreated, toThread(thread))
}

func (s *Server) listMadeSkills(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var c checks
	query := r.URL.Query()
	shelf := choice[ListMadeSkillsParamsShelf](&c, "shelf", query["shelf"])
	if shelf == "" {
		shelf = ListMadeSkillsParamsShelf(skill.ShelfOwn)
	}
	archived := c.flag("archived", query["archived"])
	offset, limit := c.page(r)
	if err := c.err(); err != nil {
		return err
	}
	list, total, err := s.Library.List(r.Context(), actor, skill.Shelf(shelf), archived, offset, limit)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, MadeSkillList{Items: convert(list, toMadeSkill), Total: total})
}

func (s *Server) listSharedDocuments(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "user_id")
	if err != nil {
		return err
	}
	list, err := s.Library.Shared(r.Context(), actor, id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, SharedDocumentList{
		Items: convert(list, func(d skill.SharedDocuments) SharedDocuments {
			return SharedDocuments{SkillID: d.SkillID, SkillName: d.SkillName, Filenames: d.Filenames}
		}),
	})
}

// withMadeSkill writes the skill returned by do for the id in the path.
func withMadeSkill(w http.ResponseWriter, r *http.Request, do func(uuid.UUID) (skill.CustomSkill, error)) error {
	id, err := pathID(r, "skill_id")
	if err != nil {
		return err
	}
	custom, err := do(id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, toMadeSkill(custom))
}

func (s *Server) getSkillContent(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	return withMadeSkill(w, r, func(id uuid.UUID) (skill.CustomSkill, error) {
		return s.Library.Find(r.Context(), actor, id)
	})
}

func (s *Server) archiveSkill(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "skill_id")
	if err != nil {
		return err
	}
	if _, err := s.Library.Archive(r.Context(), actor, id, true); err != nil {
		return err
	}
	return writeNoContent(w)
}

func (s *Server) restoreSkill(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	return withMadeSkill(w, r, func(id uuid.UUID) (skill.CustomSkill, error) {
		return s.Library.Archive(r.Context(), actor, id, false)
	})
}

func (s *Server) copySkill(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "skill_id")
	if err != nil {
		return err
	}
	var req SkillCopyRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	var c checks
	requestID, audience := c.requiredRequestID(r, req.RequestID), skill.Audience(req.Audience)
	if audience != skill.AudienceSelf && audience != skill.AudienceOrganization {
		c.fail("audience", "self か organization を指定してください。")
	}
	if err := c.err(); err != nil {
		return err
	}
	custom, err := s.Library.Copy(r.Context(), actor, id, requestID, audience)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusCreated, toMadeSkill(custom))
}

func (s *Server) listSkillVersions(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "skill_id")
	if err != nil {
		return err
	}
	offset, limit, err := page(r)
	if err != nil {
		return err
	}
	versions, total, err := s.Library.Versions(r.Context(), actor, id, offset, limit)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, SkillVersionList{Items: convert(versions, toSkillVersion), Total: total})
}

func (s *Server) getSkillVersion(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "skill_id")
	if err != nil {
		return err
	}
	number, _ := strconv.Atoi(chi.URLParam(r, "version")) // Version 0 does not exist.
	version, err := s.Library.Version(r.Context(), actor, id, number)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, toSkillVersion(version))
}

func (s *Server) exportSkill(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "skill_id")
	if err != nil {
		return err
	}
	file, err := s.Library.Export(r.Context(), actor, id)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/yaml")
	h.Set("Content-Disposition", `attachment; filename="skill.yaml"`)
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(file)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(file) //nolint:gosec // An attachment with its type and nosniff; the client may be gone.
	}
	return nil
}

func (s *Server) readSkills(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var req SkillImportRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	contents, err := s.Library.Read(r.Context(), actor, req.Yaml)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, SkillContentList{Items: convert(contents, toSkillContent)})
}

func toMadeSkill(m skill.CustomSkill) MadeSkill {
	made := MadeSkill{
		ID: m.ID, Audience: SkillAudience(m.Audience), IconPath: m.Content.Skill(m.ID).IconPath,
		Members: convert(m.Members, func(u skill.Member) SkillMember {
			return SkillMember{ID: u.ID, Name: u.Name, Email: u.Email}
		}),
		Content: toSkillContent(m.Content), Documents: convert(m.Documents, toSkillDocument), Version: m.Version,
		MissingDocuments: m.MissingDocuments, Archived: m.Archived, UpdatedAt: m.UpdatedAt.UTC(), UpdatedBy: m.UpdatedBy,
	}
	if m.Request != nil {
		made.Request = toSkillRequest(*m.Request)
	}
	return made
}

func toSkillContent(c skill.Content) SkillContent {
	return SkillContent{
		Name: c.Name, Description: c.Description, Icon: c.Icon, CategoryID: c.CategoryID, Kind: string(c.Kind),
		TaskType: string(c.TaskType), FormFields: convert(c.FormFields, toFormField), Suggestions: texts(c.Suggestions),
		Keywords: texts(c.Keywords), AcceptsDataSources: c.AcceptsDataSources, Prompt: c.Prompt,
		AnswerLength: string(c.AnswerLength), Model: c.Model,
		Examples: convert(c.Examples, func(e skill.Example) SkillExample {
			return SkillExample{Question: e.Question, Answer: e.Answer}
		}),
		DocumentIds: convert(c.DocumentIDs, func(id uuid.UUID) uuid.UUID { return id }),
	}
}

// texts returns a list that is encoded as [] and not null.
func texts(list []string) []string { return convert(list, func(s string) string { return s }) }

func toSkillDocument(d skill.DocumentInfo) SkillDocument {
	return SkillDocument{ID: d.ID, Filename: d.Filename, Status: JobStatus(d.Status), OwnerName: d.OwnerName}
}

func toSkillVersion(v skill.Version) SkillVersion {
	version := SkillVersion{Version: v.Version, UserName: v.UserName, CreatedAt: v.CreatedAt.UTC()}
	if v.Content != nil {
		version.Content = toSkillContent(*v.Content)
	}
	return version
}
