//! What some tests need beyond Rust.

/// Something that a machine may lack.
#[derive(Clone, Copy)]
pub(crate) enum Need {
    /// The checker of accessibility, as `SWIM_AXE`: the path of `axe.min.js`.
    Axe,
    /// A browser.
    Chromium,
    /// mdBook's own program.
    Mdbook,
    /// The Rust target of the playground.
    Wasm,
}

/// Says that a test did not run; fails where `SWIM_REQUIRE` names what is missing.
#[expect(clippy::print_stderr, reason = "the reader of the test's output is told what did not run")]
pub(crate) fn missing<T>(need: Need) -> Option<T> {
    let name = match need {
        Need::Axe => "axe",
        Need::Chromium => "chromium",
        Need::Mdbook => "mdbook",
        Need::Wasm => "wasm",
    };
    let required = std::env::var("SWIM_REQUIRE").unwrap_or_default();
    assert!(!required.split([',', ' ']).any(|required| required == name), "there is no {name}");
    eprintln!("not run: needs {name}");
    None
}
