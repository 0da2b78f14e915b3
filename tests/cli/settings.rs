//! `collrules settings`: what can be set, with the values that ranks have.

use std::path::Path;

use crate::support::{Ran, bounded, under_each_release};

#[test]
fn the_values_are_those_of_the_ranks_and_what_is_set_already_is_kept() {
    under_each_release(|mpi| {
        let shared = if mpi.version.starts_with('4') { "vader" } else { "sm" };
        let eager = format!("btl_{shared}_eager_limit");
        let list = |arguments: &str| -> Vec<serde_json::Value> {
            let mut command =
                mpi.collrules(&format!("settings --json --oversubscribe {arguments} --mpirun-args"), Path::new(""));
            let ran = Ran::from(command.env(format!("OMPI_MCA_btl_{shared}_max_send_size"), "65536").output().unwrap())
                .exits(0);
            serde_json::from_str(&ran.stdout).unwrap()
        };
        let named = |all: &[serde_json::Value], name: &str| all.iter().find(|setting| setting["name"] == name).cloned();
        let all = list("");
        let setting = named(&all, &eager).unwrap();
        assert_eq!((setting["value"].as_str(), setting["values"][0].as_str()), (Some("4096"), Some("8192")));
        let preset = named(&all, &format!("btl_{shared}_max_send_size")).unwrap();
        assert_eq!(preset["value"].as_str(), Some("65536"));
        assert!(preset["left_out"]["preset"].as_str().unwrap().starts_with("environment"));
        // The component in use is no alternative.
        let matching = named(&all, "pml").unwrap();
        let running = matching["value"].clone();
        assert!(!running.as_str().unwrap().is_empty() && !matching["values"].as_array().unwrap().contains(&running));
        let own = list(&format!("--setting {eager}=2K,16K --setting env:UCX_TLS=rc,sm|tcp"));
        assert_eq!(named(&own, &eager).unwrap()["values"], serde_json::json!(["2048", "16384"]));
        assert_eq!(named(&own, "env:UCX_TLS").unwrap()["values"], serde_json::json!(["rc,sm", "tcp"]));
    });
}

#[test]
fn settings_that_do_not_exist_or_cannot_be_are_refused() {
    under_each_release(|mpi| {
        let refused = |setting: &str| {
            let command = mpi.collrules("settings --oversubscribe --setting", Path::new(setting)).output().unwrap();
            Ran::from(command).exits(2)
        };
        refused("coll_tuned_priorty=1").complains("the nearest name is coll_tuned_priority");
        refused("coll_tuned_priority=high").complains("a whole number");
        refused("coll_tuned_priority").complains("write NAME=VALUE");
    });
    let twice = "settings --simulate --setting env:A=1 --setting env:A=2";
    let ran = Ran::from(bounded().args(twice.split(' ')).output().unwrap()).exits(2);
    ran.complains("requested twice");
}
