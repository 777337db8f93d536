package api

import (
	"cmp"
	"fmt"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/project"
)

// projectQuery parses the filter of a list of projects.
func (c *checks) projectQuery() (search string, state project.State, offset, limit int, err error) {
	search, state = c.text("search", maxSearch), choice[project.State](c, "state")
	state = cmp.Or(state, project.Active)
	offset, limit = c.page()
	return search, state, offset, limit, c.err()
}

func (s *Server) listProjects(c *call) (any, error) {
	order := choice[project.Order](&c.checks, "order")
	search, state, offset, limit, err := c.projectQuery()
	if err != nil {
		return nil, err
	}
	projects, total, err := s.Projects.List(c.ctx(), c.actor, search, state, order, offset, limit)
	return ProjectList{Items: convert(projects, toProject), Total: total}, err
}

func (s *Server) createProject(c *call, req ProjectPostRequest) (any, error) {
	requestID, skillID := c.requiredRequestID(req.RequestID), c.optionalID("skill_id", req.SkillID)
	if err := c.err(); err != nil {
		return nil, err
	}
	p, err := s.Projects.Create(c.ctx(), c.actor, requestID, project.Draft{
		Name: req.Name, Description: req.Description, Instructions: req.Instructions, SkillID: skillID,
	})
	return created(toProject(p)), err
}

func (s *Server) getProject(c *call) (any, error) {
	p, err := s.Projects.Find(c.ctx(), c.actor, c.pathID)
	return toProject(p), err
}

func (s *Server) editProject(c *call, req ProjectPutRequest) (any, error) {
	skillID := c.optionalID("skill_id", req.SkillID)
	if err := c.err(); err != nil {
		return nil, err
	}
	p, err := s.Projects.Edit(c.ctx(), c.actor, c.pathID, project.Edit{
		Draft: project.Draft{
			Name: req.Name, Description: req.Description, Instructions: req.Instructions, SkillID: skillID,
		},
		Version: req.Version, Archived: req.Archived, RetentionDays: req.RetentionDays, StorageLimit: req.StorageLimit,
	})
	return toProject(p), err
}

func (s *Server) deleteProject(c *call) (any, error) {
	return nil, s.Projects.Delete(c.ctx(), c.actor, c.pathID)
}

// restoreProject answers with the project if the actor has a role in it.
func (s *Server) restoreProject(c *call) (any, error) {
	if err := s.Projects.Restore(c.ctx(), c.actor, c.pathID); err != nil {
		return nil, err
	}
	p, err := s.Projects.Find(c.ctx(), c.actor, c.pathID)
	if fault.CodeOf(err) == fault.NotFound {
		return nil, nil
	}
	return toProject(p), err
}

func (s *Server) archiveProject(c *call, req ProjectArchiveRequest) (any, error) {
	return nil, s.Projects.Archive(c.ctx(), c.actor, c.pathID, req.Archived)
}

func (s *Server) getProjectGrants(c *call) (any, error) {
	grants, err := s.Projects.Grants(c.ctx(), c.actor, c.pathID)
	return toGrants(grants), err
}

func (s *Server) setProjectGrants(c *call, req ProjectGrantsPutRequest) (any, error) {
	grants := make([]project.Grant, len(req.Grants))
	for i, g := range req.Grants {
		subject := project.Subject{Kind: project.SubjectKind(g.Subject.Kind), ID: c.actor.OrganizationID}
		if subject.Kind != project.Organization || g.Subject.ID != "" {
			subject.ID = c.id(fmt.Sprintf("grants[%d].subject.id", i), g.Subject.ID)
		}
		grants[i] = project.Grant{Subject: subject, Role: project.Role(g.Role)}
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	stored, err := s.Projects.SetGrants(c.ctx(), c.actor, c.pathID, req.Version, grants)
	return toGrants(stored), err
}

func (s *Server) leaveProject(c *call) (any, error) {
	return nil, s.Projects.Leave(c.ctx(), c.actor, c.pathID)
}

func (s *Server) listProjectChannels(c *call) (any, error) {
	channels, err := s.Projects.Channels(c.ctx(), c.actor, c.pathID)
	return ProjectChannelList{Items: convert(channels, toProjectChannel)}, err
}

func toProjectChannel(c project.Channel) ProjectChannel {
	return ProjectChannel{
		ID: c.ID, Channel: c.Channel, Name: c.Name, BoundBy: optional(c.BoundBy, toProjectMember), BoundAt: c.BoundAt.UTC(),
	}
}

func (s *Server) unbindProjectChannel(c *call) (any, error) {
	id := c.id("channel_id", chi.URLParam(c.r, "channel_id"))
	if err := c.err(); err != nil {
		return nil, err
	}
	return nil, s.Projects.UnbindChannel(c.ctx(), c.actor, c.pathID, id)
}

func (s *Server) listProjectSubjects(c *call) (any, error) {
	search, withoutGrant := c.text("search", maxSearch), c.flag("without_grant")
	offset, limit := c.page()
	if err := c.err(); err != nil {
		return nil, err
	}
	subjects, err := s.Projects.Subjects(c.ctx(), c.actor, c.pathID, search, withoutGrant, offset, limit)
	return ProjectSubjectList{Items: convert(subjects, toSubject)}, err
}

func (s *Server) listAllProjects(c *call) (any, error) {
	search, state, offset, limit, err := c.projectQuery()
	if err != nil {
		return nil, err
	}
	projects, total, err := s.Projects.Managed(c.ctx(), c.actor, search, state, offset, limit)
	return ManagedProjectList{Items: convert(projects, toManagedProject), Total: total}, err
}

func (s *Server) nameProjectManager(c *call, req ProjectManagerRequest) (any, error) {
	userID := c.id("user_id", req.UserID)
	if err := c.err(); err != nil {
		return nil, err
	}
	return nil, s.Projects.NameManager(c.ctx(), c.actor, c.pathID, userID)
}

func (s *Server) getProjectUsage(c *call) (any, error) {
	usage, err := s.Projects.Usage(c.ctx(), c.actor, c.pathID)
	return ProjectUsage{
		InputTokens: usage.InputTokens, OutputTokens: usage.OutputTokens,
		Items: convert(usage.ByMember, func(u project.MemberUsage) ProjectMemberUsage {
			return ProjectMemberUsage{
				Member: optional(u.Member, toProjectMember), Messages: u.Messages, InputTokens: u.InputTokens,
				OutputTokens: u.OutputTokens,
			}
		}),
	}, err
}

func (s *Server) listProjectDataSources(c *call) (any, error) {
	search := c.text("search", maxSearch)
	offset, limit := c.page()
	if err := c.err(); err != nil {
		return nil, err
	}
	sources, total, err := s.Projects.Sources(c.ctx(), c.actor, c.pathID, search, offset, limit)
	return ProjectDataSourceList{Items: convert(sources, toProjectSource), Total: total}, err
}

func (s *Server) searchProject(c *call) (any, error) {
	query := c.text("q", datasource.MaxQuery)
	if err := c.err(); err != nil {
		return nil, err
	}
	matches, err := s.Sources.SearchProjectMatches(c.ctx(), c.actor.Owner(), c.pathID, query, projectMatches)
	return ProjectMatchList{Items: convert(matches, func(m datasource.Match) ProjectMatch {
		return ProjectMatch{DataSourceID: m.SourceID, Filename: m.Filename, DataSourceMatch: toMatch(m)}
	})}, err
}

// projectMatches is the largest number of passages of a search in a project.
const projectMatches = 20

// projectMatch is a passage of a file in a project.
type projectMatch struct {
	DataSourceMatch

	DataSourceID uuid.UUID `json:"data_source_id"`
	Filename     string    `json:"filename"`
}

func (s *Server) addProjectDataSources(c *call, req ProjectDataSourcesPostRequest) (any, error) {
	ids := c.distinctIDs("data_source_ids", req.DataSourceIds)
	if err := c.err(); err != nil {
		return nil, err
	}
	shared, err := s.Projects.ShareSources(c.ctx(), c.actor, c.pathID, ids)
	list := ProjectDataSourceList{Items: convert(shared, toProjectSource), Total: len(shared)}
	for _, source := range shared {
		if !source.Known {
			list.Added++
		}
	}
	return list, err
}

func (s *Server) removeProjectDataSource(c *call) (any, error) {
	id := c.id("data_source_id", chi.URLParam(c.r, "data_source_id"))
	if err := c.err(); err != nil {
		return nil, err
	}
	return nil, s.Projects.RemoveSource(c.ctx(), c.actor, c.pathID, id)
}

// projectSource is a file of a project.
type projectSource struct {
	DataSource

	AddedBy ProjectMember `json:"added_by,omitzero"`
	AddedAt time.Time     `json:"added_at"`
}

func toProjectSource(s project.Source) ProjectDataSource {
	return ProjectDataSource{
		DataSource: toDataSource(s.Source), AddedBy: optional(s.AddedBy, toProjectMember), AddedAt: s.AddedAt.UTC(),
	}
}

func toProject(p project.Project) Project {
	return Project{
		ID: p.ID, Name: p.Name, Description: p.Description, Instructions: p.Instructions, SkillID: value(p.SkillID),
		Role: ProjectRole(p.Role), Version: p.Version, Archived: p.ArchivedAt != nil, DeletedAt: utc(p.DeletedAt),
		RetentionDays: p.RetentionDays, StorageLimit: p.StorageLimit, StorageUsed: p.StorageUsed,
		Counts:    ProjectCounts{DataSources: p.Sources, Threads: p.Threads, Members: p.Members},
		CreatedAt: p.CreatedAt.UTC(), UpdatedAt: p.UpdatedAt.UTC(),
	}
}

func toManagedProject(p project.Managed) ManagedProject {
	return ManagedProject{
		ID: p.ID, Name: p.Name, Managers: convert(p.Managers, toProjectMember), StorageUsed: p.StorageUsed,
		Counts:   ProjectCounts{DataSources: p.Sources, Threads: p.Threads, Members: p.Members},
		Archived: p.ArchivedAt != nil, DeletedAt: utc(p.DeletedAt), CreatedAt: p.CreatedAt.UTC(),
	}
}

func toProjectMember(m project.Member) ProjectMember { return ProjectMember{ID: m.ID, Name: m.Name} }

func toSubject(s project.Subject) ProjectSubject {
	return ProjectSubject{
		Kind: string(s.Kind), ID: s.ID, Name: s.Name, Email: s.Email, MemberCount: s.MemberCount,
	}
}

func toGrants(g project.Grants) ProjectGrants {
	return ProjectGrants{Version: g.Version, Grants: convert(g.List, func(g project.Grant) ProjectGrant {
		return ProjectGrant{Subject: toSubject(g.Subject), Role: ProjectRole(g.Role)}
	})}
}
