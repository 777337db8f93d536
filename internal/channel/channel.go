// Package channel owns conversations in other applications, such as Slack threads. It stores incoming events, asks
// questions for the linked members, and delivers each answer once while it is written.
//
// A surface is an adapter (package slack). Package channel does not depend on an adapter, the database or HTTP: it
// declares the Surface and Store interfaces that it needs. It imports fault, work, identity, skill, datasource,
// project, answer, runes, timeout, uuidv7, stream and chat. Package workspace connects workspaces and links people. Package
// channeltest has a surface in memory and a test suite for surfaces.
package channel
