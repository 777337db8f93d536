//go:build fakepages

package main

import (
	"net/netip"
	"os"
)

// fakePages lets pages be fetched from the address in FAKE_PAGES as well: test/fakes/search on this machine. It
// is in no binary but that of the browser tests, which is built with the tag fakepages.
func fakePages() func(netip.AddrPort) bool {
	allowed, err := netip.ParseAddrPort(os.Getenv("FAKE_PAGES"))
	return func(at netip.AddrPort) bool { return err == nil && at == allowed }
}
