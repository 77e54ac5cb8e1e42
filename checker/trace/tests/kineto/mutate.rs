//! A deterministic fuzzer of the import: damages traces and demands an answer for each.

use trace::draw::{Lanes, Layout, Panel, Style, svg, terminal};
use trace::import::{KernelNames, Trace};
use trace::{Metrics, export, metrics};

/// Bytes of a trace that is read at most.
const LIMIT: u64 = 4 << 20;

/// Texts to begin with: one of each form and with everything that the import looks at.
fn corpus() -> Vec<Vec<u8>> {
    let mut generated = Vec::new();
    _ = crate::kineto::pipeline(3, &mut generated);
    let mut corpus = vec![generated];
    corpus.extend(
        [
            r#"[{"ph":"B","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1},{"ph":"E","pid":0,"tid":7,"ts":2.5},
               {"ph":"X","cat":"gpu_memset","name":"Memset (Device)","pid":"GPU","tid":"s","ts":"3","dur":"1e1"}]"#,
            r#"{"deviceProperties":[{"id":0,"name":"é\u00e9"}],"distributedInfo":{"rank":1},"cuda_driver_version":12080,
               "traceEvents":[{"ph":"X","cat":"cpu_op","name":"aten::to","pid":1,"tid":1,"ts":0,"dur":9,"args":{"Call stack":"a.py(1): f;b.py(2): g"}},
               {"ph":"X","cat":"python_function","name":"c.py(3): h","pid":1,"tid":1,"ts":0,"dur":9},
               {"ph":"X","cat":"cuda_runtime","name":"cudaMemcpyAsync","pid":1,"tid":1,"ts":1,"dur":5,"args":{"correlation":1}},
               {"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pageable -> Device)","pid":0,"tid":7,"ts":2,"dur":3,"args":{"device":0,"stream":7,"correlation":1,"bytes":4096,"x":[null,true,NaN,-Infinity]}},
               {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":6,"dur":1,"args":{"correlation":2}},
               {"ph":"X","cat":"cuda_sync","name":"Stream Wait Event","pid":0,"tid":9,"ts":6,"dur":0,"args":{"device":0,"stream":9,"correlation":2,"wait_on_stream":7,"wait_on_cuda_event_record_corr_id":1}},
               {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":9,"ts":7,"dur":3,"args":{"device":0,"stream":9,"correlation":2}}]}"#,
            "{}",
            "[]",
        ]
        .map(|text| text.as_bytes().to_vec()),
    );
    corpus
}

/// What is put in.
const WORDS: [&[u8]; 24] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b":",
    b",",
    b"\\",
    b"\\u12",
    b"\\ud800",
    b"1e999",
    b"-",
    b"0.",
    b"9223372036854775807",
    b"-9223372036854775.808",
    b"null",
    b"NaN",
    b"\xff",
    b"\xf0\x9f",
    b"\n",
    b"\"ph\":\"B\",",
    b"\"cat\":\"kernel\",",
    b"\"ts\":1e15,",
    b"\"args\":{",
];

/// xorshift64*, which needs nothing but a seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// Below `end`; 0 where that is 0.
    fn below(&mut self, end: usize) -> usize {
        (self.next() % (end.max(1) as u64)) as usize
    }
}

/// A damaged trace.
pub(crate) fn damaged(random: &mut Random) -> Vec<u8> {
    let corpus = corpus();
    let mut text = corpus[random.below(corpus.len())].clone();
    for _ in 0..=random.below(4) {
        let at = random.below(text.len() + 1);
        let end = (at + random.below(64)).min(text.len());
        match random.below(11) {
            0 => text.truncate(at),
            1..=3 if at < text.len() => text[at] ^= 1 << random.below(8),
            4 => drop(text.drain(at..end)),
            5 => {
                let part = text[at..end].to_vec();
                let to = random.below(text.len() + 1);
                text.splice(to..to, part);
            }
            6 | 7 => {
                let word = WORDS[random.below(WORDS.len())];
                text.splice(at..at, word.iter().copied());
            }
            8 => {
                let other = &corpus[random.below(corpus.len())];
                text.truncate(at);
                text.extend_from_slice(&other[random.below(other.len())..]);
            }
            9 => {
                // A digit for another keeps the form and changes the meaning.
                if let Some(digit) = text[at..].iter_mut().find(|byte| byte.is_ascii_digit()) {
                    *digit = b'0' + random.below(10) as u8;
                }
            }
            _ if random.below(50) == 0 => {
                let word = WORDS[random.below(WORDS.len())];
                let many = word.repeat(1 + random.below(100_000));
                text.splice(at..at, many);
            }
            _ => {}
        }
    }
    text
}

/// Reads `text` and does with it all that can be done; says whether it is a trace. Panics where
/// something does not fit together.
pub(crate) fn take(text: &[u8]) -> bool {
    _ = trace::import::detect(text);
    let trace = match Trace::read(&mut &*text, LIMIT) {
        Ok(trace) => trace,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return false;
        }
    };
    for device in &trace.devices {
        let observed = trace.observed(device, KernelNames::Kept);
        let found = Metrics::of(&observed.timeline);
        assert_eq!(found.busy_ns + found.idle_ns, found.makespan_ns);
        let idle: u64 = metrics::idle(&observed).causes.iter().map(|gaps| gaps.ns).sum();
        let path = metrics::path(&observed);
        let parts: u64 = path.segments.iter().map(|part| part.time.ns()).sum();
        assert!(parts == found.makespan_ns, "{parts} of {}", found.makespan_ns);
        assert!(idle >= found.idle_ns, "{idle} of {}", found.idle_ns);
        _ = metrics::blocked(&observed, observed.timeline.extent());
        _ = metrics::copies(&observed.timeline);
        for lanes in [Lanes::Streams, Lanes::Engines] {
            let panel = Panel { title: "t", timeline: &observed.timeline, program: None };
            let layout = Layout::new(&[panel], lanes);
            _ = terminal(&layout, 80, Style::Plain);
            _ = svg(&layout, "t");
        }
        let mut written = Vec::new();
        let device = export::Device { index: device.index, observed: &observed };
        _ = export::chrome(&[device], &mut written);
        let again = Trace::read(&mut &*written, u64::MAX);
        let again = again.unwrap_or_else(|error| panic!("our own export: {error}"));
        let after = again.observed(&again.devices[0], KernelNames::Kept);
        assert_eq!(Metrics::of(&after.timeline).busy_ns, found.busy_ns);
    }
    true
}
