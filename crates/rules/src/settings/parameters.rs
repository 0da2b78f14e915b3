//! The MCA parameters of an installation, from the text of `ompi_info --all --parsable`, and the variables of UCX, from that
//! of `ucx_info -c`.
//!
//! Lines of the former have the form `mca:FRAMEWORK:COMPONENT:param:NAME:FIELD:VALUE`. `ompi_info` sees the environment
//! and the parameter files, but no options of mpirun. `read-only` means that a value cannot change in a running job.

use std::collections::{BTreeMap, BTreeSet};

/// An MCA parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameter {
    /// The current value.
    pub value: String,
    /// Source of the value: `default`, `environment`, or a file with its line.
    pub source: String,
    /// The type, as Open MPI names it: `int`, `unsigned_int`, `size_t`, `bool`, `string` and so on.
    pub kind: String,
    /// The values that it can have, by name; none if it is not enumerated.
    pub choices: Vec<String>,
}

impl Parameter {
    /// Returns the source of the value unless it is the default.
    pub fn set_by(&self) -> Option<&str> {
        (!self.source.is_empty() && self.source != "default").then_some(self.source.as_str())
    }
}

/// All parameters of an installation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    by_name: BTreeMap<String, Parameter>,
    /// The components of each framework.
    components: BTreeMap<String, BTreeSet<String>>,
    /// The variables of UCX, with their current values.
    variables: BTreeMap<String, String>,
}

impl Parameters {
    /// Reads the parameters in the text of `ompi_info --all --parsable`, and the variables in that of `ucx_info -c`.
    pub fn read(text: &str, ucx: &str) -> Self {
        let mut found = Self::default();
        let assigned = ucx.lines().filter_map(|line| line.trim().split_once('='));
        let ours = assigned.filter(|(name, _)| name.starts_with("UCX_"));
        found.variables = ours.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        for line in text.lines() {
            let Some(line) = line.strip_prefix("mca:") else { continue };
            let mut fields = line.splitn(6, ':');
            let (framework, component) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
            match (fields.next(), fields.next(), fields.next(), fields.next()) {
                (Some("version"), ..) => {
                    let components = found.components.entry(framework.to_owned()).or_default();
                    components.insert(component.to_owned());
                }
                (Some("param"), Some(name), Some(field), Some(value)) => {
                    let parameter = found.by_name.entry(name.to_owned()).or_default();
                    match field {
                        // `ompi_info` quotes values with a colon.
                        "value" => {
                            let bare = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
                            bare.unwrap_or(value).clone_into(&mut parameter.value);
                        }
                        "source" => value.clone_into(&mut parameter.source),
                        "type" => value.clone_into(&mut parameter.kind),
                        "enumerator" => {
                            // `value:NUMBER:NAME`
                            let name = value.splitn(3, ':').nth(2);
                            parameter.choices.extend(name.map(str::to_owned));
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        found
    }

    /// Returns true if there are no parameters.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// The parameter of this name.
    pub fn get(&self, name: &str) -> Option<&Parameter> {
        self.by_name.get(name)
    }

    /// Records that something other than the environment and files has set a parameter.
    pub fn set(&mut self, name: &str, value: &str, source: &str) {
        if let Some(parameter) = self.by_name.get_mut(name) {
            value.clone_into(&mut parameter.value);
            source.clone_into(&mut parameter.source);
        }
    }

    /// The value of a variable of UCX; none if there is no such variable.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// The names of all parameters.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// The components of a framework, without its base.
    pub fn components(&self, framework: &str) -> impl Iterator<Item = &str> {
        self.components.get(framework).into_iter().flatten().map(String::as_str).filter(|name| *name != "base")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "mca:pml:ob1:version:\"component:4.1.4\"\n\
        mca:mca:base:param:mca_component_path:value:\"/usr/lib:/opt/components\"\n\
        mca:pml:ucx:version:\"component:4.1.4\"\n\
        mca:pml:base:param:pml:value:^ucx\n\
        mca:pml:base:param:pml:source:file (/etc/openmpi/openmpi-mca-params.conf:69)\n\
        mca:pml:base:param:pml:type:string\n\
        mca:btl:vader:param:btl_vader_single_copy_mechanism:value:cma\n\
        mca:btl:vader:param:btl_vader_single_copy_mechanism:source:default\n\
        mca:btl:vader:param:btl_vader_single_copy_mechanism:type:int\n\
        mca:btl:vader:param:btl_vader_single_copy_mechanism:enumerator:value:1:cma\n\
        mca:btl:vader:param:btl_vader_single_copy_mechanism:enumerator:value:3:none\n\
        mca:btl:vader:param:btl_vader_single_copy_mechanism:help:Single copy: which\n\
        path:prefix:/usr\nmca:\nmca:a:b:param\nmca:a:b:param:c\n";

    #[test]
    fn values_types_sources_and_choices_are_read() {
        let found = Parameters::read(TEXT, "#\n# UCX\nUCX_RNDV_THRESH=auto\nHOME=/x\n");
        assert_eq!((found.variable("UCX_RNDV_THRESH"), found.variable("HOME")), (Some("auto"), None));
        let copies = found.get("btl_vader_single_copy_mechanism").expect("is listed");
        assert_eq!((copies.value.as_str(), copies.kind.as_str(), copies.set_by()), ("cma", "int", None));
        assert_eq!(copies.choices, ["cma", "none"]);
        let pml = found.get("pml").expect("is listed");
        assert_eq!(pml.set_by(), Some("file (/etc/openmpi/openmpi-mca-params.conf:69)"));
        assert_eq!(found.components("pml").collect::<Vec<_>>(), ["ob1", "ucx"]);
        assert_eq!((found.names().count(), found.components("smsc").count()), (3, 0));
        let path = found.get("mca_component_path").map(|path| path.value.as_str());
        assert_eq!(path, Some("/usr/lib:/opt/components"), "without quotes");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "(mca:|param:|value:|[a-z:\n]){0,60}") {
            let _ = Parameters::read(&text, &text);
        }
    }
}
