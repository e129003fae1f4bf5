#!/bin/sh
# A browser for the tests of pages: installs Debian's chromium where none is there and it is allowed, as root or with
# sudo that asks for nothing. It never fails: without a browser these tests are skipped, and say why.
# DALEMBERT_NO_INSTALL=1 leaves the system as it is.

for name in "$DALEMBERT_BROWSER" chromium chromium-browser google-chrome google-chrome-stable chrome; do
    [ -n "$name" ] && command -v "$name" >/dev/null 2>&1 && exit 0
done

skipped() {
    echo "tests of pages will be skipped, there is no browser: $1"
    exit 0
}

[ -z "$DALEMBERT_NO_INSTALL" ] || skipped "DALEMBERT_NO_INSTALL is set"
command -v apt-get >/dev/null 2>&1 || skipped "install chromium, or name a browser in \$DALEMBERT_BROWSER"
# Ubuntu's package is a snap, which containers cannot run
grep -qi '^ID=ubuntu' /etc/os-release 2>/dev/null && skipped "install Google Chrome, or chromium as a snap"

as_root=""
if [ "$(id -u)" != 0 ]; then
    sudo -n true 2>/dev/null || skipped "apt-get install chromium needs root"
    as_root="sudo -n"
fi

echo "installing chromium for the tests of pages ..."
log=$(mktemp) || exit 0
limited() {
    seconds=$1
    shift
    $as_root env DEBIAN_FRONTEND=noninteractive timeout "$seconds" \
        apt-get -q -y -o DPkg::Lock::Timeout=60 "$@" >>"$log" 2>&1 </dev/null
}
if limited 120 update && limited 300 install --no-install-recommends chromium && command -v chromium >/dev/null 2>&1; then
    rm -f "$log"
    exit 0
fi
tail -n 3 "$log"
rm -f "$log"
skipped "chromium could not be installed"
