# Functions for the other scripts, which source this file.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
export PATH="$root/node_modules/.bin:$PATH"
mkdir -p .cache

# say prints the current step.
say() { printf '\033[2m==> %s\033[0m\n' "$*" >&2; }

# need ends the script if a program is missing.
need() {
  command -v "$1" >/dev/null || { echo "$1 is needed. $2" >&2; exit 1; }
}

# debian installs Debian packages. The first argument is a description for messages, the others are package names. It
# skips recommended packages, because they include udev and others whose scripts fail in a container. It retries once,
# because mirrors sometimes fail.
debian() {
  local what=$1 as_root=()
  shift
  local advice="Install $what (Debian: apt-get install $*) and try again."
  need apt-get "$advice"
  [ "$(id -u)" = 0 ] || { need sudo "$advice"; as_root=(sudo); }
  say "Installing $what: $*"
  apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "$@" >&2; }
  local try
  for try in 1 2; do
    apt update -q || true # A broken list of somebody else's packages need not matter.
    apt install -q -y --no-install-recommends "$@" && return
    [ $try = 2 ] || { say "Trying once more"; apt install -y --fix-broken --no-install-recommends || true; }
  done
  echo "Installing $what failed. $advice" >&2
  exit 1
}

# digest prints a hash of the given files and folders, without files that git ignores. Without git, it includes all
# files. A file whose deletion is not yet committed is not included.
digest() {
  { git ls-files -z --cached --others --exclude-standard -- "$@" 2>/dev/null || find "$@" -type f -print0; } |
    sort -z | { xargs -0 -r sha256sum 2>/dev/null || true; } | sha256sum | cut -d' ' -f1
}

# stale succeeds unless the stamp of a step has the given hash. fresh writes the stamp.
stale() { [ "$(cat ".cache/$1.stamp" 2>/dev/null)" != "$2" ]; }
fresh() { printf '%s' "$2" >".cache/$1.stamp"; }

# server builds the program tsumugi as the file $1, for the system of GOOS and GOARCH. The tag excludes code for the gRPC
# transport of Google's storage client; see package internal/datasource/bucket.
server() {
  local commit; commit=$(git describe --always --dirty --exclude='*' --abbrev=40 2>/dev/null || true)
  CGO_ENABLED=0 go build -tags disable_grpc_modules -trimpath -ldflags "-s -w -X main.commit=$commit" -o "$1" \
    ./cmd/tsumugi
}

# archives prints an apt source for each archive of this machine's distribution. It omits archives of other vendors.
archives() {
  . /etc/os-release
  list() {
    apt-get indextargets --format '$(ORIGIN) $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
      awk -v own="$ID" 'tolower($1) == own { print "deb", $2, $3, $4 }' | sort -u
  }
  local sources; sources=$(list)
  [ -n "$sources" ] || { apt-get update -q >&2; sources=$(list); }
  printf '%s\n' "$sources"
}

# bootstrap creates a Debian system in the folder $1. The other arguments are options of debootstrap.
bootstrap() {
  local to=$1 sources first codename
  shift
  command -v debootstrap >/dev/null || debian debootstrap debootstrap
  sources=$(archives)
  codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
  first=$(awk -v suite="$codename" '$3 == suite { print $2; exit }' <<<"$sources")
  mkdir -p "$(dirname "$to")"
  debootstrap --variant=minbase "$@" "$codename" "$to" "$first" >"$to.log" || { tail -20 "$to.log" >&2; exit 1; }
  printf '%s\n' "$sources" >"$to/etc/apt/sources.list"
}
