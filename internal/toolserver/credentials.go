package toolserver

import (
	"context"
	"net/http"
	"sync"
)

// credentials are the headers that sign in one exchange with a server. They are renewed at most once.
type credentials struct {
	renew func(context.Context) (http.Header, error) // Returns headers with another token; nil without OAuth.

	mu      sync.Mutex  // Held during renew, so that concurrent requests use its result.
	header  http.Header // Guarded by mu.
	renewed bool        // Guarded by mu. renew has been called.
	err     error       // Guarded by mu. The result of renew.
}

// current returns the headers, and whether they are renewed ones.
func (c *credentials) current() (header http.Header, renewed bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.header, c.renewed, c.err
}

// next returns the renewed headers.
func (c *credentials) next(ctx context.Context) (http.Header, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.renewed {
		c.renewed = true
		c.header, c.err = c.renew(ctx)
	}
	return c.header, c.err
}
