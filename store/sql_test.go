package store

import "github.com/tsumugi-ai/tsumugi/internal/project"

// ListProjectsSQL is the statement whose plan a test checks.
var ListProjectsSQL = listProjects(project.ByName)
