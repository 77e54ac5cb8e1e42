//! A profile as the text of its file.

use std::fmt::Write as _;

use super::{Figure, Profile};

/// A table of the file: its name, and its figures with theirs.
type Table<'a> = (String, Vec<(&'static str, &'a Figure)>);

impl Profile {
    /// Every figure, table by table, in the order of the file.
    pub fn tables(&self) -> Vec<Table<'_>> {
        let mut tables = vec![
            ("chip".to_owned(), self.chip.figures()),
            ("copies".to_owned(), self.copies.figures()),
            ("copies.host_to_device".to_owned(), self.copies.host_to_device.figures()),
            ("copies.device_to_host".to_owned(), self.copies.device_to_host.figures()),
        ];
        let rates = self.rates.iter();
        tables.extend(rates.map(|(name, rate)| (format!("rates.{name}"), rate.figures())));
        tables.push(("gaps".to_owned(), self.gaps.figures()));
        tables.push(("host".to_owned(), self.host.figures()));
        tables.push(("first_calls".to_owned(), self.first_calls.figures()));
        #[cfg(not(target_arch = "wasm32"))]
        tables.push(("peers".to_owned(), self.peers.figures()));
        tables
    }

    /// The text of its file, below `header`, each line of which becomes a comment.
    pub fn to_toml(&self, header: &str) -> String {
        let mut text = String::new();
        for line in header.lines() {
            text.push_str(format!("# {line}").trim_end());
            text.push('\n');
        }
        let (name, device) = (quoted(&self.name), quoted(&self.device));
        _ = write!(text, "\nname = {name}\ndevice = {device}\n");
        for (table, figures) in self.tables() {
            _ = write!(text, "\n[{table}]\n");
            for (name, Figure { value, source }) in figures {
                _ = writeln!(text, "{name} = {{ value = {value}, source = {} }}", quoted(source));
            }
        }
        text
    }
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter.is_control() => quoted.push(' '),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}
