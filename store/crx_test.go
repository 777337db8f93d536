package store_test

import (
	"errors"
	"strconv"
	"sync"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/crx"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
)

func TestExtensionRelease(t *testing.T) {
	t.Parallel()
	db := open(t, storetest.DSN(t))
	failed := errors.New("no entropy")
	fail := func() (string, error) { return "", failed }
	if _, err := db.ExtensionRelease(t.Context(), [32]byte{1}, fail); !errors.Is(err, failed) {
		t.Fatalf("create failed: %v", err)
	}
	// Servers that start at the same time use the same key.
	var all sync.WaitGroup
	var mu sync.Mutex
	found := make(map[crx.Release]int)
	for i := range 8 {
		all.Go(func() {
			create := func() (string, error) { return "key " + strconv.Itoa(i), nil }
			r, err := db.ExtensionRelease(t.Context(), [32]byte{1}, create)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			found[r]++
		})
	}
	all.Wait()
	if len(found) != 1 {
		t.Fatalf("releases: %v", found)
	}
	for first := range found {
		again, err := db.ExtensionRelease(t.Context(), [32]byte{2}, fail)
		if err != nil || again != (crx.Release{PrivateKey: first.PrivateKey, Build: 2}) || first.Build != 1 {
			t.Errorf("%+v, then %+v %v", first, again, err)
		}
	}
}
