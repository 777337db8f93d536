// Package deploy tests the Helm chart and the Compose files in the folder deploy, without Kubernetes and Docker. The
// package contains only tests. It is a separate Go module, so that Helm's libraries are not in the server's go.mod.
package deploy
