//! Capture and graphs. Documented in the driver API's chapters on streams and graphs, and in the
//! programming guide on stream capture.

use std::mem::MaybeUninit;
use std::ptr;

use cudarc::driver::sys::{self, CUresult, CUstreamCaptureMode};

use crate::bench::{Bench, Event, Kind, MS, Memory, NULL, Pinned, Stopwatch, Stream, cu};
use crate::row::{
    BLOCKED, Data, FREE, Fact, INVALID_VALUE, NEW, NOT_SUPPORTED, OLD, OVERLAP, Result, Row,
    SERIAL, SUCCESS,
};

const KIND: Kind = Kind::NonBlocking;
/// `CU_EVENT_RECORD_EXTERNAL`, `CU_EVENT_WAIT_EXTERNAL`
const EXTERNAL: u32 = 1;
pub(super) const GLOBAL: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
pub(super) const RELAXED: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;

pub(super) const UNSUPPORTED: Fact = Fact::Code(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
pub(super) const INVALIDATED: Fact = Fact::Code(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
const MERGE: Fact = Fact::Code(CUresult::CUDA_ERROR_STREAM_CAPTURE_MERGE);
const UNJOINED: Fact = Fact::Code(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
const UNMATCHED: Fact = Fact::Code(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
const IMPLICIT: Fact = Fact::Code(CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
const ISOLATION: Fact = Fact::Code(CUresult::CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
const CAPTURED: Fact = Fact::Code(CUresult::CUDA_ERROR_CAPTURED_EVENT);
const REFUSED: Fact = Fact::Code(CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
const ILLEGAL_STATE: Fact = Fact::Code(CUresult::CUDA_ERROR_ILLEGAL_STATE);

pub(super) fn begin(stream: &Stream, mode: CUstreamCaptureMode) -> Result<()> {
    cu!(cuStreamBeginCapture_v2(stream.handle(), mode)).result()
}

pub(super) fn end(stream: &Stream) -> (CUresult, sys::CUgraph) {
    let mut graph = ptr::null_mut();
    (cu!(cuStreamEndCapture(stream.handle(), &mut graph)), graph)
}

/// What was captured, ready to be launched.
pub(super) struct Graph(sys::CUgraphExec);

impl Graph {
    /// Captures what `body` does to the stream.
    pub(super) fn captured(
        stream: &Stream,
        body: impl FnOnce(&Stream) -> Result<()>,
    ) -> Result<Self> {
        begin(stream, GLOBAL)?;
        let done = body(stream);
        let (code, graph) = end(stream);
        done?;
        code.result()?;
        let mut executable = ptr::null_mut();
        cu!(cuGraphInstantiateWithFlags(&mut executable, graph, 0)).result()?;
        cu!(cuGraphDestroy(graph)).result()?;
        Ok(Self(executable))
    }

    pub(super) fn launch(&self, stream: sys::CUstream) -> Result<()> {
        cu!(cuGraphLaunch(self.0, stream)).result()
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let _ = cu!(cuGraphExecDestroy(self.0));
    }
}

/// What a call comes back with while a stream captures, and then the end of the capture.
fn during(
    bench: &Bench,
    kind: Kind,
    call: impl FnOnce(&Stream) -> Result<CUresult>,
) -> Result<Vec<Fact>> {
    within(bench, kind, GLOBAL, call)
}

/// The same, of a capture of this mode.
pub(super) fn within(
    bench: &Bench,
    kind: Kind,
    mode: CUstreamCaptureMode,
    call: impl FnOnce(&Stream) -> Result<CUresult>,
) -> Result<Vec<Fact>> {
    let stream = Stream::new(kind)?;
    begin(&stream, mode)?;
    let code = bench.kernel(stream.handle(), 1.0).and_then(|()| call(&stream));
    let (ended, graph) = end(&stream);
    if !graph.is_null() {
        cu!(cuGraphDestroy(graph)).result()?;
    }
    Ok(vec![Fact::Code(code?), Fact::Code(ended)])
}

/// How long a launch of the graph takes beside one kernel.
fn launched(bench: &Bench, graph: &Graph, launches: usize) -> Result<Vec<Fact>> {
    let stream = Stream::new(KIND)?;
    graph.launch(stream.handle())?;
    bench.synchronize()?;
    let start = Event::recorded(stream.handle())?;
    for _ in 0..launches {
        graph.launch(stream.handle())?;
    }
    let end = Event::recorded(stream.handle())?;
    bench.synchronize()?;
    Ok(vec![if end.since(&start)? > 1.6 * MS { SERIAL } else { OVERLAP }])
}

fn word(bench: &Bench, memory: &Memory) -> Result<Fact> {
    bench.synchronize()?;
    let mut word = 0_u32;
    cu!(cuMemcpyDtoH_v2((&raw mut word).cast(), memory.address(), 4)).result()?;
    Ok(Fact::Data(if word == 1 { Data::Old } else { Data::New }))
}

/// What the instantiation of a graph of one kernel comes back with.
fn instantiated(bench: &Bench, flags: u64) -> Result<Vec<Fact>> {
    let stream = Stream::new(KIND)?;
    begin(&stream, GLOBAL)?;
    bench.kernel(stream.handle(), 1.0)?;
    let (code, graph) = end(&stream);
    code.result()?;
    let mut executable = ptr::null_mut();
    let code = cu!(cuGraphInstantiateWithFlags(&mut executable, graph, flags));
    cu!(cuGraphDestroy(graph)).result()?;
    if code == CUresult::CUDA_SUCCESS {
        cu!(cuGraphExecDestroy(executable)).result()?;
    }
    Ok(vec![Fact::Code(code)])
}

pub(super) fn rows() -> Vec<Row> {
    let name = |what: &str| format!("capture: {what}");
    let rows = vec![
        Row::new(
            name("what is captured does not run, and runs when the graph is launched"),
            &[OLD, NEW],
            |bench| {
                let (stream, memory) = (Stream::new(KIND)?, Memory::new(4096)?);
                cu!(cuMemsetD32_v2(memory.address(), 1, 1024)).result()?;
                bench.synchronize()?;
                let graph = Graph::captured(&stream, |stream| {
                    bench.launch_on(stream.handle(), 1, 101, memory.address())
                })?;
                let before = word(bench, &memory)?;
                graph.launch(stream.handle())?;
                Ok(vec![before, word(bench, &memory)?])
            },
        ),
        Row::new(name("a launch of a graph returns at once"), &[FREE], |bench| {
            let stream = Stream::new(KIND)?;
            let graph = Graph::captured(&stream, |stream| bench.kernel(stream.handle(), MS))?;
            graph.launch(stream.handle())?;
            bench.synchronize()?;
            let watch = Stopwatch::start();
            graph.launch(stream.handle())?;
            let waited = watch.ms() > MS / 2.0;
            bench.synchronize()?;
            Ok(vec![if waited { BLOCKED } else { FREE }])
        }),
        Row::new(name("two kernels of one stream run in turn in the graph"), &[SERIAL], |bench| {
            let stream = Stream::new(KIND)?;
            let graph = Graph::captured(&stream, |stream| {
                bench.kernel(stream.handle(), MS)?;
                bench.kernel(stream.handle(), MS)
            })?;
            launched(bench, &graph, 1)
        }),
        Row::new(name("a fork runs side by side in the graph"), &[OVERLAP], |bench| {
            let (stream, branch) = (Stream::new(KIND)?, Stream::new(KIND)?);
            let graph = Graph::captured(&stream, |stream| {
                branch.wait(&Event::recorded(stream.handle())?)?;
                bench.kernel(stream.handle(), MS)?;
                bench.kernel(branch.handle(), MS)?;
                stream.wait(&Event::recorded(branch.handle())?)
            })?;
            launched(bench, &graph, 1)
        }),
        Row::new(name("two launches of a graph run in turn"), &[SERIAL], |bench| {
            let stream = Stream::new(KIND)?;
            let graph = Graph::captured(&stream, |stream| bench.kernel(stream.handle(), MS))?;
            launched(bench, &graph, 2)
        }),
        Row::new(name("two launches of a graph on two streams run in turn"), &[SERIAL], |bench| {
            let (first, second) = (Stream::new(KIND)?, Stream::new(KIND)?);
            let graph = Graph::captured(&first, |stream| bench.kernel(stream.handle(), MS))?;
            bench.synchronize()?;
            let start = Event::recorded(first.handle())?;
            graph.launch(first.handle())?;
            graph.launch(second.handle())?;
            let end = Event::recorded(second.handle())?;
            bench.synchronize()?;
            Ok(vec![if end.since(&start)? > 1.6 * MS { SERIAL } else { OVERLAP }])
        }),
        Row::new(name("of the default stream"), &[UNSUPPORTED], |_| {
            Ok(vec![Fact::Code(cu!(cuStreamBeginCapture_v2(NULL, GLOBAL)))])
        }),
        Row::new(name("ended on a stream that does not capture"), &[ILLEGAL_STATE], |_| {
            let stream = Stream::new(KIND)?;
            Ok(vec![Fact::Code(end(&stream).0)])
        }),
        Row::new(name("begun twice"), &[ILLEGAL_STATE, SUCCESS], |bench| {
            during(bench, KIND, |stream| Ok(cu!(cuStreamBeginCapture_v2(stream.handle(), GLOBAL))))
        }),
        Row::new(name("synchronizing the stream"), &[UNSUPPORTED, INVALIDATED], |bench| {
            during(bench, KIND, |stream| Ok(cu!(cuStreamSynchronize(stream.handle()))))
        }),
        Row::new(name("querying the stream"), &[UNSUPPORTED, INVALIDATED], |bench| {
            during(bench, KIND, |stream| Ok(cu!(cuStreamQuery(stream.handle()))))
        }),
        Row::new(name("synchronizing the context"), &[UNSUPPORTED, INVALIDATED], |bench| {
            during(bench, KIND, |_| Ok(cu!(cuCtxSynchronize())))
        }),
        Row::new(name("querying an event recorded in it"), &[CAPTURED, INVALIDATED], |bench| {
            let event = Event::new()?;
            during(bench, KIND, |stream| {
                event.record(stream.handle())?;
                Ok(event.query())
            })
        }),
        Row::new(
            name("synchronizing an event recorded in it"),
            &[CAPTURED, INVALIDATED],
            |bench| {
                let event = Event::new()?;
                during(bench, KIND, |stream| {
                    event.record(stream.handle())?;
                    Ok(cu!(cuEventSynchronize(event.handle())))
                })
            },
        ),
        Row::new(
            name("waiting for an event that was never recorded"),
            &[SUCCESS, SUCCESS],
            |bench| {
                let event = Event::new()?;
                during(bench, KIND, |stream| {
                    Ok(cu!(cuStreamWaitEvent(stream.handle(), event.handle(), 0)))
                })
            },
        ),
        Row::new(name("waiting for an event from outside"), &[ISOLATION, INVALIDATED], |bench| {
            let (other, event) = (Stream::new(KIND)?, Event::new()?);
            event.record(other.handle())?;
            during(bench, KIND, |stream| {
                Ok(cu!(cuStreamWaitEvent(stream.handle(), event.handle(), 0)))
            })
        }),
        Row::new(
            name("a kernel on the default stream, of a blocking one"),
            &[IMPLICIT, INVALIDATED],
            |bench| {
                during(bench, Kind::Blocking, |_| {
                    Ok(bench
                        .kernel(NULL, 1.0)
                        .map_or_else(|error| error.0, |()| CUresult::CUDA_SUCCESS))
                })
            },
        ),
        Row::new(
            name("a kernel on the default stream, of a non-blocking one"),
            &[SUCCESS, SUCCESS],
            |bench| {
                during(bench, KIND, |_| {
                    Ok(bench
                        .kernel(NULL, 1.0)
                        .map_or_else(|error| error.0, |()| CUresult::CUDA_SUCCESS))
                })
            },
        ),
        Row::new(name("a fork that is not joined"), &[SUCCESS, UNJOINED], |bench| {
            let branch = Stream::new(KIND)?;
            during(bench, KIND, |stream| {
                branch.wait(&Event::recorded(stream.handle())?)?;
                bench.kernel(branch.handle(), 1.0)?;
                Ok(CUresult::CUDA_SUCCESS)
            })
        }),
        Row::new(name("ended on the branch of a fork"), &[UNMATCHED, INVALIDATED], |bench| {
            let branch = Stream::new(KIND)?;
            during(bench, KIND, |stream| {
                branch.wait(&Event::recorded(stream.handle())?)?;
                Ok(end(&branch).0)
            })
        }),
        Row::new(name("cuMemAlloc"), &[UNSUPPORTED, INVALIDATED], |bench| {
            during(bench, KIND, |_| {
                let mut address = 0;
                Ok(cu!(cuMemAlloc_v2(&mut address, 4096)))
            })
        }),
        Row::new(name("cuMemAlloc in relaxed mode"), &[SUCCESS, SUCCESS], |bench| {
            let stream = Stream::new(KIND)?;
            begin(&stream, RELAXED)?;
            let launched = bench.kernel(stream.handle(), 1.0);
            let mut address = 0;
            let code = cu!(cuMemAlloc_v2(&mut address, 4096));
            let (ended, graph) = end(&stream);
            launched?;
            cu!(cuMemFree_v2(address)).result()?;
            cu!(cuGraphDestroy(graph)).result()?;
            Ok(vec![Fact::Code(code), Fact::Code(ended)])
        }),
        Row::new(name("a pageable upload on the stream"), &[SUCCESS, SUCCESS], |bench| {
            let (memory, host) = (Memory::new(4096)?, vec![1_u8; 4096]);
            during(bench, KIND, |stream| {
                let (to, from) = (memory.address(), host.as_ptr().cast());
                Ok(cu!(cuMemcpyHtoDAsync_v2(to, from, 4096, stream.handle())))
            })
        }),
        Row::new(name("a synchronous upload"), &[SUCCESS, SUCCESS], |bench| {
            let (memory, host) = (Memory::new(4096)?, vec![1_u8; 4096]);
            during(bench, KIND, |_| {
                Ok(cu!(cuMemcpyHtoD_v2(memory.address(), host.as_ptr().cast(), 4096)))
            })
        }),
        Row::new(
            name("waiting for an event of another capture"),
            &[MERGE, INVALIDATED, INVALIDATED],
            |bench| {
                let (other, event) = (Stream::new(KIND)?, Event::new()?);
                begin(&other, GLOBAL)?;
                let seen = bench.kernel(other.handle(), 1.0).and_then(|()| {
                    event.record(other.handle())?;
                    during(bench, KIND, |stream| {
                        Ok(cu!(cuStreamWaitEvent(stream.handle(), event.handle(), 0)))
                    })
                });
                let (ended, _) = end(&other);
                let mut seen = seen?;
                seen.push(Fact::Code(ended));
                Ok(seen)
            },
        ),
        Row::new(
            name("waiting for an event recorded in it, once it has ended"),
            &[INVALID_VALUE],
            |bench| {
                let (other, event) = (Stream::new(KIND)?, Event::new()?);
                during(bench, KIND, |stream| {
                    event.record(stream.handle())?;
                    Ok(CUresult::CUDA_SUCCESS)
                })?;
                Ok(vec![Fact::Code(cu!(cuStreamWaitEvent(other.handle(), event.handle(), 0)))])
            },
        ),
        Row::new(name("cuMemFree"), &[UNSUPPORTED, INVALIDATED], |bench| {
            let memory = Memory::new(4096)?;
            during(bench, KIND, |_| Ok(cu!(cuMemFree_v2(memory.address()))))
        }),
        Row::new(name("cuMemHostAlloc"), &[UNSUPPORTED, INVALIDATED], |bench| {
            during(bench, KIND, |_| {
                let mut address = ptr::null_mut();
                Ok(cu!(cuMemHostAlloc(&mut address, 4096, 0)))
            })
        }),
        Row::new(name("cuMemFreeHost"), &[UNSUPPORTED, INVALIDATED], |bench| {
            let pinned = Pinned::new(4096)?;
            during(bench, KIND, |_| Ok(cu!(cuMemFreeHost(pinned.address()))))
        }),
        Row::new(name("a module load"), &[SUCCESS, SUCCESS], |bench| {
            during(bench, KIND, |_| {
                let mut module = ptr::null_mut();
                Ok(cu!(cuModuleLoadData(&mut module, bench.image())))
            })
        }),
        Row::new(name("querying an event from outside"), &[UNSUPPORTED, INVALIDATED], |bench| {
            let other = Stream::new(KIND)?;
            let event = Event::recorded(other.handle())?;
            during(bench, KIND, |_| Ok(event.query()))
        }),
        Row::new(name("cuMemAllocAsync on the stream"), &[SUCCESS, SUCCESS], |bench| {
            during(bench, KIND, |stream| {
                let mut address = 0;
                Ok(cu!(cuMemAllocAsync(&mut address, 4096, stream.handle())))
            })
        })
        .gap(&[NOT_SUPPORTED, SUCCESS]),
        Row::new(name("an external record on the stream"), &[SUCCESS, SUCCESS], |bench| {
            let event = Event::new()?;
            during(bench, KIND, |stream| {
                Ok(cu!(cuEventRecordWithFlags(event.handle(), stream.handle(), EXTERNAL)))
            })
        })
        .gap(&[NOT_SUPPORTED, SUCCESS]),
        Row::new(name("an external wait on the stream"), &[SUCCESS, SUCCESS], |bench| {
            let other = Stream::new(KIND)?;
            let event = Event::recorded(other.handle())?;
            during(bench, KIND, |stream| {
                Ok(cu!(cuStreamWaitEvent(stream.handle(), event.handle(), EXTERNAL)))
            })
        })
        .gap(&[NOT_SUPPORTED, SUCCESS]),
        Row::new(name("a graph launched on the stream"), &[UNSUPPORTED, INVALIDATED], |bench| {
            let other = Stream::new(KIND)?;
            let graph = Graph::captured(&other, |stream| bench.kernel(stream.handle(), 1.0))?;
            during(bench, KIND, |stream| Ok(cu!(cuGraphLaunch(graph.0, stream.handle()))))
        }),
        Row::new(name("destroying an executable graph"), &[UNSUPPORTED, INVALIDATED], |bench| {
            let other = Stream::new(KIND)?;
            let graph = Graph::captured(&other, |stream| bench.kernel(stream.handle(), 1.0))?;
            during(bench, KIND, |_| Ok(cu!(cuGraphExecDestroy(graph.0))))
        }),
        Row::new(name("instantiated with flags that nobody knows"), &[INVALID_VALUE], |bench| {
            instantiated(bench, 0x40)
        }),
        Row::new(
            name("instantiated for the device, with memory to be freed at a launch"),
            &[INVALID_VALUE],
            |bench| instantiated(bench, 1 | 4),
        ),
        Row::new(name("a graph launched that was destroyed"), &[INVALID_VALUE], |bench| {
            let stream = Stream::new(KIND)?;
            let graph = Graph::captured(&stream, |stream| bench.kernel(stream.handle(), 1.0))?;
            let handle = graph.0;
            drop(graph);
            Ok(vec![Fact::Code(cu!(cuGraphLaunch(handle, stream.handle())))])
        })
        .undefined(),
        Row::new(name("a graph destroyed twice"), &[INVALID_VALUE], |bench| {
            let stream = Stream::new(KIND)?;
            begin(&stream, GLOBAL)?;
            bench.kernel(stream.handle(), 1.0)?;
            let (code, graph) = end(&stream);
            code.result()?;
            cu!(cuGraphDestroy(graph)).result()?;
            Ok(vec![Fact::Code(cu!(cuGraphDestroy(graph)))])
        })
        .undefined(),
        Row::new(name("destroying the stream"), &[SUCCESS], |bench| {
            let stream = Stream::new(KIND)?;
            begin(&stream, GLOBAL)?;
            bench.kernel(stream.handle(), 1.0)?;
            let code = stream.destroy();
            Ok(vec![Fact::Code(code.map_or_else(|error| error.0, |()| CUresult::CUDA_SUCCESS))])
        }),
    ];
    rows.into_iter().chain(updates()).map(Row::alone).collect()
}

/// Captures what `body` does to the stream, and instantiates nothing.
fn captured(stream: &Stream, body: impl FnOnce(&Stream) -> Result<()>) -> Result<sys::CUgraph> {
    begin(stream, GLOBAL)?;
    let done = body(stream);
    let (code, graph) = end(stream);
    done?;
    code.result()?;
    Ok(graph)
}

impl Graph {
    /// Puts what was captured in the place of what is launched, and destroys it as such.
    fn update(&self, other: sys::CUgraph) -> Result<CUresult> {
        let mut info = MaybeUninit::zeroed();
        let code = cu!(cuGraphExecUpdate_v2(self.0, other, info.as_mut_ptr()));
        cu!(cuGraphDestroy(other)).result()?;
        Ok(code)
    }
}

/// What it comes back with to update a graph of what `own` does to one of what `other` does.
fn update(
    own: impl FnOnce(&Stream) -> Result<()>,
    other: impl FnOnce(&Stream) -> Result<()>,
) -> Result<Vec<Fact>> {
    let stream = Stream::new(KIND)?;
    let graph = Graph::captured(&stream, own)?;
    Ok(vec![Fact::Code(graph.update(captured(&stream, other)?)?)])
}

/// `cuGraphExecUpdate`. Each graph that one is updated with is destroyed at once.
fn updates() -> Vec<Row> {
    let name = |what: &str| format!("update of a graph: {what}");
    let upload = |to: &Memory, from: &Pinned, bytes: usize, stream: &Stream| {
        cu!(cuMemcpyHtoDAsync_v2(to.address(), from.address(), bytes, stream.handle())).result()
    };
    vec![
        Row::new(name("to other memory"), &[SUCCESS, OLD, NEW], |bench| {
            let (stream, one, other) = (Stream::new(KIND)?, Memory::new(4096)?, Memory::new(4096)?);
            for memory in [&one, &other] {
                cu!(cuMemsetD32_v2(memory.address(), 1, 1024)).result()?;
            }
            let into = |memory: &Memory| {
                let address = memory.address();
                move |stream: &Stream| bench.launch_on(stream.handle(), 1, 101, address)
            };
            let graph = Graph::captured(&stream, into(&one))?;
            let code = graph.update(captured(&stream, into(&other))?)?;
            graph.launch(stream.handle())?;
            Ok(vec![Fact::Code(code), word(bench, &one)?, word(bench, &other)?])
        }),
        Row::new(name("to a larger grid"), &[SUCCESS], |bench| {
            update(|it| bench.launch(it.handle(), 1, 101), |it| bench.launch(it.handle(), 8, 101))
        }),
        Row::new(name("to a kernel more"), &[REFUSED], |bench| {
            update(
                |it| bench.kernel(it.handle(), 1.0),
                |it| {
                    bench.kernel(it.handle(), 1.0)?;
                    bench.kernel(it.handle(), 1.0)
                },
            )
        }),
        Row::new(name("to a kernel less"), &[REFUSED], |bench| {
            update(
                |it| {
                    bench.kernel(it.handle(), 1.0)?;
                    bench.kernel(it.handle(), 1.0)
                },
                |it| bench.kernel(it.handle(), 1.0),
            )
        }),
        Row::new(name("to a fork of as many kernels"), &[REFUSED], |bench| {
            let branch = Stream::new(KIND)?;
            update(
                |it| {
                    bench.kernel(it.handle(), 1.0)?;
                    bench.kernel(it.handle(), 1.0)
                },
                |it| {
                    branch.wait(&Event::recorded(it.handle())?)?;
                    bench.kernel(it.handle(), 1.0)?;
                    bench.kernel(branch.handle(), 1.0)?;
                    it.wait(&Event::recorded(branch.handle())?)
                },
            )
        }),
        Row::new(name("from a kernel to a memset"), &[REFUSED], |bench| {
            let memory = Memory::new(4096)?;
            update(
                |it| bench.kernel(it.handle(), 1.0),
                |it| cu!(cuMemsetD32Async(memory.address(), 1, 1024, it.handle())).result(),
            )
        }),
        Row::new(name("from an upload to a download"), &[REFUSED], move |_| {
            let (memory, host) = (Memory::new(4096)?, Pinned::new(4096)?);
            update(
                |it| upload(&memory, &host, 4096, it),
                |it| {
                    let (to, from) = (host.address(), memory.address());
                    cu!(cuMemcpyDtoHAsync_v2(to, from, 4096, it.handle())).result()
                },
            )
        }),
        Row::new(name("from an upload to a longer one"), &[SUCCESS], move |_| {
            let (memory, host) = (Memory::new(8192)?, Pinned::new(8192)?);
            update(|it| upload(&memory, &host, 4096, it), |it| upload(&memory, &host, 8192, it))
        }),
        Row::new(name("from an upload to one of other memory"), &[SUCCESS], move |_| {
            let (memory, host) = (Memory::new(4096)?, Pinned::new(4096)?);
            let (other, others) = (Memory::new(4096)?, Pinned::new(4096)?);
            update(|it| upload(&memory, &host, 4096, it), |it| upload(&other, &others, 4096, it))
        }),
        Row::new(name("from a memset to one of another value"), &[SUCCESS], |_| {
            let memory = Memory::new(4096)?;
            let set = |value: u32, it: &Stream| {
                cu!(cuMemsetD32Async(memory.address(), value, 1024, it.handle())).result()
            };
            update(|it| set(1, it), |it| set(2, it))
        }),
        Row::new(name("launched after one that was refused"), &[REFUSED, SUCCESS, NEW], |bench| {
            let (stream, memory) = (Stream::new(KIND)?, Memory::new(4096)?);
            cu!(cuMemsetD32_v2(memory.address(), 1, 1024)).result()?;
            let graph = Graph::captured(&stream, |stream| {
                bench.launch_on(stream.handle(), 1, 101, memory.address())
            })?;
            let none = captured(&stream, |_| Ok(()))?;
            let refused = graph.update(none)?;
            let launched = cu!(cuGraphLaunch(graph.0, stream.handle()));
            Ok(vec![Fact::Code(refused), Fact::Code(launched), word(bench, &memory)?])
        }),
        Row::new(name("while it runs"), &[SUCCESS, FREE], |bench| {
            let stream = Stream::new(KIND)?;
            let kernel = |stream: &Stream| bench.kernel(stream.handle(), MS);
            let graph = Graph::captured(&stream, kernel)?;
            let other = captured(&stream, kernel)?;
            graph.launch(stream.handle())?;
            bench.synchronize()?;
            graph.launch(stream.handle())?;
            let watch = Stopwatch::start();
            let code = graph.update(other)?;
            let waited = watch.ms() > MS / 2.0;
            bench.synchronize()?;
            Ok(vec![Fact::Code(code), if waited { BLOCKED } else { FREE }])
        }),
        Row::new(
            name("launches before and after it, in two streams, run in turn"),
            &[SERIAL],
            |bench| {
                let (first, second) = (Stream::new(KIND)?, Stream::new(KIND)?);
                let kernel = |stream: &Stream| bench.kernel(stream.handle(), MS);
                let graph = Graph::captured(&first, kernel)?;
                let other = captured(&first, kernel)?;
                bench.synchronize()?;
                let start = Event::recorded(first.handle())?;
                graph.launch(first.handle())?;
                graph.update(other)?.result()?;
                graph.launch(second.handle())?;
                let end = Event::recorded(second.handle())?;
                bench.synchronize()?;
                Ok(vec![if end.since(&start)? > 1.6 * MS { SERIAL } else { OVERLAP }])
            },
        ),
        Row::new(name("while the thread captures"), &[SUCCESS, SUCCESS], |bench| {
            let other = Stream::new(KIND)?;
            let kernel = |stream: &Stream| bench.kernel(stream.handle(), 1.0);
            let graph = Graph::captured(&other, kernel)?;
            let next = captured(&other, kernel)?;
            during(bench, KIND, |_| graph.update(next))
        }),
        Row::new(name("that was destroyed"), &[INVALID_VALUE], |bench| {
            let stream = Stream::new(KIND)?;
            let kernel = |stream: &Stream| bench.kernel(stream.handle(), 1.0);
            let graph = Graph::captured(&stream, kernel)?;
            let other = captured(&stream, kernel)?;
            cu!(cuGraphExecDestroy(graph.0)).result()?;
            let code = graph.update(other)?;
            std::mem::forget(graph);
            Ok(vec![Fact::Code(code)])
        })
        .undefined(),
    ]
}
