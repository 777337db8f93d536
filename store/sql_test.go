package store

// ListProjectsSQL is the statement whose plan a test checks.
var ListProjectsSQL = listProjects
