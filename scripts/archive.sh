# shellcheck shell=bash
# Sourced by scripts/dist and scripts/test-dist: archives that have the same bytes for the same files, whatever their owners, modes
# and times, and wherever they lie. SOURCE_DATE_EPOCH is the time of all entries.

# pack_tar COMPRESSOR FILE DIRECTORY
pack_tar() {
    tar --create --sort=name --format=gnu --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
        --mode=u+rwX,go+rX,go-w --directory="$(dirname "$3")" "$(basename "$3")" | $1 >"$2"
}

# pack_wheel INTO DIRECTORY
pack_wheel() {
    chmod --recursive u+rwX,go+rX,go-w "$2"
    wheel pack --dest-dir "$1" "$2" >/dev/null
}
