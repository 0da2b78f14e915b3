//! Lets Open MPI's monitoring layer find the function that counts messages (`src/ffi/counter.rs`).

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Not every linker can export a single symbol: zig's exports what a library among its arguments refers to.
    println!("cargo::rerun-if-env-changed=COLLRULES_EXPORT");
    let usual = || "-Wl,--export-dynamic-symbol=mca_common_monitoring_record_pml".to_owned();
    println!("cargo::rustc-link-arg-bin=mpi-worker={}", std::env::var("COLLRULES_EXPORT").unwrap_or_else(|_| usual()));
}
