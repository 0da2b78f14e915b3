//! Crates depend on those below them: the core not on reports, and nothing on instruments. Files of a crate form no circles.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Crates that tune, and those that they are built from.
const CORE: [&str; 9] = ["batch", "import", "profile", "program", "record", "rules", "runner", "tuner", "worker"];

/// Crates above the core, and those that they may use besides it. The last has the instruments.
const ABOVE: [(&str, &[&str]); 4] =
    [("model", &[]), ("report", &[]), ("workflow", &["model", "report"]), ("lab", &["model", "report", "workflow"])];

/// The crates of the workspace that a crate is built from. Those that only its tests use, which compare remarks in the
/// words of reports, do not count.
fn dependencies(name: &str) -> Vec<String> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates").join(name).join("Cargo.toml");
    let text = fs::read_to_string(manifest).unwrap();
    let lines = text.lines().skip_while(|line| *line != "[dependencies]").skip(1);
    let lines = lines.take_while(|line| !line.starts_with('['));
    lines.filter_map(|line| line.strip_prefix("collrules-")?.split([' ', '.']).next().map(str::to_owned)).collect()
}

#[test]
fn no_crate_depends_on_those_above_it() {
    let core = CORE.map(|name| (name, &[][..]));
    for (name, others) in core.into_iter().chain(ABOVE) {
        for other in dependencies(name) {
            assert!(CORE.contains(&&*other) || others.contains(&&*other), "{name} depends on {other}");
        }
    }
    assert!(dependencies("tuner").contains(&"record".to_owned()), "manifests are understood");
}

/// Words and signs of a source text, without comments and the tests at its end.
fn tokens(text: &str) -> Vec<String> {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let mut tokens = Vec::new();
    for line in text.lines() {
        let mut rest = line.split("//").next().unwrap_or_default();
        while let Some(first) = rest.chars().next() {
            let is_word = |sign: char| sign.is_alphanumeric() || sign == '_';
            let word = rest.find(|sign| !is_word(sign)).unwrap_or(rest.len());
            let end = if word > 0 {
                word
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            let (token, after) = rest.split_at(end);
            if !token.trim().is_empty() {
                tokens.push(token.to_owned());
            }
            rest = after;
        }
    }
    tokens
}

/// Reads a path, or a tree of paths with braces, from its first word on; returns the place behind it.
fn paths(tokens: &[String], mut at: usize, before: &[String], found: &mut Vec<Vec<String>>) -> usize {
    let mut path = before.to_vec();
    loop {
        match tokens.get(at).map(String::as_str) {
            Some("{") => {
                at += 1;
                while tokens.get(at).is_some_and(|token| token != "}") {
                    at = paths(tokens, at, &path, found);
                    while tokens.get(at).is_some_and(|token| token != "," && token != "}") {
                        at += 1;
                    }
                    at += usize::from(tokens.get(at).is_some_and(|token| token == ","));
                }
                return at + 1;
            }
            Some(word) => path.push(word.to_owned()),
            None => return at,
        }
        at += 1;
        if tokens.get(at).is_none_or(|token| token != "::") {
            found.push(path);
            return at;
        }
        at += 1;
    }
}

type Module = Vec<String>;

/// The modules of a crate with the others that they use; a name that a module only passes on counts for its origin.
fn uses(sources: &BTreeMap<Module, String>) -> BTreeMap<Module, BTreeSet<Module>> {
    let (mut passed_on, mut used) = (BTreeMap::new(), Vec::new());
    for (module, text) in sources {
        let tokens = tokens(text);
        let mut imported: BTreeMap<String, Module> = BTreeMap::new();
        let mut at = 0;
        while at < tokens.len() {
            let is_part = sources.contains_key(&[&module[..], &tokens[at..=at]].concat());
            let is_begin =
                ["crate", "super", "self"].contains(&&*tokens[at]) || is_part || imported.contains_key(&tokens[at]);
            let is_inner = at > 0 && ["::", "."].contains(&&*tokens[at - 1]);
            if !is_begin || is_inner || tokens.get(at + 1).is_none_or(|token| token != "::") {
                at += 1;
                continue;
            }
            let is_use = at > 0 && tokens[at - 1] == "use";
            let passes_on = at > 1 && tokens[at - 1] == "use" && ["pub", ")"].contains(&&*tokens[at - 2]);
            let mut found = Vec::new();
            at = paths(&tokens, at, &[], &mut found).max(at + 1);
            for path in found {
                let supers = path.iter().take_while(|word| *word == "super").count();
                let base = match imported.get(&path[0]) {
                    Some(origin) => &origin[..origin.len() - 1],
                    None if path[0] == "crate" => &[],
                    None => &module[..module.len().saturating_sub(supers)],
                };
                let words = path.into_iter().filter(|word| !["crate", "super", "self"].contains(&&**word));
                let path: Module = base.iter().cloned().chain(words).collect();
                if is_use {
                    imported.extend(path.last().map(|name| (name.clone(), path.clone())));
                }
                match path.last().cloned().filter(|_| passes_on) {
                    Some(name) => drop(passed_on.insert([&module[..], &[name]].concat(), path)),
                    None => used.push((module.clone(), path)),
                }
            }
        }
    }
    let home = |mut path: Module| loop {
        let depth = (0..=path.len()).rev().find(|depth| sources.contains_key(&path[..*depth])).unwrap_or(0);
        let name = path[..path.len().min(depth + 1)].to_vec();
        match passed_on.get(&name).filter(|origin| **origin != name) {
            Some(origin) => path = [&origin[..], &path[name.len()..]].concat(),
            None => break path[..depth].to_vec(),
        }
    };
    let mut uses: BTreeMap<Module, BTreeSet<Module>> = sources.keys().map(|it| (it.clone(), BTreeSet::new())).collect();
    for (module, path) in used {
        let other = home(path);
        // A file may use its own parts, and they the file.
        if !other.starts_with(&module) {
            uses.entry(module).or_default().insert(other);
        }
    }
    uses
}

/// Modules on circles, and those that use them: what is left if all that use no others go, again and again.
fn circles(mut uses: BTreeMap<Module, BTreeSet<Module>>) -> Vec<String> {
    while let Some(free) = uses.iter().find(|(_, others)| others.is_empty()).map(|(module, _)| module.clone()) {
        uses.remove(&free);
        for others in uses.values_mut() {
            others.remove(&free);
        }
    }
    uses.keys().map(|module| module.join("::")).collect()
}

/// The files below a directory, by the paths of their modules.
fn sources(directory: &Path, module: &[String], found: &mut BTreeMap<Module, String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let below = [module, std::slice::from_ref(&name)].concat();
        if path.is_dir() {
            sources(&path, &below, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") && name != "tests" {
            let is_whole = ["lib", "main", "mod"].contains(&&*name);
            found.insert(if is_whole { module.to_vec() } else { below }, fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn no_two_files_of_a_crate_use_each_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path());
    for path in crates.chain([root.to_owned()]) {
        let mut files = BTreeMap::new();
        sources(&path.join("src"), &[], &mut files);
        let circles = circles(uses(&files));
        assert!(circles.is_empty(), "{}: {circles:?}", path.display());
    }
}

#[test]
fn circles_are_found_through_names_that_are_passed_on() {
    let file = |module: &str, text: &str| (module.split("::").map(str::to_owned).collect(), text.to_owned());
    let root = (Vec::new(), "mod a; mod b;\npub use a::{deep::First, Third as Other};".to_owned());
    let one_way = [
        root,
        file("a", "mod deep;\nuse deep::First;"),
        file("a::deep", "use super::Third; // crate::b::Second"),
        file("b", "fn f() { crate::First::new() }\n#[cfg(test)]\nmod tests { use crate::c; }"),
        file("c", "use crate::{b::{self, Second}, First};"),
    ];
    assert_eq!(circles(uses(&one_way.clone().into())), [""; 0]);
    for back in ["fn f(it: crate::c::Third) {}", "use crate::c;\nfn f() { c::deep::go(c::Third) }"] {
        let mut both_ways = BTreeMap::from(one_way.clone());
        both_ways.extend([file("a::deep", back)]);
        assert_eq!(circles(uses(&both_ways)), ["a::deep", "b", "c"], "{back}");
    }
}
