package channel

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// sources returns the files of a thread as data sources of the member when all are processed. The result is never nil,
// so that the question uses no other data sources. sources stores the problems of unusable files for a notice and omits
// these files.
func (h *eventHandler) sources(
	ctx context.Context, owner identity.Owner, sk skill.Skill, files []File,
) ([]uuid.UUID, error) {
	ids, seen := []uuid.UUID{}, make(map[string]bool)
	var problems []string
	waits := false
	if len(files) > 0 && !sk.AcceptsDataSources {
		h.event.Progress.Problems = fmt.Sprintf(textNoFiles, sk.Name)
		return ids, nil
	}
	for _, f := range files {
		if seen[f.ID] || len(ids) == datasource.MaxSearchSources {
			continue
		}
		seen[f.ID] = true
		source, problem, err := h.source(ctx, owner, f)
		if err != nil {
			return nil, err
		}
		if problem == "" && source.Status != datasource.Success {
			if problem = h.unread(source); problem == "" {
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
		return nil, later{h.cfg.BusyRetry}
	}
	h.event.Progress.Problems = strings.Join(problems, "\n")
	return ids, nil
}

// unread returns the problem of a data source that is not ready, or "" if the question can still wait for it.
func (h *eventHandler) unread(s datasource.Source) (problem string) {
	switch {
	case s.Status == datasource.Failed:
		return fmt.Sprintf(textFileFailed, s.Filename, s.Failure)
	case h.overdue():
		return fmt.Sprintf(textFileSlow, s.Filename)
	}
	return ""
}

// source returns a file of the surface as a data source. It transfers the file unless the member already has it.
func (h *eventHandler) source(ctx context.Context, owner identity.Owner, f File) (_ datasource.Source, problem string,
	_ error,
) {
	id, err := h.Store.FindFile(ctx, h.event.InstallationID, owner, f.ID)
	if err != nil {
		return datasource.Source{}, "", err
	}
	if id != nil {
		found, err := h.Sources.Find(ctx, owner, *id)
		if fault.CodeOf(err) != fault.NotFound {
			return found, "", err
		}
	}
	if f.Size > datasource.MaxSize {
		return datasource.Source{}, fmt.Sprintf(textFileLarge, f.Name), nil
	}
	content, err := h.surface.Download(ctx, h.to, f)
	if errors.Is(err, ErrGone) {
		return datasource.Source{}, fmt.Sprintf(textFileFailed, f.Name, "ファイルを開けません。"), nil
	}
	if err != nil {
		return datasource.Source{}, "", err
	}
	defer func() { _ = content.Close() }()
	source, _, err := h.Sources.Upload(ctx, owner, uuid.Nil, f.Name, content)
	switch code := fault.CodeOf(err); code {
	case "":
		return source, "", h.Store.AddFile(ctx, h.event.InstallationID, owner, f.ID, source.ID)
	case fault.Internal, fault.Unavailable, fault.Canceled, fault.Unauthenticated:
		return datasource.Source{}, "", err
	default:
		return datasource.Source{}, fmt.Sprintf(textFileFailed, f.Name, fault.DetailOf(err)), nil
	}
}
