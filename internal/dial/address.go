// Package dial connects to servers that people other than the operator have chosen, such as web pages and identity
// providers. It refuses addresses outside of the public internet. It imports package proxy.
package dial

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// ErrForbidden means that an address is not on the public internet, or that its port is not allowed.
var ErrForbidden = errors.New("dial: not an address of the public internet")

// prefixes parses networks. It panics on an invalid one.
func prefixes(list ...string) []netip.Prefix {
	parsed := make([]netip.Prefix, len(list))
	for i, p := range list {
		parsed[i] = netip.MustParsePrefix(p)
	}
	return parsed
}

var (
	// special are the IPv4 networks outside of the public internet (IANA's special-purpose registry), multicast,
	// reserved networks, and the address of Azure's host services.
	special = prefixes(
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
		"192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
		"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "168.63.129.16/32",
	)
	// global is the IPv6 range assigned to the public internet. special6 are the networks in it that are not public, or
	// that embed an IPv4 address.
	global   = netip.MustParsePrefix("2000::/3")
	special6 = prefixes("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
)

// public reports whether an address is on the public internet. It returns false for private and local addresses,
// addresses of this machine, and metadata services of clouds, in any notation.
func public(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	within := func(p netip.Prefix) bool { return p.Contains(addr) }
	if addr.Is4() {
		return !slices.ContainsFunc(special, within)
	}
	return global.Contains(addr) && !slices.ContainsFunc(special6, within)
}

// Internal reports whether a URL contains an address that is not public, or a host name of an internal network. It does
// not resolve names; checkDial checks resolved addresses.
func Internal(u *url.URL, allow func(netip.AddrPort) bool) bool {
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if addr, err := netip.ParseAddr(host); err == nil {
		port, _ := strconv.ParseUint(u.Port(), 10, 16)
		return !public(addr) && (allow == nil || !allow(netip.AddrPortFrom(addr, uint16(port))))
	}
	_, last, dotted := strings.Cut(host[max(0, strings.LastIndexByte(host, '.')):], ".")
	switch {
	case !dotted, last == "localhost", last == "local", last == "internal", strings.HasSuffix(host, ".home.arpa"):
		return true
	}
	return last == "" || last[0] >= '0' && last[0] <= '9' // An address in another notation, such as 127.1.
}

// checkDial returns ErrForbidden for connections outside of the public internet and, unless anyPort is true, for ports
// other than those of the web. It is called with the resolved address directly before connecting, so that neither a name
// nor a redirect can bypass the check.
func checkDial(address string, allow func(netip.AddrPort) bool, anyPort bool) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %q", ErrForbidden, address)
	}
	if allow != nil && allow(at) {
		return nil
	}
	if !public(at.Addr()) || !anyPort && at.Port() != 80 && at.Port() != 443 {
		return fmt.Errorf("%w: %s", ErrForbidden, at)
	}
	return nil
}
