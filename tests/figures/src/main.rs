//! Figures as they are shown by what knows no style sheets: documents, viewers and converters of pictures.
//!
//! `collrules-figures FILE...` fails unless each figure of these pages and SVG files has colours without its style sheet.

use std::collections::BTreeMap;
use std::fs;
use std::process::ExitCode;

use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{Options, Tree};

fn main() -> ExitCode {
    let wrong: Vec<String> = std::env::args().skip(1).filter_map(|file| check(&file).err()).collect();
    wrong.iter().for_each(|why| eprintln!("{why}"));
    ExitCode::from(u8::from(!wrong.is_empty()))
}

fn check(file: &str) -> Result<(), String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let figures = if file.ends_with(".svg") { vec![text] } else { of_page(&text) };
    if figures.is_empty() {
        return Err(format!("{file} has no figures"));
    }
    figures.iter().try_for_each(|figure| is_coloured(figure).map_err(|why| format!("{file}: {why}")))
}

/// The figures of a page.
fn of_page(page: &str) -> Vec<String> {
    let figures = page.split("<svg class=\"plot\" viewBox").skip(1);
    figures
        .filter_map(|rest| Some(format!("<svg class=\"plot\" viewBox{}</svg>", rest.split_once("</svg>")?.0)))
        .filter(|svg| svg.contains("aria-label"))
        .collect()
}

/// Fails unless a figure has colours, no black for lack of a colour, and no text without a colour; also with its style
/// sheet, of which viewers may know a part: lines of a pixel were lines of a hundredth where only their width was
/// known.
fn is_coloured(svg: &str) -> Result<(), String> {
    let found = colours(&without_style(svg))?;
    if found != colours(svg)? {
        return Err("it looks different with its style sheet, which is for browsers alone".to_owned());
    }
    let all: usize = found.values().sum();
    let of = |colour: u8| found.get(&[colour; 3]).copied().unwrap_or(0);
    let (black, white) = (of(0), of(255));
    if black * 1000 >= all {
        return Err(format!("{black} of {all} pixels are black"));
    }
    // A map of pairs of which none is slow is grey.
    if (all - white - black) * 1000 <= all || found.len() <= 2 {
        return Err(format!("it has too few colours: {found:?}"));
    }
    let mut texts = svg.split("<text").skip(1).filter_map(|text| Some(text.split_once('>')?.0));
    texts.find(|text| !text.contains("fill=\"#")).map_or(Ok(()), |text| Err(format!("a text has no colour: {text}")))
}

/// A figure without its style sheet.
fn without_style(svg: &str) -> String {
    let mut plain = svg.to_owned();
    while let Some((start, end)) = plain.find("<style>").zip(plain.find("</style>")) {
        plain.replace_range(start..end + "</style>".len(), "");
    }
    plain
}

/// The colours of a figure on white, by how many pixels have them.
fn colours(svg: &str) -> Result<BTreeMap<[u8; 3], usize>, String> {
    let mut plain = svg.to_owned();
    if !plain.contains("xmlns=") {
        plain = plain.replacen("<svg ", "<svg xmlns=\"http://www.w3.org/2000/svg\" ", 1);
    }
    let tree = Tree::from_str(&plain, &Options::default()).map_err(|error| error.to_string())?;
    let scale = 800.0 / tree.size().width();
    let height = (tree.size().height() * scale).ceil() as u32;
    let mut picture = Pixmap::new(800, height).ok_or("it has no height")?;
    picture.fill(Color::WHITE);
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut picture.as_mut());
    let mut found = BTreeMap::new();
    for pixel in picture.pixels() {
        *found.entry([pixel.red(), pixel.green(), pixel.blue()]).or_default() += 1;
    }
    Ok(found)
}
