//go:build !fakepages

package main

import "net/netip"

// fakePages is nil: pages of the web are fetched from public addresses alone.
func fakePages() func(netip.AddrPort) bool { return nil }
