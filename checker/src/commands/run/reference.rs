//! References that a student is measured beside on a GPU.

use std::path::PathBuf;

use anyhow::Result;

use super::{REFERENCE, player, target};
use crate::attempt::Runnable;
use crate::compile::{Build, Source, Target};
use crate::exercise::Exercise;
use crate::report::Role;

/// A reference that a student is measured beside: the solution, or its record, which a program of
/// the lab's plays.
pub struct Reference {
    /// The target that has to be built for it.
    pub target: Target,
    /// Its record, where that is played.
    pub recorded: Option<PathBuf>,
}

impl Reference {
    /// That of an exercise; none where there is nothing to measure beside.
    pub fn of(exercise: &Exercise, source: &Source) -> Result<Option<Self>> {
        let place = &exercise.place;
        if source.has_solution(place) {
            let target = target(exercise, &Role::Solution)?;
            return Ok(Some(Self { target, recorded: None }));
        }
        let recorded = place.folder.join(REFERENCE);
        let found = recorded.is_file() && source.has_player();
        Ok(found.then(|| Self { target: player(), recorded: Some(recorded) }))
    }

    /// As it was built.
    pub fn runnable<'a>(&'a self, build: &'a Build) -> Result<Runnable<'a>> {
        let executable = build.executable(&self.target.name)?;
        Ok(Runnable { recorded: self.recorded.as_deref(), ..Runnable::program(executable) })
    }
}
