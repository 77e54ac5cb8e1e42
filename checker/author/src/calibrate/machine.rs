//! Where something was measured: the device, its driver, the host around it, the day.

use std::collections::BTreeMap;
use std::process::Command;

use checker::host_facts;
use serde::{Deserialize, Serialize};

/// A machine on a day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Machine {
    pub(crate) device: String,
    /// Release of the kernel module, or `simulated`.
    pub(crate) driver: String,
    /// Version of the API, such as `13.0`.
    pub(crate) cuda: String,
    pub(crate) cpu: String,
    /// Speed and width of the link, where the system tells them.
    pub(crate) link: Option<String>,
    /// Day in UTC, as `2026-11-21`.
    pub(crate) date: String,
    /// Other programs that used the GPU when the measurements began, as far as can be seen.
    pub(crate) others: Option<String>,
}

impl Machine {
    /// This machine, before the device has said anything.
    pub(crate) fn here() -> Self {
        Self {
            device: "unknown".to_owned(),
            driver: release().unwrap_or_else(|| "unknown".to_owned()),
            cuda: "unknown".to_owned(),
            cpu: cpu(),
            link: None,
            date: host_facts::today(),
            others: None,
        }
    }

    /// Takes up what the device says about itself.
    pub(crate) fn learn(
        &mut self,
        facts: &BTreeMap<String, String>,
        number: impl Fn(&str) -> Option<i64>,
    ) {
        if let Some(device) = facts.get("device") {
            self.device.clone_from(device);
        }
        if let Some(bus) = facts.get("pci_bus") {
            self.link = link(bus);
        }
        if let Some(version) = number("cuda_version") {
            self.cuda = format!("{}.{}", version / 1000, version % 1000 / 10);
        }
    }

    /// On a few lines.
    pub(crate) fn describe(&self) -> String {
        let Self { device, driver, cuda, cpu, link, date, others } = self;
        let link = link.as_deref().unwrap_or("could not be read");
        let mut text = format!(
            "device: {device}\ndriver: {driver} (CUDA {cuda})\nhost: {cpu}\nPCIe link: {link}\n\
             date: {date}\n"
        );
        if let Some(others) = others {
            text.push_str(&format!("in use by others meanwhile: {others}\n"));
        }
        text
    }
}

/// The release of the kernel module, if there is one.
fn release() -> Option<String> {
    Some(host_facts::driver_release()).filter(|release| !release.is_empty())
}

fn cpu() -> String {
    let processor = Some(host_facts::processor()).filter(|name| !name.is_empty());
    let processor = processor.as_deref().unwrap_or("unknown processor");
    format!("{processor}, {} cores visible", host_facts::cores())
}

/// The link to a PCI device as the system states it, such as `32.0 GT/s PCIe x16`.
fn link(bus: &str) -> Option<String> {
    let folder = std::path::Path::new("/sys/bus/pci/devices").join(bus.to_ascii_lowercase());
    let read = |name: &str| {
        std::fs::read_to_string(folder.join(name)).ok().map(|text| text.trim().to_owned())
    };
    Some(format!("{} x{}", read("current_link_speed")?, read("current_link_width")?))
}

/// The other users of the GPU, as `nvidia-smi` tells; none where it sees none.
pub(crate) fn others() -> Option<String> {
    /// Memory that a driver without work keeps for itself, in MiB.
    const KEPT_MIB: u64 = 1024;
    /// Of an idle device, in percent.
    const IDLE_PERCENT: u64 = 5;
    let ask = |query: &str| {
        let format = "--format=csv,noheader,nounits";
        let output = Command::new("nvidia-smi").args(["--id=0", query, format]).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    if let Some(processes) =
        ask("--query-compute-apps=pid,process_name").filter(|it| !it.is_empty())
    {
        return Some(format!("processes {}", processes.replace('\n', "; ")));
    }
    let figures = ask("--query-gpu=utilization.gpu,memory.used")?;
    let mut numbers = figures.split(',').map(|number| number.trim().parse::<u64>().unwrap_or(0));
    let (percent, mib) = (numbers.next()?, numbers.next()?);
    (percent > IDLE_PERCENT || mib > KEPT_MIB)
        .then(|| format!("{percent} % of its time, {mib} MiB of its memory"))
}
