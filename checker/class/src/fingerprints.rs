//! The fingerprints of a class's files, and the list that comes of comparing them.

use anyhow::Result;

use crate::similar;
use crate::store::Store;
use crate::submission::Handed;
use checker::exercise::Location;
use checker::workspace::Workspace;

/// The fingerprints of files.
pub(crate) struct Prints {
    exercises: Vec<(String, similar::Known)>,
    /// By exercise: who, SHA-256, and the print.
    files: Vec<Vec<(String, String, similar::Print)>>,
}

impl Prints {
    pub(crate) fn new(workspace: &Workspace, places: &[Location]) -> Self {
        let known = |place: &Location| {
            let solution = workspace.root().join("solutions").join(place.name());
            let texts = [place.folder.join(".shipped/lib.rs"), solution.join("src/lib.rs")];
            let texts = texts.map(|path| std::fs::read_to_string(path).unwrap_or_default());
            (place.id.clone(), similar::Known::of(texts.iter().map(String::as_str)))
        };
        Self {
            exercises: places.iter().map(known).collect(),
            files: vec![Vec::new(); places.len()],
        }
    }

    pub(crate) fn add(&mut self, student: &str, handed: &[Handed]) {
        for ((handed, (_, known)), files) in handed.iter().zip(&self.exercises).zip(&mut self.files)
        {
            if let Handed::File(file) = handed {
                let print = similar::Print::of(&file.text, known);
                files.push((student.to_owned(), file.submitted.sha256.clone(), print));
            }
        }
    }

    /// Writes the pairs that are alike; how many.
    pub(crate) fn write(&self, store: &Store) -> Result<usize> {
        let mut alike = Vec::new();
        for ((exercise, _), files) in self.exercises.iter().zip(&self.files) {
            let files: Vec<_> = files
                .iter()
                .map(|(student, sha256, print)| (student.as_str(), sha256.as_str(), print))
                .collect();
            let pairs = similar::pairs(&files, SHARE);
            alike.extend(pairs.into_iter().map(|pair| (exercise.as_str(), pair)));
        }
        store.write_similar(&alike)?;
        Ok(alike.len())
    }
}

/// Files of which this much is alike are listed: below it chance and taught idioms take over.
const SHARE: f64 = 0.5;
