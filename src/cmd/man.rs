//! `collrules man`: manual pages, from the definitions that parse the command line.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man as Page;

use crate::args::{Args, Man};
use crate::failure::Failure;

pub(crate) fn run(args: &Man) -> Result<(), Failure> {
    let pages = pages();
    if let Some(directory) = &args.out {
        return write_all(directory, &pages);
    }
    let wanted = args.command.as_ref().map_or("collrules".to_owned(), |name| format!("collrules-{name}"));
    let Some(page) = pages.iter().find(|page| page.get_name() == wanted) else {
        let names: Vec<&str> = pages.iter().filter_map(|page| page.get_name().strip_prefix("collrules-")).collect();
        let wanted = args.command.as_deref().unwrap_or_default();
        return Err(Failure::usage(format!("`{wanted}` is no command; there are {}", names.join(", "))));
    };
    let text = rendered(page).map_err(Failure::Stdout)?;
    io::stdout().lock().write_all(&text).map_err(Failure::Stdout)
}

/// The program and its commands, each named as its page: `collrules`, `collrules-tune`, ...
fn pages() -> Vec<Command> {
    let mut whole = Args::command();
    whole.build();
    let of_commands = whole.get_subcommands().filter(|command| command.get_name() != "help");
    let of_commands = of_commands.map(|command| {
        let page = format!("collrules-{}", command.get_name());
        let synopsis = command.get_bin_name().unwrap_or_default().to_owned();
        command.clone().display_name(&page).name(page).bin_name(synopsis).version(env!("CARGO_PKG_VERSION"))
    });
    let of_commands: Vec<Command> = of_commands.collect();
    std::iter::once(whole).chain(of_commands).collect()
}

fn rendered(page: &Command) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    Page::new(page.clone())
        .manual("User Commands")
        .source(concat!("collrules ", env!("CARGO_PKG_VERSION")))
        .render(&mut text)?;
    Ok(text)
}

fn write_all(directory: &Path, pages: &[Command]) -> Result<(), Failure> {
    fs::create_dir_all(directory).map_err(|cause| Failure::write(directory, cause))?;
    for page in pages {
        let path = directory.join(format!("{}.1", page.get_name()));
        rendered(page).and_then(|text| fs::write(&path, text)).map_err(|cause| Failure::write(&path, cause))?;
    }
    Ok(())
}
