package stream

import "encoding/json"

// ToolCall is a call of a tool by the assistant.
type ToolCall struct {
	ID     string // Unique within the answer.
	Name   string
	Title  string          // The tool's name for people.
	Input  json.RawMessage // The arguments: JSON on one line.
	Offset int             // Bytes of the text before the call.

	Returned bool // The program that asked makes the call. It has no result in this answer.
}

// ToolResult is the end of a call.
type ToolResult struct {
	ID     string
	Output string
	Error  string // For people; "" if the call succeeded. Then Output is not sent.
}

// toolInputChunk is the AI SDK's tool-input-available chunk.
type toolInputChunk struct {
	Type             string          `json:"type"`
	ToolCallID       string          `json:"toolCallId"`
	ToolName         string          `json:"toolName"`
	Title            string          `json:"title,omitempty"`
	Input            json.RawMessage `json:"input"`
	ProviderExecuted bool            `json:"providerExecuted"`
	Dynamic          bool            `json:"dynamic"`
	ProviderMetadata toolMetadata    `json:"providerMetadata"`
}

type toolMetadata struct {
	Tsumugi toolPlace `json:"tsumugi"`
}

type toolPlace struct {
	Offset int `json:"offset"`
}

// toolOutputChunk is the AI SDK's tool-output-available or tool-output-error chunk.
type toolOutputChunk struct {
	Type             string  `json:"type"`
	ToolCallID       string  `json:"toolCallId"`
	Output           *string `json:"output,omitempty"`
	ErrorText        string  `json:"errorText,omitempty"`
	ProviderExecuted bool    `json:"providerExecuted"`
	Dynamic          bool    `json:"dynamic"`
}

func newToolCallChunk(c ToolCall) toolInputChunk {
	return toolInputChunk{
		Type: "tool-input-available", ToolCallID: c.ID, ToolName: c.Name, Title: c.Title, Input: c.Input,
		ProviderExecuted: !c.Returned, Dynamic: true, ProviderMetadata: toolMetadata{toolPlace{c.Offset}},
	}
}

func newToolResultChunk(r ToolResult) toolOutputChunk {
	chunk := toolOutputChunk{ToolCallID: r.ID, ProviderExecuted: true, Dynamic: true}
	if r.Error != "" {
		chunk.Type, chunk.ErrorText = "tool-output-error", r.Error
	} else {
		chunk.Type, chunk.Output = "tool-output-available", &r.Output
	}
	return chunk
}
