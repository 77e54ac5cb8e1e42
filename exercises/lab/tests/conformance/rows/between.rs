//! What a call does between two kernels on two streams: the table measured on an H200 (driver 580.159,
//! 2026-11-21), once with blocking and once with non-blocking streams.

use std::ptr;

use cudarc::driver::sys;

use super::graphs::Graph;
use crate::bench::{
    Bench, Event, Host, Kind, LONG_MS, MS, Memory, NULL, Pinned, Scene, Stream, cu, nothing,
};
use crate::row::{BLOCKED, FREE, Fact, HELD, NOT_SUPPORTED, OVERLAP, Result, Row, SERIAL};

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// Makes host memory of one kind.
type Make = fn(usize) -> Result<Host>;
/// Chooses a stream.
type Which = fn(&Scene<'_>) -> sys::CUstream;
/// A queued copy: its stream, its memory, its size, and what is seen of it.
type Queued = (&'static str, Which, &'static str, Make, &'static str, usize, [Fact; 2]);

/// What is asked of the host.
#[derive(Clone, Copy)]
enum Asks {
    /// Whether it waits for the kernel.
    Waits,
    /// The same, of a call that takes long by itself.
    WaitsForLong,
    /// Whether it waits for the kernel, or for the call alone.
    Holds,
}

const OVERLAPS: [Fact; 2] = [FREE, OVERLAP];
const WAITS: [Fact; 2] = [BLOCKED, SERIAL];
const ORDERS: [Fact; 2] = [FREE, SERIAL];
const HOLDS: [Fact; 2] = [HELD, OVERLAP];

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for kind in Kind::BOTH {
        let mut table = Table { kind, rows: Vec::new() };
        table.that_only_queue_work();
        table.about_memory();
        table.that_make_and_end();
        table.that_ask();
        table.about_graphs();
        table.about_the_default_stream();
        table.that_copy();
        table.that_wait();
        rows.extend(table.rows);
    }
    rows
}

struct Table {
    kind: Kind,
    rows: Vec<Row>,
}

impl Table {
    /// Adds a row. `prepare` makes what the call needs, before the kernel.
    fn row<T>(
        &mut self,
        asks: Asks,
        what: impl Into<String>,
        [blocking, non_blocking]: [[Fact; 2]; 2],
        prepare: impl Fn(&Bench) -> Result<T> + 'static,
        call: impl Fn(&Scene<'_>, &T) -> Result<()> + 'static,
    ) -> &mut Row {
        let kind = self.kind;
        let what: String = what.into();
        let expect = match kind {
            Kind::Blocking => blocking,
            Kind::NonBlocking => non_blocking,
        };
        let ms = match asks {
            Asks::WaitsForLong => LONG_MS,
            Asks::Waits | Asks::Holds => MS,
        };
        let name = format!("between kernels on {} streams: {what}", kind.name());
        self.rows.push(Row::new(name, &expect, move |bench| {
            let prepared = prepare(bench)?;
            let observed = bench.between(kind, ms, |scene| call(scene, &prepared))?;
            let host = match asks {
                Asks::Waits | Asks::WaitsForLong => observed.waiting(),
                Asks::Holds => observed.holding(),
            };
            Ok(vec![host, observed.streams()])
        }));
        self.rows.last_mut().expect("it has just been added")
    }

    /// As [`Table::row`], without anything to prepare.
    fn call(
        &mut self,
        what: &str,
        expect: [[Fact; 2]; 2],
        call: impl Fn(&Scene<'_>) -> Result<()> + 'static,
    ) {
        self.row(Asks::Waits, what, expect, |_| Ok(()), move |scene, ()| call(scene));
    }

    fn that_only_queue_work(&mut self) {
        const BOTH: [[Fact; 2]; 2] = [OVERLAPS, OVERLAPS];
        self.call("nothing", BOTH, |_| Ok(()));
        self.call("a kernel on a third stream", BOTH, |scene| {
            scene.bench.kernel(scene.third.handle(), 1.0)
        });
        self.row(
            Asks::Waits,
            "an event record on a third stream",
            BOTH,
            |_| Event::new(),
            |scene, event| event.record(scene.third.handle()),
        );
        self.row(
            Asks::Waits,
            "a memset on a third stream",
            BOTH,
            |_| Memory::new(MIB),
            |scene, memory| {
                cu!(cuMemsetD8Async(memory.address(), 1, MIB, scene.third.handle())).result()
            },
        );
        self.row(
            Asks::Waits,
            "a copy inside the device on a third stream",
            BOTH,
            |_| Memory::new(2 * MIB),
            |scene, memory| {
                let (to, from) = (memory.address(), memory.address() + MIB as u64);
                cu!(cuMemcpyDtoDAsync_v2(to, from, MIB, scene.third.handle())).result()
            },
        );
        self.call("a stream created and destroyed", BOTH, |_| {
            Stream::new(Kind::Blocking)?.destroy()
        });
        self.call("an event created and destroyed", BOTH, |_| Event::new()?.destroy());
        self.call("cuMemGetInfo", BOTH, |_| {
            let (mut free, mut total) = (0, 0);
            cu!(cuMemGetInfo_v2(&mut free, &mut total)).result()
        });
        self.call("cuFuncSetCacheConfig", BOTH, |scene| {
            let none = sys::CUfunc_cache::CU_FUNC_CACHE_PREFER_NONE;
            cu!(cuFuncSetCacheConfig(scene.bench.kernel, none)).result()
        });
        self.call("cuStreamQuery of the default stream", BOTH, |_| {
            // Either answer will do here.
            let _ = cu!(cuStreamQuery(NULL));
            Ok(())
        });
        self.call("a host function on a third stream", BOTH, |scene| {
            let stream = scene.third.handle();
            cu!(cuLaunchHostFunc(stream, Some(nothing), ptr::null_mut())).result()
        });
        self.call("a host function after the kernel", BOTH, |scene| {
            let stream = scene.first.handle();
            cu!(cuLaunchHostFunc(stream, Some(nothing), ptr::null_mut())).result()
        });
        self.call("the kernel's stream destroyed", BOTH, |scene| scene.first.destroy());
        self.call("a busy third stream destroyed", BOTH, |scene| {
            scene.bench.kernel(scene.third.handle(), MS)?;
            scene.third.destroy()
        });
        self.call("cuModuleGetFunction of another kernel", BOTH, |scene| {
            let mut function = ptr::null_mut();
            let module = scene.bench.module;
            cu!(cuModuleGetFunction(&mut function, module, c"map_b".as_ptr())).result()
        });
    }

    fn about_memory(&mut self) {
        const BOTH: [[Fact; 2]; 2] = [OVERLAPS, OVERLAPS];
        const WAIT: [[Fact; 2]; 2] = [WAITS, WAITS];
        for (size, bytes) in [("1 MiB", MIB), ("256 MiB", 256 * MIB)] {
            // What is allocated is freed when the device is idle again.
            self.row(
                Asks::Waits,
                format!("cuMemAlloc of {size}"),
                BOTH,
                |_| Ok(std::cell::RefCell::new(None)),
                move |_, kept| {
                    *kept.borrow_mut() = Some(Memory::new(bytes)?);
                    Ok(())
                },
            );
        }
        self.call("cuMemAllocAsync and cuMemFreeAsync on a third stream", BOTH, |scene| {
            let mut address = 0;
            cu!(cuMemAllocAsync(&mut address, MIB, scene.third.handle())).result()?;
            cu!(cuMemFreeAsync(address, scene.third.handle())).result()
        });
        self.row(
            Asks::Waits,
            "cuMemFreeAsync after the kernel",
            BOTH,
            |bench| {
                let stream = Stream::new(Kind::NonBlocking)?;
                let mut address = 0;
                cu!(cuMemAllocAsync(&mut address, MIB, stream.handle())).result()?;
                bench.synchronize()?;
                Ok(address)
            },
            |scene, address| cu!(cuMemFreeAsync(*address, scene.first.handle())).result(),
        );
        for (size, bytes) in [
            ("4 KiB", 4 * KIB),
            ("1 MiB", MIB),
            ("4 MiB", 4 * MIB),
            ("16 MiB", 16 * MIB),
            ("64 MiB", 64 * MIB),
        ] {
            self.row(
                Asks::WaitsForLong,
                format!("cuMemHostAlloc of {size}"),
                BOTH,
                |_| Ok(std::cell::RefCell::new(None)),
                move |_, kept| {
                    *kept.borrow_mut() = Some(Pinned::new(bytes)?);
                    Ok(())
                },
            );
        }
        for (size, bytes) in [("4 KiB", 4 * KIB), ("16 MiB", 16 * MIB)] {
            let row = self.row(
                Asks::WaitsForLong,
                format!("cuMemHostRegister of {size}"),
                BOTH,
                move |_| Ok(Registered(vec![1; bytes])),
                |_, memory| {
                    let address = memory.0.as_ptr().cast_mut().cast();
                    cu!(cuMemHostRegister_v2(address, memory.0.len(), 0)).result()
                },
            );
            row.gap = Some(vec![NOT_SUPPORTED]);
        }
        for (size, bytes) in [("4 KiB", 4 * KIB), ("1 MiB", MIB), ("256 MiB", 256 * MIB)] {
            self.row(
                Asks::Waits,
                format!("cuMemFree of {size}"),
                WAIT,
                move |_| Memory::new(bytes),
                |_, memory| memory.free(),
            );
        }
        for (size, bytes) in [("4 KiB", 4 * KIB), ("64 MiB", 64 * MIB)] {
            self.row(
                Asks::WaitsForLong,
                format!("cuMemFreeHost of {size}"),
                WAIT,
                move |_| Pinned::new(bytes),
                |_, memory| memory.free(),
            );
        }
    }

    /// What is made and ended beside what others use.
    fn that_make_and_end(&mut self) {
        const BOTH: [[Fact; 2]; 2] = [OVERLAPS, OVERLAPS];
        const WAIT: [[Fact; 2]; 2] = [WAITS, WAITS];
        self.row(
            Asks::Waits,
            "cuMemAlloc of 64 KiB beside a block of as many",
            BOTH,
            |_| Ok((Memory::new(64 * KIB)?, std::cell::RefCell::new(None))),
            |_, (_, kept)| {
                *kept.borrow_mut() = Some(Memory::new(64 * KIB)?);
                Ok(())
            },
        );
        self.row(
            Asks::Waits,
            "cuMemFree of 64 KiB beside a block of as many",
            WAIT,
            |_| Ok([Memory::new(64 * KIB)?, Memory::new(64 * KIB)?]),
            |_, [memory, _]| memory.free(),
        );
        self.row(
            Asks::Waits,
            "a module unload",
            WAIT,
            |bench| {
                let mut module = ptr::null_mut();
                cu!(cuModuleLoadData(&mut module, bench.image())).result()?;
                Ok(module)
            },
            |_, &module| cu!(cuModuleUnload(module)).result(),
        );
        self.row(
            Asks::Waits,
            "a stream destroyed that has done its work",
            BOTH,
            |bench| {
                let stream = Stream::new(Kind::NonBlocking)?;
                bench.kernel(stream.handle(), 1.0)?;
                stream.synchronize()?;
                Ok(stream)
            },
            |_, stream| stream.destroy(),
        );
        self.call("a stream created, given a kernel and destroyed", BOTH, |scene| {
            let stream = Stream::new(Kind::NonBlocking)?;
            scene.bench.kernel(stream.handle(), 1.0)?;
            stream.destroy()
        });
        self.call("a stream of the highest priority created and destroyed", BOTH, |_| {
            let (mut lowest, mut highest) = (0, 0);
            cu!(cuCtxGetStreamPriorityRange(&mut lowest, &mut highest)).result()?;
            Stream::with_priority(Kind::NonBlocking, highest)?.destroy()
        });
        self.call("an event recorded after the kernel and destroyed", BOTH, |scene| {
            let event = Event::recorded(scene.first.handle())?;
            event.destroy()
        });
        self.call("a third stream that waits for the kernel, destroyed", BOTH, |scene| {
            let event = Event::recorded(scene.first.handle())?;
            scene.third.wait(&event)?;
            scene.third.destroy()
        });
    }

    /// Questions, whatever the answer.
    fn that_ask(&mut self) {
        const BOTH: [[Fact; 2]; 2] = [OVERLAPS, OVERLAPS];
        self.call("cuStreamQuery of the kernel's stream", BOTH, |scene| {
            let _ = cu!(cuStreamQuery(scene.first.handle()));
            Ok(())
        });
        self.call("cuEventQuery of an event after the kernel", BOTH, |scene| {
            let _ = Event::recorded(scene.first.handle())?.query();
            Ok(())
        });
        self.row(
            Asks::Waits,
            "cuEventElapsedTime between two events of the past",
            BOTH,
            |bench| {
                let events = [Event::recorded(NULL)?, Event::recorded(NULL)?];
                bench.synchronize()?;
                Ok(events)
            },
            |_, [start, end]| end.since(start).map(drop),
        );
        self.call("cuOccupancyMaxActiveBlocksPerMultiprocessor", BOTH, |scene| {
            let (mut blocks, kernel) = (0, scene.bench.kernel);
            cu!(cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, kernel, 128, 0)).result()
        });
        self.call("cuStreamGetPriority of the kernel's stream", BOTH, |scene| {
            let mut priority = 0;
            cu!(cuStreamGetPriority(scene.first.handle(), &mut priority)).result()
        });
    }

    fn about_graphs(&mut self) {
        const BOTH: [[Fact; 2]; 2] = [OVERLAPS, OVERLAPS];
        let captured = |bench: &Bench| {
            let stream = Stream::new(Kind::NonBlocking)?;
            Graph::captured(&stream, |stream| bench.kernel(stream.handle(), 1.0))
        };
        self.call("a graph captured and instantiated", BOTH, move |scene| {
            captured(scene.bench).map(drop)
        });
        self.row(
            Asks::Waits,
            "a graph launched on a third stream",
            BOTH,
            captured,
            |scene, graph| graph.launch(scene.third.handle()),
        );
        self.row(
            Asks::Waits,
            "a graph launched after the kernel",
            BOTH,
            captured,
            |scene, graph| graph.launch(scene.first.handle()),
        );
        self.row(
            Asks::Waits,
            "a graph launched on the default stream",
            [ORDERS, OVERLAPS],
            captured,
            |_, graph| graph.launch(NULL),
        );
    }

    fn about_the_default_stream(&mut self) {
        const BARRIER: [[Fact; 2]; 2] = [ORDERS, OVERLAPS];
        self.call("a kernel on the default stream", BARRIER, |scene| scene.bench.kernel(NULL, 1.0));
        self.row(
            Asks::Waits,
            "an event record on the default stream",
            BARRIER,
            |_| Event::new(),
            |_, event| event.record(NULL),
        );
        self.row(
            Asks::Waits,
            "a memset on the default stream",
            BARRIER,
            |_| Memory::new(MIB),
            |_, memory| cu!(cuMemsetD8Async(memory.address(), 1, MIB, NULL)).result(),
        );
        self.row(
            Asks::Waits,
            "a synchronous cuMemsetD8",
            BARRIER,
            |_| Memory::new(MIB),
            |_, memory| cu!(cuMemsetD8_v2(memory.address(), 1, MIB)).result(),
        );
        self.row(
            Asks::Waits,
            "a synchronous cuMemcpyDtoD",
            BARRIER,
            |_| Memory::new(2 * MIB),
            |_, memory| {
                let (to, from) = (memory.address(), memory.address() + MIB as u64);
                cu!(cuMemcpyDtoD_v2(to, from, MIB)).result()
            },
        );
        self.call("a host function on the default stream", BARRIER, |_| {
            cu!(cuLaunchHostFunc(NULL, Some(nothing), ptr::null_mut())).result()
        });
        self.row(
            Asks::Waits,
            "a pinned upload queued on the default stream",
            BARRIER,
            |_| Ok((Memory::new(MIB)?, Host::pinned(MIB)?)),
            |_, (memory, host)| {
                cu!(cuMemcpyHtoDAsync_v2(memory.address(), host.address(), MIB, NULL)).result()
            },
        );
    }

    fn that_copy(&mut self) {
        const SYNCHRONOUS: [[Fact; 2]; 2] = [WAITS, HOLDS];
        let memories: [(&str, Make); 2] = [("pinned", Host::pinned), ("pageable", Host::pageable)];
        for (memory, make) in memories {
            let both = move |bytes| move |_: &Bench| Ok((Memory::new(bytes)?, make(bytes)?));
            self.row(
                Asks::Holds,
                format!("a synchronous upload of 64 MiB, {memory}"),
                SYNCHRONOUS,
                both(64 * MIB),
                |_, (to, from)| {
                    cu!(cuMemcpyHtoD_v2(to.address(), from.address(), 64 * MIB)).result()
                },
            );
            self.row(
                Asks::Holds,
                format!("a synchronous download of 64 MiB, {memory}"),
                SYNCHRONOUS,
                both(64 * MIB),
                |_, (from, to)| {
                    cu!(cuMemcpyDtoH_v2(to.address(), from.address(), 64 * MIB)).result()
                },
            );
            // Documented: a pageable upload waits for its stream before it is staged.
            self.row(
                Asks::Holds,
                format!("a synchronous upload of 4 KiB, {memory}"),
                [WAITS, OVERLAPS],
                both(4 * KIB),
                |_, (to, from)| {
                    cu!(cuMemcpyHtoD_v2(to.address(), from.address(), 4 * KIB)).result()
                },
            );
        }

        // Which stream, which memory, how much, and what is seen of it.
        let (first, third) =
            (|scene: &Scene<'_>| scene.first.handle(), |scene: &Scene<'_>| scene.third.handle());
        let queued: [Queued; 12] = [
            ("on a third stream", third, "pinned", Host::pinned, "64 MiB", 64 * MIB, OVERLAPS),
            ("on a third stream", third, "pageable", Host::pageable, "64 KiB", 64 * KIB, OVERLAPS),
            ("on a third stream", third, "pageable", Host::pageable, "64 MiB", 64 * MIB, HOLDS),
            ("after the kernel", first, "pinned", Host::pinned, "64 MiB", 64 * MIB, OVERLAPS),
            ("after the kernel", first, "pageable", Host::pageable, "4 KiB", 4 * KIB, OVERLAPS),
            ("after the kernel", first, "pageable", Host::pageable, "64 KiB", 64 * KIB, OVERLAPS),
            ("after the kernel", first, "pageable", Host::pageable, "128 KiB", 128 * KIB, OVERLAPS),
            ("after the kernel", first, "pageable", Host::pageable, "1 MiB", MIB, OVERLAPS),
            ("after the kernel", first, "pageable", Host::pageable, "2 MiB", 2 * MIB, OVERLAPS),
            ("after the kernel", first, "pageable", Host::pageable, "4 MiB", 4 * MIB, WAITS),
            ("after the kernel", first, "pageable", Host::pageable, "16 MiB", 16 * MIB, WAITS),
            ("after the kernel", first, "pageable", Host::pageable, "64 MiB", 64 * MIB, WAITS),
        ];
        for (place, stream, memory, make, size, bytes, expect) in queued {
            // Smaller pageable copies are staged by the host, which may take longer than a call or not.
            let asks = if bytes <= 16 * MIB { Asks::Waits } else { Asks::Holds };
            self.row(
                asks,
                format!("an upload of {size}, {memory}, queued {place}"),
                [expect, expect],
                move |_| Ok((Memory::new(bytes)?, make(bytes)?)),
                move |scene, (to, from)| {
                    let stream = stream(scene);
                    cu!(cuMemcpyHtoDAsync_v2(to.address(), from.address(), bytes, stream)).result()
                },
            );
        }
        let queued: [Queued; 6] = [
            ("on a third stream", third, "pinned", Host::pinned, "64 MiB", 64 * MIB, OVERLAPS),
            ("on a third stream", third, "pageable", Host::pageable, "4 KiB", 4 * KIB, OVERLAPS),
            ("on a third stream", third, "pageable", Host::pageable, "64 MiB", 64 * MIB, HOLDS),
            ("after the kernel", first, "pinned", Host::pinned, "64 MiB", 64 * MIB, OVERLAPS),
            ("after the kernel", first, "pageable", Host::pageable, "4 KiB", 4 * KIB, WAITS),
            ("after the kernel", first, "pageable", Host::pageable, "64 MiB", 64 * MIB, WAITS),
        ];
        for (place, stream, memory, make, size, bytes, expect) in queued {
            self.row(
                Asks::Holds,
                format!("a download of {size}, {memory}, queued {place}"),
                [expect, expect],
                move |_| Ok((Memory::new(bytes)?, make(bytes)?)),
                move |scene, (from, to)| {
                    let stream = stream(scene);
                    cu!(cuMemcpyDtoHAsync_v2(to.address(), from.address(), bytes, stream)).result()
                },
            );
        }
        self.row(
            Asks::Waits,
            "a copy inside the host, queued after the kernel",
            [WAITS, WAITS],
            |_| Ok((vec![1u8; 4 * KIB], vec![2u8; 4 * KIB])),
            |scene, (to, from)| {
                let (to, from) = (to.as_ptr() as u64, from.as_ptr() as u64);
                cu!(cuMemcpyAsync(to, from, 4 * KIB, scene.first.handle())).result()
            },
        );
    }

    fn that_wait(&mut self) {
        const WAIT: [[Fact; 2]; 2] = [WAITS, WAITS];
        self.call("a module load", WAIT, |scene| {
            let mut module = ptr::null_mut();
            cu!(cuModuleLoadData(&mut module, scene.bench.image())).result()
        });
        self.call("cuCtxSynchronize", WAIT, |scene| scene.bench.synchronize());
        self.call("cuStreamSynchronize of the kernel's stream", WAIT, |scene| {
            scene.first.synchronize()
        });
        self.call("cuStreamSynchronize of another stream", [OVERLAPS, OVERLAPS], |scene| {
            scene.third.synchronize()
        });
        // Documented: the default stream answers for all blocking streams.
        self.call("cuStreamSynchronize of the default stream", [WAITS, OVERLAPS], |_| {
            cu!(cuStreamSynchronize(NULL)).result()
        });
    }
}

/// Pageable memory that may have been pinned.
struct Registered(Vec<u8>);

impl Drop for Registered {
    fn drop(&mut self) {
        let _ = cu!(cuMemHostUnregister(self.0.as_ptr().cast_mut().cast()));
    }
}
