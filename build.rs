//! Lets Open MPI's monitoring layer find the function of `collrules-worker` that counts messages
//! (`crates/worker/src/ffi/counter.rs`).

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // As in the worker's own.
    println!("cargo::rerun-if-env-changed=COLLRULES_EXPORT");
    if std::env::var_os("CARGO_FEATURE_MPI").is_some() {
        let usual = || "-Wl,--export-dynamic-symbol=mca_common_monitoring_record_pml".to_owned();
        let export = std::env::var("COLLRULES_EXPORT").unwrap_or_else(|_| usual());
        println!("cargo::rustc-link-arg-bin=collrules-worker={export}");
    }
}
