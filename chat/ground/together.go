package ground

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// together combines the data sources of a question and the documents of its skill. They may have different owners; in a
// shared thread, several members attach data sources. It reads each with the permissions of its owner, so that no access
// rule is weakened.
type together struct {
	sources *datasource.Service
	owners  map[uuid.UUID]identity.Owner // Owners of the data sources that belong to other members.
	hidden  map[uuid.UUID]bool           // Documents of the skill that the asking person may not open.
}

// newTogether returns the ids of an answer's data sources, and the together to read them with.
func newTogether(sources *datasource.Service, req *chat.AnswerRequest) (together, []uuid.UUID) {
	t := together{sources: sources, owners: make(map[uuid.UUID]identity.Owner), hidden: make(map[uuid.UUID]bool)}
	ids := slices.Clone(req.Question.DataSourceIDs)
	if req.Project != nil {
		for id, owner := range req.Project.SourceOwners {
			if owner != req.Owner.UserID {
				t.owners[id] = identity.Owner{OrganizationID: req.Owner.OrganizationID, UserID: owner}
			}
		}
	}
	for _, d := range req.Skill.Documents {
		if d.OwnerID != req.Owner.UserID {
			t.owners[d.ID] = identity.Owner{OrganizationID: req.Owner.OrganizationID, UserID: d.OwnerID}
			t.hidden[d.ID] = true
		}
		if !slices.Contains(ids, d.ID) {
			ids = append(ids, d.ID)
		}
	}
	return t, ids
}

// veiled reports whether a data source is a document of the skill that the asking person may not open. Files that are
// attached to a shared thread are not veiled: each reader sees their citations according to its own rights.
func (t together) veiled(id uuid.UUID) bool { return t.hidden[id] }

// open returns the data sources that the asking person may open.
func (t together) open(of []datasource.Source) []datasource.Source {
	return slices.DeleteFunc(slices.Clone(of), func(s datasource.Source) bool { return t.veiled(s.ID) })
}

// group is a list of data sources of one owner, at most as many as one search accepts.
type group struct {
	owner identity.Owner
	ids   []uuid.UUID
}

// groups groups data sources by owner, in order.
func (t together) groups(own identity.Owner, ids []uuid.UUID) (groups []group) {
	for _, id := range ids {
		owner := own
		if other, ok := t.owners[id]; ok {
			owner = other
		}
		i := slices.IndexFunc(groups, func(g group) bool {
			return g.owner == owner && len(g.ids) < datasource.MaxSearchSources
		})
		if i < 0 {
			groups = append(groups, group{owner: owner})
			i = len(groups) - 1
		}
		groups[i].ids = append(groups[i].ids, id)
	}
	return groups
}

// findAll returns the data sources with the given ids, without deleted ones.
func (t together) findAll(
	ctx context.Context, owner identity.Owner, ids []uuid.UUID,
) ([]datasource.Source, error) {
	var all []datasource.Source
	for _, g := range t.groups(owner, ids) {
		found, err := t.sources.FindAll(ctx, g.owner, g.ids)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// retrieve returns the k most relevant passages, best first. It compares scores across owners without adjustment.
func (t together) retrieve(
	ctx context.Context, owner identity.Owner, ids []uuid.UUID, query string, k int,
) ([]datasource.RetrievedPassage, error) {
	var all []datasource.RetrievedPassage
	for _, g := range t.groups(owner, ids) {
		found, err := t.sources.Retrieve(ctx, g.owner, g.ids, query, k)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	slices.SortStableFunc(all, func(a, b datasource.RetrievedPassage) int { return cmp.Compare(b.Score, a.Score) })
	return all[:min(k, len(all))], nil
}

// firstPassages returns at most each first passages of every data source. The passages of each owner are adjacent.
func (t together) firstPassages(
	ctx context.Context, owner identity.Owner, of []datasource.Source, each int,
) ([]datasource.Passage, error) {
	ids := make([]uuid.UUID, len(of))
	byID := make(map[uuid.UUID]datasource.Source, len(of))
	for i, s := range of {
		ids[i], byID[s.ID] = s.ID, s
	}
	var all []datasource.Passage
	for _, g := range t.groups(owner, ids) {
		sources := make([]datasource.Source, len(g.ids))
		for i, id := range g.ids {
			sources[i] = byID[id]
		}
		passages, err := t.sources.FirstPassages(ctx, g.owner, sources, each)
		if err != nil {
			return nil, err
		}
		all = append(all, passages...)
	}
	return all, nil
}
