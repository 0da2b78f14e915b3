//! Figures as they are shown by what knows no style sheets: documents, viewers and converters of pictures.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use crate::made_once::TUNED;
use crate::support::collrules;

/// A figure without its style sheet.
fn without_style(svg: &str) -> String {
    let mut plain = svg.to_owned();
    while let Some((before, rest)) = plain.split_once("<style>") {
        plain = before.to_owned() + rest.split_once("</style>").unwrap().1;
    }
    plain
}

/// The colours of a figure on white, by how many pixels have them.
fn colours(svg: &str) -> BTreeMap<[u8; 3], usize> {
    let mut plain = svg.to_owned();
    if !plain.contains("xmlns=") {
        plain = plain.replacen("<svg ", "<svg xmlns=\"http://www.w3.org/2000/svg\" ", 1);
    }
    let tree = Tree::from_str(&plain, &Options::default()).unwrap();
    let scale = 800.0 / tree.size().width();
    let mut picture = Pixmap::new(800, (tree.size().height() * scale).ceil() as u32).unwrap();
    picture.fill(resvg::tiny_skia::Color::WHITE);
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut picture.as_mut());
    let mut found = BTreeMap::new();
    for pixel in picture.pixels() {
        *found.entry([pixel.red(), pixel.green(), pixel.blue()]).or_default() += 1;
    }
    found
}

/// Fails unless a figure has colours, no black for lack of a colour, and no text without a colour; also with its style
/// sheet, of which viewers may know a part: lines of a pixel were lines of a hundredth where only their width was
/// known.
fn is_coloured(name: &str, svg: &str) {
    let found = colours(&without_style(svg));
    assert_eq!(found, colours(svg), "{name}: its style sheet is for browsers alone");
    let all: usize = found.values().sum();
    let black = found.get(&[0, 0, 0]).copied().unwrap_or(0);
    assert!(black * 1000 < all, "{name}: {black} of {all} pixels are black");
    // A map of pairs of which none is slow is grey.
    let white = found.get(&[255, 255, 255]).copied().unwrap_or(0);
    assert!((all - white - black) * 1000 > all && found.len() > 2, "{name}: {found:?}");
    let texts = svg.split("<text").skip(1).map(|text| text.split_once('>').unwrap().0);
    for text in texts {
        assert!(text.contains("fill=\"#"), "{name}: {text}");
    }
}

/// The figures of a page.
fn of_page(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    let figures = text.split("<svg class=\"plot\" viewBox").skip(1);
    figures
        .map(|rest| format!("<svg class=\"plot\" viewBox{}</svg>", rest.split_once("</svg>").unwrap().0))
        .filter(|svg| svg.contains("aria-label"))
        .collect()
}

/// All colours were variables of a style sheet, so that viewers showed black on black.
#[test]
#[ignore = "part of `make test-all`"]
fn every_kind_of_figure_has_colours_without_style_sheets() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    TUNED.at(&at("run"));
    let definition = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/studies/bcast-scatter.toml");
    collrules(&format!("study {definition} --simulate --out"), &at("study")).exits(0);
    collrules("guidelines --simulate --np 8 --ops scatter,allgather --sizes 1K,64K --out", &at("guidelines")).exits(9);
    collrules("model --simulate --np 4 --out", &at("model")).exits(0);
    collrules("irregular --simulate --ops gather --sizes 4K,8K --launches 2 --calls 7 --out", &at("irregular"))
        .exits(0);
    let mut kinds = 0;
    let tree = at("run").join("tree.svg");
    is_coloured("tree", &fs::read_to_string(tree).unwrap());
    for file in fs::read_dir(at("study")).unwrap().map(|entry| entry.unwrap().path()) {
        if file.extension().is_some_and(|end| end == "svg") {
            is_coloured(&file.display().to_string(), &fs::read_to_string(&file).unwrap());
            kinds += 1;
        }
    }
    assert!(kinds > 2, "{kinds} figures of the study");
    for (run, page) in [
        ("run", "report.html"),
        ("guidelines", "guidelines.html"),
        ("model", "model.html"),
        ("irregular", "irregular.html"),
    ] {
        let figures = of_page(&at(run).join(page));
        assert!(!figures.is_empty(), "{page} has no figures");
        for figure in &figures {
            is_coloured(page, figure);
        }
    }
}
