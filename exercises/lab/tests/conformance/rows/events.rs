//! Records, waits, queries: what an event stands for, and what misuse of it does. Documented in the
//! driver API's chapter on events.

use cudarc::driver::sys::CUevent_flags;

use crate::bench::{Bench, Event, Kind, MS, Stopwatch, Stream, cu};
use crate::row::{
    BLOCKED, FREE, Fact, INVALID_HANDLE, NOT_READY, OVERLAP, Result, Row, SERIAL, SUCCESS,
};

const KIND: Kind = Kind::NonBlocking;

/// Whether a kernel on the second stream comes after one on the first, when this is done before and
/// after the first is launched.
fn held_back(
    bench: &Bench,
    before: impl FnOnce(&Stream, &Stream) -> Result<()>,
    after: impl FnOnce(&Stream, &Stream) -> Result<()>,
) -> Result<Vec<Fact>> {
    let (first, second) = (Stream::new(KIND)?, Stream::new(KIND)?);
    bench.synchronize()?;
    before(&first, &second)?;
    bench.kernel(first.handle(), MS)?;
    let first_end = Event::recorded(first.handle())?;
    after(&first, &second)?;
    bench.kernel(second.handle(), MS)?;
    let second_end = Event::recorded(second.handle())?;
    bench.synchronize()?;
    let serial = second_end.since(&first_end)? > 0.75 * MS;
    Ok(vec![if serial { SERIAL } else { OVERLAP }])
}

/// Whether the host waits for a kernel, when this is done before it is launched and this after.
fn waits(
    bench: &Bench,
    before: impl FnOnce(&Stream) -> Result<()>,
    after: impl FnOnce(&Stream) -> Result<()>,
) -> Result<Vec<Fact>> {
    let stream = Stream::new(KIND)?;
    bench.synchronize()?;
    before(&stream)?;
    bench.kernel(stream.handle(), MS)?;
    let watch = Stopwatch::start();
    let done = after(&stream);
    let waited = watch.ms() > MS / 2.0;
    bench.synchronize()?;
    done?;
    Ok(vec![if waited { BLOCKED } else { FREE }])
}

pub(super) fn rows() -> Vec<Row> {
    let name = |what: &str| format!("an event: {what}");
    vec![
        Row::new(name("a wait for it orders two streams"), &[SERIAL], |bench| {
            held_back(
                bench,
                |_, _| Ok(()),
                |first, second| second.wait(&Event::recorded(first.handle())?),
            )
        }),
        Row::new(name("a wait for one without timing orders two streams"), &[SERIAL], |bench| {
            held_back(
                bench,
                |_, _| Ok(()),
                |first, second| {
                    let event = Event::with_flags(CUevent_flags::CU_EVENT_DISABLE_TIMING)?;
                    event.record(first.handle())?;
                    second.wait(&event)
                },
            )
        }),
        Row::new(
            name("a wait for one that was never recorded holds nothing back"),
            &[OVERLAP],
            |bench| held_back(bench, |_, _| Ok(()), |_, second| second.wait(&Event::new()?)),
        ),
        Row::new(name("a wait before the record holds nothing back"), &[OVERLAP], |bench| {
            let event = Event::new()?;
            held_back(
                bench,
                |_, second| second.wait(&event),
                |first, _| event.record(first.handle()),
            )
        }),
        Row::new(
            name("a wait holds to the record before it, whatever is recorded later"),
            &[OVERLAP],
            |bench| {
                let event = Event::new()?;
                held_back(
                    bench,
                    |first, second| {
                        event.record(first.handle())?;
                        second.wait(&event)
                    },
                    |first, _| event.record(first.handle()),
                )
            },
        ),
        Row::new(name("a wait takes the latest record"), &[SERIAL], |bench| {
            let event = Event::new()?;
            held_back(
                bench,
                |first, _| event.record(first.handle()),
                |first, second| {
                    event.record(first.handle())?;
                    second.wait(&event)
                },
            )
        }),
        Row::new(
            name("recorded again elsewhere, it stands for that stream alone"),
            &[OVERLAP],
            |bench| {
                let event = Event::new()?;
                held_back(
                    bench,
                    |_, _| Ok(()),
                    |first, second| {
                        event.record(first.handle())?;
                        event.record(second.handle())?;
                        second.wait(&event)
                    },
                )
            },
        ),
        Row::new(name("a wait outlives it"), &[SERIAL], |bench| {
            held_back(
                bench,
                |_, _| Ok(()),
                |first, second| {
                    let event = Event::recorded(first.handle())?;
                    second.wait(&event)?;
                    event.destroy()
                },
            )
        }),
        Row::new(name("waits carry over a third stream"), &[SERIAL], |bench| {
            let third = Stream::new(KIND)?;
            held_back(
                bench,
                |_, _| Ok(()),
                |first, second| {
                    third.wait(&Event::recorded(first.handle())?)?;
                    second.wait(&Event::recorded(third.handle())?)
                },
            )
        }),
        Row::new(name("what was queued before a wait is not held back"), &[OVERLAP], |bench| {
            let (first, second) = (Stream::new(KIND)?, Stream::new(KIND)?);
            bench.synchronize()?;
            bench.kernel(first.handle(), MS)?;
            let first_end = Event::recorded(first.handle())?;
            bench.kernel(second.handle(), MS)?;
            let second_end = Event::recorded(second.handle())?;
            second.wait(&first_end)?;
            bench.synchronize()?;
            let serial = second_end.since(&first_end)? > 0.75 * MS;
            Ok(vec![if serial { SERIAL } else { OVERLAP }])
        }),
        Row::new(name("recording it costs the host no wait"), &[FREE], |bench| {
            let event = Event::new()?;
            waits(bench, |_| Ok(()), |stream| event.record(stream.handle()))
        }),
        Row::new(name("synchronizing waits for its record"), &[BLOCKED], |bench| {
            waits(bench, |_| Ok(()), |stream| Event::recorded(stream.handle())?.synchronize())
        }),
        Row::new(
            name("synchronizing one with the flag for blocking waits too"),
            &[BLOCKED],
            |bench| {
                let event = Event::with_flags(CUevent_flags::CU_EVENT_BLOCKING_SYNC)?;
                waits(
                    bench,
                    |_| Ok(()),
                    |stream| {
                        event.record(stream.handle())?;
                        event.synchronize()
                    },
                )
            },
        ),
        Row::new(name("synchronizing waits for nothing after its record"), &[FREE], |bench| {
            let event = Event::new()?;
            waits(bench, |stream| event.record(stream.handle()), |_| event.synchronize())
        }),
        Row::new(name("synchronizing waits for its latest record"), &[BLOCKED], |bench| {
            let event = Event::new()?;
            waits(
                bench,
                |stream| event.record(stream.handle()),
                |stream| {
                    event.record(stream.handle())?;
                    event.synchronize()
                },
            )
        }),
        Row::new(
            name("synchronizing one that was never recorded returns at once"),
            &[FREE],
            |bench| waits(bench, |_| Ok(()), |_| Event::new()?.synchronize()),
        ),
        Row::new(name("destroying it while it is pending waits for nothing"), &[FREE], |bench| {
            waits(bench, |_| Ok(()), |stream| Event::recorded(stream.handle())?.destroy())
        }),
        Row::new(
            name("queried: never recorded, during a kernel, after it"),
            &[SUCCESS, NOT_READY, SUCCESS],
            |bench| {
                let (stream, event) = (Stream::new(KIND)?, Event::new()?);
                bench.synchronize()?;
                let never = event.query();
                bench.kernel(stream.handle(), MS)?;
                event.record(stream.handle())?;
                let behind = event.query();
                bench.synchronize()?;
                Ok([never, behind, event.query()].map(Fact::Code).to_vec())
            },
        ),
        Row::new(
            name("queried after it was recorded again after a kernel"),
            &[NOT_READY],
            |bench| {
                let (stream, event) = (Stream::new(KIND)?, Event::recorded(crate::bench::NULL)?);
                bench.synchronize()?;
                bench.kernel(stream.handle(), MS)?;
                event.record(stream.handle())?;
                let code = event.query();
                bench.synchronize()?;
                Ok(vec![Fact::Code(code)])
            },
        ),
        Row::new(
            name("a stream queried: during a kernel, after it"),
            &[NOT_READY, SUCCESS],
            |bench| {
                let stream = Stream::new(KIND)?;
                bench.synchronize()?;
                bench.kernel(stream.handle(), MS)?;
                let behind = cu!(cuStreamQuery(stream.handle()));
                bench.synchronize()?;
                Ok([behind, cu!(cuStreamQuery(stream.handle()))].map(Fact::Code).to_vec())
            },
        ),
        Row::new(name("elapsed time from one without timing"), &[INVALID_HANDLE], |bench| {
            let stream = Stream::new(KIND)?;
            let untimed = Event::with_flags(CUevent_flags::CU_EVENT_DISABLE_TIMING)?;
            untimed.record(stream.handle())?;
            let timed = Event::recorded(stream.handle())?;
            bench.synchronize()?;
            timed.since(&untimed).map(|_| vec![SUCCESS])
        }),
        Row::new(name("elapsed time to one without timing"), &[INVALID_HANDLE], |bench| {
            let stream = Stream::new(KIND)?;
            let timed = Event::recorded(stream.handle())?;
            let untimed = Event::with_flags(CUevent_flags::CU_EVENT_DISABLE_TIMING)?;
            untimed.record(stream.handle())?;
            bench.synchronize()?;
            untimed.since(&timed).map(|_| vec![SUCCESS])
        }),
        Row::new(name("elapsed time to one never recorded"), &[INVALID_HANDLE], |bench| {
            let stream = Stream::new(KIND)?;
            let recorded = Event::recorded(stream.handle())?;
            bench.synchronize()?;
            Event::new()?.since(&recorded).map(|_| vec![SUCCESS])
        }),
        Row::new(name("elapsed time to one that is pending"), &[NOT_READY], |bench| {
            let stream = Stream::new(KIND)?;
            let start = Event::recorded(stream.handle())?;
            bench.kernel(stream.handle(), MS)?;
            let end = Event::recorded(stream.handle())?;
            let elapsed = end.since(&start);
            bench.synchronize()?;
            elapsed.map(|_| vec![SUCCESS])
        }),
        Row::new(name("elapsed time between two streams"), &[SUCCESS], |bench| {
            let (first, second) = (Stream::new(KIND)?, Stream::new(KIND)?);
            bench.synchronize()?;
            let start = Event::recorded(first.handle())?;
            second.wait(&start)?;
            bench.kernel(second.handle(), MS)?;
            let end = Event::recorded(second.handle())?;
            bench.synchronize()?;
            let plausible = (0.5 * MS..1.5 * MS).contains(&end.since(&start)?);
            Ok(vec![if plausible { SUCCESS } else { INVALID_HANDLE }])
        }),
    ]
}
