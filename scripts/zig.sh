# shellcheck shell=bash
# Sourced by scripts/dist and scripts/test-dist: both build in one place and for one C library, so that crates of others are compiled
# once. Cargo compiles a crate anew that lies in another directory, or if the linker or flags differ.

machine=x86_64
glibc=2.28
triple=$machine-unknown-linux-gnu
work=$(realpath -m "${CARGO_TARGET_DIR:-target}/dist")
PATH=$PWD/target/dist-tools/bin:$PATH

# use_zig SOURCE: sets what `cargo-zigbuild` needs for the sources in this directory.
use_zig() {
    local separator
    separator=$(printf '\037')
    # No path of this machine gets into the programs.
    export CARGO_ENCODED_RUSTFLAGS="--remap-path-prefix=$1=/$(basename "$1")${separator}--remap-path-prefix=$work/build=/build"
    export CARGO_TARGET_DIR=$work/build ZIG_GLOBAL_CACHE_DIR=$work/zig XDG_CACHE_HOME=$work/cache
    # The linker exports the symbol that this library refers to, and leaves the library out.
    export COLLRULES_EXPORT=$work/libexport.so
    echo 'void mca_common_monitoring_record_pml(void); void f(void) { mca_common_monitoring_record_pml(); }' |
        python-zig cc -target "$machine-linux-gnu.$glibc" -x c -shared -fPIC -o "$COLLRULES_EXPORT" -
}
