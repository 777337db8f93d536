package scim

import (
	"slices"
	"strings"

	"github.com/google/uuid"
	filter "github.com/scim2/filter-parser/v2"
)

// indexed returns the resources that can match a filter, or nil if the store cannot find them by an index.
func (t resourceType) indexed(expression filter.Expression) *Match {
	return t.indexedIn("", expression)
}

// indexedIn is indexed for the filter of the values of an attribute, or with "" for that of a resource.
func (t resourceType) indexedIn(attribute string, expression filter.Expression) *Match {
	switch e := expression.(type) {
	case *filter.LogicalExpression:
		left, right := t.indexedIn(attribute, e.Left), t.indexedIn(attribute, e.Right)
		switch {
		case e.Operator == filter.AND && left != nil:
			return left
		case e.Operator == filter.AND:
			return right
		case left != nil && right != nil:
			return left.or(right)
		}
	case *filter.ValuePath:
		return t.indexedIn(e.AttributePath.AttributeName, e.ValueFilter)
	case *filter.AttributeExpression:
		wanted, ok := unescape(e.CompareValue).(string)
		if !ok || !strings.EqualFold(string(e.Operator), string(filter.EQ)) || e.AttributePath.URI() == urnEnterprise {
			return nil
		}
		name := e.AttributePath.AttributeName + "." + subOr(e.AttributePath, "value")
		if attribute != "" {
			name = attribute + "." + e.AttributePath.AttributeName
		}
		return t.having(strings.ToLower(name), wanted)
	}
	return nil
}

// having returns the resources with a value of an attribute, which has a name in lower case, or nil without an index.
func (t resourceType) having(name, value string) *Match {
	switch {
	case name == "id.value":
		return &Match{IDs: toIDs(value)}
	case name == "members.value":
		return &Match{Members: toIDs(value)}
	case t.name == groupType.name:
		return nil
	case name == "externalid.value":
		return &Match{ExternalIDs: []string{value}}
	case name == "username.value":
		return &Match{UserNames: []string{strings.ToLower(value)}}
	case name == "emails.value":
		return &Match{Emails: []string{strings.ToLower(value)}}
	}
	return nil
}

// toIDs returns the id with a text, or none if the text is not an id.
func toIDs(text string) []uuid.UUID {
	id, err := uuid.Parse(text)
	if err != nil {
		return nil
	}
	return []uuid.UUID{id}
}

// or returns the resources of either match.
func (m *Match) or(other *Match) *Match {
	return &Match{
		IDs:         slices.Concat(m.IDs, other.IDs),
		UserNames:   slices.Concat(m.UserNames, other.UserNames),
		ExternalIDs: slices.Concat(m.ExternalIDs, other.ExternalIDs),
		Emails:      slices.Concat(m.Emails, other.Emails),
		Members:     slices.Concat(m.Members, other.Members),
	}
}
