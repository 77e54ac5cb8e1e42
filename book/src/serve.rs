//! The built book on a local address, built again when a file changes.
//!
//! A server for one author on their own machine: it answers on the loopback address alone, and
//! looks for changes by polling, which works on every file system.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};

use crate::print::{print, print_error};
use crate::site;

/// How often files are looked at: often enough to feel immediate, seldom enough to cost nothing.
const POLL: Duration = Duration::from_millis(300);
/// Where a page asks whether there is a newer one.
const GENERATION: &str = "/-/generation";
/// The script that looks for a new build. It is added to pages as they are served, and is in no
/// file.
const RELOAD: &str = "<script>(() => { let seen; setInterval(async () => { try { \
    const now = await (await fetch('/-/generation')).text(); \
    if (seen && now !== seen) location.reload(); seen = now; } catch {} }, 500) })()</script>";

struct Server {
    folder: PathBuf,
    /// Locked for writing while the book is built, so that no half of a page is served.
    building: RwLock<()>,
    generation: AtomicU64,
}

/// Builds the book in `root` and serves it until the process is ended.
pub fn serve(root: &Path, port: u16) -> Result<()> {
    let folder = site::build(root, None)?.folder;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .with_context(|| format!("cannot listen on port {port}"))?;
    print(&format!("http://{}/", listener.local_addr()?));
    let server =
        Arc::new(Server { folder, building: RwLock::new(()), generation: AtomicU64::new(1) });
    let watched = (root.to_owned(), Arc::clone(&server));
    thread::spawn(move || watch(&watched.0, &watched.1));
    for stream in listener.incoming() {
        let server = Arc::clone(&server);
        // A browser that goes away in the middle of an answer is no error.
        thread::spawn(move || stream.and_then(|stream| server.answer(stream)));
    }
    Ok(())
}

fn watch(root: &Path, server: &Server) {
    let mut seen = state(root);
    loop {
        thread::sleep(POLL);
        let now = state(root);
        if now == seen {
            continue;
        }
        seen = now;
        let built = {
            let _building = server.building.write();
            site::build(root, None)
        };
        match built {
            Ok(site) => {
                site.warnings.iter().for_each(|warning| print(&format!("warning: {warning}")));
                print("built again");
                server.generation.fetch_add(1, Ordering::SeqCst);
            }
            Err(error) => print_error(&error),
        }
    }
}

/// When each file that a page may hold was last changed.
fn state(root: &Path) -> BTreeMap<PathBuf, SystemTime> {
    let mut files = BTreeMap::new();
    let above = root.parent().unwrap_or(root);
    let mut folders = vec![root.to_owned(), above.join("exercises"), above.join("solutions")];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let hidden = name.to_string_lossy().starts_with('.') || name == "target";
            match entry.metadata() {
                Ok(data) if data.is_dir() && !hidden => folders.push(path),
                Ok(data) if !data.is_dir() => {
                    files.insert(path, data.modified().unwrap_or(SystemTime::UNIX_EPOCH));
                }
                _ => {}
            }
        }
    }
    files
}

impl Server {
    fn answer(&self, stream: TcpStream) -> std::io::Result<()> {
        let mut request = String::new();
        BufReader::new(&stream).read_line(&mut request)?;
        let path = request.split(' ').nth(1).unwrap_or("/");
        let path = path.split(['?', '#']).next().unwrap_or("/");
        let _building = self.building.read();
        if path == GENERATION {
            let generation = self.generation.load(Ordering::SeqCst).to_string();
            return respond(&stream, "200 OK", "text/plain", generation.as_bytes());
        }
        match find(&self.folder, path).and_then(|file| Some((std::fs::read(&file).ok()?, file))) {
            Some((mut body, file)) => {
                let kind = content_type(&file);
                if kind.starts_with("text/html") {
                    body.extend_from_slice(RELOAD.as_bytes());
                }
                respond(&stream, "200 OK", kind, &body)
            }
            None => respond(&stream, "404 Not Found", "text/plain", b"there is no such page"),
        }
    }
}

/// The file of a path; none outside of `folder`.
fn find(folder: &Path, path: &str) -> Option<PathBuf> {
    let mut file = folder.join(path.trim_start_matches('/')).canonicalize().ok()?;
    if file.is_dir() {
        file = file.join("index.html");
    }
    file.starts_with(folder.canonicalize().ok()?).then_some(file)
}

fn respond(mut stream: &TcpStream, status: &str, kind: &str, body: &[u8]) -> std::io::Result<()> {
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Cache-Control: no-store\r\nConnection: close\r\n\r\n"
    )?;
    stream.write_all(body)
}

fn content_type(file: &Path) -> &'static str {
    match file.extension().and_then(|ending| ending.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css",
        Some("js") => "text/javascript",
        Some("json") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_outside_of_the_folder_is_served() {
        let scratch = tempfile::tempdir().expect("a folder");
        let folder = scratch.path().join("site");
        std::fs::create_dir(&folder).expect("a folder");
        std::fs::write(folder.join("a.html"), "a").expect("a file");
        std::fs::write(scratch.path().join("secret"), "b").expect("a file");
        assert!(find(&folder, "/a.html").is_some());
        assert!(find(&folder, "/../secret").is_none());
        assert!(find(&folder, "//etc/passwd").is_none());
    }
}
