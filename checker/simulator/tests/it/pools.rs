//! The pool of stream-ordered memory: when it has enough, when it grows, and when it gives back.
//!
//! What each costs was measured on an H200: see the profile.

use simulator::profile::Figure;
use trace::program::StreamKind::NonBlocking;
use trace::program::{BlockId, Call, StreamId};
use trace::timeline::Timeline;

use crate::program::*;

const CHUNK: u64 = 32 * MIB;

fn allocate(script: &mut Script, bytes: u64, stream: StreamId) -> (BlockId, u32) {
    let block = script.block();
    (block, script.call(Call::AllocAsync { block, bytes, stream }))
}

fn free(script: &mut Script, block: BlockId, stream: StreamId) -> u32 {
    script.call(Call::FreeAsync { block, stream })
}

/// By how many chunks the pool grew for an allocation.
fn grown(timeline: &Timeline, step: u32) -> u64 {
    let host = h200().host;
    let beside = host_ns(timeline, step) - host.alloc_async_ns.value;
    chunks(beside, &host.pool_grow_ns, &host.pool_grow_chunk_ns)
}

/// How many chunks a wait on an idle device gave back.
fn given_back(timeline: &Timeline, step: u32) -> u64 {
    let host = h200().host;
    let beside = host_ns(timeline, step) - host.synchronize_ns.value;
    chunks(beside, &host.pool_give_back_ns, &host.pool_give_back_chunk_ns)
}

fn chunks(ns: u64, once: &Figure, each: &Figure) -> u64 {
    if ns == 0 {
        return 0;
    }
    assert_eq!((ns - once.value) % each.value, 0, "whole chunks");
    (ns - once.value) / each.value
}

/// So long that all frees have run.
fn pause(script: &mut Script) {
    script.call(Call::HostWork { ns: 1_000_000, target: None });
}

#[test]
fn the_pool_grows_by_whole_chunks_of_what_is_missing() {
    let mut script = Script::new();
    let stream = script.stream(NonBlocking);
    // Eight blocks of 24 MiB take six chunks: every fourth one finds room.
    let steps = [(); 8].map(|()| allocate(&mut script, 24 * MIB, stream).1);
    let timeline = script.run();
    assert_eq!(steps.map(|step| grown(&timeline, step)), [1, 1, 1, 0, 1, 1, 1, 0]);
}

#[test]
fn what_was_freed_in_the_stream_is_there_at_once_and_may_be_divided_and_joined() {
    let mut script = Script::new();
    let stream = script.stream(NonBlocking);
    let (large, first) = allocate(&mut script, 64 * MIB, stream);
    script.kernel(stream, 1, 1000);
    free(&mut script, large, stream);
    let (one, second) = allocate(&mut script, 32 * MIB, stream);
    let (other, third) = allocate(&mut script, 32 * MIB, stream);
    free(&mut script, one, stream);
    free(&mut script, other, stream);
    let (_, fourth) = allocate(&mut script, 48 * MIB, stream);
    let timeline = script.run();
    let grown = [first, second, third, fourth].map(|step| grown(&timeline, step));
    assert_eq!(grown, [2, 0, 0, 0]);
}

#[test]
fn what_was_taken_from_a_freed_block_is_not_there_a_second_time() {
    let mut script = Script::new();
    let stream = script.stream(NonBlocking);
    let (large, _) = allocate(&mut script, 64 * MIB, stream);
    script.kernel(stream, 1, 1000);
    free(&mut script, large, stream);
    let steps = [(); 3].map(|()| allocate(&mut script, 32 * MIB, stream).1);
    let timeline = script.run();
    assert_eq!(steps.map(|step| grown(&timeline, step)), [0, 0, 1]);
}

#[test]
fn a_wait_for_one_stream_leaves_the_pool_what_another_has_freed() {
    let mut script = Script::new();
    let [first, second] = [0; 2].map(|_| script.stream(NonBlocking));
    let blocks = [first, second].map(|stream| allocate(&mut script, CHUNK, stream).0);
    script.kernel(second, 1, 10_000);
    free(&mut script, blocks[0], first);
    free(&mut script, blocks[1], second);
    pause(&mut script);
    let wait = synchronize(&mut script, first);
    let steps = [second, first].map(|stream| allocate(&mut script, CHUNK, stream).1);
    let timeline = script.run();
    assert_eq!(given_back(&timeline, wait), 1);
    assert_eq!(steps.map(|step| grown(&timeline, step)), [0, 1]);
}

#[test]
fn another_stream_gets_what_was_freed_once_it_comes_after_the_free() {
    for (waits, expected) in [(false, 1), (true, 0)] {
        let mut script = Script::new();
        let (first, second) = (script.stream(NonBlocking), script.stream(NonBlocking));
        let (block, _) = allocate(&mut script, CHUNK, first);
        script.kernel(first, 1, 1000);
        free(&mut script, block, first);
        if waits {
            let event = script.event();
            script.call(Call::EventRecord { event, stream: first });
            script.call(Call::StreamWait { stream: second, event });
        }
        let (_, step) = allocate(&mut script, CHUNK, second);
        let timeline = script.run();
        assert_eq!(grown(&timeline, step), expected, "waits: {waits}");
    }
    let mut script = Script::new();
    let (first, second) = (script.stream(NonBlocking), script.stream(NonBlocking));
    let (block, _) = allocate(&mut script, CHUNK, first);
    free(&mut script, block, first);
    pause(&mut script);
    let (_, step) = allocate(&mut script, CHUNK, second);
    assert_eq!(grown(&script.run(), step), 0, "the free has run");
}

#[test]
fn a_wait_gives_back_what_was_freed_before_it_and_a_query_nothing() {
    type Make = fn(&mut Script, [StreamId; 2]) -> u32;
    let cases: [(&str, Make, u64); 5] = [
        ("stream", |script, [first, _]| synchronize(script, first), 3),
        ("other stream", |script, [_, second]| synchronize(script, second), 0),
        ("context", |script, _| script.call(Call::ContextSynchronize), 3),
        (
            "event",
            |script, [first, _]| {
                let event = script.event();
                script.call(Call::EventRecord { event, stream: first });
                pause(script);
                script.call(Call::EventSynchronize { event })
            },
            3,
        ),
        (
            "query",
            |script, [first, _]| {
                script.call(Call::StreamQuery { stream: first });
                pause(script);
                let (_, step) = allocate(script, 3 * CHUNK, first);
                step
            },
            0,
        ),
    ];
    for (name, make, expected) in cases {
        let mut script = Script::new();
        let streams = [script.stream(NonBlocking), script.stream(NonBlocking)];
        // One MiB stays in use, and with it its chunk.
        allocate(&mut script, MIB, streams[0]);
        let (block, _) = allocate(&mut script, 3 * CHUNK, streams[0]);
        free(&mut script, block, streams[0]);
        pause(&mut script);
        let step = make(&mut script, streams);
        let timeline = script.run();
        match name {
            "query" => assert_eq!(grown(&timeline, step), 0, "{name}"),
            _ => assert_eq!(given_back(&timeline, step), expected, "{name}"),
        }
    }
}

fn synchronize(script: &mut Script, stream: StreamId) -> u32 {
    script.call(Call::StreamSynchronize { stream })
}

#[test]
fn the_release_threshold_says_what_is_kept_and_trimming_what_is_left() {
    for (kept, expected) in [(0, 4), (1, 3), (CHUNK, 3), (u64::MAX, 0)] {
        let mut script = Script::new();
        let stream = script.stream(NonBlocking);
        script.call(Call::PoolKeep { bytes: kept });
        let (block, _) = allocate(&mut script, 4 * CHUNK, stream);
        free(&mut script, block, stream);
        pause(&mut script);
        let step = synchronize(&mut script, stream);
        let trim = script.call(Call::PoolTrim { bytes: 0 });
        let (_, again) = allocate(&mut script, 4 * CHUNK, stream);
        let timeline = script.run();
        assert_eq!(given_back(&timeline, step), expected, "{kept} bytes");
        let host = h200().host;
        let trimmed = host_ns(&timeline, trim) - host.other_ns.value;
        let trimmed = chunks(trimmed, &host.pool_give_back_ns, &host.pool_give_back_chunk_ns);
        assert_eq!(trimmed, 4 - expected, "{kept} bytes");
        assert_eq!(grown(&timeline, again), 4, "{kept} bytes");
    }
}
