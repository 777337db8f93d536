package backup_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/backup"
)

// TestPacePausesTwiceAsLongAsTheWork works for different times between the pieces. The pause after a long wait is
// limited, and an interrupted backup does not pause.
func TestPacePausesTwiceAsLongAsTheWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		pace := backup.NewPace(ctx)
		for _, c := range []struct{ work, pause time.Duration }{
			{time.Millisecond, 2 * time.Millisecond},
			{0, 0},
			{300 * time.Millisecond, 600 * time.Millisecond},
			{time.Hour, time.Second},
		} {
			time.Sleep(c.work)
			began := time.Now()
			if n, err := pace.Write([]byte("piece")); n != 5 || err != nil || time.Since(began) != c.pause {
				t.Errorf("after %v: paused %v, %d bytes, %v", c.work, time.Since(began), n, err)
			}
		}
		time.Sleep(time.Hour)
		cancel()
		began := time.Now()
		if _, err := pace.Write(nil); err == nil || time.Since(began) > 0 {
			t.Errorf("interrupted: paused %v, %v", time.Since(began), err)
		}
	})
}
