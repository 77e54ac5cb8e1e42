//! Programs with a race: each is found, with its code and its two lines.

use trace::hazards;

use super::script;

/// What it shows, the script, and each hazard: its code and the lines of the two uses.
pub(crate) type Row = (&'static str, &'static str, &'static [&'static str]);

#[test]
fn every_kind_of_conflict_is_found() {
    check(CONFLICTS);
}

#[test]
fn a_wait_is_no_better_than_what_its_event_stands_for() {
    check(EVENTS);
}

#[test]
fn what_the_host_waits_for_is_no_more_than_what_is_promised() {
    check(HOST);
}

#[test]
fn the_default_stream_orders_blocking_streams_and_no_others() {
    check(DEFAULT_STREAM);
}

#[test]
fn memory_that_comes_and_goes_is_followed() {
    check(LIFETIMES);
}

#[test]
fn what_the_host_itself_does_to_pinned_memory_is_held_against_copies_in_flight() {
    check(HOST_ACCESSES);
}

#[test]
fn what_is_inside_a_graph_counts() {
    check(GRAPHS);
}

#[test]
fn host_threads_order_what_they_told_one_another_and_no_more() {
    check(THREADS);
}

#[test]
fn what_other_tools_are_known_to_miss_is_found() {
    check(MISSED_BY_OTHERS);
}

#[test]
fn sixty_racy_programs_and_more_are_tried() {
    let number = all().count();
    assert!(number >= 60, "{number}");
}

/// All of them.
pub(crate) fn all() -> impl Iterator<Item = &'static Row> {
    let tables = [
        CONFLICTS,
        EVENTS,
        HOST,
        THREADS,
        DEFAULT_STREAM,
        LIFETIMES,
        HOST_ACCESSES,
        GRAPHS,
        MISSED_BY_OTHERS,
    ];
    tables.into_iter().flatten()
}

#[track_caller]
fn check(rows: &'static [Row]) {
    let mut wrong = String::new();
    let both = |(seed, row): (u64, &'static Row)| {
        let alone = script::program(row.1);
        let beside = script::beside_another_device(&alone, seed);
        [(row, alone), (row, beside)]
    };
    for ((name, script, expected), program) in (1..).zip(rows).flat_map(both) {
        let found: Vec<String> = hazards::find(&program)
            .iter()
            .map(|hazard| {
                let line = |it: &hazards::CallAt| it.site.as_ref().map_or(0, |site| site.line);
                let code = hazard.code.as_str().trim_start_matches("SWIM-");
                let (first, second) = (line(&hazard.first.call), line(&hazard.second.call));
                format!("{code} {first}>{second}")
            })
            .collect();
        if found != *expected {
            wrong += &format!("{name}: {script}\n  expected {expected:?}, found {found:?}\n");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

const GRAPHS: &[Row] = &[
    (
        "two branches write the same memory",
        "cap a; up a h x; rec e a; wait b e; map b x; map a x; rec f b; wait a f; endcap; inst; go a",
        &["H01 5>6"],
    ),
    (
        "the join of two branches is missing",
        "cap a; rec e a; wait b e; k a > x; k b > y; k a x y > z; rec f b; wait a f; endcap; inst; go a",
        &["H01 5>6"],
    ),
    (
        "a graph reads what another stream writes",
        "cap a; map a x; endcap; inst; map b x; go a",
        &["H01 5>2"],
    ),
    (
        "another stream reads what a graph writes",
        "cap a; map a x; endcap; inst; go a; map b x",
        &["H01 2>6"],
    ),
    (
        "two copies of a graph in two streams",
        "cap a; map a x; endcap; inst; inst; go a; go b 1",
        &["H01 2>2"],
    ),
    (
        "two graphs in two streams",
        "cap a; map a x; endcap; inst; go a; cap a; set a x; endcap; inst; go b",
        &["H03 2>7"],
    ),
    (
        "a graph's result is read too early",
        "cap a; down a x h; endcap; inst; go a; peek h",
        &["H01 2>6"],
    ),
    (
        "memory of a graph is freed before its launch",
        "cap a; map a x; endcap; inst; ctx; free x; go a",
        &["H04 6>2"],
    ),
    (
        "memory of a graph is freed in flight",
        "newa a x; ctx; cap a; map a x; endcap; inst; go a; freea b x",
        &["H04 4>8"],
    ),
];

const HOST_ACCESSES: &[Row] = &[
    ("a source is written in flight", "up a h x; write h", &["H02 1>2"]),
    ("a result is read before it is there", "down a x h; read h", &["H01 1>2"]),
    ("a result is written before it is there", "down a x h; write h", &["H03 1>2"]),
    ("some of a source is written", "up a h x; poke h", &["H02 1>2"]),
    ("some of a result is read", "down a x h; peek h", &["H01 1>2"]),
    ("the event is another stream's", "down a x h; rec e b; esync e; peek h", &["H01 1>4"]),
    ("the event is too early", "rec e a; down a x h; esync e; peek h", &["H01 2>4"]),
    ("the query found work", "down a x h; q? a; peek h", &["H01 1>3"]),
    ("another stream is synchronised", "down a x h; sync b; peek h", &["H01 1>3"]),
    (
        "a wait of a stream does not hold the host",
        "down a x h; rec e a; wait b e; peek h",
        &["H01 1>4"],
    ),
    (
        "another copy's free waits, which nobody promises",
        "down a x h; freeh i; peek h",
        &["H06 1>3"],
    ),
    (
        "the chunk is the one in flight",
        "down a x[0..32] h[0..32]; sync a; down a x h[32..64]; peek h[32..64]",
        &["H01 3>4"],
    ),
    (
        "a sum over both chunks comes too early",
        "down a x[0..32] h[0..32]; sync a; down a x[32..64] h[32..64]; read h",
        &["H01 3>4"],
    ),
    ("a host function reads a result of another stream", "down a x h; fn b h", &["H01 1>2"]),
    ("a host function writes what another stream uploads", "fn a > h; up b h x", &["H01 1>2"]),
    (
        "the host writes what a host function's stream then uploads, and again",
        "write h; up a h x; write h",
        &["H02 2>3"],
    ),
    ("a host function uses memory that is freed", "fn a h; freeh h", &["H06 1>2"]),
    (
        "another thread reads before anybody has synchronised",
        "read i; @1 read i; down a x h; @1 peek h",
        &["H01 3>4"],
    ),
    (
        "one thread synchronises, the other reads",
        "read i; @1 read i; down a x h; sync a; @1 peek h",
        &["H01 3>5"],
    ),
    (
        "one thread writes, the other uploads",
        "read i; @1 read i; write h; @1 up a h x",
        &["H01 3>4"],
    ),
    (
        "the device is waited for by the wrong thread",
        "read i; @1 read i; write h; @1 ctx; @1 up a h x",
        &["H01 3>5"],
    ),
];

const CONFLICTS: &[Row] = &[
    ("a read of what another stream writes", "k a > x; k b x > y", &["H01 1>2"]),
    ("a write over what another stream reads", "k a x > y; k b > x", &["H02 1>2"]),
    ("two writes", "k a > x; k b > x", &["H03 1>2"]),
    ("a map reads before it writes", "map a x; map b x", &["H01 1>2"]),
    ("an upload before a kernel", "up a h x; map b x", &["H01 1>2"]),
    ("a kernel before a download", "map a x; down b x h", &["H01 1>2"]),
    ("an upload over what a kernel reads", "k a x > y; up b h x", &["H02 1>2"]),
    ("an upload over what is downloaded", "down a x h; up b i x", &["H02 1>2"]),
    ("two uploads to one place", "up a h x; up b i x", &["H03 1>2"]),
    ("two downloads to one place in host memory", "down a x h; down b y h", &["H03 1>2"]),
    ("a download and an upload share host memory", "down a x h; up b h y", &["H01 1>2"]),
    ("an upload's host memory is overwritten", "up a h x; down b y h", &["H02 1>2"]),
    ("a copy inside the device", "map a x; move b x y", &["H01 1>2"]),
    ("its target", "move a x y; map b y", &["H01 1>2"]),
    ("its source", "move a x y; k b > x", &["H02 1>2"]),
    ("a memset before a kernel", "set a x; map b x", &["H01 1>2"]),
    ("a memset over what a kernel reads", "k a x > y; set b x", &["H02 1>2"]),
    ("a memset over a result", "k a > x; set b x", &["H03 1>2"]),
    ("ranges that overlap by a byte", "k a > x[0..33]; k b x[32..64] > y", &["H01 1>2"]),
    ("a part of what is written", "k a > x; k b x[10..20] > y", &["H01 1>2"]),
    ("a whole of which a part is written", "k a > x[10..20]; k b x > y", &["H01 1>2"]),
    (
        "each of two parts has its own writer",
        "k a > x[0..32]; k b > x[32..64]; k c x > y",
        &["H01 2>3", "H01 1>3"],
    ),
    (
        "one part is in order, the other is not",
        "k a > x[0..32]; k b > x[32..64]; rec e a; \
      wait c e; k c x > y",
        &["H01 2>5"],
    ),
    (
        "the middle of a range is written anew",
        "k a > x; k b > x[16..48]; k a x[0..16] > y; \
      k c x[32..40] > z",
        &["H03 1>2", "H01 2>4"],
    ),
    (
        "two readers, and the writer waits for neither",
        "k a x > y; k b x > z; k c > x",
        &["H02 2>3", "H02 1>3"],
    ),
    (
        "two readers, and the writer waits for one",
        "k a x > y; k b x > z; rec e a; wait c e; \
      k c > x",
        &["H02 2>5"],
    ),
    ("the later use of the other stream is named", "k a > x; k a > y; k b x y > z", &["H01 2>3"]),
    ("what one edge would order is reported once", "k a > x; k b x > y; k b x > z", &["H01 1>2"]),
    (
        "what follows from a missing edge is not reported",
        "up a h x; map b x; rec e b; wait c e; \
      down c x i",
        &["H01 1>2"],
    ),
    (
        "the fork of a fork and join is missing",
        "map a x; k b x > y; k c x > z; rec f b; rec g c; \
      wait a f; wait a g; k a y z > w",
        &["H01 1>2", "H01 1>3"],
    ),
    (
        "the join of it is missing for one branch",
        "map a x; rec e a; wait b e; wait c e; k b x > y; \
      k c x > z; rec f b; wait a f; k a y z > w",
        &["H01 6>9"],
    ),
];

const EVENTS: &[Row] = &[
    ("the event is recorded too early", "rec e a; map a x; wait b e; map b x", &["H01 2>4"]),
    ("the wait is made too late", "map a x; rec e a; map b x; wait b e", &["H01 1>3"]),
    ("the wait is made before the record", "map a x; wait b e; rec e a; map b x", &["H01 1>4"]),
    ("the event was never recorded", "map a x; wait b e; map b x", &["H01 1>3"]),
    (
        "the event is recorded in another stream",
        "map a x; rec e c; wait b e; map b x",
        &["H01 1>4"],
    ),
    ("another stream makes the wait", "map a x; rec e a; wait c e; map b x", &["H01 1>4"]),
    ("another event is waited for", "map a x; rec e a; wait b f; map b x", &["H01 1>4"]),
    ("the record failed", "map a x; ! rec e a; wait b e; map b x", &["H01 1>4"]),
    ("the wait failed", "map a x; rec e a; ! wait b e; map b x", &["H01 1>4"]),
    (
        "the event was destroyed before the wait",
        "map a x; rec e a; drop e; wait b e; map b x",
        &["H01 1>5"],
    ),
    ("a chain with a gap", "map a x; rec e a; wait b e; rec f c; wait d f; map d x", &["H01 1>6"]),
    (
        "double buffering without the way back",
        "up a h x; rec e a; wait b e; map b x; up a i x",
        &["H03 4>5"],
    ),
];

const THREADS: &[Row] = &[
    ("nobody waits for the thread", "spawn 1; @1 map a x; @1 sync a; map b x", &["H01 2>4"]),
    (
        "the thread did not wait itself",
        "spawn 1; @1 map a x; @1 done; join 1; map b x",
        &["H01 2>5"],
    ),
    ("nor did the sender", "spawn 1; @1 map a x; @1 send 0 0; recv 0 0; map b x", &["H01 2>5"]),
    (
        "another message came",
        "spawn 1; @1 send 0 0; @1 map a x; @1 sync a; @1 send 0 1; recv 0 0; map b x",
        &["H01 3>7"],
    ),
    ("two threads queue into one stream", "spawn 1; @1 map a x; map a x", &["H01 2>3"]),
    (
        "an event that the other thread may not have recorded",
        "spawn 1; @1 map a x; @1 rec e a; wait b e; map b x",
        &["H01 2>5"],
    ),
    (
        "an event that the other thread may have recorded again, elsewhere",
        "map a x; rec e a; spawn 1; @1 rec e c; wait b e; map b x",
        &["H01 1>6"],
    ),
    (
        "a stream is synchronised while another thread queues into it",
        "spawn 1; @1 down a x h; sync a; read h",
        &["H01 2>4"],
    ),
    ("so is the context", "spawn 1; @1 down a x h; ctx; read h", &["H01 2>4"]),
    (
        "the default stream waits for what another thread may not have asked for",
        "spawn 1; @1 map A x; map 0 x",
        &["H01 2>3"],
    ),
    ("work from after the start", "spawn 1; map a x; sync a; @1 map b x", &["H01 2>4"]),
    (
        "there was room without waiting",
        "open 0 2; spawn 1; @1 send 0 0; @1 send 0 1; map a x; sync a; recv 0 0; @1 map b x",
        &["H01 5>8"],
    ),
];

const HOST: &[Row] = &[
    ("the host waits for another stream", "map a x; sync b; map b x", &["H01 1>3"]),
    ("the host waits too early", "sync a; map a x; map b x", &["H01 2>3"]),
    ("a query found work still running", "map a x; q? a; map b x", &["H01 1>3"]),
    ("so did a query of an event", "map a x; rec e a; eq? e; map b x", &["H01 1>4"]),
    ("the event is from before the work", "rec e a; map a x; esync e; map b x", &["H01 2>4"]),
    ("a synchronisation that failed", "map a x; ! ctx; map b x", &["H01 1>3"]),
    (
        "an asynchronous copy to pageable memory holds nobody",
        "k a > x; downp a x; k b > x",
        &["H02 2>3"],
    ),
    ("nor does one from pageable memory", "upp a x; map b x", &["H01 1>2"]),
    ("a synchronous one may be still on its way", "upp! x; map a x", &["H01 1>2"]),
    ("a copy inside the device holds nobody", "move! x y; map a y", &["H01 1>2"]),
    ("a memset holds nobody", "set! x; map a x", &["H01 1>2"]),
    ("the end of a region is no synchronisation", "map a x; end; map b x", &["H01 1>3"]),
    ("a host function holds nobody", "map a x; fn a; map b x", &["H01 1>3"]),
    (
        "what one thread waited for another does not know",
        "@1 q? a; map a x; sync a; @1 map b x",
        &["H01 2>4"],
    ),
];

const DEFAULT_STREAM: &[Row] = &[
    ("a non-blocking stream before it", "map a x; map 0 x", &["H01 1>2"]),
    ("a non-blocking stream after it", "map 0 x; map a x", &["H01 1>2"]),
    ("it is between two non-blocking streams", "map a x; map 0 y; map b x", &["H01 1>3"]),
    ("two blocking streams with nothing between", "map A x; map B x", &["H01 1>2"]),
    ("it came too early", "map 0 y; map A x; map B x", &["H01 2>3"]),
    ("a query of it is no operation in it", "map A x; q? 0; map B x", &["H01 1>3"]),
    (
        "a wait in it for an event that was never recorded",
        "map A x; wait 0 e; map B x",
        &["H01 1>3"],
    ),
    ("the per-thread stream and a non-blocking one", "map p x; map a x", &["H01 1>2"]),
    ("the per-thread streams of two threads", "@1 q? p; map p x; @1 map p x", &["H01 2>3"]),
    ("it does not answer for non-blocking streams", "map a x; sync 0; map b x", &["H01 1>3"]),
];

const LIFETIMES: &[Row] = &[
    ("freed in another stream's order", "newa a x; map a x; freea b x", &["H04 2>3"]),
    (
        "freed before the other reader is done",
        "newa a x; map a x; rec e a; wait b e; \
      k b x > y; freea a x",
        &["H04 5>6"],
    ),
    ("used after a stream-ordered free", "newa a x; freea a x; map a x", &["H04 2>3"]),
    ("used after a free", "map a x; ctx; free x; map a x", &["H04 3>4"]),
    (
        "used after a free, twice in one place's order",
        "ctx; free x; map a x; map b x",
        &["H04 2>3", "H04 2>4"],
    ),
    ("a copy to memory that is freed", "ctx; freeh h; down a x h", &["H04 2>3"]),
    ("freed twice", "ctx; free x; free x", &["H04 2>3"]),
    ("used before it is there", "newa a x; map b x", &["H05 1>2"]),
    (
        "used before it is there, freed in order",
        "newa a x; map b x; rec e b; wait a e; freea a x",
        &["H05 1>2"],
    ),
    ("freed elsewhere before it is there", "newa a x; freea b x", &["H05 1>2"]),
    ("stream-ordered memory freed at once", "newa a x; map a x; free x", &["H04 2>3"]),
    ("a free that was seen to wait", "map a x; free x", &["H06 1>2"]),
    ("a free of pinned memory that was seen to wait", "up a h x; freeh h", &["H06 1>2"]),
    ("a free between two streams", "map a x; free y; map b x", &["H06 1>3"]),
    ("a free of pinned memory between", "map a x; freeh h; map b x", &["H06 1>3"]),
    ("a module load between", "map a x; load; map b x", &["H06 1>3"]),
    ("a module unload between", "map a x; unload; map b x", &["H06 1>3"]),
    ("a free too early to help", "free y; map a x; map b x", &["H01 2>3"]),
    ("a free too late to help", "map a x; map b x; free x", &["H01 1>2", "H06 2>3"]),
    (
        "a free that nobody waits for",
        "newa c y; map a x; ctx; map a x; free y; map b x",
        &["H01 4>6"],
    ),
];

const MISSED_BY_OTHERS: &[Row] = &[
    (
        "CuSan: an event is taken for its stream, work after the record included",
        "k a > x; rec e a; \
      k a > y; wait b e; k b x > z; k b y > w",
        &["H01 3>6"],
    ),
    (
        "CuSan: an event that is recorded again keeps its first stream",
        "k a > x; rec e a; k c > y; \
      rec e c; wait b e; k b x > z",
        &["H01 1>6"],
    ),
    (
        "CuSan: accesses are as large as the allocation, so parts are not told apart",
        "k a > x[0..32]; \
      rec e a; k c > x[32..64]; wait b e; k b x[0..32] > y; k b x[40..48] > z",
        &["H01 3>6"],
    ),
    (
        "PyTorch: views that start elsewhere are other tensors",
        "k a > x; k b x[16..64] > y",
        &["H01 1>2"],
    ),
    ("PyTorch: host memory is not looked at", "down a x h; up b h y", &["H01 1>2"]),
    (
        "PyTorch: a freed tensor's history is dropped",
        "newa a x; map a x; rec e a; wait b e; \
      k b x > y; freea a x; newa a z; k a > z",
        &["H04 5>6"],
    ),
    (
        "cudarc: the second reader's event takes the first one's place",
        "k a x > y; rec e a; \
      k b x > z; rec e b; wait c e; k c > x",
        &["H02 1>6"],
    ),
    (
        "cudarc: waits for events that were never recorded",
        "wait a e; wait a f; k a > x; wait b e; \
      k b x > y",
        &["H01 3>5"],
    ),
];
