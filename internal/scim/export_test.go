package scim

// MatchUser reports whether a user with the given attributes matches a filter, and returns the candidates of the filter.
func MatchUser(filter string, resource map[string]any) (matches bool, candidates *Match, err error) {
	expression, err := userType.parseFilter(filter)
	if err != nil {
		return false, nil, err
	}
	return userType.matches(expression, resource), userType.indexed(expression), nil
}

// PatchUser applies an operation to the attributes of a user.
func PatchUser(resource map[string]any, op, path string, value any) error {
	request := patchRequest{Schemas: []string{urnPatch}, Operations: []operation{{Op: op, Path: path, Value: value}}}
	operations, err := request.check()
	if err != nil {
		return err
	}
	return userType.patch(resource, operations[0])
}

// CanonicalUser returns the attributes of a user that a client has sent.
func CanonicalUser(raw map[string]any) (map[string]any, error) { return userType.canonical(raw) }
