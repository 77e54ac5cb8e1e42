//! The results of a GPU, as they are kept.
//!
//! A JSON file: the device, the driver and the date, and for each row what was seen, in words. A row
//! whose runs differed holds `varies`, one whose process died `crashed`, one that hung or went wrong
//! otherwise `failed`: there is nothing to compare with then.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

use serde_json::{Map, Value, json};

use crate::arm::{Identity, Outcome};
use crate::row::Row;

/// The kept file.
pub(crate) struct Kept(Value);

impl Kept {
    /// The kept file, if there is one.
    pub(crate) fn read() -> Result<Option<Self>, String> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/h200.json");
        if !path.exists() {
            return Ok(None);
        }
        let read = std::fs::read_to_string(&path).map_err(|error| error.to_string());
        let parsed = read.and_then(|text| {
            serde_json::from_str::<Value>(&text).map_err(|error| error.to_string())
        });
        let value = parsed.map_err(|why| format!("`{}`: {why}", path.display()))?;
        if !value["rows"].is_object() {
            return Err(format!("`{}` holds no rows", path.display()));
        }
        if value["device"].as_str().is_none_or(|device| device.contains("simulated")) {
            return Err(format!("`{}` is not of a GPU", path.display()));
        }
        Ok(Some(Self(value)))
    }

    /// What was seen in the row; none if the device was not asked or gave no clear answer.
    pub(crate) fn answer(&self, row: &str) -> Option<Vec<String>> {
        let words = self.0["rows"].get(row)?.as_array()?;
        words.iter().map(|word| word.as_str().map(str::to_owned)).collect()
    }

    /// The rows that were asked.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &str> {
        self.0["rows"].as_object().into_iter().flatten().map(|(row, _)| row.as_str())
    }

    /// Which device, driver and day.
    pub(crate) fn source(&self) -> String {
        let text = |key: &str| self.0[key].as_str().unwrap_or("?").to_owned();
        format!("{}, driver {}, {}", text("device"), text("driver"), text("date"))
    }
}

/// The file's text.
pub(crate) fn text(device: &Identity, rows: &[Row], outcomes: &BTreeMap<usize, Outcome>) -> String {
    let entry = |(&index, outcome): (&usize, &Outcome)| {
        let value = match outcome {
            Outcome::Seen(seen) => json!(seen),
            Outcome::Varies(runs) => json!({ "varies": runs }),
            Outcome::Crashed(why) => json!({ "crashed": why }),
            Outcome::Failed(why) => json!({ "failed": why }),
        };
        (rows[index].name.clone(), value)
    };
    let rows: Map<String, Value> = outcomes.iter().map(entry).collect();
    let value =
        json!({ "device": device.name, "driver": device.driver, "date": today(), "rows": rows });
    format!("{value:#}\n")
}

/// Today in UTC, as year-month-day.
fn today() -> String {
    const SECONDS_PER_DAY: u64 = 86_400;
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    trace::words::date(since.map_or(0, |since| since.as_secs() / SECONDS_PER_DAY))
}
