//! `result.json` of a Classroom 50 autograder (`classroom50/result/v1`): one student.
//!
//! Its scores are whole numbers. Where an exercise could not be graded there is no file, and the
//! command fails: Classroom 50 takes that for trouble and not for a score.

use anyhow::{Context as _, Result, bail};
use serde::Serialize;

use super::plain::{line, name};
use super::points::{FULL, Points, WHOLE};
use super::roll::Roll;
use crate::record::Row;
use checker::grade::Verdict;

/// Which submission was graded, as Classroom 50's runner says in the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Submission {
    /// `CLASSROOM`
    pub(crate) classroom: String,
    /// `ASSIGNMENT`
    pub(crate) assignment: String,
    /// `MODE`: `individual` or `group`
    pub(crate) assignment_type: String,
    /// Login of the repository's owner.
    pub(crate) owner: String,
    /// `SUBMISSION_TAG`: `submit/…`
    pub(crate) tag: String,
    /// `COMMIT_URL`
    pub(crate) commit: String,
    /// `RELEASE_URL`
    pub(crate) release: String,
    /// `REVIEW_URL`
    pub(crate) review: String,
    /// When the commit was made: `YYYY-MM-DDTHH:MM:SSZ`
    pub(crate) datetime: String,
}

impl Submission {
    /// The one that the environment describes; none where a part of that is missing.
    pub(crate) fn of_environment() -> Option<Self> {
        let word = |name: &str| std::env::var(name).ok().filter(|word| !word.is_empty());
        let repository = word("GITHUB_REPOSITORY");
        let owner = repository.as_deref().and_then(|it| it.split('/').next()).map(str::to_owned);
        Some(Self {
            classroom: word("CLASSROOM")?,
            assignment: word("ASSIGNMENT")?,
            assignment_type: word("MODE")?,
            owner: word("OWNER").or(owner)?,
            tag: word("SUBMISSION_TAG")?,
            commit: word("COMMIT_URL")?,
            release: word("RELEASE_URL")?,
            review: word("REVIEW_URL")?,
            datetime: word("COMMIT_DATETIME")?,
        })
    }
}

#[derive(Debug, Serialize)]
struct Results<'a> {
    schema: &'static str,
    classroom: &'a str,
    assignment: &'a str,
    assignment_type: &'a str,
    owner: &'a str,
    submission: &'a str,
    commit: &'a str,
    release: &'a str,
    review: &'a str,
    datetime: &'a str,
    score: u32,
    #[serde(rename = "max-score")]
    max_score: u32,
    tests: Vec<Test>,
}

/// Unlike the whole, a test may say more than the schema demands.
#[derive(Debug, Serialize)]
struct Test {
    #[serde(rename = "test-name")]
    test_name: String,
    passed: bool,
    score: u32,
    #[serde(rename = "max-score")]
    max_score: u32,
    /// With its decimal.
    points: f64,
    rounding: &'static str,
    verdict: String,
    message: String,
}

/// The result of one student.
pub(super) fn text(rows: &[Row], submission: &Submission) -> Result<String> {
    submission.check()?;
    let roll = Roll::new(rows, std::iter::empty());
    let [student] = &roll.students[..] else {
        bail!("Classroom 50 takes the result of one student, and here are {}", roll.students.len());
    };
    let tests: Vec<Test> = student.rows().map(test).collect::<Result<_>>()?;
    let results = Results {
        schema: "classroom50/result/v1",
        classroom: &submission.classroom,
        assignment: &submission.assignment,
        assignment_type: &submission.assignment_type,
        owner: &submission.owner,
        submission: &submission.tag,
        commit: &submission.commit,
        release: &submission.release,
        review: &submission.review,
        datetime: &submission.datetime,
        score: tests.iter().map(|test| test.score).sum(),
        max_score: tests.iter().map(|test| test.max_score).sum(),
        tests,
    };
    Ok(serde_json::to_string_pretty(&results).context("cannot write Classroom 50's result")? + "\n")
}

fn test(row: &Row) -> Result<Test> {
    let Some(points) = Points::of(row) else {
        bail!(
            "`{}` has no points, which is no zero, so there is no result: {}\n\nhint: grade again once \
             the trouble is gone",
            line(&row.exercise),
            line(&row.message)
        );
    };
    Ok(Test {
        test_name: name(&row.exercise),
        passed: row.verdict == Verdict::Passed,
        score: points.whole(),
        max_score: FULL.whole(),
        points: points.number(),
        rounding: WHOLE,
        verdict: row.verdict.to_string(),
        message: line(&row.message),
    })
}

impl Submission {
    /// Checks what the schema demands of these, so that the collection of a whole class does not
    /// stumble later.
    fn check(&self) -> Result<()> {
        let given = [
            ("classroom", &self.classroom),
            ("assignment", &self.assignment),
            ("owner", &self.owner),
            ("commit", &self.commit),
            ("release", &self.release),
            ("review", &self.review),
        ];
        if let Some((what, _)) = given.iter().find(|(_, value)| value.is_empty()) {
            bail!("Classroom 50 asks for the {what}, and there is none");
        }
        if !["individual", "group"].contains(&self.assignment_type.as_str()) {
            bail!("`{}` is neither `individual` nor `group`", line(&self.assignment_type));
        }
        if !self.tag.starts_with("submit/") {
            bail!(
                "`{}` is no tag of a submission\n\nhint: they begin with `submit/`",
                line(&self.tag)
            );
        }
        if !is_instant(&self.datetime) {
            bail!("`{}` is no time such as 2026-11-21T09:30:00Z", line(&self.datetime));
        }
        Ok(())
    }
}

/// Whether `text` has the form `YYYY-MM-DDTHH:MM:SSZ`.
fn is_instant(text: &str) -> bool {
    let form = "0000-00-00T00:00:00Z";
    let has_form = text.len() == form.len()
        && text.bytes().zip(form.bytes()).all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            form => byte == form,
        });
    has_form && &text[11..13] < "24" && &text[14..16] < "60" && &text[17..19] < "60"
}
