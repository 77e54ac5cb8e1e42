//! Colours and patterns.
//!
//! Of the three kinds that meet most often, kernels are darkest, copies up are in the middle and
//! copies down are lightest; on a dark page it is the other way round. So they stay apart in
//! greyscale and for those who see colours differently, and are plain, as the host's calls are.
//! Time that the host is blocked is hatched. Rare kinds, whose lightness is another's, have a
//! pattern.

use crate::draw::Mark;

/// Whether the page under a drawing is light or dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Appearance {
    /// Dark text on a light page.
    Light,
    /// Light text on a dark page.
    Dark,
}

/// The colours of a mark: of its bar, of pattern and outline on it, and of letters.
struct Paint {
    fill: &'static str,
    ink: &'static str,
    text: &'static str,
}

fn paint(mark: Mark, appearance: Appearance) -> Paint {
    use Appearance::{Dark, Light};
    let (fill, ink, text) = match (mark, appearance) {
        (Mark::Kernel, Light) => ("#1f4f94", "#12315f", "#ffffff"),
        (Mark::Kernel, Dark) => ("#8fbcff", "#d3e5ff", "#0b1f3a"),
        (Mark::HostToDevice, Light) => ("#f0a63c", "#8f5500", "#2b1800"),
        (Mark::HostToDevice, Dark) => ("#c77a1c", "#ffe0b3", "#ffffff"),
        (Mark::DeviceToHost, Light) => ("#c6ead8", "#2b7a56", "#06301d"),
        (Mark::DeviceToHost, Dark) => ("#1f5a40", "#7fd6ae", "#eafff5"),
        (Mark::DeviceToDevice, Light) => ("#d9c8f0", "#6a3fa5", "#25104a"),
        (Mark::DeviceToDevice, Dark) => ("#513282", "#c9aef5", "#f6efff"),
        (Mark::PeerToPeer, Light) => ("#bfe3ea", "#1f6f80", "#062c35"),
        (Mark::PeerToPeer, Dark) => ("#1b4f5c", "#7fd0e0", "#e8fbff"),
        (Mark::HostToHost, Light) => ("#e8dcc8", "#7a5c2e", "#33240c"),
        (Mark::HostToHost, Dark) => ("#4d3d22", "#d9bd8a", "#fff6e3"),
        (Mark::Memset, Light) => ("#e4e4e4", "#666666", "#1b1b1b"),
        (Mark::Memset, Dark) => ("#444444", "#b5b5b5", "#ffffff"),
        (Mark::HostFunction, Light) => ("#f3cfe0", "#a03a6e", "#3d0a24"),
        (Mark::HostFunction, Dark) => ("#6e2a4c", "#f0a5c8", "#fff0f7"),
        (Mark::HostWork, Light) => ("#5c6670", "#3a4248", "#ffffff"),
        (Mark::HostWork, Dark) => ("#b8c0c8", "#e2e6ea", "#15191c"),
        (Mark::Call, Light) => ("#a9b2ba", "#5c6670", "#15191c"),
        (Mark::Call, Dark) => ("#6c757d", "#a9b2ba", "#ffffff"),
        (Mark::Blocked, Light) => ("#fdecea", "#c0392b", "#5a100a"),
        (Mark::Blocked, Dark) => ("#3d1714", "#ff8f85", "#ffe9e7"),
    };
    Paint { fill, ink, text }
}

/// The name of a mark in classes, ids and custom properties.
pub(super) fn class(mark: Mark) -> &'static str {
    match mark {
        Mark::Kernel => "kernel",
        Mark::HostToDevice => "h2d",
        Mark::DeviceToHost => "d2h",
        Mark::DeviceToDevice => "d2d",
        Mark::PeerToPeer => "p2p",
        Mark::HostToHost => "h2h",
        Mark::Memset => "memset",
        Mark::HostFunction => "function",
        Mark::HostWork => "work",
        Mark::Call => "call",
        Mark::Blocked => "blocked",
    }
}

/// Side and path of the tile that a mark's pattern repeats; none for plain bars.
fn pattern(mark: Mark) -> Option<(u32, &'static str)> {
    match mark {
        Mark::Kernel | Mark::HostToDevice | Mark::DeviceToHost | Mark::HostWork | Mark::Call => {
            None
        }
        Mark::DeviceToDevice => Some((6, "M0 2H6M0 4.5H6")),
        Mark::PeerToPeer => Some((8, "M1 4H7M3 2L1 4L3 6M5 2L7 4L5 6")),
        Mark::HostToHost => Some((6, "M2 0V6M4.5 0V6")),
        Mark::Memset => Some((6, "M2 3H4M3 2V4")),
        Mark::HostFunction => Some((5, "M2.5 0V5")),
        Mark::Blocked => Some((6, "M-1.5 1.5L1.5 -1.5M0 6L6 0M4.5 7.5L7.5 4.5")),
    }
}

/// Where the colours of a drawing stand.
pub(super) trait Colours {
    /// Attributes of a bar: what is drawn where styles are not understood.
    fn bar(mark: Mark, id: &str) -> String;
    /// Attributes of letters on a bar.
    fn text(mark: Mark) -> String;
    /// Attributes of the ground and of the lines of a pattern.
    fn pattern(mark: Mark) -> [String; 2];
    /// The style sheet of one drawing.
    fn style(id: &str, marks: &[Mark]) -> String;
    /// Attributes of what marks a flaw: of lines, of the ground of letters, and of letters.
    fn flaw() -> [String; 3];
    /// The style sheet of flaws, which a drawing with some has besides.
    fn style_of_flaws(id: &str) -> String;
}

/// In the drawing, which can stand by itself.
pub(super) struct Own;

impl Colours for Own {
    fn bar(mark: Mark, id: &str) -> String {
        let Paint { fill, ink, .. } = paint(mark, Appearance::Light);
        match pattern(mark) {
            Some(_) => format!(r#"fill="url(#{id}-{})" stroke="{ink}""#, class(mark)),
            None => format!(r#"fill="{fill}" stroke="{ink}""#),
        }
    }

    /// A rim in the colour of the bar keeps the pattern off the letters.
    fn text(mark: Mark) -> String {
        let Paint { fill, text, .. } = paint(mark, Appearance::Light);
        format!(r#"fill="{text}" stroke="{fill}" stroke-width="3" paint-order="stroke""#)
    }

    fn pattern(mark: Mark) -> [String; 2] {
        let Paint { fill, ink, .. } = paint(mark, Appearance::Light);
        [format!(r#" fill="{fill}""#), format!(r#" stroke="{ink}""#)]
    }

    /// The rules name the drawing, since a style sheet in a page holds for the whole page.
    fn style(id: &str, marks: &[Mark]) -> String {
        let drawing = format!("#{id}");
        let light = rules(&drawing, marks, Appearance::Light);
        let dark = rules(&drawing, marks, Appearance::Dark);
        let shown = |mark: &Mark| marks.contains(mark) || *mark == FLAW;
        let printed = declarations(Mark::ALL.into_iter().filter(shown), Appearance::Light);
        // `:root` is the drawing only where it stands by itself; in a page the page's colours hold.
        format!(
            "<style>\n{light}#{id} text{{font-variant-numeric:tabular-nums}}\n\
             #{id} g:focus{{outline:none}}#{id} g:focus-visible rect{{stroke:currentColor;stroke-width:2.5}}\n\
             #{id}:root{{color:#1b1b1b;background:#fff}}\n\
             @media (prefers-color-scheme:dark){{\n{dark}#{id}:root{{color:#e6e6e6;background:#16181d}}\n}}\n\
             @media print{{#{id}{{{printed}color:#000}}#{id}:root{{background:#fff}}}}\n\
             </style>\n"
        )
    }

    fn flaw() -> [String; 3] {
        let Paint { fill, ink, text } = paint(FLAW, Appearance::Light);
        [
            format!(r#"class="flaw-l" stroke="{ink}""#),
            format!(r#"class="flaw-g" fill="{fill}" stroke="{ink}""#),
            format!(r#"class="flaw-t" fill="{text}""#),
        ]
    }

    fn style_of_flaws(id: &str) -> String {
        let rules = |appearance| {
            let (class, Paint { fill, ink, text }) = (class(FLAW), paint(FLAW, appearance));
            let (fill, ink, text) = (
                format!("var(--swim-{class},{fill})"),
                format!("var(--swim-{class}-ink,{ink})"),
                format!("var(--swim-{class}-text,{text})"),
            );
            format!(
                "#{id} .flaw-l{{stroke:{ink}}}#{id} .flaw-g{{fill:{fill};stroke:{ink}}}\
                 #{id} .flaw-t{{fill:{text}}}\n"
            )
        };
        let (light, dark) = (rules(Appearance::Light), rules(Appearance::Dark));
        format!("<style>\n{light}@media (prefers-color-scheme:dark){{\n{dark}}}\n</style>\n")
    }
}

/// Flaws have the colours of time that is lost.
const FLAW: Mark = Mark::Blocked;

/// In the page that the drawing stands in, by [`sheet`] and [`theme`]. A drawing then holds no
/// colour.
pub(super) struct OfPage;

impl Colours for OfPage {
    fn bar(mark: Mark, id: &str) -> String {
        match pattern(mark) {
            Some(_) => format!(r#"fill="url(#{id}-{})""#, class(mark)),
            None => String::new(),
        }
    }

    fn text(_: Mark) -> String {
        r#"stroke-width="3" paint-order="stroke""#.into()
    }

    fn pattern(_: Mark) -> [String; 2] {
        Default::default()
    }

    fn style(_: &str, _: &[Mark]) -> String {
        String::new()
    }

    fn flaw() -> [String; 3] {
        let class = class(FLAW);
        [
            format!(r#"style="stroke:var(--swim-{class}-ink)""#),
            format!(r#"style="fill:var(--swim-{class});stroke:var(--swim-{class}-ink)""#),
            format!(r#"style="fill:var(--swim-{class}-text)""#),
        ]
    }

    fn style_of_flaws(_: &str) -> String {
        String::new()
    }
}

/// The pattern of each mark, and the head of an arrow.
pub(super) fn definitions<C: Colours>(id: &str, marks: &[Mark]) -> String {
    let mut out = String::from("<defs>\n");
    for &mark in marks {
        let Some((side, path)) = pattern(mark) else { continue };
        let (class, [fill, stroke]) = (class(mark), C::pattern(mark));
        out += &format!(
            "<pattern id=\"{id}-{class}\" width=\"{side}\" height=\"{side}\" patternUnits=\"userSpaceOnUse\">\
             <rect width=\"{side}\" height=\"{side}\" class=\"{class}-f\"{fill}/>\
             <path d=\"{path}\" class=\"{class}-i\" fill=\"none\"{stroke} stroke-width=\"1.2\"/>\
             </pattern>\n"
        );
    }
    out += &format!(
        "<marker id=\"{id}-arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" \
         markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8Z\" fill=\"currentColor\"/></marker>\n"
    );
    out + "</defs>\n"
}

/// The rules that colour the marks of the drawings that a selector names.
fn rules(drawing: &str, marks: &[Mark], appearance: Appearance) -> String {
    let rule = |mark: &Mark| {
        let (class, Paint { fill, ink, text }) = (class(*mark), paint(*mark, appearance));
        let bar = match pattern(*mark) {
            Some(_) => String::new(),
            None => format!("fill:var(--swim-{class},{fill});"),
        };
        let (fill, ink, text) = (
            format!("var(--swim-{class},{fill})"),
            format!("var(--swim-{class}-ink,{ink})"),
            format!("var(--swim-{class}-text,{text})"),
        );
        let pattern = match pattern(*mark) {
            Some(_) => {
                format!("{drawing} .{class}-f{{fill:{fill}}}{drawing} .{class}-i{{stroke:{ink}}}")
            }
            None => String::new(),
        };
        format!(
            "{drawing} .{class}-b{{{bar}stroke:{ink}}}{pattern}\
             {drawing} .{class}-t{{fill:{text};stroke:{fill}}}\n"
        )
    };
    marks.iter().map(rule).collect()
}

/// The style sheet of a page for drawings that have no colours of their own.
pub fn sheet() -> String {
    let drawing = ".swim-timeline";
    let rules = rules(drawing, &Mark::ALL, Appearance::Light);
    let printed = theme(Appearance::Light);
    format!(
        "{rules}{drawing} text{{font-variant-numeric:tabular-nums}}\n\
         {drawing} g:focus{{outline:none}}\
         {drawing} g:focus-visible rect{{stroke:currentColor;stroke-width:2.5}}\n\
         @media print{{{drawing}{{{printed}color:#000}}}}\n"
    )
}

/// Declarations of the custom properties that colour every drawing, for the rule of a theme:
/// `.navy { … }`.
pub fn theme(appearance: Appearance) -> String {
    declarations(Mark::ALL.into_iter(), appearance)
}

fn declarations(marks: impl Iterator<Item = Mark>, appearance: Appearance) -> String {
    let declare = |mark| {
        let (class, Paint { fill, ink, text }) = (class(mark), paint(mark, appearance));
        format!("--swim-{class}:{fill};--swim-{class}-ink:{ink};--swim-{class}-text:{text};")
    };
    marks.map(declare).collect()
}
