//! Variants of a study: the placement of ranks, the root, or the datatype.

use collrules_record::options::{Jobs, SystemOptions};
use collrules_record::units::Ranks;
use collrules_record::{Arguments, Layout};
use collrules_rules::words::counted;

use crate::study::definition::Definition;

/// A variant of the calls of a study, measured in a campaign of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// A noun for the property in which the variants differ.
    pub(super) noun: &'static str,
    /// Name in words.
    pub(super) name: String,
    /// Directory of the variant's study.
    pub(super) directory: String,
    /// Root and datatype of its calls.
    pub(super) arguments: Arguments,
    placed: Placed,
}

/// Places of the ranks of a variant.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Placed {
    /// As mpirun usually places them.
    Usual,
    /// Spread evenly over this number of nodes.
    Nodes(u32),
    /// As mpirun maps them with this `--map-by`.
    By(String),
}

/// Mappings of ranks in Open MPI.
const MAPPINGS: [&str; 10] =
    ["slot", "hwthread", "core", "l1cache", "l2cache", "l3cache", "numa", "socket", "package", "node"];

/// The variants of a definition, which are of one kind and fit its collectives, and the arguments of all calls: next to
/// variants of another kind, a single datatype is no variant.
pub(super) fn variants(definition: &Definition) -> Result<(Vec<Variant>, Arguments), String> {
    let Definition { nodes, map_by, roots, data, .. } = definition;
    for collective in definition.algorithms.keys() {
        if !data.is_empty() && !collective.reduces() {
            return Err(format!("data: {collective} is no reduction, and only these have a datatype"));
        }
        if !roots.is_empty() && !collective.is_rooted() {
            return Err(format!("roots: {collective} has no root"));
        }
    }
    if let Some(by) = map_by.iter().find(|by| !MAPPINGS.contains(&by.as_str())) {
        return Err(format!("map-by: `{by}` is none of {}", MAPPINGS.join(", ")));
    }
    let (mut usual, mut data) = (Arguments::default(), &data[..]);
    if let ([single], true) = (data, nodes.len() + map_by.len() + roots.len() > 0) {
        (usual.data, data) = (*single, &[]);
    }
    let lists = [("nodes", nodes.len()), ("map-by", map_by.len()), ("roots", roots.len()), ("data", data.len())];
    let named: Vec<&str> = lists.into_iter().filter(|(_, count)| *count > 0).map(|(key, _)| key).collect();
    if let [one, other, ..] = named[..] {
        return Err(format!("{one} and {other}: a study varies one thing in addition to algorithms; name one of them"));
    }
    let variant = |noun, name, directory, arguments, placed| Variant { noun, name, directory, arguments, placed };
    let placed = |name, directory, placed| variant("placement", name, directory, usual, placed);
    let nodes = nodes
        .iter()
        .map(|nodes| placed(counted(*nodes as usize, "node"), format!("nodes-{nodes}"), Placed::Nodes(*nodes)));
    let mapped =
        map_by.iter().map(|by| placed(format!("mapped by {by}"), format!("map-by-{by}"), Placed::By(by.clone())));
    let rooted = roots.iter().map(|root| {
        let arguments = Arguments { root: *root, ..usual };
        variant("root", format!("root {root}"), format!("root-{root}"), arguments, Placed::Usual)
    });
    let typed = data.iter().map(|data| {
        let arguments = Arguments { data: *data, ..usual };
        variant("datatype", data.to_string(), format!("data-{data}"), arguments, Placed::Usual)
    });
    let variants: Vec<Variant> = nodes.chain(mapped).chain(rooted).chain(typed).collect();
    let twice = variants.iter().enumerate().find(|(place, variant)| variants[..*place].contains(variant));
    twice.map_or(Ok(()), |(_, variant)| Err(format!("{} is named twice", variant.name)))?;
    Ok((variants, usual))
}

impl Variant {
    /// Refuses numbers of ranks with which it is impossible on any hosts.
    pub(super) fn refuse(&self, ranks: Ranks) -> Result<(), String> {
        match &self.placed {
            Placed::Nodes(nodes) if !ranks.0.is_multiple_of(*nodes) => {
                Err(format!("{ranks} ranks cannot be spread evenly over {nodes} nodes"))
            }
            _ if self.arguments.root >= ranks.0 => {
                Err(format!("there is no rank {} among {ranks} ranks", self.arguments.root))
            }
            _ => Ok(()),
        }
    }

    /// Returns the reason why hosts with this number of slots each cannot provide it; none if they can.
    pub(super) fn obstacle(&self, ranks: Ranks, hosts: &[u32], system: &Jobs) -> Option<String> {
        if self.placed != Placed::Usual && system.is_model() {
            return Some("the ranks of a model cannot be moved".to_owned());
        }
        let Placed::Nodes(nodes) = self.placed else { return None };
        let each = ranks.0 / nodes;
        let wide = hosts.iter().filter(|slots| **slots >= each).count();
        let remedy = match system {
            Jobs::Simulation(_) => format!("; --simulated-slots {} --simulated-ppn {each} has them", nodes * each),
            Jobs::Mpi(_) => String::new(),
        };
        (wide < nodes as usize)
            .then(|| format!("{each} slots on each of {nodes} hosts are needed, and {wide} have them{remedy}"))
    }

    /// Places the ranks of the variant.
    pub(super) fn place(&self, system: &mut SystemOptions, ranks: Ranks) {
        let by = match &self.placed {
            Placed::Usual => return,
            Placed::Nodes(nodes) => format!("ppr:{}:node", ranks.0 / nodes),
            Placed::By(by) => by.clone(),
        };
        match (&mut system.jobs, &self.placed) {
            (Jobs::Mpi(launching), _) => {
                launching.arguments = format!("{} --map-by {by}", launching.arguments).trim().to_owned();
            }
            (Jobs::Simulation(simulated), Placed::Nodes(nodes)) => {
                (simulated.slots, simulated.each) = (ranks, Ranks(ranks.0 / nodes));
            }
            // Like mpirun: node after node, or the slots of one after the other.
            (Jobs::Simulation(_), _) => system.layout = if by == "node" { Layout::Spread } else { Layout::Block },
        }
    }
}
