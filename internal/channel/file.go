package channel

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// sources returns the files of a thread as data sources of the member when all are processed. The result is never nil,
// so that the question uses no other data sources. sources stores the problems of unusable files for a notice and omits
// these files.
func (a *acting) sources(ctx context.Context, owner chat.Owner, sk skill.Skill, files []File) ([]uuid.UUID, error) {
	ids, seen := []uuid.UUID{}, make(map[string]bool)
	var problems []string
	waits := false
	if len(files) > 0 && !sk.AcceptsDataSources {
		a.event.Done.Problems = fmt.Sprintf(textNoFiles, sk.Name)
		return ids, nil
	}
	for _, f := range files {
		if seen[f.ID] || len(ids) == datasource.MaxSearched {
			continue
		}
		seen[f.ID] = true
		source, problem, err := a.source(ctx, datasource.Owner(owner), f)
		if err != nil {
			return nil, err
		}
		if problem == "" && source.Status != datasource.Success {
			if problem = a.unread(source); problem == "" {
				waits = true // The other files are transferred meanwhile.
				continue
			}
		}
		if problem != "" {
			problems = append(problems, problem)
			continue
		}
		ids = append(ids, source.ID)
	}
	if waits {
		return nil, later{a.cfg.Busy}
	}
	a.event.Done.Problems = strings.Join(problems, "\n")
	return ids, nil
}

// unread returns the problem of a data source that is not ready, or "" if the question can still wait for it.
func (a *acting) unread(s datasource.Source) (problem string) {
	switch {
	case s.Status == datasource.Failed:
		return fmt.Sprintf(textFileFailed, s.Filename, s.Failure)
	case a.overdue():
		return fmt.Sprintf(textFileSlow, s.Filename)
	}
	return ""
}

// source returns a file of the surface as a data source. It transfers the file unless the member already has it.
func (a *acting) source(ctx context.Context, owner datasource.Owner, f File) (_ datasource.Source, problem string,
	_ error,
) {
	id, err := a.Store.FindFile(ctx, a.event.InstallationID, chat.Owner(owner), f.ID)
	if err != nil {
		return datasource.Source{}, "", err
	}
	if id != nil {
		found, err := a.Sources.Find(ctx, owner, *id)
		if fault.CodeOf(err) != fault.NotFound {
			return found, "", err
		}
	}
	if f.Size > datasource.MaxSize {
		return datasource.Source{}, fmt.Sprintf(textFileLarge, f.Name), nil
	}
	content, err := a.surface.Download(ctx, a.to, f)
	if errors.Is(err, ErrGone) {
		return datasource.Source{}, fmt.Sprintf(textFileFailed, f.Name, "ファイルを開けません。"), nil
	}
	if err != nil {
		return datasource.Source{}, "", err
	}
	defer func() { _ = content.Close() }()
	source, _, err := a.Sources.Upload(ctx, owner, uuid.Nil, f.Name, content)
	switch code := fault.CodeOf(err); code {
	case "":
		return source, "", a.Store.AddFile(ctx, a.event.InstallationID, chat.Owner(owner), f.ID, source.ID)
	case fault.Internal, fault.Unavailable, fault.Canceled, fault.Unauthenticated:
		return datasource.Source{}, "", err
	default:
		return datasource.Source{}, fmt.Sprintf(textFileFailed, f.Name, fault.DetailOf(err)), nil
	}
}
