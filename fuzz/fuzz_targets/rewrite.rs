//! What any accepted file means can be written in every format that can express it, and means the same when it is read
//! back by every version that the file is for.

#![no_main]

use collrules_rules::behaviour::Behaviour;
use collrules_rules::emit::{self, Notes, TargetFormat};
use collrules_rules::file::load;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for version in Behaviour::distinct() {
        let Ok(loaded) = load(bytes, &version) else { continue };
        let table = emit::portable(&loaded.to_table());
        for format in TargetFormat::ALL {
            let Ok(text) = emit::write(&table, &Notes::default(), format) else { continue };
            for reader in &format.readers() {
                let Ok(again) = load(text.as_bytes(), reader) else {
                    panic!("{reader} does not accept what was written as {format}:\n{text}");
                };
                for (collective, blocks) in table.collectives() {
                    for (ranks, _, sizes) in blocks.iter().filter(|(ranks, _, _)| *ranks <= i32::MAX as u64) {
                        for (bytes, _, choice) in sizes.iter() {
                            let ranks = ranks.max(1);
                            let meant = table.lookup(collective, ranks, bytes);
                            let read = again.to_table().lookup(collective, ranks, bytes);
                            assert_eq!(meant, read, "{reader} {format} {collective} {ranks} {bytes} {choice}\n{text}");
                        }
                    }
                }
            }
        }
    }
});
