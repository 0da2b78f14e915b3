#!/bin/sh
# Starts collrules, or says in one sentence why this machine cannot run it, where the loader would say "not found".
here=$(dirname -- "$(readlink -f -- "$0")")
program=${here%/*}/libexec/collrules

refuse() {
    echo "collrules: this release needs $1; another can be built from source: @REPOSITORY@" >&2
    exit 4
}

machine=$(uname -m)
[ "$machine" = @MACHINE@ ] || refuse "an @MACHINE@ processor, and this one is $machine"
[ -e @LOADER@ ] || refuse "the GNU C library, and this system has another one"
# `glibc 2.36`; where there is no getconf, the loader reports what is missing.
libc=$(getconf GNU_LIBC_VERSION 2>/dev/null)
libc=${libc#glibc }
case $libc in
[01].* | 2.[0-9] | 2.1[0-9] | 2.2[0-7]) refuse "glibc @GLIBC@ or later, and this system has $libc" ;;
esac
if [ ! -x "$program" ]; then
    echo "collrules: $program cannot be started: unpack the release on a file system that is not mounted with noexec" >&2
    exit 4
fi
exec "$program" "$@"
