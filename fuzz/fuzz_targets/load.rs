//! Any bytes are read, as every version reads them, and looked up in, without a panic; and what lookups say agrees with
//! what the whole file is said to mean.

#![no_main]

use collrules_rules::behaviour::Behaviour;
use collrules_rules::file::load;
use collrules_rules::call::Distribution;
use collrules_rules::{Collective, Ranks};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for version in Behaviour::distinct() {
        let Ok(loaded) = load(bytes, &version) else { continue };
        let table = loaded.to_table();
        for collective in Collective::ALL {
            for ranks in [1, 2, 3, 4, 7, 8, 100, i32::MAX as u32] {
                for bytes in [0, 1, 2, 100, 1023, 1024, 65536, 1 << 31, u64::MAX] {
                    let in_use = loaded.lookup_by_size(collective, Ranks(ranks), bytes, Distribution::Any);
                    assert_eq!(in_use.choice, table.lookup(collective, ranks.into(), bytes), "{version} {collective}");
                }
            }
        }
    }
});
