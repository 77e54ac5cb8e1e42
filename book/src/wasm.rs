//! Modules of wasm for pages: built by cargo when a page needs it, and packed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context, Result, bail, ensure};

/// The target that they are built for.
const TARGET: &str = "wasm32-unknown-unknown";

/// A package that runs as wasm in pages.
pub struct Module {
    package: &'static str,
    /// The profile of cargo's that it is built with.
    profile: &'static str,
    /// Flags for rustc.
    flags: &'static [&'static str],
    /// The loss of pages that are built without it.
    without: &'static str,
    built: OnceLock<Result<(Vec<u8>, String), String>>,
}

/// The playground.
pub static PLAYGROUND: Module = Module {
    package: "playground",
    profile: "playground",
    // Bodies are copied into their callers only where that makes them smaller.
    flags: &["-C", "llvm-args=-inline-threshold=0"],
    without: "playgrounds keep their figures",
    built: OnceLock::new(),
};

/// The reader of traces that are dropped into a page.
pub static VIEWER: Module = Module {
    package: "viewer",
    profile: "viewer",
    flags: &[],
    without: "the page for traces reads none",
    built: OnceLock::new(),
};

impl Module {
    /// gzip, then base64; or why there is none. It is built once in a process.
    pub fn compressed(&self) -> Result<&str, &str> {
        self.outcome().as_ref().map(|(_, text)| text.as_str()).map_err(String::as_str)
    }

    /// The wasm itself.
    pub fn plain(&self) -> Result<&[u8], &str> {
        self.outcome().as_ref().map(|(wasm, _)| wasm.as_slice()).map_err(String::as_str)
    }

    fn outcome(&self) -> &Result<(Vec<u8>, String), String> {
        self.built.get_or_init(|| {
            let built = build(self, TARGET).and_then(|path| {
                let wasm = std::fs::read(&path)
                    .with_context(|| format!("cannot read `{}`", path.display()))?;
                let text = base64(&packed(&path, &wasm)?);
                Ok((wasm, text))
            });
            built.map_err(|error| format!("{}: {error:#}", self.without))
        })
    }
}

/// Complaints of the modules that could not be built.
pub fn complaints() -> impl Iterator<Item = &'static str> {
    let asked = [&PLAYGROUND, &VIEWER].into_iter().filter_map(|module| module.built.get());
    asked.filter_map(|built| built.as_ref().err().map(String::as_str))
}

/// In the form that every browser unpacks, and as small as that form can be: built once, read
/// often.
pub fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut packed = Vec::new();
    zopfli::compress(zopfli::Options::default(), zopfli::Format::Gzip, bytes, &mut packed)?;
    Ok(packed)
}

/// The wasm in `path`, packed. Packing takes longer than all the rest of a build of the book, so
/// what came of it stays beside the wasm for as long as that is the older of the two.
fn packed(path: &Path, wasm: &[u8]) -> Result<Vec<u8>> {
    let kept = path.with_extension("wasm.gz");
    let made = |path: &Path| std::fs::metadata(path).and_then(|data| data.modified());
    if let (Ok(built), Ok(packed)) = (made(path), made(&kept))
        && built < packed
        && let Ok(bytes) = std::fs::read(&kept)
    {
        return Ok(bytes);
    }
    let bytes = gzip(wasm)?;
    // A reader meanwhile has the old one or the new one whole.
    let new = kept.with_extension(format!("{}.new", std::process::id()));
    std::fs::write(&new, &bytes)
        .and_then(|()| std::fs::rename(&new, &kept))
        .with_context(|| format!("cannot write `{}`", kept.display()))?;
    Ok(bytes)
}

/// Builds `module` for `target`, which is installed where rustup can do that.
fn build(module: &Module, target: &str) -> Result<PathBuf> {
    if !installed(target) {
        let added = Command::new("rustup").args(["target", "add", target]).output();
        let added = added.is_ok_and(|output| output.status.success());
        ensure!(
            added && installed(target),
            "Rust cannot build for `{target}` here; hint: rustup target add {target}"
        );
    }
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
        .args(["rustc", "--quiet", "--package", module.package, "--lib", "--crate-type", "cdylib"])
        .args([
            "--profile",
            module.profile,
            "--message-format",
            "json-render-diagnostics",
            "--target",
            target,
        ])
        .arg("--")
        .args(module.flags)
        // The linker leaves room in each reference that it has filled in; this takes it back.
        .args(["-C", "link-arg=--compress-relocations"])
        .current_dir(workspace)
        .stderr(Stdio::piped())
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!("cargo says:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    artifact(&output.stdout).context("cargo names no wasm")
}

fn installed(target: &str) -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
    let output =
        Command::new(rustc).args(["--print", "target-libdir", "--target", target]).output();
    output.is_ok_and(|output| {
        let folder = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success() && Path::new(&folder).is_dir()
    })
}

/// The wasm among the files that cargo says it made.
fn artifact(messages: &[u8]) -> Option<PathBuf> {
    let messages = messages.split(|&byte| byte == b'\n');
    let messages =
        messages.filter_map(|line| serde_json::from_slice::<serde_json::Value>(line).ok());
    let files = messages.flat_map(|message| {
        let files = message["filenames"].as_array().cloned().unwrap_or_default();
        files.into_iter().filter_map(|file| file.as_str().map(PathBuf::from))
    });
    let mut wasm = files.filter(|file| file.extension().is_some_and(|ending| ending == "wasm"));
    wasm.next_back()
}

/// RFC 4648, with padding.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |index: usize| u32::from(three.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= three.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_pads() {
        let texts = ["", "f", "fo", "foo", "foob"].map(|text| base64(text.as_bytes()));
        assert_eq!(texts, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]);
    }

    #[test]
    fn a_target_that_cannot_be_had_is_said_with_what_to_do() {
        let error = build(&PLAYGROUND, "no-such-target").expect_err("there is none").to_string();
        assert_eq!(
            error,
            "Rust cannot build for `no-such-target` here; hint: rustup target add no-such-target"
        );
    }
}
