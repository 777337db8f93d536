package lru_test

import (
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/lru"
)

func TestLeastRecentlyUsedIsEvicted(t *testing.T) {
	t.Parallel()
	c := lru.New[string, int](1000) // Holds two values of 250 bytes, including the memory of their entries.
	c.Put("a", 1, 250)
	c.Put("b", 2, 250)
	c.Get("a")
	c.Put("c", 3, 250)
	for key, want := range map[string]int{"a": 1, "c": 3} {
		if got, found := c.Get(key); !found || got != want {
			t.Errorf("%s: got %d, %v", key, got, found)
		}
	}
	if _, found := c.Get("b"); found {
		t.Error("b was kept")
	}
}

func TestNewValueReplacesTheOldOne(t *testing.T) {
	t.Parallel()
	c := lru.New[string, int](1000)
	for i := range 10 {
		c.Put("a", i, 250)
	}
	c.Put("b", 2, 250)
	if got, found := c.Get("a"); !found || got != 9 {
		t.Errorf("got %d, %v", got, found)
	}
	c.Put("a", 10, 2000) // Larger than the limit.
	if _, found := c.Get("a"); found {
		t.Error("a value beyond the limit was kept")
	}
}
