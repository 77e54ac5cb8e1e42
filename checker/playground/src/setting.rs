//! The reader's choices: which there are, and which were made.
//!
//! In the address of a page a setting is `sheet=pipeline&up=pinned&streams=3…`. What is missing
//! there, or unknown, is as it is at first, so that a link of yesterday still opens tomorrow.

use std::fmt::Write as _;

use crate::profiles;

/// A kind of program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sheet {
    /// Products, downloads and uploads that have nothing to do with one another: the programs of
    /// the chapter of that name.
    ThreeLanes,
    /// An array that is uploaded, mapped and downloaded, in pieces.
    Pipeline,
}

/// The subject of a control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// The memory that uploads start from.
    Up,
    /// The memory that downloads arrive in.
    Down,
    /// The host's work after a copy.
    Host,
    /// How many streams there are.
    Streams,
    /// Into how many parts the bytes are divided.
    Pieces,
    /// In which order the host asks.
    Order,
    /// How much the kernels do, against the copies.
    Kernels,
    /// The device.
    Device,
}

/// One control.
pub struct Control {
    /// Its subject.
    pub key: Key,
    /// Its name in addresses.
    pub name: &'static str,
    /// The text before it.
    pub label: &'static str,
    /// Its choices: the name in addresses, and the text on the page. Empty for the device, of which
    /// there are as many as there are profiles.
    choices: &'static [(&'static str, &'static str)],
    /// Which of them it is at first.
    first: u8,
}

type Choices = &'static [(&'static str, &'static str)];

/// The text of a choice stands in the page, so the wasm does without.
const fn text(text: &'static str) -> &'static str {
    if cfg!(target_family = "wasm") { "" } else { text }
}

macro_rules! choices {
    ($($name:literal: $text:literal),*) => { &[$(($name, text($text))),*] };
}

const MEMORY: Choices = choices!["pageable": "pageable", "pinned": "pinned"];
const HOST: Choices = choices!["goes-on": "goes on", "waits": "waits for its stream"];

const fn control(
    key: Key,
    name: &'static str,
    label: &'static str,
    choices: Choices,
    first: u8,
) -> Control {
    Control { key, name, label: text(label), choices, first }
}

const THREE_LANES: &[Control] = &[
    control(Key::Down, "down", "Downloads arrive in memory that is", MEMORY, 0),
    control(Key::Up, "up", "Uploads start from memory that is", MEMORY, 0),
    control(Key::Host, "host", "After each copy, the host", HOST, 1),
    control(
        Key::Streams,
        "streams",
        "Streams",
        choices!["1": "1 for all", "2": "2: kernels, copies", "3": "3: one each"],
        2,
    ),
    control(
        Key::Order,
        "order",
        "The host asks",
        choices!["depth": "for one kind after the other", "breadth": "for all three in turn"],
        0,
    ),
    control(
        Key::Pieces,
        "tensors",
        "400 MiB each way, as",
        choices![
            "25": "25 tensors",
            "50": "50 tensors",
            "100": "100 tensors",
            "200": "200 tensors",
            "400": "400 tensors"],
        2,
    ),
    control(
        Key::Kernels,
        "products",
        "Matrix products",
        choices!["100": "100", "300": "300", "1000": "1000", "2000": "2000"],
        2,
    ),
    control(Key::Device, "device", "Device", &[], 0),
];

const PIPELINE: &[Control] = &[
    control(Key::Up, "up", "Uploads start from memory that is", MEMORY, 0),
    control(Key::Down, "down", "Downloads arrive in memory that is", MEMORY, 0),
    control(Key::Host, "host", "After each copy, the host", HOST, 0),
    control(
        Key::Streams,
        "streams",
        "Streams",
        choices!["1": "1", "2": "2", "3": "3", "4": "4"],
        0,
    ),
    control(
        Key::Pieces,
        "chunks",
        "64 MiB, in chunks:",
        choices!["1": "1", "2": "2", "4": "4", "8": "8", "16": "16", "32": "32"],
        0,
    ),
    control(
        Key::Order,
        "order",
        "The host asks",
        choices!["depth": "chunk by chunk (depth first)", "breadth": "stage by stage (breadth first)"],
        0,
    ),
    control(
        Key::Kernels,
        "kernel",
        "On an H200, the kernel takes",
        choices![
            "quarter": "¼ of a copy",
            "half": "½ of a copy",
            "one": "as long as a copy",
            "two": "2 copies",
            "four": "4 copies"],
        2,
    ),
    control(Key::Device, "device", "Device", &[], 0),
];

impl Control {
    /// How many choices there are.
    pub fn count(&self) -> usize {
        if self.key == Key::Device { profiles::count() } else { self.choices.len() }
    }

    /// A choice: its name in addresses, and what the page says.
    pub fn choice(&self, index: usize) -> (&'static str, &'static str) {
        match self.key {
            Key::Device => (profiles::name(index), profiles::device(index)),
            _ => self.choices[index],
        }
    }
}

impl Sheet {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::ThreeLanes, Self::Pipeline];

    /// Its name in addresses.
    pub fn name(self) -> &'static str {
        match self {
            Self::ThreeLanes => "three_lanes",
            Self::Pipeline => "pipeline",
        }
    }

    /// Its controls, in the order of the page.
    pub fn controls(self) -> &'static [Control] {
        match self {
            Self::ThreeLanes => THREE_LANES,
            Self::Pipeline => PIPELINE,
        }
    }
}

/// The choices that were made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The kind of program.
    pub sheet: Sheet,
    /// One choice for each control.
    chosen: Vec<u8>,
}

/// A part of an address that means nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown(pub String);

impl Setting {
    /// As a sheet is at first.
    pub fn new(sheet: Sheet) -> Self {
        Self { sheet, chosen: sheet.controls().iter().map(|control| control.first).collect() }
    }

    /// All settings of a sheet.
    pub fn all(sheet: Sheet) -> impl Iterator<Item = Self> {
        let controls = sheet.controls();
        let count: usize = controls.iter().map(Control::count).product();
        (0..count).map(move |mut number| {
            let mut digit = |control: &Control| {
                let chosen = number % control.count();
                number /= control.count();
                chosen as u8
            };
            Self { sheet, chosen: controls.iter().map(&mut digit).collect() }
        })
    }

    /// A setting from its form in an address. What is not understood is as it is at first.
    pub fn parse(address: &str) -> Self {
        Self::read(address, |_| {})
    }

    /// A setting as an author wrote it, where nothing may be misunderstood.
    pub fn parse_strictly(address: &str) -> Result<Self, Unknown> {
        let mut unknown = None;
        let setting = Self::read(address, |part| _ = unknown.get_or_insert(Unknown(part.into())));
        unknown.map_or(Ok(setting), Err)
    }

    fn read(address: &str, mut unknown: impl FnMut(&str)) -> Self {
        // As one of several letters: what finds a letter in long texts quickly would be half a kB
        // of a page.
        let parts = || address.split(['&']).filter(|part| !part.is_empty());
        let sheet = parts().find_map(|part| part.strip_prefix("sheet="));
        let named = Sheet::ALL.into_iter().find(|known| Some(known.name()) == sheet);
        let mut setting = Self::new(named.unwrap_or(Sheet::Pipeline));
        for part in parts() {
            let (name, value) = part.split_once(['=']).unwrap_or((part, ""));
            let known = match setting.sheet.controls().iter().position(|c| c.name == name) {
                None => name == "sheet" && named.is_some(),
                Some(place) => {
                    let control = &setting.sheet.controls()[place];
                    let found = (0..control.count()).find(|&i| control.choice(i).0 == value);
                    if let Some(index) = found {
                        setting.chosen[place] = index as u8;
                    }
                    found.is_some()
                }
            };
            if !known {
                unknown(part);
            }
        }
        setting
    }

    /// Its form in an address.
    pub fn address(&self) -> String {
        let mut address = format!("sheet={}", self.sheet.name());
        for (control, &index) in self.sheet.controls().iter().zip(&self.chosen) {
            _ = write!(address, "&{}={}", control.name, control.choice(index.into()).0);
        }
        address
    }

    /// Changes what was chosen.
    pub(crate) fn choose(&mut self, key: Key, value: &str) {
        let controls = self.sheet.controls().iter().zip(&mut self.chosen);
        for (control, chosen) in controls.filter(|(control, _)| control.key == key) {
            let found = (0..control.count()).find(|&i| control.choice(i).0 == value);
            *chosen = found.map_or(*chosen, |index| index as u8);
        }
    }

    /// Which choice of a control it is.
    pub fn index(&self, key: Key) -> usize {
        let place = self.sheet.controls().iter().position(|control| control.key == key);
        place.map_or(0, |place| self.chosen[place].into())
    }

    /// The name of what was chosen.
    pub(crate) fn value(&self, key: Key) -> &'static str {
        let control = self.sheet.controls().iter().find(|control| control.key == key);
        control.map_or("", |control| control.choice(self.index(key)).0)
    }

    /// A choice, as a number.
    pub(crate) fn number(&self, key: Key) -> u64 {
        self.value(key).parse().unwrap_or(1)
    }

    /// The device, as [`profiles`] counts them.
    pub fn device(&self) -> usize {
        self.index(Key::Device)
    }
}
