package store_test

import (
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/store/storetest"
)

// TestLastBackupIsTheNewestOne: a backup that was made while a clock was ahead does not hide that later ones are old.
func TestLastBackupIsTheNewestOne(t *testing.T) {
	t.Parallel()
	db, now := storetest.New(t), time.Now().UTC().Truncate(time.Second)
	for _, at := range []time.Time{now.AddDate(1, 0, 0), now} {
		if err := db.RecordBackup(t.Context(), at); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := db.LastBackup(t.Context()); err != nil || !got.Equal(now) {
		t.Errorf("the last backup ended at %v, %v, want %v", got, err, now)
	}
}
