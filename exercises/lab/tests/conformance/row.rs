//! Rows, and what can be seen in them.

use std::collections::BTreeMap;
use std::fmt;

use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;
use trace::env;

use crate::bench::Bench;

/// A result of a call of the driver.
pub(crate) type Result<T, E = DriverError> = std::result::Result<T, E>;

/// One thing that is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fact {
    /// What the call did to the host.
    Host(Host),
    /// How work of two streams lay in time.
    Streams(Streams),
    /// What was read.
    Data(Data),
    /// What a call came back with.
    Code(CUresult),
    /// A number that the device states.
    Number(i32),
    /// How a copy engine served several streams.
    Engine(Engine),
    /// When short work got its turn beside long work.
    Turn(Turn),
    /// Where memory came from.
    Memory(Memory),
}

/// What a call did to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// It came back at once.
    Free,
    /// It took its time, but did not wait for the other work on the device.
    Held,
    /// It waited for the other work on the device.
    Blocked,
}

/// How work of two streams lay in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Streams {
    /// Side by side.
    Overlap,
    /// One after the other.
    Serial,
}

/// What was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Data {
    /// What was there before.
    Old,
    /// What was written.
    New,
}

/// How a copy engine served several streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// It stayed with a stream until nothing was left there.
    Stays,
    /// It took a copy of each stream in turn.
    TakesTurns,
}

/// When short work got its turn beside long work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Well before the long work was over.
    Early,
    /// When the long work was over, or nearly.
    Late,
}

/// Where memory came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// It is what was freed before.
    Reused,
    /// It is other memory.
    Fresh,
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phrase = match self {
            Fact::Host(Host::Free) => "host free",
            Fact::Host(Host::Held) => "host busy in the call",
            Fact::Host(Host::Blocked) => "host blocked",
            Fact::Streams(Streams::Overlap) => "streams overlap",
            Fact::Streams(Streams::Serial) => "streams serial",
            Fact::Data(Data::Old) => "data old",
            Fact::Data(Data::New) => "data new",
            Fact::Code(code) => return write!(f, "{code:?}"),
            Fact::Number(number) => return write!(f, "{number}"),
            Fact::Engine(Engine::Stays) => "engine stays with a stream",
            Fact::Engine(Engine::TakesTurns) => "engine takes turns",
            Fact::Turn(Turn::Early) => "turn comes early",
            Fact::Turn(Turn::Late) => "turn comes late",
            Fact::Memory(Memory::Reused) => "memory reused",
            Fact::Memory(Memory::Fresh) => "memory fresh",
        };
        f.write_str(phrase)
    }
}

/// The facts in words: what is kept and compared.
pub(crate) fn phrases(facts: &[Fact]) -> Vec<String> {
    facts.iter().map(Fact::to_string).collect()
}

pub(crate) const FREE: Fact = Fact::Host(Host::Free);
pub(crate) const HELD: Fact = Fact::Host(Host::Held);
pub(crate) const BLOCKED: Fact = Fact::Host(Host::Blocked);
pub(crate) const OVERLAP: Fact = Fact::Streams(Streams::Overlap);
pub(crate) const SERIAL: Fact = Fact::Streams(Streams::Serial);
pub(crate) const OLD: Fact = Fact::Data(Data::Old);
pub(crate) const NEW: Fact = Fact::Data(Data::New);
pub(crate) const SUCCESS: Fact = Fact::Code(CUresult::CUDA_SUCCESS);
pub(crate) const NOT_READY: Fact = Fact::Code(CUresult::CUDA_ERROR_NOT_READY);
pub(crate) const INVALID_HANDLE: Fact = Fact::Code(CUresult::CUDA_ERROR_INVALID_HANDLE);
pub(crate) const INVALID_VALUE: Fact = Fact::Code(CUresult::CUDA_ERROR_INVALID_VALUE);
pub(crate) const CONTEXT_IS_DESTROYED: Fact = Fact::Code(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED);
/// What the simulated device says to calls that it does not model.
pub(crate) const NOT_SUPPORTED: Fact = Fact::Code(CUresult::CUDA_ERROR_NOT_SUPPORTED);

/// What brings a row about. An error that it lets out is what was seen.
type Body = Box<dyn Fn(&Bench) -> Result<Vec<Fact>>>;

/// Variables of CUDA's that decide on order. No row's process has one that the row does not name.
pub(crate) const VARIABLES: [&str; 2] = [env::CONNECTIONS, env::COPY_CONNECTIONS];

/// Values of variables, by name.
pub(crate) type Environment = BTreeMap<&'static str, &'static str>;

/// A situation, and what is seen in it.
pub(crate) struct Row {
    /// A sentence. It names the row in the kept results, so it is changed in both places.
    pub(crate) name: String,
    /// What a GPU answers.
    pub(crate) expect: Vec<Fact>,
    /// What the simulated device answers instead, today.
    pub(crate) gap: Option<Vec<Fact>>,
    /// Variables of CUDA's that its process has: see [`VARIABLES`].
    pub(crate) environment: Environment,
    /// A GPU may just as well crash: it is undefined what becomes of the call.
    pub(crate) undefined: bool,
    /// It shares its process with no other row.
    pub(crate) alone: bool,
    pub(crate) body: Body,
}

impl Row {
    pub(crate) fn new(
        name: impl Into<String>,
        expect: &[Fact],
        body: impl Fn(&Bench) -> Result<Vec<Fact>> + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            expect: expect.to_vec(),
            gap: None,
            environment: Environment::new(),
            undefined: false,
            alone: false,
            body: Box::new(body),
        }
    }

    /// The simulated device answers this.
    #[must_use]
    pub(crate) fn gap(self, today: &[Fact]) -> Self {
        Self { gap: Some(today.to_vec()), ..self }
    }

    /// In a process with so many work queues.
    #[must_use]
    pub(crate) fn connections(self, connections: &'static str) -> Self {
        self.variable(env::CONNECTIONS, connections)
    }

    /// In a process in which a variable of CUDA's has this value.
    #[must_use]
    pub(crate) fn variable(mut self, name: &'static str, value: &'static str) -> Self {
        assert!(VARIABLES.contains(&name), "`{name}` is not cleared for other rows");
        self.environment.insert(name, value);
        self.alone()
    }

    /// What a GPU makes of it is not defined: the code that is expected, or a crash.
    #[must_use]
    pub(crate) fn undefined(self) -> Self {
        Self { undefined: true, ..self }.alone()
    }

    /// In a process of its own: it may leave the context behind in ruins.
    #[must_use]
    pub(crate) fn alone(self) -> Self {
        Self { alone: true, ..self }
    }

    /// What is seen.
    pub(crate) fn seen(&self, bench: &Bench) -> Vec<Fact> {
        (self.body)(bench).unwrap_or_else(|error| vec![Fact::Code(error.0)])
    }
}
