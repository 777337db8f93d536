// Package workspace owns the administration of workspaces. It connects a workspace of a surface with an organization,
// stores its policy and credentials, and links people of the surface with members.
//
// Setup and Linker provide the installations and links that package channel needs. Package workspace does not depend on
// an adapter, the database or HTTP: it declares the Directory and Store interfaces that it needs. It imports fault,
// work, identity, opaque, org and channel.
package workspace
