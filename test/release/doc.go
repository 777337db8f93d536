// Package release tests a release: it installs the package in a Debian system made by debootstrap, and runs the images
// with the settings in their configuration. The package has only tests.
//
// It needs root for chroot and mounts, and the folder of scripts/dist in TSUMUGI_TEST_DIST.
package release
