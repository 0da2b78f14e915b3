//! Instruments as their users run them: exit codes, files, pages of the sources, and the header of `irregular`. `crates/lab/tests` has
//! what they find.

use std::fs;
use std::path::Path;

use crate::session::Session;
use crate::support::{Ran, bounded, data};

/// Exit codes tell violations, uneven machines and refusals apart; a run is resumed by its own command.
#[test]
fn exit_codes_of_instruments() {
    let session = Session::new();
    session.copy(&data("stalling-machine.json"), "even.json");
    let mut machine: serde_json::Value = serde_json::from_slice(&fs::read(session.path("even.json")).unwrap()).unwrap();
    let factor = serde_json::json!({ "point": 2.0, "low": 1.9, "high": 2.1, "level": 0.95, "samples": 6 });
    machine["slow"]["nodes"] = serde_json::json!([{ "rank": 3, "host": null, "bytes": 65536, "factor": factor }]);
    session.write("uneven.json", machine.to_string());
    session.write("study.toml", "title = 'T'\nquestion = 'Q'\nnp = [4]\n[algorithms]\nbarrier = ['tree']\n");
    session.write("control.toml", "title = '\u{1b}[2J'\n");
    let check = "lab guidelines --simulate=planted --ops bcast --np 4 --sizes 4,256K --budget none --launches 2";
    for (command, code) in [
        (format!("{check} --out check").as_str(), 9),
        ("lab guidelines check --compare check --out same", 0),
        ("lab guidelines check --out same", 6),
        ("lab guidelines --only split:8 --ops bcast --sizes 4 --simulate --out none", 2),
        ("lab guidelines --ops brodcast", 2),
        ("lab irregular --resume check", 2),
        ("lab irregular --simulate --ops gather --sizes 4K --launches 2 --calls 7 --out calls", 0),
        ("lab irregular nowhere", 3),
        ("lab model even.json --out model", 0),
        ("lab model uneven.json", 10),
        ("lab model predict model --op bcast --algorithm 1 --np 1 --size 1K", 0),
        ("lab model predict model --op bcast --algorithm nonesuch --np 4 --size 1K", 2),
        ("lab study study.toml --simulate --budget none --out study", 0),
        ("lab study study.toml --run study --launches 3", 2),
        ("lab study study.toml --simulate --np 64 --out none", 4),
        ("tune --simulate --simulated-model even.json --ops bcast --also-layout one-per-node --out none", 2),
        ("lab study control.toml --simulate --out none", 3),
    ] {
        let ran = Ran::from(session.command(command).output().unwrap()).exits(code);
        assert!(!ran.stderr.contains('\u{1b}'), "{}", ran.stderr);
    }
    for (directory, files) in [
        ("check", &["guidelines.json", "guidelines.md", "guidelines.html", "guidelines.csv"][..]),
        ("calls", &["irregular.json", "irregular.md", "irregular.html"]),
        ("model", &["model.json", "model.md", "model.html"]),
        ("study", &["study.json", "README.md", "times.csv"]),
    ] {
        assert!(files.iter().all(|file| session.path(directory).join(file).is_file()), "{directory}");
    }
    assert!(!session.path("none").exists());
}

/// The pages in examples/studies are of this build: `scripts/make-studies` makes them.
#[test]
#[ignore = "part of `make test-all`"]
fn pages_of_examples_are_of_this_build() {
    let (root, scratch) = (Path::new(env!("CARGO_MANIFEST_DIR")), tempfile::tempdir().unwrap());
    for (name, options) in [
        ("bcast-scatter", "--run tests/data/epyc-two-nodes-osu.csv --release 4.1"),
        ("bcast-barrier", "--simulate --budget none"),
        ("building-blocks", "--simulate --budget none --simulated-slots 32 --simulated-ppn 4"),
    ] {
        let (definition, out) = (format!("examples/studies/{name}.toml"), scratch.path().join(name));
        let mut command = bounded();
        command
            .current_dir(root)
            .args(["lab", "study", &definition])
            .args(options.split_whitespace())
            .arg("--out")
            .arg(&out);
        Ran::from(command.output().unwrap()).exits(0);
        // The command names its directory.
        let page = |directory: &Path| {
            let text = fs::read_to_string(directory.join("README.md")).unwrap();
            text.lines().filter(|line| !line.starts_with("collrules lab study")).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(page(&out), page(&root.join("examples/studies").join(name)), "run scripts/make-studies");
    }
}

/// Every byte of gathers and scatters in pieces arrives, for sizes that do not divide.
#[cfg(feature = "mpi")]
#[test]
fn gathers_and_scatters_in_pieces_move_every_byte() {
    use std::process::Command;

    use crate::support::{prepare, skip, under_each_release};

    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/hmpi/check.c");
        // It is a header for C++ too, and silent where a program uses one of its functions alone.
        for (compiler, name) in [("mpicc", "one.c"), ("mpicxx", "one.cc")] {
            let one = scratch.path().join(name);
            let header = source.with_file_name("hmpi.h");
            fs::write(&one, format!("#include \"{}\"\nint main() {{ return 0; }}\n", header.display())).unwrap();
            let mut compile = Command::new(mpi.compiler(compiler));
            // Open MPI's own bindings for C++ have warnings.
            compile.args(["-DOMPI_SKIP_MPICXX", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-c", "-o"]);
            compile.arg(scratch.path().join("one.o")).arg(&one);
            if let Ok(compiled) = compile.output() {
                Ran::from(compiled).exits(0);
            }
        }
        // With the sizes that were measured, and with odd ones.
        for sizes in ["-DMEASURED", "-DODD"] {
            let program = scratch.path().join(format!("check{sizes}"));
            let mut compile = Command::new(mpi.compiler("mpicc"));
            compile.args(["-Wall", "-Wextra", "-Werror", "-O1", sizes, "-o"]).arg(&program).arg(&source);
            let Ok(compiled) = compile.output() else { return skip("no mpicc that compiles the example") };
            Ran::from(compiled).exits(0);
            for ranks in ["1", "3"] {
                let mut command = Command::new(&mpi.mpirun);
                prepare(&mut command);
                command.args(["--oversubscribe", "-np", ranks]).arg(&program);
                Ran::from(command.output().unwrap()).exits(0).says("0 bytes are wrong");
            }
        }
    });
}
