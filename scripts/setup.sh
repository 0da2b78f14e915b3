#!/bin/sh
# Sees to what collrules needs to be built with its MPI side: Open MPI with headers, libclang, a C compiler,
# pkg-config. What is there is left alone, whoever installed it; what is missing is named, then installed with
# apt-get, or, on systems without it, only named. Prints nothing where nothing is missing.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=scripts/packages.sh
. "$here/packages.sh"

# The build asks the same variable for the compiler wrapper.
mpicc=${MPICC:-mpicc}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

have() {
    command -v "$1" >/dev/null 2>&1
}

# compiles COMPILER HEADER: whether a program that uses the header compiles and links. Names of programs and packages
# say less: wrappers come without headers, compilers without a C library.
compiles() {
    printf '#include <%s>\nint main(void) { return 0; }\n' "$2" >"$scratch/try.c"
    "$1" -o "$scratch/try" "$scratch/try.c" >/dev/null 2>&1
}

have_compiler() {
    have cc && compiles cc stdio.h
}

have_mpicc() {
    have "$mpicc" && "$mpicc" --showme:version 2>/dev/null | grep -q 'Open MPI'
}

have_mpirun() {
    have mpirun && mpirun --version 2>/dev/null | grep -q 'Open MPI'
}

# Directories that may hold libclang, one a line.
clang_directories() {
    if [ -n "${LIBCLANG_PATH:-}" ]; then
        if [ -d "$LIBCLANG_PATH" ]; then echo "$LIBCLANG_PATH"; else dirname -- "$LIBCLANG_PATH"; fi
    fi
    "${LLVM_CONFIG_PATH:-llvm-config}" --libdir 2>/dev/null || true
    # ldconfig is often not in a user's PATH.
    PATH="$PATH:/sbin:/usr/sbin" ldconfig -p 2>/dev/null |
        sed -n 's|^.*libclang[-.0-9]*\.so[.0-9]* .*=> \(.*\)/[^/]*$|\1|p' | sort -u
    for directory in /usr/lib/llvm*/lib /usr/lib/llvm*/lib64 /usr/lib64/llvm*/lib /usr/lib64/llvm*/lib64 \
        /usr/local/llvm*/lib /usr/lib /usr/lib64 /usr/lib/*-linux-gnu* /usr/local/lib /usr/local/lib64; do
        if [ -d "$directory" ]; then echo "$directory"; fi
    done
}

# clang_library DIRECTORY: whether it holds the shared libclang (not only libclang-cpp).
clang_library() {
    for library in "$1"/libclang.so "$1"/libclang.so.* "$1"/libclang-[0-9]*.so "$1"/libclang-[0-9]*.so.*; do
        if [ -e "$library" ]; then return 0; fi
    done
    return 1
}

# clang_headers DIRECTORY: whether clang's own headers (stddef.h and its kin) are where libclang of that directory
# looks for them. The library comes without them in some packages, and reading mpi.h then fails.
clang_headers() {
    for header in "$1"/clang/*/include/stddef.h "$1"/../lib/clang/*/include/stddef.h \
        /usr/lib/llvm*/lib/clang/*/include/stddef.h /usr/lib/clang/*/include/stddef.h \
        /usr/lib64/clang/*/include/stddef.h; do
        if [ -e "$header" ]; then return 0; fi
    done
    return 1
}

have_libclang() {
    clang_directories >"$scratch/directories"
    while IFS= read -r directory; do
        if clang_library "$directory" && clang_headers "$directory"; then return 0; fi
    done <"$scratch/directories"
    return 1
}

# need WHAT PACKAGE...
need() {
    missing="$missing
  - $1"
    shift
    packages="$packages $*"
}

look() {
    missing=''
    packages=''
    if ! have_compiler; then need 'a C compiler called cc, with the headers of the C library' gcc libc6-dev; fi
    if ! have pkg-config; then need 'pkg-config' pkg-config; fi
    if ! have_libclang; then need 'libclang with its headers, to read mpi.h' libclang-dev; fi
    if ! have_mpicc; then
        other=''
        if have "$mpicc"; then other=" ($(command -v "$mpicc") belongs to another MPI)"; fi
        need "Open MPI's compiler wrapper mpicc$other" openmpi-bin libopenmpi-dev
    elif have_compiler && ! compiles "$mpicc" mpi.h; then
        need "Open MPI's headers and libraries ($(command -v "$mpicc") cannot compile with mpi.h)" libopenmpi-dev
    fi
    if ! have_mpirun; then
        other=''
        if have mpirun; then other=" ($(command -v mpirun) belongs to another MPI)"; fi
        need "Open MPI's mpirun$other" openmpi-bin
    fi
    packages=$(printf '%s\n' "$packages" | tr ' ' '\n' | sed '/^$/d' | sort -u | tr '\n' ' ' | sed 's/ $//')
}

if ! have cargo; then
    echo "cargo is missing: install a Rust toolchain of at least 1.89, for instance with rustup (rustup.rs)," >&2
    echo "and see that cargo is in PATH. This script installs no toolchains. A release of collrules needs none: README.md." >&2
    exit 1
fi

look
if [ -z "$missing" ]; then exit 0; fi
echo "Missing to build and run collrules with MPI:$missing"

if ! have apt-get; then
    cat >&2 <<'HINTS'
This system has no apt-get, and nothing was installed. Install what is missing and try again:
  Fedora, RHEL   dnf install openmpi-devel clang-devel gcc pkgconf-pkg-config
  SUSE           zypper install openmpi4-devel clang-devel gcc pkg-config
  Arch           pacman -S openmpi clang gcc pkgconf
  elsewhere      Open MPI 4.0 to 6.0 with headers, libclang (the clang development package), a C compiler, pkg-config
Fedora, RHEL and SUSE keep Open MPI out of PATH until it is chosen (module load mpi/openmpi-x86_64, mpi-selector).
On a cluster, Open MPI is often there already and only has to be loaded (module load openmpi). An Open MPI of your own
counts when its mpicc and mpirun are in PATH, a libclang of your own when LIBCLANG_PATH names its directory.
Where this check is wrong, SETUP=no after make skips it.
HINTS
    exit 1
fi

# shellcheck disable=SC2086 # a list of names, split on purpose
apt_install $packages || exit 1

look
if [ -n "$missing" ]; then
    echo "Still missing after the installation:$missing" >&2
    echo "If another MPI comes first in PATH, put Open MPI first, or name its wrapper in MPICC." >&2
    echo "Where this check is wrong, SETUP=no after make skips it." >&2
    exit 1
fi
echo "Everything is in place now."
