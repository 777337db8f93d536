package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"

	"gopkg.in/yaml.v3"
)

// node is a node of the file's tree.
type node yaml.Node

// decode decodes a file strictly, and returns its tree for line numbers.
func decode(data []byte, into *file) (*node, error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("the file is larger than %d bytes", MaxSize)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(into); err != nil {
		return nil, readable(err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one document")
	}
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		return nil, readable(err)
	}
	return (*node)(&root), nil
}

// line returns the line of a node by the keys and indexes of its path. For a missing node it returns the line of the
// nearest existing parent.
func (n *node) line(path ...any) int {
	at := (*yaml.Node)(n)
	if at.Kind == yaml.DocumentNode && len(at.Content) > 0 {
		at = at.Content[0]
	}
	for _, step := range path {
		next := child(at, step)
		if next == nil {
			break
		}
		at = next
	}
	return max(at.Line, 1)
}

func child(at *yaml.Node, step any) *yaml.Node {
	for at.Kind == yaml.AliasNode {
		at = at.Alias
	}
	switch step := step.(type) {
	case int:
		if at.Kind == yaml.SequenceNode && step < len(at.Content) {
			return at.Content[step]
		}
	case string:
		for i := 0; at.Kind == yaml.MappingNode && i+1 < len(at.Content); i += 2 {
			if at.Content[i].Value == step {
				return at.Content[i+1]
			}
		}
	}
	return nil
}

var (
	unknownKey = regexp.MustCompile(`field (\S+) not found in type \S+`)
	ownTypes   = regexp.MustCompile(` into (\[\])?(catalog|llm)\.\S+`)
	quoted     = regexp.MustCompile("`[^`]*`")
)

// readable rewrites a decoder's error for people who do not know this program's types. It omits values, which may be
// keys.
func readable(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty")
	}
	var wrong *yaml.TypeError
	if !errors.As(err, &wrong) {
		return err
	}
	var errs []error
	for _, text := range wrong.Errors[:min(len(wrong.Errors), maxErrors)] {
		text = ownTypes.ReplaceAllString(unknownKey.ReplaceAllString(text, "unknown key $1"), "")
		errs = append(errs, errors.New(quoted.ReplaceAllString(text, "a value")))
	}
	return errors.Join(errs...)
}

// encodable reports whether fields can be sent as JSON.
func encodable(fields map[string]any) bool {
	_, err := json.Marshal(fields)
	return err == nil
}
