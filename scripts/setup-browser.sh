#!/bin/sh
# Installs a Chromium without a screen, which the tests open report pages with; nothing else needs one. Where none can be
# had, says so and lets those tests skip; with CI=true that is an error. Prints nothing where there is one.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=scripts/packages.sh
. "$here/packages.sh"

have_browser() {
    for name in chromium-headless-shell chromium chromium-browser google-chrome; do
        if command -v "$name" >/dev/null 2>&1 && "$name" --version >/dev/null 2>&1; then return 0; fi
    done
    return 1
}

give_up() {
    echo "A browser for the tests of report pages is not available: $1" >&2
    if [ "${CI:-}" = true ]; then exit 1; fi
    echo "Going on without; tests that need it will say \"skipped\"." >&2
    exit 0
}

if have_browser; then exit 0; fi

echo "Missing to test report pages: a Chromium"
command -v apt-get >/dev/null 2>&1 || give_up 'install chromium'
# Debian has the smaller one; elsewhere the whole browser has to do.
apt_install chromium-headless-shell || apt_install chromium || give_up 'chromium could not be installed'
have_browser || give_up 'what was installed does not start'
