// Package mcp is the form of the Model Context Protocol: messages, tools, resources and results. It translates between
// them and the domains; package api makes the calls. The protocol is that of the official SDK, over Streamable HTTP and
// without sessions.
//
// The package imports chat, datasource, fault, identity and runes, and of the API only package openai, for the names of
// skills.
package mcp
