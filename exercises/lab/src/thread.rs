//! Host threads, in the manner of [`std::thread`] and [`std::sync::mpsc`].
//!
//! Their driver calls belong to the run, inside the measured region too. On the simulated device
//! only one of them runs at a time, the one whose virtual time is the earliest. Two threads that
//! each declare 100 ms of work take 100 ms, and every run is the same. On a GPU they run side by
//! side. What orders them is what they say here: a thread starts after everything before its
//! [`spawn`], a message is received after everything before its [`send`](Sender::send), and a
//! [`join`](JoinHandle::join) comes after all that the thread did. Mutexes and channels of the
//! standard library are not seen: what they order counts as not ordered, and a thread that waits in
//! one while it has its turn waits for ever.
//!
//! A region begins and ends with a single thread. [`scope`] sees to that by itself.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use trace::lab_protocol::{Reply, Request, ThreadRequest};
use trace::program::ChannelEnd;

use crate::{Error, Result, driver};

fn ask(request: ThreadRequest) -> Result<Reply> {
    driver::ask(&Request::Thread(request))
}

fn number(reply: &Reply) -> Result<u32> {
    match reply {
        Reply::Number(number) => Ok(*number as u32),
        _ => Err(Error::Refused("the driver library does not number its threads".to_owned())),
    }
}

/// The outcome of a thread: its value, or what it panicked with.
type Outcome<T> = std::thread::Result<T>;

/// A thread that was started, to be waited for.
pub struct JoinHandle<T> {
    thread: u32,
    os: std::thread::JoinHandle<Outcome<T>>,
}

/// Starts a thread.
pub fn spawn<F, T>(work: F) -> Result<JoinHandle<T>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let (thread, os) = start(|thread| named(thread).spawn(move || say_end(run(thread, work))))?;
    Ok(JoinHandle { thread, os })
}

/// Gets a number for a thread and starts it.
fn start<H>(os: impl FnOnce(u32) -> std::io::Result<H>) -> Result<(u32, H)> {
    let thread = number(&ask(ThreadRequest::Spawn)?)?;
    match os(thread) {
        Ok(handle) => {
            ask(ThreadRequest::Started { thread: Ok(thread) })?;
            Ok((thread, handle))
        }
        Err(error) => {
            ask(ThreadRequest::Started { thread: Err(thread) })?;
            Err(Error::Refused(format!("cannot start a host thread: {error}")))
        }
    }
}

fn named(thread: u32) -> std::thread::Builder {
    std::thread::Builder::new().name(format!("host thread {thread}"))
}

/// The life of a new thread: it waits for its first turn, and works.
fn run<T>(thread: u32, work: impl FnOnce() -> T) -> Outcome<T> {
    ask(ThreadRequest::Start { thread }).map_err(as_panic)?;
    catch_unwind(AssertUnwindSafe(work))
}

/// The very last thing that a thread does.
fn say_end<T>(outcome: Outcome<T>) -> Outcome<T> {
    // Without an answer no thread waits for this one either: the device is gone.
    let _ = ask(ThreadRequest::End);
    outcome
}

fn as_panic(error: Error) -> Box<dyn Any + Send> {
    Box::new(error.to_string())
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> JoinHandle<T> {
    /// Waits for the thread to end. What it panicked with is the error, as in the standard library.
    pub fn join(self) -> Outcome<T> {
        wait_for(self.thread)?;
        self.os.join().and_then(|outcome| outcome)
    }
}

fn wait_for(thread: u32) -> Outcome<()> {
    ask(ThreadRequest::Join { thread }).map(drop).map_err(as_panic)
}

/// Where threads are started that may borrow: all of them have ended when [`scope`] returns.
pub struct Scope<'scope, 'env: 'scope> {
    os: &'scope std::thread::Scope<'scope, 'env>,
    /// Those that have not been joined.
    started: Mutex<BTreeSet<u32>>,
    panicked: Arc<Mutex<BTreeSet<u32>>>,
}

/// A thread of a [`Scope`], to be waited for before the scope's end.
pub struct ScopedJoinHandle<'a, 'scope, 'env, T> {
    thread: u32,
    os: std::thread::ScopedJoinHandle<'scope, Outcome<T>>,
    scope: &'a Scope<'scope, 'env>,
}

/// Runs `body`, which may start threads that borrow what is outside of it, and waits for all of
/// them.
///
/// # Panics
/// If one of them panicked that was not joined, as in the standard library.
pub fn scope<'env, F, T>(body: F) -> T
where
    F: for<'scope> FnOnce(&Scope<'scope, 'env>) -> T,
{
    std::thread::scope(|os| {
        let scope = Scope { os, started: Mutex::default(), panicked: Arc::default() };
        let outcome = catch_unwind(AssertUnwindSafe(|| body(&scope)));
        // By turns, so that those can go on that have not ended: the standard library's own wait
        // would keep the turn.
        let started = scope.started.into_inner().unwrap_or_else(PoisonError::into_inner);
        for &thread in &started {
            let _ = wait_for(thread);
        }
        let value = outcome.unwrap_or_else(|panic| resume_unwind(panic));
        assert!(locked(&scope.panicked).is_disjoint(&started), "a scoped thread panicked");
        value
    })
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Starts a thread.
    pub fn spawn<'a, F, T>(&'a self, work: F) -> Result<ScopedJoinHandle<'a, 'scope, 'env, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let panicked = Arc::clone(&self.panicked);
        let (thread, os) = start(|thread| {
            named(thread).spawn_scoped(self.os, move || {
                let outcome = run(thread, work);
                if outcome.is_err() {
                    locked(&panicked).insert(thread);
                }
                say_end(outcome)
            })
        })?;
        locked(&self.started).insert(thread);
        Ok(ScopedJoinHandle { thread, os, scope: self })
    }
}

impl<T> ScopedJoinHandle<'_, '_, '_, T> {
    /// Waits for the thread to end. What it panicked with is the error, as in the standard library.
    pub fn join(self) -> Outcome<T> {
        wait_for(self.thread)?;
        locked(&self.scope.started).remove(&self.thread);
        self.os.join().and_then(|outcome| outcome)
    }
}

/// Why a message was not sent: the receiver is gone. It holds the message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SendError(..)")
    }
}

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sending into a channel whose receiver is gone")
    }
}

impl<T> std::error::Error for SendError<T> {}

/// Why no message came: all senders are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecvError;

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("receiving from an empty channel whose senders are gone")
    }
}

impl std::error::Error for RecvError {}

struct Channel<T> {
    number: u32,
    /// Messages that were sent and not received, by the token that stands for it in the driver.
    messages: Mutex<BTreeMap<u64, T>>,
    tokens: AtomicU64,
}

impl<T> Channel<T> {
    fn take(&self, token: u64) -> Option<T> {
        locked(&self.messages).remove(&token)
    }

    fn close(&self, end: ChannelEnd) {
        // A run that is over has no one to tell.
        let _ = ask(ThreadRequest::Close { channel: self.number, end });
    }
}

/// The end of a channel where messages are put in. Clones are senders too.
pub struct Sender<T>(Arc<Channel<T>>);

/// The end of a channel where messages are taken out.
///
/// Unlike that of the standard library it can be shared by reference: workers take turns at one
/// queue without a mutex, which would not be seen here. Each message goes to one of them.
pub struct Receiver<T>(Arc<Channel<T>>);

/// A channel that takes any number of messages.
pub fn channel<T>() -> Result<(Sender<T>, Receiver<T>)> {
    open(None)
}

/// A channel that takes `bound` messages before a send waits for one to be received: the queue of a
/// loader that must not run ahead without limit. There is no rendezvous here: 0 is refused.
pub fn sync_channel<T>(bound: usize) -> Result<(Sender<T>, Receiver<T>)> {
    match u32::try_from(bound) {
        Ok(capacity @ 1..) => open(Some(capacity)),
        _ => {
            let why = "a channel of `lab::thread` has room for 1 message at the least";
            Err(Error::Refused(why.to_owned()))
        }
    }
}

fn open<T>(capacity: Option<u32>) -> Result<(Sender<T>, Receiver<T>)> {
    let channel = Arc::new(Channel {
        number: number(&ask(ThreadRequest::Channel { capacity })?)?,
        messages: Mutex::default(),
        tokens: AtomicU64::new(0),
    });
    Ok((Sender(Arc::clone(&channel)), Receiver(channel)))
}

impl<T> Sender<T> {
    /// Sends a message; waits for room in a channel that is full.
    pub fn send(&self, message: T) -> std::result::Result<(), SendError<T>> {
        let channel = &self.0;
        let token = channel.tokens.fetch_add(1, Ordering::Relaxed);
        // First, since the receiver may have its turn before the driver has answered.
        locked(&channel.messages).insert(token, message);
        match ask(ThreadRequest::Send { channel: channel.number, token }) {
            Ok(Reply::Done) => Ok(()),
            _ => channel.take(token).map_or(Ok(()), |message| Err(SendError(message))),
        }
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        // Each clone is reported, so that a receiver that outlives all senders comes after
        // everything that they did.
        let _ = ask(ThreadRequest::Clone { channel: self.0.number });
        Self(Arc::clone(&self.0))
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.close(ChannelEnd::Sender);
    }
}

impl<T> Receiver<T> {
    /// Waits for the next message.
    pub fn recv(&self) -> std::result::Result<T, RecvError> {
        match ask(ThreadRequest::Receive { channel: self.0.number }) {
            Ok(Reply::Number(token)) => self.0.take(token).ok_or(RecvError),
            _ => Err(RecvError),
        }
    }

    /// The messages, one after the other, until all senders are gone.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        std::iter::from_fn(|| self.recv().ok())
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.0.close(ChannelEnd::Receiver);
    }
}
