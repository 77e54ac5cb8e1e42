//! What a script waits for that takes real time. Chromium's clock is virtual and runs ahead of a
//! worker, and of frames; it stands still while an answer of this server is due.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long a tick takes.
const TICK: Duration = Duration::from_millis(20);

/// A server on this machine: files, and ticks of real time.
pub(super) struct Clock {
    port: u16,
    marks: Arc<Mutex<Vec<Instant>>>,
}

impl Clock {
    /// With `files`, by their names.
    pub(super) fn with(files: Vec<(String, Vec<u8>)>) -> Self {
        let server = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = server.local_addr().expect("an address").port();
        let marks = Arc::new(Mutex::new(Vec::new()));
        let (kept, files) = (Arc::clone(&marks), Arc::new(files));
        std::thread::spawn(move || {
            for stream in server.incoming().flatten() {
                let (kept, files) = (Arc::clone(&kept), Arc::clone(&files));
                std::thread::spawn(move || answer(stream, &files, &kept));
            }
        });
        Self { port, marks }
    }

    /// How long it took from each `mark()` of the page to the next one.
    pub(super) fn between_marks(&self) -> Vec<Duration> {
        let marks = self.marks.lock().expect("no thread failed");
        marks.windows(2).map(|two| two[1] - two[0]).collect()
    }

    /// What a script may use: `file(name)`, `mark()`, and `until(done)`, which gives up after
    /// 10,000 ticks.
    pub(super) fn script(&self) -> String {
        let at = format!("http://127.0.0.1:{}", self.port);
        format!(
            r#"
  const ask = (what) => fetch("{at}/" + what);
  const mark = () => ask("mark");
  const until = async (done) => {{
    for (let times = 0; times < 10000 && !done(); times += 1) await ask("tick/" + times);
    return done();
  }};
  // Chromium may still be busy with the bytes when no answer is due any more.
  const file = async (name) => {{
    let outcome;
    ask("file/" + name).then((answer) => answer.blob())
      .then((blob) => outcome = {{ blob }}, (error) => outcome = {{ error }});
    await until(() => outcome);
    if (!outcome.blob) throw new Error(`${{name}}: ${{outcome.error}}`);
    return new File([outcome.blob], name);
  }};
"#
        )
    }
}

fn answer(mut stream: TcpStream, files: &[(String, Vec<u8>)], marks: &Mutex<Vec<Instant>>) {
    let mut request = [0; 4096];
    let Ok(read) = stream.read(&mut request) else { return };
    let request = String::from_utf8_lossy(&request[..read]).into_owned();
    let path = request.split(' ').nth(1).unwrap_or_default();
    let name = path.strip_prefix("/file/");
    let file = name.and_then(|name| files.iter().find(|(known, _)| known == name));
    let body = file.map_or(&[][..], |(_, bytes)| bytes);
    if path == "/mark" {
        marks.lock().expect("no thread failed").push(Instant::now());
    }
    std::thread::sleep(TICK);
    let head = format!(
        "HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\nCache-Control: no-store\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    // A browser that was closed meanwhile wants no answer.
    _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
}
