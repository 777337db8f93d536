package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// preprocessTimeout bounds the time for which a call waits until files are processed.
const preprocessTimeout = time.Minute

func (s *Server) preprocess(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	_, prepared, err := s.prepare(w, r, actor)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusAccepted, toPreprocess(prepared))
}

func (s *Server) preprocessAndWait(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	p, prepared, err := s.prepare(w, r, actor)
	if err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(r.Context(), preprocessTimeout)
	defer cancel()
	prepared, err = s.Chat.AwaitPreparation(waiting, actor.Owner(), p, prepared)
	moveWriteDeadline(w)
	if err != nil {
		return err
	}
	// The actor may have lost access in the meantime.
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	if _, err := s.Identity.ReloadActor(ctx, actor); err != nil {
		return err
	}
	status := http.StatusOK
	if prepared.Status == datasource.Pending || prepared.Status == datasource.Running {
		status = http.StatusAccepted
	}
	return writeJSON(w, status, toPreprocess(prepared))
}

func (s *Server) prepare(w http.ResponseWriter, r *http.Request, actor identity.Actor) (chat.Preparation, chat.PreparationState,
	error,
) {
	p, err := preparation(w, r)
	if err != nil {
		return p, chat.PreparationState{}, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	prepared, err := s.Chat.Prepare(ctx, actor.Owner(), p)
	return p, prepared, err
}

// preparation decodes the data sources to attach, without duplicates.
func preparation(w http.ResponseWriter, r *http.Request) (p chat.Preparation, err error) {
	if p.ThreadID, err = pathID(r, "thread_id"); err != nil {
		return p, err
	}
	var req PreprocessRequest
	if err := decode(w, r, &req); err != nil {
		return p, err
	}
	var c checks
	p.RequestID = uuidv7.New()
	if id := c.requestID(r, req.RequestID); id != nil {
		p.RequestID = *id
	}
	if len(req.DataSourceIds) == 0 || len(req.DataSourceIds) > datasource.MaxSearchSources {
		c.fail("data_source_ids", fmt.Sprintf("1件以上%d件以下を指定してください。", datasource.MaxSearchSources))
		return p, c.err()
	}
	for i, id := range req.DataSourceIds {
		if id := c.id("data_source_ids["+strconv.Itoa(i)+"]", id); !slices.Contains(p.SourceIDs, id) {
			p.SourceIDs = append(p.SourceIDs, id)
		}
	}
	return p, c.err()
}

func toPreprocess(p chat.PreparationState) Preprocess {
	return Preprocess{
		Job:         PreprocessJob{ID: p.ID, Status: JobStatus(p.Status)},
		DataSources: convert(p.Sources, toDataSource),
	}
}

func (s *Server) getChunkEmbedding(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "chunk_embedding_id")
	if err != nil {
		return err
	}
	p, err := s.Sources.FindPassage(r.Context(), actor.Owner(), id)
	if err != nil {
		return err
	}
	places, err := s.Sources.Locate(r.Context(), actor.Owner(), p.Passage)
	if err != nil {
		return err
	}
	moveWriteDeadline(w)
	return writeJSON(w, http.StatusOK, ChunkEmbedding{
		ID: p.ID, DataSourceID: p.SourceID, Filename: p.Filename, Page: p.Page, Ordinal: p.Ordinal, Text: p.Text,
		Model: p.Model, Dimensions: p.Dimensions, Locator: p.Locator,
		Rects: convert(places, func(r extract.Rect) Rect {
			return Rect{
				Page: r.Page, X: float32(r.X), Y: float32(r.Y), Width: float32(r.Width), Height: float32(r.Height),
			}
		}),
	})
}
