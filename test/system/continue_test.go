package system_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

// continuingSettings are settings of a model that never repeats itself and can continue a text.
func continuingSettings(t *testing.T) []string {
	t.Helper()
	file := filepath.Join(folder(t), "models.yaml")
	must.Succeed(t, os.WriteFile(file, fmt.Appendf(nil, `
default: m
providers:
  - name: 社内
    base_url: %s
    models:
      - {id: m, model: tsumugi-test, name: 標準, continue: continue_final_message}
`, newModel(t)), 0o644))
	return append(commonSettings(t), "TSUMUGI_MODELS="+file)
}

// TestR20_KilledServersContinueTheirAnswers kills a server during 50 answers of a model that never repeats itself. Text
// that is in a checkpoint, or that a client of another server has shown, is never withdrawn.
func TestR20_KilledServersContinueTheirAnswers(t *testing.T) {
	t.Parallel()
	const rounds, answers = 5, 10
	r := newRigOf(t, built.path(t), folder(t), 2, continuingSettings(t))
	ctx, cancel := context.WithTimeout(t.Context(), 2*waitLimit)
	defer cancel()
	conn := must.Get(pgx.Connect(ctx, r.DSN()))(t)
	defer conn.Close(context.WithoutCancel(ctx))
	var took []time.Duration
	resets, continued := 0, 0
	for range rounds {
		var mu sync.Mutex
		var killed time.Time
		var reading sync.WaitGroup
		shown := make(map[*follower]string) // At the time of the kill.
		fs := make([]*follower, answers)
		for i, a := range r.askMany(t, r.at(0)(), answers, answer{chars: 1600, rate: 100, more: `,"vary":true`}) {
			f := r.watcher(a, r.at(1))
			if i%2 == 0 {
				f = r.watcher(a, r.anywhere)
			}
			f.continues = true
			fs[i] = f
			again := false
			f.onEvent = func(e event) {
				mu.Lock()
				defer mu.Unlock()
				switch {
				case killed.IsZero():
					shown[f] = string(f.text)
				case e.Type == "text-delta" && f.restarted() && !again:
					again = true
					took = append(took, time.Since(killed))
				}
			}
			reading.Go(func() { must.Succeed(t, f.follow(ctx)) })
		}
		pause(ctx, rand.N(3500*time.Millisecond))
		r.Kill(0)
		mu.Lock()
		killed = time.Now()
		mu.Unlock()
		stored := checkpoints(ctx, t, conn)
		join(ctx, t, &reading)
		for i, f := range fs {
			text := string(f.text)
			messages := must.Get(r.messages(ctx, r.at(1)(), r.threadOf(ctx, t, conn, f.messageID)))(t)
			if last := messages[len(messages)-1]; last.ID != f.messageID || last.Content != text || text == "" {
				t.Errorf("shown %d bytes, stored %d", len(text), len(last.Content))
			}
			if !strings.HasPrefix(text, stored[f.messageID]) {
				t.Errorf("%d bytes of a checkpoint were withdrawn", len(stored[f.messageID]))
			}
			if i%2 == 1 && (f.resets > 0 || !strings.HasPrefix(text, shown[f])) {
				t.Errorf("a client of another server was reset %d times; %d of %d bytes that it had shown are left", f.resets,
					commonPrefix(text, shown[f]), len(shown[f]))
			}
			resets += f.resets
			if f.restarted() && f.resets == 0 {
				continued++
			}
		}
		must.Succeed(t, r.Restart(ctx, 0))
	}
	if continued == 0 {
		t.Error("no answer was continued")
	}
	if slices.Sort(took); len(took) > 0 {
		t.Logf("%d answers continued without a reset, %d resets; first text after the kill: median %v, longest %v", continued,
			resets, took[len(took)/2].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond))
	}
}

// checkpoints returns the stored texts of running answers by message.
func checkpoints(ctx context.Context, t *testing.T, conn *pgx.Conn) map[string]string {
	t.Helper()
	rows, err := conn.Query(ctx, `SELECT message_id::text, string_agg(text, '' ORDER BY start) FROM checkpoints GROUP BY 1`)
	must.Succeed(t, err)
	texts := make(map[string]string)
	var id, text string
	_, err = pgx.ForEachRow(rows, []any{&id, &text}, func() error {
		texts[id] = text
		return nil
	})
	must.Succeed(t, err)
	return texts
}

// threadOf returns the thread of a message.
func (r *rig) threadOf(ctx context.Context, t *testing.T, conn *pgx.Conn, messageID string) (threadID string) {
	t.Helper()
	must.Succeed(t, conn.QueryRow(ctx, `SELECT thread_id::text FROM messages WHERE id = $1`, messageID).Scan(&threadID))
	return threadID
}

// commonPrefix returns the length of the common beginning of two texts.
func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
