#!/bin/sh
# Puts typos, a spelling check for sources, from PyPI into target/typos. Where it cannot be had, says so and lets the check
# skip it; with CI=true that is an error. Prints nothing where it is in place.
set -eu

version=1.52.0
cd "$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)/.."
home=target/typos

give_up() {
    echo "The spelling check typos $version is not available: $1" >&2
    if [ "${CI:-}" = true ]; then exit 1; fi
    echo "Going on without." >&2
    exit 0
}

if [ "$("$home/bin/typos" --version 2>/dev/null)" = "typos-cli $version" ]; then exit 0; fi

# shellcheck source=scripts/packages.sh
. scripts/packages.sh
have_venv() {
    command -v python3 >/dev/null 2>&1 && python3 -c 'import ensurepip, venv' >/dev/null 2>&1
}
if ! have_venv; then
    echo "Missing to install typos $version for the spelling check: python3 with its venv module"
    command -v apt-get >/dev/null 2>&1 || give_up 'install python3 with venv and pip'
    apt_install python3-venv || give_up 'python3-venv could not be installed'
    have_venv || give_up "$(command -v python3) still has no venv module"
fi
echo "Installing typos $version from PyPI into $home"
rm -rf "$home"
mkdir -p target
python3 -m venv "$home" || give_up 'python3 -m venv failed'
if ! log=$("$home/bin/python3" -m pip install --quiet --disable-pip-version-check --no-input --retries 2 \
    --only-binary=:all: "typos==$version" 2>&1 </dev/null); then
    printf '%s\n' "$log" | tail -n 5 >&2
    rm -rf "$home"
    give_up 'pip could not install it; its last lines are above'
fi
