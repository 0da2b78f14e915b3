# shellcheck shell=sh
# Sourced by the set-up scripts: Debian packages, installed as root or through sudo.

# apt_install PACKAGE...: says what it installs, installs it, and returns non-zero where that was not possible,
# having said what to ask for. Never reads standard input; sudo asks for a password on the terminal if it has to.
apt_install() {
    if [ "$(id -u)" -eq 0 ]; then
        rights=''
    elif command -v sudo >/dev/null 2>&1; then
        rights='sudo'
        echo "Packages are missing: $*. Asking sudo for the right to install them."
        if ! sudo env true </dev/null; then
            echo "sudo does not let this user install packages." >&2
            ask_for "$@"
            return 1
        fi
    else
        echo "Installing packages needs root, and there is no sudo." >&2
        ask_for "$@"
        return 1
    fi
    echo "Installing with ${rights:+$rights }apt-get: $*"
    # A list that cannot be refreshed (an outdated extra source, say) need not stop the installation.
    if ! log=$($rights env DEBIAN_FRONTEND=noninteractive apt-get update -q -o DPkg::Lock::Timeout=120 \
        </dev/null 2>&1); then
        printf '%s\n' "$log" | tail -n 5 >&2
        echo "apt-get update failed; going on with the package lists at hand." >&2
    fi
    if ! log=$($rights env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
        -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0 "$@" </dev/null 2>&1); then
        printf '%s\n' "$log" | tail -n 20 >&2
        echo "apt-get could not install the packages; the end of what it said is above." >&2
        ask_for "$@"
        return 1
    fi
}

ask_for() {
    echo "Ask an administrator to run, as root:" >&2
    echo "    apt-get update && apt-get install --no-install-recommends $*" >&2
}
