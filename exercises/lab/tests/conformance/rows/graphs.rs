//! Capture and graphs. Documented in the driver API's chapters on streams and graphs, and in the
//! programming guide on stream capture.

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
const ILLEGAL_STATE: Fact = Fact::Code(CUresult::CUDA_ERROR_ILLEGAL_STATE);

pub(super) fn begin(stream: &Stream, mode: CUstreamCaptureMode) -> Result<()> {
    cu!(cuStreamBeginCapture_v2(stream.handle(), mode)).result()
}

pub(super) fn end(stream: &Stream) -> (CUresult, sys::CUgraph) {
    let mut graph = ptr::null_mut();
    (cu!(cuStreamEndCapture(stream.handle(), &mut graph)), graph)
}

/// What was captured, ready to be launched.
struct Graph(sys::CUgraphExec);

impl Graph {
    /// Captures what `body` does to the stream.
    fn captured(stream: &Stream, body: impl FnOnce(&Stream) -> Result<()>) -> Result<Self> {
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

    fn launch(&self, stream: sys::CUstream) -> Result<()> {
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
    rows.into_iter().map(Row::alone).collect()
}
