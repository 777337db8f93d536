#!/bin/sh
# Creates the account, the data folder and the secret key. On an upgrade, it restarts the running service.
set -e
secret=/etc/tsumugi/secret.env
getent passwd tsumugi >/dev/null ||
  useradd --system --user-group --home-dir /var/lib/tsumugi --no-create-home --shell /usr/sbin/nologin tsumugi
install -d -m 0700 -o tsumugi -g tsumugi /var/lib/tsumugi
chgrp tsumugi /etc/tsumugi/tsumugi.env
if [ ! -e "$secret" ]; then
  install -m 0640 -g tsumugi /dev/null "$secret"
  {
    echo "# Key that encrypts secrets in the database. Keep a copy: a backup cannot be restored without it."
    echo "TSUMUGI_SECRET_KEY=$(tsumugi secret new)"
  } >"$secret"
fi
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
systemctl try-restart tsumugi.service
