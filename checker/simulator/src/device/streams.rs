//! Streams, by their numbers.
//!
//! [`StreamId::PER_THREAD`] names a different stream in each host thread. The first thread's stream
//! keeps this number; those of the other threads have numbers that no program uses.

use std::ops::{Index, IndexMut};

use trace::program::{Call, DEVICES, Launch, SECOND, StreamId};

use super::OperationId;

/// The per-thread stream of host thread `n` has this number and `n` more,
const OF_THREADS: u32 = 1 << 31;
/// and on the second device this one of its own and `n` more. No more streams than that can be
/// created there.
pub(crate) const OF_THREADS_ON_SECOND: u32 = SECOND / 2;

/// The per-thread stream of a host thread.
fn of_thread(device: u32, thread: u32) -> StreamId {
    if device == 0 {
        StreamId(OF_THREADS + thread)
    } else {
        StreamId::on(device, OF_THREADS_ON_SECOND + thread)
    }
}

/// The host thread whose per-thread stream this is, where it has a number of its own.
fn thread_of(stream: StreamId) -> Option<u32> {
    if !cfg!(feature = "threads") {
        None
    } else if stream.device() == 0 {
        stream.0.checked_sub(OF_THREADS)
    } else {
        stream.number().checked_sub(OF_THREADS_ON_SECOND)
    }
}

#[derive(Clone, Copy)]
pub(super) struct Stream {
    id: StreamId,
    pub(super) blocking: bool,
    pub(super) priority: i32,
    pub(super) tail: Option<OperationId>,
    /// Operations that have not started, without markers.
    pub(super) waiting: u64,
}

impl Stream {
    pub(super) fn new(id: StreamId, blocking: bool, priority: i32) -> Self {
        Self { id, blocking, priority, tail: None, waiting: 0 }
    }
}

/// All streams of a run; destroyed ones too, since what they hold still runs.
pub(super) struct Streams {
    /// Streams that programs name, device by device, and then the per-thread streams of threads but
    /// the first.
    lists: [Vec<Stream>; 2 * DEVICES as usize],
}

impl Default for Streams {
    fn default() -> Self {
        let mut lists: [Vec<Stream>; 2 * DEVICES as usize] = Default::default();
        for device in 0..DEVICES {
            for number in 0..StreamId::FIRST_CREATED {
                let stream = Stream::new(StreamId::on(device, number), true, 0);
                lists[device as usize].push(stream);
            }
        }
        Self { lists }
    }
}

/// The list that a stream is in, and its place there.
fn place(stream: StreamId) -> (usize, usize) {
    // Nearly all are created streams of the first device.
    if stream.0 < SECOND {
        return (0, stream.0 as usize);
    }
    let device = stream.device();
    match thread_of(stream) {
        None => (device as usize, stream.number() as usize),
        Some(thread) => ((DEVICES + device) as usize, thread as usize),
    }
}

impl Index<StreamId> for Streams {
    type Output = Stream;

    fn index(&self, stream: StreamId) -> &Stream {
        let (list, at) = place(stream);
        &self.lists[list][at]
    }
}

impl IndexMut<StreamId> for Streams {
    fn index_mut(&mut self, stream: StreamId) -> &mut Stream {
        let (list, at) = place(stream);
        &mut self.lists[list][at]
    }
}

impl Streams {
    pub(super) fn create(&mut self, stream: StreamId, new: Stream) {
        let (list, at) = place(stream);
        let list = &mut self.lists[list];
        while list.len() <= at {
            list.push(Stream { id: StreamId::on(stream.device(), list.len() as u32), ..new });
        }
        list[at] = new;
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (StreamId, &Stream)> {
        #[cfg(target_arch = "wasm32")] // a page has one device and one thread
        let streams = self.lists[0].iter();
        #[cfg(not(target_arch = "wasm32"))]
        let streams = self.lists.iter().flatten();
        streams.map(|stream| (stream.id, stream))
    }

    /// The call as this host thread means it: with its own stream where it names its per-thread
    /// one. None where the call means what it says.
    pub(super) fn meant(&mut self, thread: u32, call: &Call) -> Option<Call> {
        if !cfg!(feature = "threads") || thread == 0 {
            return None;
        }
        let mut call = call.clone();
        let stream = named(&mut call).filter(|stream| stream.is_per_thread())?;
        let device = stream.device();
        let list = &mut self.lists[(DEVICES + device) as usize];
        while list.len() <= thread as usize {
            list.push(Stream::new(of_thread(device, list.len() as u32), true, 0));
        }
        *stream = of_thread(device, thread);
        Some(call)
    }
}

/// The stream as the program names it.
pub(super) fn as_asked(stream: StreamId) -> StreamId {
    match thread_of(stream) {
        Some(_) => StreamId::on(stream.device(), StreamId::PER_THREAD.0),
        None => stream,
    }
}

/// The stream that a call is about.
fn named(call: &mut Call) -> Option<&mut StreamId> {
    match call {
        Call::StreamDestroy { stream }
        | Call::StreamSynchronize { stream }
        | Call::StreamQuery { stream }
        | Call::StreamWait { stream, .. }
        | Call::EventRecord { stream, .. }
        | Call::AllocAsync { stream, .. }
        | Call::FreeAsync { stream, .. }
        | Call::Copy { stream, .. }
        | Call::Memset { stream, .. }
        | Call::Launch(Launch { stream, .. })
        | Call::HostFunction { stream, .. }
        | Call::GraphLaunch { stream, .. } => Some(stream),
        _ => None,
    }
}
