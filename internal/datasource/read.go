package datasource

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/index"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/timeout"
)

// maxAttempts limits the attempts to read a file, because a file may crash servers.
const maxAttempts = 5

// endTimeout bounds storing a result, which takes a few seconds for the largest files.
const endTimeout = 20 * time.Second

const unreadable = "読み取り中に問題が発生しました。もう一度アップロードしても読み取れない場合は、管理者にお知らせください。"

// read reads a file and stores the result. If the reading is interrupted or fails, the file is queued again.
func (s *Service) read(ctx context.Context, reading Reading, pause time.Duration) {
	s.changed(reading.Owner, reading.Source)
	result, err := s.find(ctx, reading)
	var source Source
	if err == nil {
		source, err = s.end(ctx, reading, result)
	}
	switch {
	case err == nil && source.Status == Success:
		s.stats.read.Add(1)
	case err == nil:
		s.stats.unreadable.Add(1)
	case fault.CodeOf(err) != fault.NotFound:
		options := RequeueOptions{After: pause * time.Duration(reading.Attempt*reading.Attempt), CountAttempt: true}
		switch why := context.Cause(ctx); {
		case errors.Is(why, errInterrupted):
			options = RequeueOptions{Slow: true}
		case errors.Is(why, context.DeadlineExceeded):
			options.Slow = true
		case why != nil: // This server is stopping or has lost the reading.
			options = RequeueOptions{}
		}
		s.stats.interrupted.Add(1)
		source, err = s.putBack(ctx, reading, options)
	}
	switch {
	case err == nil:
		s.changed(reading.Owner, source)
		s.embedder.wakeup.Wake()
	case fault.CodeOf(err) != fault.NotFound: // The lease expires.
		s.log.WarnContext(ctx, "datasource: storing the result of a reading failed", "data_source_id", reading.ID,
			"err", err)
	}
}

// end stores the result of a reading even if the reading is canceled meanwhile. The renewal of leases can detect the
// end of the reading before the reader itself.
func (s *Service) end(ctx context.Context, reading Reading, result ReadingResult) (Source, error) {
	if err := ctx.Err(); err != nil {
		return Source{}, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	return s.store.FinishReading(ctx, reading, result)
}

func (s *Service) putBack(ctx context.Context, reading Reading, options RequeueOptions) (Source, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout.Store)
	defer cancel()
	return s.store.RequeueReading(ctx, reading, options)
}

// find reads a file. The result can be a failure.
func (s *Service) find(ctx context.Context, reading Reading) (ReadingResult, error) {
	if reading.Attempt > maxAttempts {
		return ReadingResult{Failure: unreadable}, nil
	}
	result, err := s.extract(ctx, reading)
	if wrong, ok := errors.AsType[*fault.UnreadableError](err); ok {
		return ReadingResult{Failure: wrong.Reason}, nil
	}
	if err == nil {
		return result, nil
	}
	if ctx.Err() != nil {
		return ReadingResult{}, err
	}
	s.log.WarnContext(ctx, "datasource: reading a file failed", "data_source_id", reading.ID,
		"attempt", reading.Attempt, "err", err)
	if reading.Attempt == maxAttempts {
		return ReadingResult{Failure: unreadable}, nil
	}
	return ReadingResult{}, err
}

// extract returns the passages of a file and their index.
func (s *Service) extract(ctx context.Context, reading Reading) (ReadingResult, error) {
	file, err := s.files.Open(ctx, reading.ID)
	if err != nil {
		return ReadingResult{}, err
	}
	defer func() { _ = file.Close() }()
	told := progress{service: s, reading: reading, last: time.Now()}
	var pages []extract.Page
	err = s.extractor.Extract(ctx, reading.Filename, file, func(p extract.Page, total int) error {
		pages = append(pages, p)
		return told.tell(ctx, StageReading, len(pages), total)
	})
	if err != nil {
		return ReadingResult{}, err
	}
	if err := told.tell(ctx, StageIndexing, 0, len(pages)); err != nil {
		return ReadingResult{}, err
	}
	result := ReadingResult{PageCount: len(pages), Notice: picturedNotice(pages), Chunks: extract.Split(pages)}
	result.Index = buildIndex(reading.Filename, result.Chunks)
	return result, nil
}

// picturedNotice lists the pages of a file that are pictures, "" if there are none.
func picturedNotice(pages []extract.Page) string {
	const most = 5 // Ranges in the text.
	var ranges []string
	count := 0
	for i := 0; i < len(pages); i++ {
		first := i
		for i < len(pages) && pages[i].Pictured {
			i++
		}
		switch i - first {
		case 0:
			continue
		case 1:
			ranges = append(ranges, strconv.Itoa(first+1))
		default:
			ranges = append(ranges, fmt.Sprintf("%d〜%d", first+1, i))
		}
		count += i - first
	}
	if count == 0 {
		return ""
	}
	where := strings.Join(ranges[:min(len(ranges), most)], "、") + "ページ"
	if len(ranges) > most {
		where += "など"
	}
	return fmt.Sprintf("%dページ中%dページ（%s）は画像のため、読み取れませんでした。", len(pages), count, where)
}

// buildIndex packs the index of a data source.
func buildIndex(filename string, chunks []Chunk) index.PackedIndex {
	return index.Build(title(filename), indexedPassages(chunks))
}

// progress reports the progress of a reading at intervals. It is not safe for concurrent use.
type progress struct {
	service *Service
	reading Reading
	last    time.Time // Time of the last report.
}

// tell stores and reports the progress unless the interval since the last report is too short. It returns an error if
// the reading is no longer the current one.
func (p *progress) tell(ctx context.Context, stage Stage, done, total int) error {
	if time.Since(p.last) < p.service.readers.cfg.ProgressInterval {
		return nil
	}
	p.last = time.Now()
	ctx, cancel := context.WithTimeout(ctx, timeout.Store)
	defer cancel()
	source, err := p.service.store.ReportProgress(ctx, p.reading, stage, done, total)
	switch {
	case err == nil:
		p.service.changed(p.reading.Owner, source)
	case fault.CodeOf(err) != fault.NotFound: // The next report may succeed.
		return nil
	}
	return err
}
