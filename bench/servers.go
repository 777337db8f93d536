package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tsumugi-ai/tsumugi/bench/wire"
	tsumugi "github.com/tsumugi-ai/tsumugi/clients/go"
)

// The demo user.
const (
	demoUser     = "user@demo.example"
	demoPassword = "Tsumugi-Bench-1" //nolint:gosec // The database is temporary.
)

// product is an installed Tsumugi server and its scripted model.
type product struct {
	model    *process
	server   *process
	modelURL string // Ends in /v1.
	url      string
	database string        // Connection string; "" for the embedded database.
	took     time.Duration // Time from the start of the process until it is ready.
	client   *tsumugi.Client
	skill    tsumugi.Skill // Skill of the chats.
	environ  []string      // Further settings.
}

// startProduct starts the server and the model on free ports, and signs the demo user in.
func startProduct(ctx context.Context, b *bench) (*product, error) {
	p := &product{}
	if err := p.start(ctx, b); err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

func (p *product) start(ctx context.Context, b *bench) error {
	var err error
	if p.model, p.modelURL, err = startModel(ctx, b); err != nil {
		return err
	}
	limits, err := raisedLimits(ctx, b.tsumugi)
	if err != nil {
		return err
	}
	began := time.Now()
	if p.server, err = startProcess(ctx, b.dir, "tsumugi", append(append(limits, p.environ...),
		"TSUMUGI_CACHE="+b.cache, "TSUMUGI_DEMO_PASSWORD="+demoPassword, "OPENAI_BASE_URL="+p.modelURL, "OPENAI_API_KEY=bench",
		"DATABASE_URL="+p.database,
		"TSUMUGI_PUBLIC_URL=", "TSUMUGI_DEMO=true", "OPENAI_FALLBACK_MODEL=", "HTTP_PROXY=", "http_proxy=",
	), b.tsumugi, "serve", "--listen=127.0.0.1:0", "--data="+filepath.Join(b.dir, "data")); err != nil {
		return err
	}
	if p.url, err = p.server.await(`(http://127\.0\.0\.1:\d+)`); err != nil {
		return err
	}
	if _, err := p.server.await(`(Ctrl-C)`); err != nil {
		return err
	}
	p.server.drain()
	if err := p.ready(ctx); err != nil {
		return err
	}
	p.took = time.Since(began)
	if p.database == "" {
		if err := raiseContract(ctx, b.tsumugi, filepath.Join(b.dir, "data")); err != nil {
			return err
		}
	}
	caller := wire.Caller()
	p.client = &tsumugi.Client{URL: p.url, Token: tsumugi.Password(p.url, demoUser, demoPassword, caller), HTTP: caller}
	p.skill, err = p.client.ChatSkill(ctx)
	return err
}

// startModel starts the scripted model on a free port. The URL ends in /v1.
func startModel(ctx context.Context, b *bench) (model *process, url string, err error) {
	if model, err = startProcess(ctx, b.dir, "fakemodel", nil, b.fakemodel, "--listen=127.0.0.1:0"); err != nil {
		return nil, "", err
	}
	if url, err = model.await(`(http://\S+)`); err != nil {
		model.stop()
		return nil, "", err
	}
	model.drain()
	return model, url, nil
}

// startNode starts the peer on Node.
func startNode(ctx context.Context, b *bench, modelURL string) (server *process, address string, err error) {
	if server, err = startProcess(ctx, b.dir, "aisdk", []string{"NODE_ENV=production"}, "node",
		filepath.Join(b.aisdk, "server.mjs"), modelURL); err != nil {
		return nil, "", err
	}
	server.grace = 5 * time.Second
	if address, err = server.await(`"address":"([^"]+)"`); err != nil {
		server.stop()
		return nil, "", err
	}
	server.drain()
	return server, address, nil
}

// hostOf returns the address in a URL of a server on this machine.
func hostOf(url string) string {
	address, _, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	return address
}

// raisedLimits returns settings that allow one person to have all chats of a run. It omits settings that the program
// does not have.
func raisedLimits(ctx context.Context, program string) ([]string, error) {
	help, err := exec.CommandContext(ctx, program, "serve", "--help").Output()
	var settings []string
	for _, setting := range []string{
		"TSUMUGI_LIMITS=off", "TSUMUGI_MAX_GENERATIONS=20000",
		// Settings of earlier versions, for comparisons.
		"TSUMUGI_MAX_STREAMS_PER_USER=20000", "TSUMUGI_MAX_GENERATIONS_PER_USER=20000", "TSUMUGI_MESSAGES_PER_MINUTE=0",
	} {
		name, _, _ := strings.Cut(setting, "=")
		if bytes.Contains(help, []byte("$"+name)) {
			settings = append(settings, setting)
		}
	}
	return settings, err
}

// raiseContract gives the demo organization enough tokens for a run, if the program has contracts.
func raiseContract(ctx context.Context, program, data string) error {
	help, err := exec.CommandContext(ctx, program, "--help").Output()
	if err != nil || !bytes.Contains(help, []byte("contract set")) {
		return err
	}
	// The program is the measured one.
	//nolint:gosec
	set := exec.CommandContext(ctx, program, "contract", "set", "--data="+data, "--organization=デモ株式会社",
		"--tokens=1000000000000")
	set.Env = append(os.Environ(), "DATABASE_URL=")
	if out, err := set.CombinedOutput(); err != nil {
		return fmt.Errorf("contract set: %w: %s", err, out)
	}
	return nil
}

// ready waits until the server accepts traffic.
func (p *product) ready(ctx context.Context) error {
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/readyz", nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return nil
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (p *product) stop() {
	for _, server := range []*process{p.server, p.model} {
		if server != nil {
			server.stop()
		}
	}
	if p.client != nil {
		p.client.HTTP.CloseIdleConnections()
	}
}

// threads creates n threads, several at a time.
func (p *product) threads(ctx context.Context, n int) ([]string, error) {
	ids, failed := make([]string, n), make([]error, n)
	var next atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				// The title prevents the server from requesting one from the model.
				var thread tsumugi.Thread
				thread, failed[i] = p.client.NewThread(ctx, p.skill.ID, "計測")
				ids[i] = thread.ID
			}
		})
	}
	all.Wait()
	return ids, errors.Join(failed...)
}
