#!/bin/sh
# Puts programs from PyPI into a virtual environment: setup-pypi.sh DIR WHAT PROGRAM PACKAGE==VERSION...
# Tries PROGRAM there. If that cannot be had, says so and exits with 0, so that what needs it is skipped; with CI=true that
# is an error. Prints nothing if all is in place.
set -eu

cd "$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)/.."
# shellcheck source=scripts/packages.sh
. scripts/packages.sh

home=$1
what=$2
program=$1/bin/$3
shift 3

works() {
    for package in "$@"; do
        name=$(printf %s "${package%%==*}" | tr 'A-Z-' 'a-z_')
        set -- "$home"/lib/python3*/site-packages/"$name-${package##*==}.dist-info"
        [ -d "$1" ] || return 1
    done
    "$program" --version >/dev/null 2>&1
}

give_up() {
    echo "$what is not available: $1" >&2
    if [ "${CI:-}" = true ]; then exit 1; fi
    echo "Going on without; tests that need it will say \"skipped\"." >&2
    exit 0
}

have_venv() {
    command -v python3 >/dev/null 2>&1 && python3 -c 'import ensurepip, venv' >/dev/null 2>&1
}

if works "$@"; then exit 0; fi
if ! have_venv; then
    echo "Missing to install $what: python3 with its venv module"
    command -v apt-get >/dev/null 2>&1 || give_up 'install python3 with venv and pip'
    apt_install python3-venv || give_up 'python3-venv could not be installed'
    have_venv || give_up "$(command -v python3) still has no venv module"
fi
echo "Installing $what from PyPI into $home"
rm -rf "$home"
mkdir -p "$(dirname "$home")"
python3 -m venv "$home" || give_up 'python3 -m venv failed'
if ! log=$("$home/bin/python3" -m pip install --quiet --disable-pip-version-check --no-input --retries 2 \
    --only-binary=:all: "$@" 2>&1 </dev/null); then
    printf '%s\n' "$log" | tail -n 5 >&2
    rm -rf "$home"
    give_up "pip could not install $*; its last lines are above"
fi
works "$@" || give_up "$program does not run here"
