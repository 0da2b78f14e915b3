//! Components that may take calls before `coll/tuned` does, with their settings, in one table.
//!
//! The settings of HAN were tested on 5.0.11; the others are from their sources (`coll_NAME_component.c`), hcoll's and
//! UCC's in 5.0, XHC's and acoll's in 6.0.

use std::collections::{BTreeMap, BTreeSet};

use collrules_rules::Collective;

use crate::component::Component;
use crate::placement::RunningComponent;
use crate::settings::Settings;

/// A component that may take a call before `tuned` does, and without which a communicator still has every collective.
/// Components that only wrap others, or handle communicators that `tuned` does not, are not included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Competitor {
    /// Its name.
    pub component: Component,
    /// Setting that makes it leave calls to `tuned`.
    pub switch: ComponentSwitch<'static>,
    /// Parameters that act on the calls of one collective: the texts before and after its name.
    parameters: &'static [(&'static str, &'static str)],
}

/// Setting that makes a component leave calls to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComponentSwitch<'a> {
    /// A parameter for each collective: the texts before and after its name, and the value.
    Each(&'a str, &'a str, &'a str),
    /// A parameter with a list of the collectives that it leaves, after a `^`.
    List(&'a str),
    /// Its priority, for all collectives together.
    Whole,
}

/// All competitors.
pub const COMPETITORS: [Competitor; 9] = [
    Competitor::whole("portals4", &[]),
    Competitor::whole("hcoll", &[]),
    Competitor::whole("fca", &[]),
    Competitor {
        component: Component::HAN,
        // Component 3 is `tuned` (`coll_han_module.h`).
        switch: ComponentSwitch::Each("coll_han_", "_dynamic_global_communicator_module", "3"),
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
    Competitor { component: Component::known("ucc"), switch: ComponentSwitch::List("coll_ucc_cts"), parameters: &[] },
    Competitor::whole(
        "xhc",
        &[
            ("coll_xhc_", "_root"),
            ("coll_xhc_", "_hierarchy"),
            ("coll_xhc_", "_chunk_size"),
            ("coll_xhc_", "_cico_max"),
        ],
    ),
    Competitor::whole(
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
    Competitor::whole("adapt", &[("coll_adapt_", "_algorithm"), ("coll_adapt_", "_segment_size")]),
    Competitor::whole("sm", &[]),
];

impl Competitor {
    const fn whole(name: &str, parameters: &'static [(&'static str, &'static str)]) -> Self {
        Self { component: Component::known(name), switch: ComponentSwitch::Whole, parameters }
    }

    /// A competitor by its name; unknown ones are assumed to have a priority, as all components do.
    pub fn from_component(component: Component) -> Self {
        let known = COMPETITORS.into_iter().find(|competitor| competitor.component == component);
        known.unwrap_or(Self { component, switch: ComponentSwitch::Whole, parameters: &[] })
    }

    /// The settings that make it leave these collectives to others.
    pub fn leaving(self, collectives: &BTreeSet<Collective>) -> Settings {
        match self.switch {
            _ if collectives.is_empty() => Settings::new(),
            ComponentSwitch::Each(before, behind, value) => {
                let setting = |one: &Collective| (format!("{before}{one}{behind}"), value.to_owned());
                collectives.iter().map(setting).collect()
            }
            ComponentSwitch::List(parameter) => {
                let names: Vec<&str> = collectives.iter().map(|one| one.name()).collect();
                [(parameter.to_owned(), format!("^{}", names.join(",")))].into()
            }
            ComponentSwitch::Whole => [(format!("coll_{}_priority", self.component), "0".to_owned())].into(),
        }
    }

    /// Returns true if settings make it leave a collective to others.
    pub fn leaves(self, collective: Collective, pins: &Settings) -> bool {
        match self.switch {
            ComponentSwitch::List(parameter) => pins.get(parameter).is_some_and(|list| {
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
    COMPETITORS.into_iter().map(|competitor| competitor.component)
}

/// The settings that send all these calls to `coll/tuned`.
pub fn pins<'a>(found: impl IntoIterator<Item = &'a RunningComponent>) -> Settings {
    let mut left: BTreeMap<Component, BTreeSet<Collective>> = BTreeMap::new();
    for running in found {
        for component in &running.without {
            left.entry(*component).or_default().insert(running.collective);
        }
    }
    left.into_iter()
        .flat_map(|(component, collectives)| Competitor::from_component(component).leaving(&collectives))
        .collect()
}

/// Adds settings to active ones. Lists of left collectives are joined; other settings replace the active ones.
pub fn add_settings(in_force: &Settings, others: &Settings) -> Settings {
    let mut all = in_force.clone();
    for (name, value) in others {
        let is_list = COMPETITORS.iter().any(|competitor| competitor.switch == ComponentSwitch::List(name));
        let before = in_force.get(name).filter(|_| is_list);
        all.insert(name.clone(), before.map_or_else(|| value.clone(), |before| without(before, value)));
    }
    all
}

/// The collectives of a list that another list, which begins with `^`, does not name.
fn without(list: &str, left: &str) -> String {
    let names = |list: &str| -> BTreeSet<String> {
        list.trim_start_matches('^').split(',').map(|name| name.trim().to_ascii_lowercase()).collect()
    };
    let joined = |names: BTreeSet<String>| Vec::from_iter(names).join(",");
    let (listed, left) = (names(list), names(left));
    let kept: BTreeSet<String> = listed.difference(&left).cloned().collect();
    match (list.starts_with('^'), kept.is_empty()) {
        (true, _) => format!("^{}", joined(&listed | &left)),
        // An empty list would mean all.
        (false, true) => format!("^{}", Collective::ALL.map(Collective::name).join(",")),
        (false, false) => joined(kept),
    }
}

/// Returns true if a setting may act on calls of a collective; settings of other collectives do not.
pub fn acts_on(name: &str, value: &str, collective: Collective) -> bool {
    for competitor in COMPETITORS {
        if competitor.switch == ComponentSwitch::List(name) {
            let leaves = competitor.leaves(collective, &[(name.to_owned(), value.to_owned())].into());
            return leaves || !value.starts_with('^');
        }
        let is_about = |one: &Collective| {
            let mut forms = competitor.parameters.iter();
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

    fn running(collective: Collective, without: &str) -> RunningComponent {
        let without: Component = without.parse().expect("a name");
        RunningComponent { collective, ranks: Ranks(8), by: without, without: vec![without] }
    }

    #[test]
    fn each_component_leaves_calls_as_it_can() {
        let of = |without| pins(&[running(Collective::Bcast, without), running(Collective::Reduce, without)]);
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
            let leaves = |collective| {
                Competitor::from_component(without.parse().expect("a name")).leaves(collective, &of(without))
            };
            assert!(leaves(Collective::Bcast) && leaves(Collective::Reduce), "{without}");
            assert_eq!(leaves(Collective::Gather), matches!(without, "hcoll" | "xhc"), "{without}");
        }
    }

    #[test]
    fn what_a_user_has_a_component_leave_stays_left() {
        let beside = |before: &str, value: &str| {
            let pins = |value: &str| Settings::from([("coll_ucc_cts".to_owned(), value.to_owned())]);
            add_settings(&pins(before), &pins(value))["coll_ucc_cts"].clone()
        };
        assert_eq!(beside("^allreduce", "^bcast"), "^allreduce,bcast");
        assert_eq!(beside("^bcast", "^bcast"), "^bcast");
        assert_eq!(beside("allreduce, Bcast", "^bcast"), "allreduce");
        assert!(beside("bcast", "^bcast").starts_with("^allgather,") && beside("bcast", "^bcast").contains(",bcast,"));
        let pins = |value: &str| Settings::from([("coll_hcoll_priority".to_owned(), value.to_owned())]);
        assert_eq!(add_settings(&pins("90"), &pins("0")), pins("0"));
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
