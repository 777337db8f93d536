package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/work"

	openai "github.com/sashabaranov/go-openai"
)

const (
	// maxBatch is the maximum number of texts in a request. Providers accept between 32 and 2048, and 300,000 tokens in
	// total.
	maxBatch = 64
	// minRunes is the minimum length to which a refused text is shortened.
	minRunes = 50
	// maxVectors bounds the body of a response: 64 vectors of 4096 numbers take 6 MB as text.
	maxVectors = 32 << 20
)

var errNoVectors = errors.New("llm: not one vector for each text")

// Embedder turns texts into vectors with an OpenAI-compatible server. It is safe for concurrent use.
type Embedder struct {
	client *Client
	batch  atomic.Int64 // Maximum number of texts in a request: maxBatch, or fewer after a refusal by the server.
}

// NewEmbedder returns an Embedder. cfg.Model is the embedding model; cfg.FirstTokenTimeout bounds each attempt.
func NewEmbedder(cfg Config) (*Embedder, error) {
	client, err := NewClient(cfg)
	if err != nil {
		return nil, err
	}
	// On Azure the deployment belongs to the chat model. Model is the deployment for embeddings.
	client.endpoint.deployment = ""
	e := &Embedder{client: client}
	e.batch.Store(maxBatch)
	return e, nil
}

// Embed returns a vector for each text, all of the same length. It sends the texts in batches and halves a batch whose
// size the server refuses. It shortens a single text that is refused. It retries failures like Stream, and its errors
// have the same codes.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, 0, len(texts))
	for len(vectors) < len(texts) {
		rest := texts[len(vectors):]
		batch, _, err := e.embed(ctx, rest[:min(len(rest), int(e.batch.Load()))])
		if err != nil {
			return nil, err
		}
		vectors = append(vectors, batch...)
	}
	for _, v := range vectors {
		if len(v) != len(vectors[0]) {
			return nil, fault.Wrap(errNoVectors, CodeBadResponse, detailBadResponse)
		}
	}
	return vectors, nil
}

// embed sends one batch, or its halves if it is refused. cut reports whether a text was shortened.
func (e *Embedder) embed(ctx context.Context, texts []string) (vectors [][]float32, cut bool, err error) {
	vectors, err = e.request(ctx, texts)
	if code := fault.CodeOf(err); code != CodeBadRequest && code != CodeContextLength {
		return vectors, false, err
	}
	half := len(texts) / 2
	if half == 0 {
		runes := []rune(texts[0])
		if len(runes) < 2*minRunes {
			return nil, false, err
		}
		vectors, _, err = e.embed(ctx, []string{string(runes[:len(runes)/2])})
		return vectors, true, err
	}
	first, cutFirst, err := e.embed(ctx, texts[:half])
	if err != nil {
		return nil, false, err
	}
	second, cutSecond, err := e.embed(ctx, texts[half:])
	if err != nil {
		return nil, false, err
	}
	if cut = cutFirst || cutSecond; !cut { // The server refused the number of texts instead of a single text.
		e.batch.Store(min(e.batch.Load(), int64(len(texts)-half)))
	}
	return slices.Concat(first, second), cut, nil
}

// request sends one batch, with retries as configured.
func (e *Embedder) request(ctx context.Context, texts []string) ([][]float32, error) {
	cfg := &e.client.cfg
	for attempt := 0; ; attempt++ {
		vectors, err := e.attempt(ctx, texts)
		if err == nil || ctx.Err() != nil {
			return vectors, err
		}
		var status *statusError
		errors.As(err, &status)
		wait, ok := e.client.pause(attempt, err, status)
		if !ok {
			return nil, err
		}
		cfg.Logger.InfoContext(ctx, "embedding failed, trying again", "model", cfg.Model, "attempt", attempt+1, "wait",
			wait, "error", err)
		if work.Sleep(ctx, wait); ctx.Err() != nil {
			return nil, Canceled(ctx)
		}
	}
}

func (e *Embedder) attempt(ctx context.Context, texts []string) ([][]float32, error) {
	attemptCtx, cancel := context.WithTimeoutCause(ctx, e.client.cfg.FirstTokenTimeout, errFirstToken)
	defer cancel()
	doer := &boundedCapture{capture{client: e.client.http}}
	client := openai.NewClientWithConfig(e.client.endpoint.openaiConfig(e.client.cfg.APIKey, doer))
	response, err := client.CreateEmbeddings(attemptCtx, openai.EmbeddingRequest{
		Input: texts, Model: openai.EmbeddingModel(e.client.cfg.Model),
	})
	if err != nil {
		if doer.response != nil && attemptCtx.Err() == nil {
			err = fault.Wrap(err, CodeBadResponse, detailBadResponse)
		}
		return nil, attemptFault(ctx, attemptCtx, err)
	}
	vectors, err := inOrder(response.Data, len(texts))
	if err != nil {
		return nil, fault.Wrap(err, CodeBadResponse, detailBadResponse)
	}
	return vectors, nil
}

// inOrder returns the vectors of a response in the order of the texts.
func inOrder(data []openai.Embedding, texts int) ([][]float32, error) {
	vectors := make([][]float32, texts)
	if len(data) != texts {
		return nil, fmt.Errorf("%w: %d of %d", errNoVectors, len(data), texts)
	}
	for _, d := range data {
		if d.Index < 0 || d.Index >= texts || vectors[d.Index] != nil || len(d.Embedding) == 0 {
			return nil, fmt.Errorf("%w: number %d", errNoVectors, d.Index)
		}
		vectors[d.Index] = d.Embedding
	}
	return vectors, nil
}

// boundedCapture is a capture with a bounded response body.
type boundedCapture struct{ capture }

func (b *boundedCapture) Do(req *http.Request) (*http.Response, error) {
	response, err := b.capture.Do(req)
	if err == nil {
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(response.Body, maxVectors), response.Body}
	}
	return response, err
}
