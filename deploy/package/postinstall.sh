#!/bin/sh
# Creates the account, the data folder and the secret key. On an upgrade, it restarts the running service.
set -e
secret=/etc/tsumugi/secret.env
getent passwd tsumugi >/dev/null ||
  useradd --system --user-group --home-dir /var/lib/tsumugi --no-create-home --shell /usr/sbin/nologin tsumugi
install -d -m 0700 -o tsumugi -g tsumugi /var/lib/tsumugi
chgrp tsumugi /etc/tsumugi/tsumugi.env
if [ ! -e "$secret" ]; then
  key=$(tsumugi secret new) # A failure ends the script. The next installation would keep a file without a key.
  install -m 0640 -g tsumugi /dev/null "$secret.new"
  {
    echo "# Key that encrypts secrets in the database. Keep a copy: a backup cannot be restored without it."
    echo "TSUMUGI_SECRET_KEY=$key"
  } >"$secret.new"
  mv "$secret.new" "$secret"
fi
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
systemctl try-restart tsumugi.service
