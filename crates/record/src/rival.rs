//! Components that may take calls before `coll/tuned` does, and what can be set for each of them, in one table.
//!
//! What is said of HAN was tried on 5.0.11; the others are from their sources (`coll_NAME_component.c`), hcoll's and UCC's in
//! 5.0, XHC's and acoll's in 6.0.

use std::collections::{BTreeMap, BTreeSet};

use collrules_rules::Collective;

use crate::component::Component;
use crate::placement::Serving;

/// MCA settings by name.
type Pins = BTreeMap<String, String>;

/// A component that may take a call before `tuned` does, and without which a communicator still has every collective.
/// Those that only wrap others, or serve communicators that `tuned` does not, are not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rival {
    /// Its name.
    pub component: Component,
    /// What makes it leave calls to `tuned`.
    pub switch: Switch<'static>,
    /// Parameters that act on the calls of one collective: what stands before and behind its name.
    parameters: &'static [(&'static str, &'static str)],
}

/// What makes a component leave calls to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch<'a> {
    /// A parameter for each collective: what stands before and behind its name, and the value.
    Each(&'a str, &'a str, &'a str),
    /// A parameter that lists the collectives that it leaves, behind a `^`.
    List(&'a str),
    /// Its priority, for all collectives together.
    Whole,
}

/// All of them.
pub const RIVALS: [Rival; 9] = [
    Rival::whole("portals4", &[]),
    Rival::whole("hcoll", &[]),
    Rival::whole("fca", &[]),
    Rival {
        component: Component::HAN,
        // Component 3 is `tuned` (`coll_han_module.h`).
        switch: Switch::Each("coll_han_", "_dynamic_global_communicator_module", "3"),
        parameters: &[
            ("coll_han_", "_dynamic_global_communicator_module"),
            ("coll_han_", "_dynamic_inter_node_module"),
            ("coll_han_", "_dynamic_intra_node_module"),
            ("coll_han_", "_segsize"),
            ("coll_han_", "_up_module"),
            ("coll_han_", "_low_module"),
            ("coll_han_use_", "_algorithm"),
            ("coll_han_use_simple_", ""),
        ],
    },
    Rival { component: Component::known("ucc"), switch: Switch::List("coll_ucc_cts"), parameters: &[] },
    Rival::whole(
        "xhc",
        &[
            ("coll_xhc_", "_root"),
            ("coll_xhc_", "_hierarchy"),
            ("coll_xhc_", "_chunk_size"),
            ("coll_xhc_", "_cico_max"),
        ],
    ),
    Rival::whole(
        "acoll",
        &[
            ("coll_acoll_", "_lin0"),
            ("coll_acoll_", "_lin1"),
            ("coll_acoll_", "_lin2"),
            ("coll_acoll_", "_nonsg"),
            ("coll_acoll_", "_lin"),
            ("coll_acoll_", "_ring_1"),
        ],
    ),
    Rival::whole("adapt", &[("coll_adapt_", "_algorithm"), ("coll_adapt_", "_segment_size")]),
    Rival::whole("sm", &[]),
];

impl Rival {
    const fn whole(name: &str, parameters: &'static [(&'static str, &'static str)]) -> Self {
        Self { component: Component::known(name), switch: Switch::Whole, parameters }
    }

    /// A rival by its name; others are taken to have a priority, as all components do.
    pub fn of(component: Component) -> Self {
        let known = RIVALS.into_iter().find(|rival| rival.component == component);
        known.unwrap_or(Self { component, switch: Switch::Whole, parameters: &[] })
    }

    /// The settings by which it leaves these collectives to others.
    pub fn leaving(self, collectives: &BTreeSet<Collective>) -> Pins {
        match self.switch {
            _ if collectives.is_empty() => Pins::new(),
            Switch::Each(before, behind, value) => {
                let setting = |one: &Collective| (format!("{before}{one}{behind}"), value.to_owned());
                collectives.iter().map(setting).collect()
            }
            Switch::List(parameter) => {
                let names: Vec<&str> = collectives.iter().map(|one| one.name()).collect();
                [(parameter.to_owned(), format!("^{}", names.join(",")))].into()
            }
            Switch::Whole => [(format!("coll_{}_priority", self.component), "0".to_owned())].into(),
        }
    }

    /// Whether settings make it leave a collective.
    pub fn leaves(self, collective: Collective, pins: &Pins) -> bool {
        match self.switch {
            Switch::List(parameter) => pins.get(parameter).is_some_and(|list| {
                let mut names = list.trim_start_matches('^').split(',');
                let is_named = names.any(|name| name.trim().eq_ignore_ascii_case(collective.name()));
                is_named == list.starts_with('^')
            }),
            _ => self.leaving(&[collective].into()).iter().all(|(name, value)| pins.get(name) == Some(value)),
        }
    }
}

/// Their names.
pub fn components() -> impl Iterator<Item = Component> {
    RIVALS.into_iter().map(|rival| rival.component)
}

/// The settings by which all these calls come to `coll/tuned`.
pub fn pins<'a>(servings: impl IntoIterator<Item = &'a Serving>) -> Pins {
    let mut left: BTreeMap<Component, BTreeSet<Collective>> = BTreeMap::new();
    for serving in servings {
        for component in &serving.without {
            left.entry(*component).or_default().insert(serving.collective);
        }
    }
    left.into_iter().flat_map(|(component, collectives)| Rival::of(component).leaving(&collectives)).collect()
}

/// Settings that are in force, and others beside them. A list of what a component leaves grows by what others have it leave; of all
/// else, the others replace what was there.
pub fn beside(in_force: &Pins, others: &Pins) -> Pins {
    let mut all = in_force.clone();
    for (name, value) in others {
        let is_list = RIVALS.iter().any(|rival| rival.switch == Switch::List(name));
        let before = in_force.get(name).filter(|_| is_list);
        all.insert(name.clone(), before.map_or_else(|| value.clone(), |before| without(before, value)));
    }
    all
}

/// A list of collectives, without those of another list that begins with `^`.
fn without(list: &str, left: &str) -> String {
    let names = |list: &str| -> BTreeSet<String> {
        list.trim_start_matches('^').split(',').map(|name| name.trim().to_ascii_lowercase()).collect()
    };
    let joined = |names: BTreeSet<String>| Vec::from_iter(names).join(",");
    let (listed, left) = (names(list), names(left));
    let served: BTreeSet<String> = listed.difference(&left).cloned().collect();
    match (list.starts_with('^'), served.is_empty()) {
        (true, _) => format!("^{}", joined(&listed | &left)),
        // An empty list would mean all.
        (false, true) => format!("^{}", Collective::ALL.map(Collective::name).join(",")),
        (false, false) => joined(served),
    }
}

/// Whether a setting may act on calls of a collective: one that is about other collectives does not.
pub fn acts_on(name: &str, value: &str, collective: Collective) -> bool {
    for rival in RIVALS {
        if rival.switch == Switch::List(name) {
            let leaves = rival.leaves(collective, &[(name.to_owned(), value.to_owned())].into());
            return leaves || !value.starts_with('^');
        }
        let is_about = |one: &Collective| {
            let mut forms = rival.parameters.iter();
            forms.any(|(before, behind)| name == format!("{before}{one}{behind}"))
        };
        if Collective::ALL.iter().any(is_about) {
            return is_about(&collective);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Ranks;

    fn serving(collective: Collective, without: &str) -> Serving {
        let without: Component = without.parse().expect("a name");
        Serving { collective, ranks: Ranks(8), by: without, without: vec![without] }
    }

    #[test]
    fn each_component_leaves_calls_as_it_can() {
        let of = |without| pins(&[serving(Collective::Bcast, without), serving(Collective::Reduce, without)]);
        let text = |without| format!("{:?}", of(without));
        assert_eq!(
            text("han"),
            r#"{"coll_han_bcast_dynamic_global_communicator_module": "3", "coll_han_reduce_dynamic_global_communicator_module": "3"}"#
        );
        assert_eq!(text("ucc"), r#"{"coll_ucc_cts": "^bcast,reduce"}"#);
        for component in ["hcoll", "acoll", "xhc", "sm", "unheard"] {
            assert_eq!(of(component), [(format!("coll_{component}_priority"), "0".to_owned())].into());
        }
        for without in ["han", "ucc", "hcoll", "xhc"] {
            let leaves = |collective| Rival::of(without.parse().expect("a name")).leaves(collective, &of(without));
            assert!(leaves(Collective::Bcast) && leaves(Collective::Reduce), "{without}");
            assert_eq!(leaves(Collective::Gather), matches!(without, "hcoll" | "xhc"), "{without}");
        }
    }

    #[test]
    fn what_a_user_has_a_component_leave_stays_left() {
        let beside = |before: &str, value: &str| {
            let pins = |value: &str| Pins::from([("coll_ucc_cts".to_owned(), value.to_owned())]);
            beside(&pins(before), &pins(value))["coll_ucc_cts"].clone()
        };
        assert_eq!(beside("^allreduce", "^bcast"), "^allreduce,bcast");
        assert_eq!(beside("^bcast", "^bcast"), "^bcast");
        assert_eq!(beside("allreduce, Bcast", "^bcast"), "allreduce");
        assert!(beside("bcast", "^bcast").starts_with("^allgather,") && beside("bcast", "^bcast").contains(",bcast,"));
        let pins = |value: &str| Pins::from([("coll_hcoll_priority".to_owned(), value.to_owned())]);
        assert_eq!(super::beside(&pins("90"), &pins("0")), pins("0"));
    }

    #[test]
    fn settings_act_on_what_they_name() {
        let on_bcast = |name, value| acts_on(name, value, Collective::Bcast);
        for (name, value) in [
            ("coll_han_bcast_segsize", "8"),
            ("coll_ucc_cts", "^bcast"),
            ("coll_hcoll_priority", "0"),
            ("coll", "^han"),
        ] {
            assert!(on_bcast(name, value), "{name}");
        }
        for (name, value) in [
            ("coll_han_reduce_segsize", "8"),
            ("coll_han_use_allreduce_algorithm", "2"),
            ("coll_ucc_cts", "^reduce"),
            ("coll_xhc_allreduce_hierarchy", "numa"),
            ("coll_acoll_allgather_lin", "1"),
        ] {
            assert!(!on_bcast(name, value), "{name}");
        }
        assert!(acts_on("coll_han_reduce_scatter_segsize", "8", Collective::ReduceScatter));
        assert!(!acts_on("coll_han_reduce_scatter_segsize", "8", Collective::Reduce));
    }
}
