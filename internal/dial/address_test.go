package dial_test

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/dial"
)

func TestR90_NonPublicAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254",
		"168.63.129.16", "169.254.169.254", "169.254.170.2", "172.16.0.1", "172.31.255.255", "192.0.0.192",
		"192.0.2.1", "192.168.1.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250",
		"240.0.0.1", "255.255.255.255", "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:169.254.169.254",
		"::ffff:0:127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1",
		"2002:7f00:1::", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1",
		"ff02::1",
	} {
		if dial.Public(netip.MustParseAddr(address)) {
			t.Errorf("%s is taken for a public address", address)
		}
	}
	for _, address := range []string{
		"1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "198.17.0.1", "223.255.255.1",
		"2606:4700:4700::1111", "2400:8500::1", "::ffff:8.8.8.8",
	} {
		if !dial.Public(netip.MustParseAddr(address)) {
			t.Errorf("%s is not taken for a public address", address)
		}
	}
}

func TestR90_OnlyWebPortsAreAllowed(t *testing.T) {
	t.Parallel()
	for address, allowed := range map[string]bool{
		"8.8.8.8:80": true, "8.8.8.8:443": true, "[2606:4700:4700::1111]:443": true,
		"8.8.8.8:22": false, "8.8.8.8:8080": false, "127.0.0.1:80": false, "[::1]:443": false,
		"[fe80::1%eth0]:80": false, "metadata.google.internal:80": false, "": false,
	} {
		if err := dial.CheckDial(address, nil, false); (err == nil) != allowed ||
			err != nil && !errors.Is(err, dial.ErrForbidden) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// FuzzR90_CheckDial searches for addresses that pass the check although they are internal.
func FuzzR90_CheckDial(f *testing.F) {
	for _, seed := range []string{"127.0.0.1:80", "[::ffff:127.0.0.1]:80", "0x7f.1:80", "[fe80::1%25lo]:80", "8.8.8.8:443"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		if dial.CheckDial(address, nil, false) != nil {
			return
		}
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			t.Fatalf("%q has no address", address)
		}
		if ip := at.Addr().Unmap(); ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || ip.IsMulticast() ||
			ip.IsUnspecified() || ip.IsInterfaceLocalMulticast() {
			t.Errorf("%s is allowed", address)
		}
	})
}
