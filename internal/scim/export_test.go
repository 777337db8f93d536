package scim

// MatchUser reports whether a user with the given attributes matches a filter, and returns the candidates of the filter.
func MatchUser(filter string, resource map[string]any) (matches bool, candidates *Match, err error) {
	expression, err := userType.parseFilter(filter)
	if err != nil {
		return false, nil, err
	}
	return userType.matches(expression, resource), userType.indexed(expression), nil
}

// Operation is an operation of a PATCH.
type Operation = operation

// PatchUser applies operations to the attributes of a user.
func PatchUser(resource map[string]any, operations ...Operation) error {
	operations, err := patchRequest{Schemas: []string{urnPatch}, Operations: operations}.check()
	if err != nil {
		return err
	}
	return userType.patchEach(resource, operations)
}

// CanonicalUser returns the attributes of a user that a client has sent.
func CanonicalUser(raw map[string]any) (map[string]any, error) { return userType.canonical(raw) }
