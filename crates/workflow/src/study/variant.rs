//! Variants of a study: the placement of ranks, the root, or the datatype.

use collrules_record::options::{Jobs, SystemOptions};
use collrules_record::units::Ranks;
use collrules_record::{Arguments, DataType, Layout};
use collrules_report::study::Varying;
use collrules_rules::Collective;

/// A variant of the calls of a study, measured in a campaign of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Variant {
    /// The ranks spread evenly over this number of nodes.
    Nodes(u32),
    /// The ranks as mpirun maps them with this `--map-by`.
    MapBy(&'static str),
    /// This rank as the root.
    Root(u32),
    /// Reductions of this datatype.
    Data(DataType),
}

/// The variants of a definition, as the user wrote them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named<'a> {
    /// Numbers of nodes.
    pub(super) nodes: &'a [u32],
    /// Mappings of ranks, such as `core`.
    pub(super) map_by: &'a [String],
    /// Roots.
    pub(super) roots: &'a [u32],
    /// Datatypes.
    pub(super) data: &'a [String],
}

/// Mappings of ranks in Open MPI.
const MAPPINGS: [&str; 10] =
    ["slot", "hwthread", "core", "l1cache", "l2cache", "l3cache", "numa", "socket", "package", "node"];

impl Named<'_> {
    /// The variants, which are of one kind and fit these collectives, and the arguments of all calls: next to variants of
    /// another kind, a single datatype is no variant.
    pub(super) fn read(
        self,
        mut collectives: impl Iterator<Item = Collective>,
    ) -> Result<(Vec<Variant>, Arguments), String> {
        let Self { nodes, map_by, roots, mut data } = self;
        let unfit = collectives
            .find(|it| (!roots.is_empty() && !it.is_rooted()) || (!data.is_empty() && !it.reduces()))
            .map(|collective| match data.is_empty() {
                true => format!("roots: {collective} has no root"),
                false => format!("data: {collective} reduces nothing, and has no datatype of its own"),
            });
        unfit.map_or(Ok(()), Err)?;
        let datatype = |text: &String| text.parse::<DataType>().map_err(|why| format!("data: {why}"));
        let all = nodes.len() + map_by.len() + roots.len() + data.len();
        let mut arguments = Arguments::default();
        if let ([text], true) = (data, all > 1) {
            (arguments.data, data) = (datatype(text)?, &[]);
        }
        let named = [
            ("nodes", nodes.is_empty()),
            ("map-by", map_by.is_empty()),
            ("roots", roots.is_empty()),
            ("data", data.is_empty()),
        ];
        let named: Vec<&str> = named.into_iter().filter(|(_, is_empty)| !is_empty).map(|(key, _)| key).collect();
        if let [one, other, ..] = named[..] {
            return Err(format!(
                "{one} and {other}: a study varies one thing in addition to algorithms; name one of them"
            ));
        }
        if nodes.contains(&0) {
            return Err("nodes: 0 nodes have no ranks".to_owned());
        }
        let mapping = |text: &String| {
            let known = MAPPINGS.into_iter().find(|known| known == text);
            let known = known.ok_or_else(|| format!("map-by: `{text}` is none of {}", MAPPINGS.join(", ")))?;
            Ok(Variant::MapBy(known))
        };
        let datatype = |text: &String| datatype(text).map(Variant::Data);
        let mut variants: Vec<Variant> = nodes.iter().map(|nodes| Variant::Nodes(*nodes)).collect();
        variants.extend(map_by.iter().map(mapping).collect::<Result<Vec<_>, String>>()?);
        variants.extend(roots.iter().map(|root| Variant::Root(*root)));
        variants.extend(data.iter().map(datatype).collect::<Result<Vec<_>, String>>()?);
        let twice = variants.iter().enumerate().find(|(at, variant)| variants[..*at].contains(variant));
        twice.map_or(Ok(()), |(_, variant)| Err(format!("{} is named twice", variant.name())))?;
        Ok((variants, arguments))
    }
}

impl Variant {
    /// Name in words.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Nodes(1) => "1 node".to_owned(),
            Self::Nodes(nodes) => format!("{nodes} nodes"),
            Self::MapBy(by) => format!("mapped by {by}"),
            Self::Root(root) => format!("root {root}"),
            Self::Data(data) => data.to_string(),
        }
    }

    /// Like [`Self::name`], as a part of a sentence about ranks.
    pub(super) fn phrase(&self) -> String {
        match self {
            Self::Nodes(_) => format!("on {}", self.name()),
            Self::MapBy(_) => self.name(),
            Self::Root(_) | Self::Data(_) => format!("with {}", self.name()),
        }
    }

    /// Directory of the variant's study.
    pub(super) fn directory(&self) -> String {
        match self {
            Self::Nodes(nodes) => format!("nodes-{nodes}"),
            Self::MapBy(by) => format!("map-by-{by}"),
            Self::Root(root) => format!("root-{root}"),
            Self::Data(data) => format!("data-{data}"),
        }
    }

    /// Returns the property in which the variants differ.
    pub(super) fn varying(&self) -> Varying {
        match self {
            Self::Nodes(_) | Self::MapBy(_) => Varying::Placement,
            Self::Root(_) => Varying::Root,
            Self::Data(_) => Varying::Data,
        }
    }

    /// Refuses numbers of ranks with which it is impossible on any hosts.
    pub(super) fn refuse(&self, ranks: Ranks) -> Result<(), String> {
        match self {
            Self::Nodes(nodes) if !ranks.0.is_multiple_of(*nodes) => {
                Err(format!("{ranks} ranks cannot be spread evenly over {nodes} nodes"))
            }
            Self::Root(root) if *root >= ranks.0 => Err(format!("there is no rank {root} among {ranks} ranks")),
            Self::Nodes(_) | Self::MapBy(_) | Self::Root(_) | Self::Data(_) => Ok(()),
        }
    }

    /// Returns the reason why hosts with this number of slots each cannot provide it; none if they can.
    pub(super) fn obstacle(&self, ranks: Ranks, hosts: &[u32], system: &Jobs) -> Option<String> {
        match self {
            Self::Nodes(_) | Self::MapBy(_) if system.is_model() => {
                Some("the ranks of a model cannot be moved".to_owned())
            }
            Self::Nodes(nodes) if *nodes as usize > hosts.len() => Some(format!("there are {} hosts", hosts.len())),
            Self::Nodes(nodes) => {
                let each = ranks.0 / nodes;
                let wide = hosts.iter().filter(|slots| **slots >= each).count();
                let remedy = match system {
                    Jobs::Simulation(_) => {
                        format!("; --simulated-slots {} --simulated-ppn {each} has them", nodes * each)
                    }
                    Jobs::Mpi(_) => String::new(),
                };
                (wide < *nodes as usize)
                    .then(|| format!("{each} slots on each of {nodes} hosts are needed, and {wide} have them{remedy}"))
            }
            Self::MapBy(_) | Self::Root(_) | Self::Data(_) => None,
        }
    }

    /// Root and datatype of its calls, of which all calls of the study have these.
    pub(super) fn arguments(&self, all: Arguments) -> Arguments {
        match self {
            Self::Root(root) => Arguments { root: *root, ..all },
            Self::Data(data) => Arguments { data: *data, ..all },
            Self::Nodes(_) | Self::MapBy(_) => all,
        }
    }

    /// Places the ranks of the variant.
    pub(super) fn place(&self, system: &mut SystemOptions, ranks: Ranks) {
        match (&mut system.jobs, self) {
            (Jobs::Mpi(launching), Self::Nodes(nodes)) => {
                add(&mut launching.arguments, &format!("--map-by ppr:{}:node", ranks.0 / nodes));
            }
            (Jobs::Mpi(launching), Self::MapBy(by)) => add(&mut launching.arguments, &format!("--map-by {by}")),
            (Jobs::Simulation(simulated), Self::Nodes(nodes)) => {
                (simulated.slots, simulated.each) = (ranks, Ranks(ranks.0 / nodes));
            }
            // Like mpirun: node after node, or the slots of one after the other.
            (Jobs::Simulation(_), Self::MapBy("node")) => system.layout = Layout::Spread,
            (Jobs::Simulation(_), Self::MapBy(_)) => system.layout = Layout::Block,
            (_, Self::Root(_) | Self::Data(_)) => {}
        }
    }
}

fn add(arguments: &mut String, more: &str) {
    *arguments = format!("{arguments} {more}").trim().to_owned();
}
