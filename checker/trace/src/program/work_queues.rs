//! The number of work queues of a program.

use serde::{Deserialize, Serialize};

use super::{Call, Program};

/// How many work queues there are between streams and engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkQueues {
    /// For kernels, and what goes the same way.
    pub kernels: u32,
    /// For copies, in each direction.
    pub copies: u32,
}

impl WorkQueues {
    /// Where the environment sets none (measured on an H200, driver 580.159.04, 2026-11-23; the
    /// documentation says 8 for both).
    pub const DEFAULT: Self = Self { kernels: 8, copies: 4 };
    /// The most of each kind that can be set (CUDA Programming Guide, environment variables).
    pub const MOST: u32 = 32;

    /// The numbers that the environment sets, given the values of
    /// [`CONNECTIONS`](crate::env::CONNECTIONS) and
    /// [`COPY_CONNECTIONS`](crate::env::COPY_CONNECTIONS). The second is about copies alone, and
    /// wins there. A value that is no number sets nothing.
    pub fn asked(connections: Option<&str>, copies: Option<&str>) -> Self {
        let number = |text: Option<&str>| text.and_then(|text| text.trim().parse::<u32>().ok());
        let (both, copies) = (number(connections), number(copies));
        Self {
            kernels: both.unwrap_or(Self::DEFAULT.kernels),
            copies: copies.or(both).unwrap_or(Self::DEFAULT.copies),
        }
        .within_limits()
    }

    /// As many as a device gives where these are set.
    pub fn within_limits(self) -> Self {
        let Self { kernels, copies } = self;
        Self { kernels: kernels.clamp(1, Self::MOST), copies: copies.clamp(1, Self::MOST) }
    }

    /// The call that a program begins with; none if these are what a device has by itself.
    pub fn call(self) -> Option<Call> {
        let Self { kernels, copies } = self;
        let copies = (copies != kernels).then_some(copies);
        (self != Self::DEFAULT).then_some(Call::Connections { count: kernels, copies })
    }

    /// Those of a program.
    pub fn of(program: &Program) -> Self {
        match program.steps.first().map(|step| &step.call) {
            Some(&Call::Connections { count, copies }) => {
                Self { kernels: count, copies: copies.unwrap_or(count) }
            }
            _ => Self::DEFAULT,
        }
    }
}
