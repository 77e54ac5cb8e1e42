//! Correct programs of many shapes: none is accused.

use trace::hazards;

use super::script;

/// What it shows, and the script.
pub(crate) const PROGRAMS: &[(&str, &str)] = &[
    ("one stream is in order", "up a h x; map a x; down a x i"),
    ("reads need no order", "up a h x; ctx; k a x > y; k b x > z; k c x > w"),
    ("streams that share nothing", "map a x; map b y; map c z"),
    ("parts that only touch", "k a > x[0..32]; k b > x[32..64]"),
    ("an event hands over", "up a h x; rec e a; wait b e; map b x"),
    ("a chain of events", "up a h x; rec e a; wait b e; map b x; rec f b; wait c f; down c x i"),
    ("an order is passed on", "map a x; rec e a; wait b e; rec f b; wait c f; map c x"),
    (
        "fork and join",
        "map a x; rec e a; wait b e; wait c e; k b x > y; k c x > z; rec f b; \
      rec g c; wait a f; wait a g; k a y z > x",
    ),
    (
        "both readers are waited for",
        "k a x > y; k b x > z; rec e a; rec f b; wait c e; wait c f; \
      k c > x",
    ),
    (
        "the event is recorded again after the wait is made",
        "map a x; rec e a; wait b e; rec e a; \
      map b x",
    ),
    (
        "the event is destroyed after the wait is made",
        "map a x; rec e a; wait b e; drop e; map b x",
    ),
    (
        "double buffering",
        "up a h x; rec e a; wait b e; map b x; up a i y; rec f a; wait b f; \
      map b y; rec g b; wait a g; up a h x",
    ),
    ("the host waits for a stream", "map a x; sync a; map b x"),
    ("the host waits for an event", "map a x; rec e a; map a y; esync e; map b x"),
    ("the host waits for the context", "map a x; map b y; ctx; k c x y > z"),
    ("a query found the stream idle", "map a x; q? a; q a; map b x"),
    ("a query found the event over", "map a x; rec e a; eq? e; eq e; map b x"),
    (
        "a time between two events is known when both are over",
        "rec e a; map a x; rec f a; \
      elapsed e f; map b x",
    ),
    ("blocking streams and the default stream", "map A x; map 0 x; map B x"),
    ("a record in the default stream is between", "map A x; rec e 0; map B x"),
    ("so is a wait", "rec f c; map A x; wait 0 f; map B x"),
    (
        "the per-thread stream is a blocking one",
        "map p x; map 0 x; map p x; map A y; map 0 y; map p y",
    ),
    (
        "what a blocking stream waits for counts for the default stream",
        "map a x; rec e a; \
      wait A e; map 0 x",
    ),
    ("the default stream answers for the blocking ones", "map A x; sync 0; map b x"),
    (
        "a non-blocking stream waits for the default stream by an event",
        "map 0 x; rec e 0; wait a e; \
      map a x",
    ),
    ("a synchronous copy to the host holds it", "down! x h; map a x"),
    ("a synchronous copy from pinned memory holds the host", "up! h x; map a x"),
    (
        "a synchronous copy from pageable memory waits for what came before",
        "map A x; upp! y; map b x",
    ),
    ("a synchronous copy to pageable memory holds the host", "k A > x; downp! x; map b x"),
    ("a synchronous copy comes before blocking streams", "upp! x; map A x"),
    ("a synchronous memset comes before blocking streams", "set! x; map A x"),
    ("a synchronous memset of pinned memory holds the host", "set! h; up a h x"),
    ("a copy inside the host holds it", "hop a h i; up b i x"),
    ("pageable memory is free when the call returns", "upp a x; upp a y; downp a x; downp a y"),
    ("memory is freed when the work is over", "map a x; sync a; free x"),
    ("pinned memory is freed when the copy is over", "up a h x; sync a; freeh h"),
    ("stream-ordered memory in one stream", "newa a x; map a x; freea a x"),
    (
        "stream-ordered memory used elsewhere",
        "newa a x; rec e a; wait b e; map b x; rec f b; \
      wait a f; freea a x",
    ),
    (
        "stream-ordered memory after a synchronisation",
        "newa a x; sync a; map b x; sync b; freea c x",
    ),
    (
        "stream-ordered memory freed at once after a synchronisation",
        "newa a x; map a x; sync a; \
      free x",
    ),
    ("a new block takes an old one's place", "newa a x; map a x; freea a x; newa b y; map b y"),
    ("a region starts on an idle device", "map a x; begin; map b x; ctx; end"),
    ("a host function is in its stream's order", "up a h x; fn a; map a x"),
    ("a stream that is destroyed still runs", "map a x; rec e a; kill a; wait b e; map b x"),
    ("a call that failed does nothing", "map a x; ! k b > x; rec e a; wait b e; map b x"),
    ("a thread comes after what was known when it started", "map a x; sync a; @1 map b x"),
    ("another thread makes the wait", "map a x; rec e a; @1 wait b e; @1 map b x"),
    ("an address is used in no byte", "k a > x[0..0]; k b > x[0..64]"),
    (
        "a stream in the place of an old one",
        "map a x; sync a; kill a; stream b; map b x; rec e b; \
      wait c e; map c x",
    ),
    ("many parts, then all", "k a > x[0..16]; k b > x[16..32]; k c > x[32..48]; ctx; k d x > y"),
    (
        "a graph with a fork and a join",
        "cap a; up a h x; rec e a; wait b e; k b x > y; k a x > z; rec f b; wait a f; \
         k a y z > x; endcap; inst; go a; go a; ctx",
    ),
    ("a graph in its stream's order", "map a x; cap a; map a x; endcap; inst; go a; map a x"),
    (
        "a graph comes after an event",
        "map b x; rec e b; cap a; map a x; endcap; inst; wait a e; go a",
    ),
    (
        "an event comes after a graph",
        "cap a; map a x; endcap; inst; go a; rec e a; wait b e; map b x",
    ),
    ("launches of one copy take turns", "cap a; map a x; endcap; inst; go a; go b"),
    (
        "launches of a copy before and after its update take turns",
        "cap a; map a x; endcap; inst; go a; cap a; set a x; endcap; upd 0; go b",
    ),
    (
        "launches of the second copy take turns",
        "cap a; map a x; endcap; inst; inst; go a 1; go b 1",
    ),
    (
        "branches that share nothing",
        "cap a; rec e a; wait b e; map a x; map b y; rec f b; wait a f; endcap; inst; go a",
    ),
    (
        "a graph's result after a synchronisation",
        "cap a; down a x h; endcap; inst; go a; sync a; read h",
    ),
    ("a result is read after a synchronisation", "down a x h; sync a; read h"),
    ("a result is read after an event", "down a x h; rec e a; down a x i; esync e; read h"),
    ("a result is read after a query", "down a x h; rec e a; eq? e; eq e; peek h"),
    ("a source is written after it was sent", "up a h x; ctx; write h; up a h x"),
    ("a source is written before it is sent", "write h; up a h x; up b h y"),
    ("a source is read while it is sent", "up a h x; read h; peek h"),
    (
        "the other chunk is read",
        "down a x[0..32] h[0..32]; sync a; down a x h[32..64]; read h[0..32]",
    ),
    ("somewhere in a page of which a copy uses half", "down a x h[0..32]; peek h"),
    ("two somewheres need not meet", "fn a > h; peek h"),
    ("a synchronous copy is over when it returns", "down! x h; read h; up! h x; write h"),
    ("a pageable copy touches no pinned memory", "downp a x; read h"),
    ("a host function in its stream's order", "down a x h; fn a h > i; up a i y; sync a; read h"),
    ("an order through another stream", "down a x h; rec e a; wait b e; map b y; sync b; peek h"),
    ("the default stream answers for blocking ones", "down A x h; sync 0; peek h"),
    ("one thread writes before it starts the other", "write h; @1 up a h x; @1 sync a; @1 write h"),
    ("a thread knows what came before its start", "map a x; sync a; spawn 1; @1 map b x"),
    ("a thread is joined", "spawn 1; @1 map a x; @1 sync a; @1 done; join 1; map b x"),
    (
        "a thread is joined before it ends",
        "spawn 1; join 1; @1 map a x; @1 sync a; @1 done; map b x",
    ),
    ("one stream of two threads", "spawn 1; @1 map a x; @1 send 0 0; recv 0 0; map a x"),
    ("one stream after another", "map a x; spawn 1; @1 map a x; @1 done; join 1; map a x"),
    (
        "an event of another thread",
        "spawn 1; @1 map a x; @1 rec e a; @1 send 0 0; recv 0 0; wait b e; map b x",
    ),
    (
        "a stream of another thread is synchronised",
        "spawn 1; @1 down a x h; @1 send 0 0; recv 0 0; sync a; read h",
    ),
    (
        "the default stream waits for what another thread asked for",
        "spawn 1; @1 map A x; @1 send 0 0; recv 0 0; map 0 x",
    ),
    ("a message", "spawn 1; @1 map a x; @1 sync a; @1 send 0 0; recv 0 0; map b x"),
    (
        "a message that is waited for",
        "spawn 1; recv 0 0; @1 map a x; @1 sync a; @1 send 0 0; map b x",
    ),
    ("the end of all messages", "spawn 1; recv 0 none; @1 map a x; @1 sync a; @1 shut 0; map b x"),
    (
        "the end of all senders, of which another was the last",
        "spawn 1; spawn 2; @1 map a x; @1 sync a; @1 shut 0 1; @2 shut 0; recv 0 none; map b x",
    ),
    (
        "the same, waited for from the start",
        "spawn 1; spawn 2; recv 0 none; @1 map a x; @1 sync a; @1 shut 0 1; @2 shut 0; map b x",
    ),
    (
        "room in a channel",
        "open 0 1; spawn 1; @1 send 0 0; @1 send 0 1; map a x; sync a; recv 0 0; @1 map b x",
    ),
    (
        "room that was there before it was needed",
        "open 0 1; spawn 1; @1 send 0 0; map a x; sync a; recv 0 0; @1 send 0 1; @1 map b x",
    ),
    (
        "a pipeline through three streams, two chunks",
        "up a h x[0..32]; rec e a; wait b e; \
      map b x[0..32]; rec f b; wait c f; down c x[0..32] i; up a h x[32..64]; rec e a; wait b e; \
      map b x[32..64]; rec f b; wait c f; down c x[32..64] j",
    ),
];

#[test]
fn no_correct_program_is_accused() {
    for (seed, (name, script)) in (1..).zip(PROGRAMS) {
        let alone = script::program(script);
        for program in [&alone, &script::beside_another_device(&alone, seed)] {
            let found = hazards::find(program);
            let found: Vec<String> = found.iter().map(|hazard| hazard.message()).collect();
            assert!(found.is_empty(), "{name}: {script}\n{found:#?}");
        }
    }
    assert!(PROGRAMS.len() >= 30);
}
