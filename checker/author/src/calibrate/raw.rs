//! Raw measurements, before a profile is fitted to them.

use std::collections::BTreeMap;

use anyhow::{Context, Result, anyhow, bail};
use serde::{Deserialize, Serialize};

use super::machine::Machine;

/// Version of the JSON form of [`Raw`].
const FORMAT: u32 = 1;

/// The answer of one section.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Answer {
    pub(crate) samples: BTreeMap<String, Vec<i64>>,
    #[serde(default)]
    pub(crate) missing: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) facts: BTreeMap<String, String>,
}

/// Everything that was measured, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Raw {
    format: u32,
    pub(crate) machine: Machine,
    /// How many visits these are the figures of.
    #[serde(default = "one")]
    pub(crate) visits: u32,
    /// By key. A key ends in its unit; the argument of a curve comes after a slash.
    figures: BTreeMap<String, Spread>,
    /// Why others are not there.
    missing: BTreeMap<String, String>,
}

/// The spread of several measurements of one thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Spread {
    pub(crate) median: i64,
    /// A quarter of the samples is below this.
    pub(crate) lower: i64,
    /// A quarter of the samples is above this.
    pub(crate) upper: i64,
    /// When this one was measured, where that was not when the others were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    date: Option<String>,
    /// In the order in which they were taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    samples: Vec<i64>,
}

impl Spread {
    /// None of no samples.
    pub(crate) fn of(samples: Vec<i64>) -> Option<Self> {
        let mut sorted = samples.clone();
        sorted.sort_unstable();
        let at = |quarters: usize| sorted.get(sorted.len().checked_sub(1)? * quarters / 4).copied();
        Some(Self { median: at(2)?, lower: at(1)?, upper: at(3)?, date: None, samples })
    }
}

fn one() -> u32 {
    1
}

impl Raw {
    pub(crate) fn new(machine: Machine) -> Self {
        Self {
            format: FORMAT,
            machine,
            visits: 1,
            figures: BTreeMap::new(),
            missing: BTreeMap::new(),
        }
    }

    /// Takes up what a section found, beside what it found before.
    pub(crate) fn add(&mut self, answer: Answer) {
        for (key, samples) in answer.samples {
            let mut all = self.figures.remove(&key).map_or_else(Vec::new, |it| it.samples);
            all.extend(samples);
            if let Some(spread) = Spread::of(all) {
                self.figures.insert(key, spread);
            }
        }
        self.missing.extend(answer.missing);
        self.machine.learn(&answer.facts, |key| self.figures.get(key).map(|it| it.median));
    }

    /// Takes up what another visit to the same kind of device measured: hosts differ by more than
    /// what one of them says twice. Where samples were not kept, median and quartiles stand for
    /// them.
    pub(crate) fn join(&mut self, other: Self) -> Result<()> {
        let (here, there) = (&self.machine.device, &other.machine.device);
        if here != there {
            bail!("one was measured on an {here}, the other on an {there}");
        }
        let samples = |it: Spread| match it.samples.is_empty() {
            true => vec![it.lower, it.median, it.upper],
            false => it.samples,
        };
        for (key, spread) in other.figures {
            let mut all = self.figures.remove(&key).map_or_else(Vec::new, samples);
            self.missing.remove(&key);
            all.extend(samples(spread));
            if let Some(spread) = Spread::of(all) {
                self.figures.insert(key, spread);
            }
        }
        self.visits += other.visits;
        let date = other.machine.date;
        self.machine.date = self.machine.date.clone().max(date);
        Ok(())
    }

    /// As JSON, one figure to a line.
    pub(crate) fn to_json(&self) -> Result<String> {
        let machine = serde_json::to_string_pretty(&self.machine)?;
        let lines = |figures: Vec<String>| match figures.is_empty() {
            true => "{}".to_owned(),
            false => format!("{{\n{}\n}}", figures.join(",\n")),
        };
        let entry = |key: &String, value: String| {
            serde_json::to_string(key).map(|key| format!("{key}: {value}"))
        };
        let mut figures = Vec::new();
        for (key, spread) in &self.figures {
            figures.push(entry(key, serde_json::to_string(spread)?)?);
        }
        let mut missing = Vec::new();
        for (key, why) in &self.missing {
            missing.push(entry(key, serde_json::to_string(why)?)?);
        }
        Ok(format!(
            "{{\n\"format\": {},\n\"machine\": {machine},\n\"visits\": {},\n\"figures\": {},\n\"missing\": {}\n}}\n",
            self.format,
            self.visits,
            lines(figures),
            lines(missing)
        ))
    }

    /// Notes why something is not there.
    pub(crate) fn lacks(&mut self, key: &str, why: &str) {
        self.missing.insert(key.to_owned(), why.to_owned());
    }

    /// The median of a figure.
    pub(crate) fn median(&self, key: &str) -> Result<i64> {
        self.figures.get(key).map(|spread| spread.median).with_context(|| {
            let why = self.missing.get(key).map(|why| format!(": {why}")).unwrap_or_default();
            format!("`{key}` was not measured{why}")
        })
    }

    /// On what was measured, and when.
    pub(crate) fn stamp(&self, date: &str) -> String {
        let Machine { device, driver, .. } = &self.machine;
        format!("{date}, {device}, driver {driver}")
    }

    /// When a figure was measured, or the first one of a curve.
    pub(crate) fn date(&self, prefix: &str) -> &str {
        let is_it = |key: &String| key.split('/').next() == Some(prefix);
        let found = self.figures.iter().find(|(key, _)| is_it(key));
        found.and_then(|(_, spread)| spread.date.as_deref()).unwrap_or(&self.machine.date)
    }

    /// The medians of a curve, by their argument.
    pub(crate) fn curve(&self, prefix: &str) -> Result<BTreeMap<i64, i64>> {
        let mut curve = BTreeMap::new();
        for (key, spread) in &self.figures {
            let Some((name, argument)) = key.split_once('/') else { continue };
            if name == prefix
                && let Ok(argument) = argument.parse()
            {
                curve.insert(argument, spread.median);
            }
        }
        if curve.is_empty() {
            return Err(anyhow!("`{prefix}` was not measured"));
        }
        Ok(curve)
    }

    /// Figures whose middle half is spread over more than this share of the median, in percent, the
    /// widest first.
    pub(crate) fn wide(&self, percent: i64) -> Vec<(&str, i64)> {
        let share = |it: &Spread| (it.upper - it.lower) * 100 / it.median.abs().max(1);
        let all = self.figures.iter().map(|(key, spread)| (key.as_str(), share(spread)));
        let mut wide: Vec<_> = all.filter(|&(_, share)| share > percent).collect();
        wide.sort_by_key(|&(_, share)| std::cmp::Reverse(share));
        wide
    }

    /// The figures that are missing, and why.
    pub(crate) fn missing(&self) -> impl Iterator<Item = (&str, &str)> {
        self.missing.iter().map(|(key, why)| (key.as_str(), why.as_str()))
    }

    /// Wrong results of kernels.
    pub(crate) fn wrong_elements(&self) -> i64 {
        self.curve_of_names("wrong_elements").map(|(_, wrong)| wrong).sum()
    }

    fn curve_of_names(&self, prefix: &str) -> impl Iterator<Item = (&str, i64)> {
        self.figures.iter().filter_map(move |(key, spread)| {
            let (name, argument) = key.split_once('/')?;
            (name == prefix).then_some((argument, spread.median))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_figures_read_back_as_they_were_written() {
        let mut raw = Raw::new(Machine::here());
        let samples = [("a_ns", vec![3, 1, 2]), ("curve_ns/64", vec![7])];
        raw.add(Answer {
            samples: samples.map(|(key, samples)| (key.to_owned(), samples)).into(),
            ..Answer::default()
        });
        raw.lacks("b_ns", "it said \"no\"");
        let read: Raw = serde_json::from_str(&raw.to_json().expect("it is written")).expect("JSON");
        assert_eq!(read, raw);
        assert_eq!(read.median("a_ns").expect("it is there"), 2);
        let why = read.median("b_ns").expect_err("it is missing").to_string();
        assert_eq!(why, "`b_ns` was not measured: it said \"no\"");
    }

    #[test]
    fn several_visits_are_one_of_all_their_samples_and_another_device_is_refused() {
        let visit = |samples: Vec<i64>| {
            let mut raw = Raw::new(Machine::here());
            raw.add(Answer { samples: [("a_ns".to_owned(), samples)].into(), ..Answer::default() });
            raw
        };
        let mut raw = visit(vec![1, 2, 3]);
        raw.lacks("b_ns", "it was not there");
        let mut later = visit(vec![7, 8, 9, 10]);
        later.add(Answer { samples: [("b_ns".to_owned(), vec![4])].into(), ..Answer::default() });
        raw.join(later).expect("the device is the same");
        assert_eq!(
            (raw.visits, raw.median("a_ns").ok(), raw.median("b_ns").ok()),
            (2, Some(7), Some(4))
        );
        assert_eq!(raw.missing().count(), 0);

        let mut elsewhere = visit(vec![5]);
        elsewhere.machine.device = "another".to_owned();
        let error = raw.join(elsewhere).expect_err("it is another device").to_string();
        assert!(error.ends_with("the other on an another"), "{error}");
    }

    #[test]
    fn a_spread_is_median_and_quartiles() {
        let spread = Spread::of(vec![9, 1, 5, 3, 7]).expect("there are samples");
        assert_eq!((spread.lower, spread.median, spread.upper), (3, 5, 7));
        assert_eq!(Spread::of(Vec::new()), None);
        assert_eq!(Spread::of(vec![4]).map(|it| it.median), Some(4));
    }
}
