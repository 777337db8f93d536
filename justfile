# Tsumugi's recipes. `npx -y rust-just` lists them.

set shell := ["bash", "-euo", "pipefail", "-c"]

export PATH := justfile_directory() / "node_modules/.bin" + ":" + env_var("PATH")

lint_version := "v2.15.0"

[private]
default:
    @just --list --unsorted

# Install what is missing, build, and start everything.
up *args: build
    @exec bin/tsumugi serve {{ args }}

# Start three servers, a NATS cluster and a balancer; see docs/scaling.md. --servers N changes the number of servers.
up-cluster *args: build
    @go build -o bin/cluster ./cmd/cluster
    @exec bin/cluster {{ args }}

# Start a server and a fake Slack workspace that it is connected to; see CONTRIBUTING.md.
up-slack *args: build
    @go build -o bin/upslack ./cmd/upslack
    @exec bin/upslack {{ args }}

# Install the npm packages if the lock file has changed.
[private]
packages:
    @scripts/packages

# Build bin/tsumugi with the app inside, the npm package of clients/ai-sdk, and the browser extension.
build: packages
    @scripts/build

# Start a server and an OpenID provider with which the demo organization can sign in; see CONTRIBUTING.md.
up-oidc *args: build
    @scripts/up-oidc {{ args }}

# Run every test: Go on a real PostgreSQL, unit tests of the app and the clients, browser tests. --smoke runs a few.
test *args: build compiler browser
    @scripts/test {{ args }}

# Install a C compiler for the race detector, unless one is installed.
[private]
compiler:
    @scripts/compiler

# Install Chromium, Japanese fonts and an X server without a monitor, unless they are installed.
[private]
browser:
    @scripts/browser

# Measure against the goals and the peers: --quick takes two minutes, --json FILE stores every round, --only NAMES.
bench *args: build browser
    @scripts/bench {{ args }}

# Measure extraction and retrieval of the documents in a folder against the goals. See docs/documents.md for options.
eval dir="../shared/data" *args="":
    @mkdir -p .cache/bench && go build -o .cache/bench/eval ./bench/eval && .cache/bench/eval "{{ dir }}" {{ args }}

# Build a release in dist/: programs, packages, images, checksums. --check tests it. See docs/installing.md.
dist *args: build
    @scripts/dist {{ args }}

# Follow the README on a bare Debian, as root and as a user with sudo; --smoke runs only a few tests. Needs root.
fresh *args:
    @scripts/fresh {{ args }}

# Put load on a running server; prints its usage without arguments. See docs/benchmarks.md.
loadgen *args:
    @go run ./bench/loadgen {{ args }}

# Format everything.
fmt:
    gofmt -s -w $(git ls-files '*.go')
    cd web && biome check --write .
    cd clients/ai-sdk && biome check --write .
    cd extension && biome check --write .

# Regenerate the generated files.
generate: packages
    go generate ./...
    cd web && npm run --silent gen:api

# Check format, lint, types and generated files.
check: packages
    @scripts/check {{ lint_version }}

# Take screenshots of all screens in .cache/screens, and copy those that documents show to docs/screens.
screens: build browser
    @scripts/screens
