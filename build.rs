//! Lets Open MPI's monitoring layer find the function of `collrules-worker` that counts messages
//! (`crates/worker/src/ffi/counter.rs`).

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_MPI").is_some() {
        let export = "-Wl,--export-dynamic-symbol=mca_common_monitoring_record_pml";
        println!("cargo::rustc-link-arg-bin=collrules-worker={export}");
    }
}
