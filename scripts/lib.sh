# Helpers of the other scripts; sourced, not run.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
export PATH="$root/node_modules/.bin:$PATH"
mkdir -p .cache

# say tells what is being done.
say() { printf '\033[2m==> %s\033[0m\n' "$*" >&2; }

# need ends the script if a program is missing.
need() {
  command -v "$1" >/dev/null || { echo "$1 is needed. $2" >&2; exit 1; }
}

# debian installs Debian packages: first what they are for, then their names. Recommended packages stay out: they bring
# udev and more, whose scripts break off in a container. Mirrors fail now and then, so there is a second try.
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

# digest prints a hash of the given files and folders, of what git does not ignore, or of everything where there is no
# git. A file that is gone but not yet committed as such counts as absent.
digest() {
  { git ls-files -z --cached --others --exclude-standard -- "$@" 2>/dev/null || find "$@" -type f -print0; } |
    sort -z | { xargs -0 -r sha256sum 2>/dev/null || true; } | sha256sum | cut -d' ' -f1
}

# stale succeeds unless the stamp of a step holds the given hash; fresh writes it.
stale() { [ "$(cat ".cache/$1.stamp" 2>/dev/null)" != "$2" ]; }
fresh() { printf '%s' "$2" >".cache/$1.stamp"; }
