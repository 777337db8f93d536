package ratelimit

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Kind is the kind of calls that a limit counts. It is used in TSUMUGI_LIMITS and in the problem of a refused call.
type Kind string

// Kinds that are counted per minute.
const (
	KindCall     Kind = "call"     // Every authenticated call.
	KindSearch   Kind = "search"   // Calls that search, with q.
	KindWrite    Kind = "write"    // Calls that store something.
	KindQuestion Kind = "question" // Questions; a repeated one is counted once.
	KindUpload   Kind = "upload"   // Files.
	KindTool     Kind = "tool"     // Calls of tools by the assistant.
	KindOneTool  Kind = "one_tool" // The same calls, for each tool.
	KindMail     Kind = "mail"     // Calls that send invitations.
	KindExport   Kind = "export"   // Downloads of all data of a person.
	KindSignIn   Kind = "sign_in"  // Calls that lead to a session, by address.
	KindLogout   Kind = "logout"   // Back-channel logouts by identity providers, by address.
	// Sign-in calls with a wrong password or code, or that send a code, by account and address.
	KindGuess        Kind = "guess"
	KindAddressGuess Kind = "address_guess" // The same calls for all accounts, by address.
	KindConnection   Kind = "connection"    // Opened live sockets, by address.
)

// Kinds that are limited in concurrency.
const (
	KindGeneration Kind = "generation" // Answers that are being written or wait for their turn.
	KindStream     Kind = "stream"     // Calls that wait for an answer: streams and message/sync.
	KindTransfer   Kind = "transfer"   // Uploads and downloads.
	KindSocket     Kind = "socket"     // Live sockets.
)

// Allowance is the limit of a kind. 0 means no limit.
type Allowance struct {
	Each         int // Per person or, for kinds counted by address, per address.
	Organization int // Per organization.
}

// Limits are the limits by kind. A missing kind has no limit.
type Limits map[Kind]Allowance

// DefaultLimits returns the default limits. Normal use, by people or programs, stays below them; use above them would
// affect others.
func DefaultLimits() Limits {
	return Limits{
		KindCall:         {12_000, 120_000},
		KindSearch:       {300, 10_000},
		KindWrite:        {600, 20_000},
		KindQuestion:     {60, 6_000},
		KindUpload:       {1_200, 6_000},
		KindTool:         {120, 6_000},
		KindOneTool:      {60, 3_000},
		KindMail:         {60, 300},
		KindExport:       {5, 60},
		KindSignIn:       {Each: 1_200}, // 200 people behind one address sign in at the same time, with six calls each.
		KindLogout:       {Each: 6_000}, // A provider ends the sessions of 2,000 people with three devices each.
		KindGuess:        {Each: 20},
		KindAddressGuess: {Each: 300}, // A person who forgot a password must not lock out the office.
		KindConnection:   {Each: 3_000},
		KindGeneration:   {10, 500},
		KindStream:       {50, 10_000},
		KindTransfer:     {20, 500},
		KindSocket:       {20, 10_000},
	}
}

// maxLimitValue bounds a limit.
const maxLimitValue = 1_000_000

// UnmarshalText parses "default", "off", or changes to the defaults per person and organization:
// "question=120:6000,write=0".
func (l *Limits) UnmarshalText(text []byte) error {
	limits := DefaultLimits()
	switch string(text) {
	case "default":
	case "off":
		limits = Limits{}
	default:
		for entry := range strings.SplitSeq(string(text), ",") {
			if err := limits.set(strings.TrimSpace(entry)); err != nil {
				return err
			}
		}
	}
	*l = limits
	return nil
}

// set parses one limit. A missing organization part keeps the current value.
func (l Limits) set(entry string) error {
	name, value, _ := strings.Cut(entry, "=")
	limit, known := l[Kind(name)]
	if !known {
		return fmt.Errorf("%q is no limit: there are %s", name, joinKinds(slices.Sorted(maps.Keys(l))))
	}
	each, organization, both := strings.Cut(value, ":")
	var err, errOrganization error
	limit.Each, err = parseLimit(each)
	if both {
		limit.Organization, errOrganization = parseLimit(organization)
	}
	if err = errors.Join(err, errOrganization); err != nil {
		return fmt.Errorf("%s must be a number between 0 and %d, or two with a colon between, and not %q", name,
			maxLimitValue, value)
	}
	if both && slices.Contains([]Kind{KindSignIn, KindLogout, KindGuess, KindAddressGuess, KindConnection}, Kind(name)) {
		return fmt.Errorf("%s counts by address and has no limit by organization", name)
	}
	l[Kind(name)] = limit
	return nil
}

func joinKinds(kinds []Kind) string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = string(kind)
	}
	return strings.Join(names, ", ")
}

func parseLimit(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err == nil && (n < 0 || n > maxLimitValue) {
		err = strconv.ErrRange
	}
	return n, err
}
