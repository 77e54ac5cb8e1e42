//! The default stream and its barrier, as documented: what is queued there waits for all blocking
//! streams, and what they are given afterwards waits for it.

use std::ptr;

use cudarc::driver::sys;

use crate::bench::{Bench, Event, Kind, MS, NULL, Stopwatch, Stream, cu, legacy, per_thread};
use crate::row::{BLOCKED, FREE, Fact, NOT_READY, OVERLAP, Result, Row, SERIAL, SUCCESS};

/// Two kernels, in this order, on two streams.
fn two_kernels(bench: &Bench, first: sys::CUstream, second: sys::CUstream) -> Result<Fact> {
    bench.synchronize()?;
    let start = Event::recorded(first)?;
    bench.kernel(first, MS)?;
    // An event behind a kernel of its own stream; on the default stream it is part of what is asked.
    let first_end = Event::recorded(first)?;
    bench.kernel(second, MS)?;
    let second_end = Event::recorded(second)?;
    bench.synchronize()?;
    let ms = first_end.since(&start)?;
    Ok(if second_end.since(&first_end)? > 0.75 * ms { SERIAL } else { OVERLAP })
}

fn in_turn(bench: &Bench, streams: &[sys::CUstream]) -> Result<Vec<Fact>> {
    bench.synchronize()?;
    let kernel = bench.rounds(MS);
    let mut ends = Vec::new();
    for &stream in streams {
        bench.launch(stream, 1, kernel)?;
        ends.push(Event::recorded(stream)?);
    }
    bench.synchronize()?;
    let serial = |pair: &[Event]| {
        pair[1].since(&pair[0]).map(|ms| if ms > 0.75 * MS { SERIAL } else { OVERLAP })
    };
    ends.windows(2).map(serial).collect()
}

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for kind in Kind::BOTH {
        let blocking = kind == Kind::Blocking;
        let ordered = if blocking { SERIAL } else { OVERLAP };
        let name = |what: &str| format!("the default stream and {} ones: {what}", kind.name());
        rows.push(Row::new(
            name("its kernel runs after an earlier kernel of another"),
            &[ordered],
            move |bench| Ok(vec![two_kernels(bench, Stream::new(kind)?.handle(), NULL)?]),
        ));
        rows.push(Row::new(
            name("its kernel runs before a later kernel of another"),
            &[ordered],
            move |bench| Ok(vec![two_kernels(bench, NULL, Stream::new(kind)?.handle())?]),
        ));
        rows.push(Row::new(
            name("stream 1, then it, then stream 1"),
            &if blocking { [SERIAL, SERIAL] } else { [OVERLAP, SERIAL] },
            move |bench| {
                let stream = Stream::new(kind)?;
                in_turn(bench, &[stream.handle(), NULL, stream.handle()])
            },
        ));
        rows.push(Row::new(
            name("stream 1, then it, then stream 2"),
            &[ordered, ordered],
            move |bench| {
                let (first, second) = (Stream::new(kind)?, Stream::new(kind)?);
                in_turn(bench, &[first.handle(), NULL, second.handle()])
            },
        ));
        rows.push(Row::new(
            name("its handle 1 is the same stream"),
            &[ordered, ordered],
            move |bench| {
                let (first, second) = (Stream::new(kind)?, Stream::new(kind)?);
                in_turn(bench, &[first.handle(), legacy(), second.handle()])
            },
        ));
        rows.push(Row::new(
            name("a query of it while another is busy"),
            &[if blocking { NOT_READY } else { SUCCESS }],
            move |bench| {
                let stream = Stream::new(kind)?;
                bench.synchronize()?;
                bench.kernel(stream.handle(), MS)?;
                let code = cu!(cuStreamQuery(NULL));
                bench.synchronize()?;
                Ok(vec![Fact::Code(code)])
            },
        ));
        rows.push(Row::new(
            name("an event of it stands for what others were given before"),
            &[if blocking { BLOCKED } else { FREE }],
            move |bench| {
                let stream = Stream::new(kind)?;
                bench.synchronize()?;
                bench.kernel(stream.handle(), MS)?;
                let event = Event::recorded(NULL)?;
                let watch = Stopwatch::start();
                event.synchronize()?;
                let waited = watch.ms() > MS / 2.0;
                bench.synchronize()?;
                Ok(vec![if waited { BLOCKED } else { FREE }])
            },
        ));
        // The wait is an operation of the default stream: what comes after it there, and in blocking
        // streams, comes after the event.
        rows.push(Row::new(
            name("its wait for an event holds others back"),
            &[ordered],
            move |bench| {
                let (busy, other) = (Stream::new(Kind::NonBlocking)?, Stream::new(kind)?);
                bench.synchronize()?;
                bench.kernel(busy.handle(), MS)?;
                let end = Event::recorded(busy.handle())?;
                cu!(cuStreamWaitEvent(NULL, end.handle(), 0)).result()?;
                bench.kernel(other.handle(), MS)?;
                let other_end = Event::recorded(other.handle())?;
                bench.synchronize()?;
                let serial = other_end.since(&end)? > 0.75 * MS;
                Ok(vec![if serial { SERIAL } else { OVERLAP }])
            },
        ));
        rows.push(Row::new(
            name("its wait for an event that was never recorded holds nobody back"),
            &[FREE, OVERLAP],
            move |bench| {
                let never = Event::new()?;
                let observed = bench.between(kind, MS, |_| {
                    cu!(cuStreamWaitEvent(NULL, never.handle(), 0)).result()
                })?;
                Ok(vec![observed.waiting(), observed.streams()])
            },
        ));
    }

    let name = |what: &str| format!("the thread's default stream: {what}");
    rows.push(Row::new(name("its kernel waits for the default stream's"), &[SERIAL], |bench| {
        Ok(vec![two_kernels(bench, NULL, per_thread())?])
    }));
    rows.push(Row::new(name("its kernel holds the default stream's back"), &[SERIAL], |bench| {
        Ok(vec![two_kernels(bench, per_thread(), NULL)?])
    }));
    rows.push(Row::new(name("its kernel runs beside a blocking stream's"), &[OVERLAP], |bench| {
        Ok(vec![two_kernels(bench, per_thread(), Stream::new(Kind::Blocking)?.handle())?])
    }));
    rows.push(Row::new(
        name("synchronizing it leaves a blocking stream alone"),
        &[FREE, OVERLAP],
        |bench| {
            let observed = bench
                .between(Kind::Blocking, MS, |_| cu!(cuStreamSynchronize(per_thread())).result())?;
            Ok(vec![observed.waiting(), observed.streams()])
        },
    ));
    rows.push(Row::new(name("its kernels run in order"), &[SERIAL], |bench| {
        in_turn(bench, &[per_thread(), per_thread()])
    }));
    rows.push(Row::new(name("it is a blocking stream"), &[Fact::Number(0)], |_| {
        let mut flags = 99;
        cu!(cuStreamGetFlags(per_thread(), ptr::from_mut(&mut flags))).result()?;
        Ok(vec![Fact::Number(flags as i32)])
    }));
    rows
}
