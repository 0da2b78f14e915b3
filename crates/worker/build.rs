//! Lets Open MPI's monitoring layer find the function that counts messages (`src/ffi/counter.rs`).

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg-bin=mpi-worker=-rdynamic");
}
