package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// preprocessTimeout bounds the time for which a call waits until files are processed.
const preprocessTimeout = time.Minute

func (s *Server) preprocess(c *call, req PreprocessRequest) (any, error) {
	_, prepared, err := s.prepare(c, req)
	return reply{http.StatusAccepted, toPreprocess(prepared)}, err
}

func (s *Server) preprocessAndWait(c *call, req PreprocessRequest) (any, error) {
	p, prepared, err := s.prepare(c, req)
	if err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(c.ctx(), preprocessTimeout)
	defer cancel()
	prepared, err = s.Chat.AwaitPreparation(waiting, c.actor.Owner(), p, prepared)
	moveWriteDeadline(c.w)
	if err == nil {
		err = s.reload(c.ctx(), c.actor)
	}
	status := http.StatusOK
	if prepared.Status == datasource.Pending || prepared.Status == datasource.Running {
		status = http.StatusAccepted
	}
	return reply{status, toPreprocess(prepared)}, err
}

// prepare parses the data sources to attach, and begins to attach them.
func (s *Server) prepare(c *call, req PreprocessRequest) (p chat.Preparation, _ chat.PreparationState, err error) {
	p = chat.Preparation{ThreadID: c.pathID, RequestID: uuidv7.New()}
	if id := c.requestID(req.RequestID); id != nil {
		p.RequestID = *id
	}
	if n := len(req.DataSourceIds); n == 0 || n > datasource.MaxSearchSources {
		c.fail("data_source_ids", fmt.Sprintf("1件以上%d件以下を指定してください。", datasource.MaxSearchSources))
	} else {
		p.SourceIDs = c.distinctIDs("data_source_ids", req.DataSourceIds)
	}
	if err := c.err(); err != nil {
		return p, chat.PreparationState{}, err
	}
	ctx, cancel := context.WithTimeout(c.ctx(), callTimeout)
	defer cancel()
	prepared, err := s.Chat.Prepare(ctx, c.actor.Owner(), p)
	return p, prepared, err
}

func toPreprocess(p chat.PreparationState) Preprocess {
	return Preprocess{
		Job:         PreprocessJob{ID: p.ID, Status: JobStatus(p.Status)},
		DataSources: convert(p.Sources, toDataSource),
	}
}

func (s *Server) getChunkEmbedding(c *call) (any, error) {
	p, err := s.Sources.FindPassage(c.ctx(), c.actor.Owner(), c.pathID)
	if err != nil {
		return nil, err
	}
	places, err := s.Sources.Locate(c.ctx(), c.actor.Owner(), p.Passage)
	if err != nil {
		return nil, err
	}
	moveWriteDeadline(c.w)
	return ChunkEmbedding{
		ID: p.ID, DataSourceID: p.SourceID, Filename: p.Filename, Page: p.Page, Ordinal: p.Ordinal, Text: p.Text,
		Model: p.Model, Dimensions: p.Dimensions, Locator: p.Locator,
		Rects: convert(places, func(r extract.Rect) Rect {
			return Rect{
				Page: r.Page, X: float32(r.X), Y: float32(r.Y), Width: float32(r.Width), Height: float32(r.Height),
			}
		}),
	}, nil
}
