#!/bin/sh
# Keeps the data after a removal. `apt-get purge` deletes it, with the account and the secret key.
set -e
[ ! -d /run/systemd/system ] || systemctl daemon-reload
[ "${1:-}" = purge ] || exit 0
rm -rf /var/lib/tsumugi /etc/tsumugi
! getent passwd tsumugi >/dev/null || userdel tsumugi
