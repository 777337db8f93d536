//go:build fakepages

package main

import (
	"net/netip"
	"os"
)

// fakePages returns a function that also allows fetching web pages from the address in FAKE_PAGES, which is
// test/fakes/search on this machine. Only the binary for browser tests contains it, which is built with the tag
// fakepages.
func fakePages() func(netip.AddrPort) bool {
	allowed, err := netip.ParseAddrPort(os.Getenv("FAKE_PAGES"))
	return func(at netip.AddrPort) bool { return err == nil && at == allowed }
}
