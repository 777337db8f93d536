//go:build !fakepages

package main

import "net/netip"

// fakePages returns nil: web pages are fetched from public addresses only.
func fakePages() func(netip.AddrPort) bool { return nil }
