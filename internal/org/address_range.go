package org

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// maxAddressRanges limits the networks for each use of an organization.
const maxAddressRanges = 100

// AddressRanges are the networks that the members of an organization may connect from. An empty list means any network.
type AddressRanges struct {
	App         []netip.Prefix
	API         *[]netip.Prefix // With personal access tokens. Nil: as for the app.
	Connections *[]netip.Prefix // With other connections, such as the browser extension. Nil: as for the app.
}

// AddressRangeTexts are AddressRanges in CIDR notation or as single addresses.
type AddressRangeTexts struct {
	App              []string
	API, Connections *[]string
}

// AddressRanges returns the networks that the members of the actor's organization may connect from. For administrators.
func (s *Service) AddressRanges(ctx context.Context, actor identity.Actor) (AddressRanges, error) {
	if err := administers(actor); err != nil {
		return AddressRanges{}, err
	}
	return s.store.AddressRanges(ctx, actor.OrganizationID)
}

// SetAddressRanges sets these networks by calling change with the current ones, and returns them. It ends streams and
// connections from other networks. The actor's address must be in one of those for the app. For super-admins.
func (s *Service) SetAddressRanges(ctx context.Context, actor identity.Actor, change func(*AddressRangeTexts)) (
	AddressRanges, error,
) {
	return s.store.SetAddressRanges(ctx, actor, func(ranges *AddressRanges) (err error) {
		texts := ranges.Texts()
		change(&texts)
		*ranges, err = texts.parse()
		if err == nil && !identity.InRanges(ranges.App, actor.Address) {
			return fault.InvalidField("ranges",
				"現在の接続元（%s）が含まれていません。ご自身が利用できなくなるため、保存できません。", actor.Address)
		}
		return err
	}, stillSuperAdmin)
}

// Texts returns the networks in CIDR notation.
func (r AddressRanges) Texts() AddressRangeTexts {
	return AddressRangeTexts{App: *rangeTexts(&r.App), API: rangeTexts(r.API), Connections: rangeTexts(r.Connections)}
}

func rangeTexts(ranges *[]netip.Prefix) *[]string {
	if ranges == nil {
		return nil
	}
	texts := make([]string, len(*ranges))
	for i, r := range *ranges {
		texts[i] = r.String()
	}
	return &texts
}

func (t AddressRangeTexts) parse() (ranges AddressRanges, err error) {
	app, err := parseAddressRanges("ranges", &t.App)
	if err != nil {
		return ranges, err
	}
	ranges.App = *app
	if ranges.API, err = parseAddressRanges("api_ranges", t.API); err != nil {
		return ranges, err
	}
	ranges.Connections, err = parseAddressRanges("connection_ranges", t.Connections)
	return ranges, err
}

// parseAddressRanges parses the networks in a field, and sorts them. Nil remains nil.
func parseAddressRanges(field string, texts *[]string) (*[]netip.Prefix, error) {
	if texts == nil {
		return nil, nil
	}
	if len(*texts) > maxAddressRanges {
		return nil, fault.InvalidField(field, "%d件以下で指定してください。", maxAddressRanges)
	}
	ranges := make([]netip.Prefix, 0, len(*texts))
	for _, text := range *texts {
		parsed, err := parseAddressRange(field, strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		if !slices.Contains(ranges, parsed) {
			ranges = append(ranges, parsed)
		}
	}
	slices.SortFunc(ranges, netip.Prefix.Compare)
	return &ranges, nil
}

// parseAddressRange parses a network or a single address, IPv4 or IPv6.
func parseAddressRange(field, text string) (netip.Prefix, error) {
	parsed, err := netip.ParsePrefix(text)
	if err != nil {
		address, addressErr := netip.ParseAddr(text)
		if addressErr != nil || address.Zone() != "" {
			return netip.Prefix{}, fault.InvalidField(field, "「%s」は、IPアドレスの範囲（例：203.0.113.0/24）ではありません。", text)
		}
		address = address.Unmap() // Addresses of clients are, too.
		parsed = netip.PrefixFrom(address, address.BitLen())
	}
	switch address := parsed.Addr(); {
	case address.Is4In6():
		return netip.Prefix{}, fault.InvalidField(field, "「%s」は、IPv4の形で指定してください。", text)
	case address.IsMulticast(), address.IsUnspecified() && parsed.Bits() > 0:
		return netip.Prefix{}, fault.InvalidField(field, "「%s」から接続する人はいません。", text)
	}
	return parsed.Masked(), nil
}
