#!/bin/sh
# Stops the service before a removal. The argument is "remove" or "deconfigure" from dpkg and 0 from rpm, and
# "upgrade" or 1 on an upgrade.
set -e
[ -d /run/systemd/system ] || exit 0
case ${1:-} in
remove | deconfigure | 0) systemctl disable --now tsumugi.service ;;
esac
