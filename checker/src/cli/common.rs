//! Options that several commands have.

use clap::{Args, ValueEnum};

/// How facts are shown.
#[derive(Clone, Copy, Debug, Args)]
pub struct Look {
    /// Print one JSON object on standard output and nothing else there
    #[arg(long, global = true)]
    pub json: bool,
    /// Print no colours, on a terminal either
    #[arg(long, global = true)]
    pub plain: bool,
}

/// Whether there is a sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SandboxChoice {
    /// Every layer that this machine has
    #[default]
    Auto,
    /// None: whatever is submitted runs as you
    Off,
}
