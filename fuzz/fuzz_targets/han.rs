//! Any bytes are read as a HAN rules file, as every version reads them, without a panic; and what an accepted file means
//! can be written, and means the same when it is read back.

#![no_main]

use collrules_rules::behaviour::Behaviour;
use collrules_rules::han::{Level, HanTable, load, write};
use collrules_rules::Collective;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for version in Behaviour::distinct() {
        let loaded = match load(bytes, &version) {
            Ok(loaded) => loaded,
            Err(fault) => {
                assert!(fault.span.start <= fault.span.end && fault.span.end <= bytes.len());
                continue;
            }
        };
        let table = loaded.to_table();
        for collective in Collective::ALL {
            for level in Level::ALL {
                for ranks in [1, 2, 3, 4, 7, 8, 100, i32::MAX as u32] {
                    for bytes in [0, 1, 2, 100, 1023, 1024, 65536, 1 << 31, u64::MAX] {
                        let chosen = loaded.lookup(collective, level, ranks, bytes).choice;
                        assert_eq!(chosen, table.lookup((collective, level), ranks.into(), bytes), "{version}");
                    }
                }
            }
        }
        if table == HanTable::default() {
            continue;
        }
        let text = write(&table, &[]).expect("what was read can be said");
        let Ok(again) = load(text.as_bytes(), &version) else {
            panic!("{version} does not accept what was written:\n{text}");
        };
        assert_eq!(again.to_table(), table, "{version}\n{text}");
    }
});
