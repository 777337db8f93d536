package org

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// maxAddressRanges limits the networks of an organization.
const maxAddressRanges = 100

// AddressRanges returns the networks that the members of the actor's organization may connect from. If empty,
// they may connect from any network. For administrators.
func (s *Service) AddressRanges(ctx context.Context, actor identity.Actor) ([]netip.Prefix, error) {
	if err := administers(actor); err != nil {
		return nil, err
	}
	return s.store.AddressRanges(ctx, actor.OrganizationID)
}

// SetAddressRanges sets these networks, in CIDR notation or as single addresses, and returns them. It ends streams and
// connections from other networks. The actor's address must be in one of them. For super-admins.
func (s *Service) SetAddressRanges(ctx context.Context, actor identity.Actor, texts []string) ([]netip.Prefix, error) {
	if actor.Role != identity.RoleOrganizationSuperAdmin {
		return nil, ErrForbidden
	}
	if len(texts) > maxAddressRanges {
		return nil, fault.InvalidField("ranges", "%d件以下で指定してください。", maxAddressRanges)
	}
	ranges := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		parsed, err := parseAddressRange(strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		if !slices.Contains(ranges, parsed) {
			ranges = append(ranges, parsed)
		}
	}
	if !identity.InRanges(ranges, actor.Address) {
		return nil, fault.InvalidField("ranges", "現在の接続元（%s）が含まれていません。ご自身が利用できなくなるため、保存できません。", actor.Address)
	}
	slices.SortFunc(ranges, netip.Prefix.Compare)
	return ranges, s.store.SetAddressRanges(ctx, actor, ranges, stillSuperAdmin)
}

// parseAddressRange parses a network or a single address, IPv4 or IPv6.
func parseAddressRange(text string) (netip.Prefix, error) {
	parsed, err := netip.ParsePrefix(text)
	if err != nil {
		address, addressErr := netip.ParseAddr(text)
		if addressErr != nil || address.Zone() != "" {
			return netip.Prefix{}, fault.InvalidField("ranges", "「%s」は、IPアドレスの範囲（例: 203.0.113.0/24）ではありません。", text)
		}
		address = address.Unmap() // Addresses of clients are, too.
		parsed = netip.PrefixFrom(address, address.BitLen())
	}
	switch address := parsed.Addr(); {
	case address.Is4In6():
		return netip.Prefix{}, fault.InvalidField("ranges", "「%s」は、IPv4の形で指定してください。", text)
	case address.IsMulticast(), address.IsUnspecified() && parsed.Bits() > 0:
		return netip.Prefix{}, fault.InvalidField("ranges", "「%s」から接続する人はいません。", text)
	}
	return parsed.Masked(), nil
}
