//! Rows by student, each with the exercises in the same order.

use std::collections::{BTreeMap, BTreeSet};

use super::points::Points;
use crate::record::{Reason, Row};
use checker::grade::Verdict;

/// A class.
pub(super) struct Roll<'a> {
    /// In the course's order, then by name.
    pub(super) exercises: Vec<&'a str>,
    /// By name.
    pub(super) students: Vec<Student<'a>>,
}

/// One of it.
pub(super) struct Student<'a> {
    pub(super) name: &'a str,
    /// One for each exercise of the class.
    pub(super) rows: Vec<Option<&'a Row>>,
}

impl<'a> Roll<'a> {
    pub(super) fn new<'b>(rows: &'a [Row], order: impl Iterator<Item = &'b str>) -> Self {
        let mut left: BTreeSet<&str> = rows.iter().map(|row| row.exercise.as_str()).collect();
        let mut exercises: Vec<&str> = order.filter_map(|name| left.take(name)).collect();
        exercises.extend(left);
        let place: BTreeMap<&str, usize> =
            exercises.iter().enumerate().map(|(place, name)| (*name, place)).collect();
        let mut students: BTreeMap<&str, Vec<Option<&Row>>> = BTreeMap::new();
        for row in rows {
            let of = students.entry(&row.student).or_insert_with(|| vec![None; exercises.len()]);
            of[place[row.exercise.as_str()]] = Some(row);
        }
        let students = students.into_iter().map(|(name, rows)| Student { name, rows }).collect();
        Self { exercises, students }
    }

    /// The rows of one exercise.
    pub(super) fn of(&self, exercise: usize) -> impl Iterator<Item = &'a Row> {
        self.students.iter().filter_map(move |student| student.rows[exercise])
    }
}

impl<'a> Student<'a> {
    /// The points of all exercises together; none where one of them has none.
    pub(super) fn total(&self) -> Option<Points> {
        self.rows.iter().map(|row| row.and_then(Points::of)).sum()
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &'a Row> {
        self.rows.iter().flatten().copied()
    }

    pub(super) fn passed(&self) -> usize {
        self.rows().filter(|row| row.verdict == Verdict::Passed).count()
    }
}

/// Why a person has to look at a row before its grade counts.
pub(super) fn concerns(row: &Row) -> Vec<String> {
    let mut concerns = Vec::new();
    match row.verdict {
        _ if row.replaced.is_some() => {}
        // A student who was not there, and is on the roster: that is no trouble.
        _ if row.reason == Some(Reason::Missing) => {}
        Verdict::Error => concerns.push(format!("could not be graded: {}", row.message)),
        Verdict::Inconclusive => concerns.push(format!("not conclusive: {}", row.message)),
        _ if Points::of(row).is_none() => {
            concerns.push(format!("{}, and has no points: {}", row.verdict, row.message));
        }
        _ => {}
    }
    concerns.extend(row.flags.iter().cloned());
    concerns
}
