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
