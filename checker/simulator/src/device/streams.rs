//! Streams, by their numbers.
//!
//! [`StreamId::PER_THREAD`] names a different stream in each host thread. The first thread's stream
//! keeps this number; those of the other threads have numbers that no program uses.

use std::ops::{Index, IndexMut};

use trace::program::{Call, Launch, StreamId};

use super::OperationId;

/// The per-thread stream of host thread `n` has this number and `n` more.
const OF_THREADS: u32 = 1 << 31;

#[derive(Clone, Copy)]
pub(super) struct Stream {
    pub(super) blocking: bool,
    pub(super) priority: i32,
    pub(super) tail: Option<OperationId>,
    /// Operations that have not started, without markers.
    pub(super) waiting: u64,
}

impl Stream {
    pub(super) fn new(blocking: bool, priority: i32) -> Self {
        Self { blocking, priority, tail: None, waiting: 0 }
    }
}

/// All streams of a run; destroyed ones too, since what they hold still runs.
pub(super) struct Streams {
    listed: Vec<Stream>,
    of_threads: Vec<Stream>,
}

impl Default for Streams {
    fn default() -> Self {
        let default_stream = Stream::new(true, 0);
        let listed = vec![default_stream; StreamId::FIRST_CREATED as usize];
        Self { listed, of_threads: Vec::new() }
    }
}

impl Index<StreamId> for Streams {
    type Output = Stream;

    fn index(&self, stream: StreamId) -> &Stream {
        match stream.0.checked_sub(OF_THREADS) {
            None => &self.listed[stream.0 as usize],
            Some(thread) => &self.of_threads[thread as usize],
        }
    }
}

impl IndexMut<StreamId> for Streams {
    fn index_mut(&mut self, stream: StreamId) -> &mut Stream {
        match stream.0.checked_sub(OF_THREADS) {
            None => &mut self.listed[stream.0 as usize],
            Some(thread) => &mut self.of_threads[thread as usize],
        }
    }
}

impl Streams {
    pub(super) fn create(&mut self, stream: StreamId, new: Stream) {
        let index = stream.0 as usize;
        if self.listed.len() <= index {
            self.listed.resize(index + 1, new);
        }
        self.listed[index] = new;
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (StreamId, &Stream)> {
        let listed = (0..).map(StreamId).zip(&self.listed);
        listed.chain((OF_THREADS..).map(StreamId).zip(&self.of_threads))
    }

    /// The call as this host thread means it: with its own stream where it names its per-thread one.
    /// None where the call means what it says.
    pub(super) fn meant(&mut self, thread: u32, call: &Call) -> Option<Call> {
        if !cfg!(feature = "threads") || thread == 0 {
            return None;
        }
        let mut call = call.clone();
        let stream = named(&mut call).filter(|stream| **stream == StreamId::PER_THREAD)?;
        let missing = (thread as usize + 1).saturating_sub(self.of_threads.len());
        self.of_threads.extend(std::iter::repeat_n(Stream::new(true, 0), missing));
        *stream = StreamId(OF_THREADS + thread);
        Some(call)
    }
}

/// The stream as the program asked for it.
pub(super) fn as_asked(stream: StreamId) -> StreamId {
    if stream.0 >= OF_THREADS { StreamId::PER_THREAD } else { stream }
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
