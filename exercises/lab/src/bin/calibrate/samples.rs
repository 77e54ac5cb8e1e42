//! The samples so far.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use crate::arm::Outcome;

/// Samples by key, and why others are missing.
pub(crate) struct Samples {
    samples: BTreeMap<String, Vec<i64>>,
    missing: BTreeMap<String, String>,
    /// Facts in words.
    facts: BTreeMap<String, String>,
}

impl Samples {
    pub(crate) fn new() -> Self {
        Self { samples: BTreeMap::new(), missing: BTreeMap::new(), facts: BTreeMap::new() }
    }

    /// Measures so many times. One that fails is missing, and what else there is goes on.
    pub(crate) fn take(
        &mut self,
        key: impl Into<String>,
        times: usize,
        mut measurement: impl FnMut() -> Outcome<i64>,
    ) {
        let outcome: Outcome<Vec<i64>> = (0..times).map(|_| measurement()).collect();
        self.keep(key, outcome);
    }

    /// Keeps samples that were taken together with others.
    pub(crate) fn keep(&mut self, key: impl Into<String>, outcome: Outcome<Vec<i64>>) {
        match outcome {
            Ok(samples) => drop(self.samples.insert(key.into(), samples)),
            Err(why) => drop(self.missing.insert(key.into(), why)),
        }
    }

    /// Keeps a fact in words.
    pub(crate) fn fact(&mut self, key: &str, outcome: Outcome<String>) {
        match outcome {
            Ok(text) => drop(self.facts.insert(key.to_owned(), text)),
            Err(why) => drop(self.missing.insert(key.to_owned(), why)),
        }
    }

    /// The median of what was measured.
    pub(crate) fn median(&self, key: &str) -> Outcome<i64> {
        let mut samples = self.samples.get(key).cloned().unwrap_or_default();
        samples.sort_unstable();
        samples.get(samples.len() / 2).copied().ok_or_else(|| format!("`{key}` is missing"))
    }

    /// Hands everything over.
    pub(crate) fn write(&self, path: &Path) -> Outcome<()> {
        let Self { samples, missing, facts } = self;
        let text = json!({ "samples": samples, "missing": missing, "facts": facts }).to_string();
        std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
    }
}
