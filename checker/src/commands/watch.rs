//! `checker watch`: save, verdict.
//!
//! Everything that can happen comes as an [`Event`] through one channel: keys, saves, the end of a
//! run, signals. One loop takes them in turn, so nothing here needs a lock. What the student's
//! files hold decides what is run, not the events about them: an event says only that it is worth
//! looking.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`files`] | what the students' files hold, and how changes of them are heard of |
//! | [`keys`] | what a key means, or a line |
//! | `pseudo` | a terminal of our own, for tests |
//! | [`screen`] | the terminal: taken, drawn on, given back whatever happens |
//! | [`view`] | what is to be seen, as lines |

mod files;
mod keys;
#[cfg(test)]
#[expect(dead_code, reason = "the tests of the program use all of it")]
mod pseudo;
mod screen;
mod view;

use std::any::Any;
use std::io::{self, IsTerminal, Read};
use std::mem::Discriminant;
use std::panic::AssertUnwindSafe;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::cli;
use crate::commands::hint::Steps;
use crate::commands::list;
use crate::commands::run::next::following;
use crate::commands::run::{self, Ran};
use crate::exercise::{self, Location};
use crate::exit::{Exit, Usage};
use crate::grade::Verdict;
use crate::print::{self, Reader, Style};
use crate::progress::Progress;
use crate::report::json;
use crate::status::{PATIENCE, Status, TICK};
use crate::workspace::Workspace;
use sandbox::interrupt;

use files::{Files, Hearing};
use keys::Key;
use screen::Screen;
use view::{Activity, View};

/// Something that happened.
enum Event {
    /// A key was pressed.
    Key(Key),
    /// The terminal has another size now.
    Resized,
    /// The keyboard is gone.
    KeyboardGone,
    /// A file may have been saved.
    Saved,
    /// The run is at this.
    Status(Status),
    /// The run has come to its end; an error is a panic's payload.
    Done(Box<Result<Result<Ran>, Box<dyn Any + Send>>>),
    /// A signal asks the checker to end.
    Signal,
}

/// An editor may write a file in several steps: it is looked at when it has been quiet for so long.
const QUIET: Duration = Duration::from_millis(40);
/// It is looked at after so long even if it never gets quiet.
const QUIET_AT_MOST: Duration = Duration::from_millis(400);

/// When the files are looked at.
#[derive(Clone, Copy, Debug)]
struct Due {
    /// If nothing more happens.
    quiet: Instant,
    /// Whatever happens.
    latest: Instant,
}

impl Due {
    /// After something was saved, once more.
    fn after(before: Option<Self>, now: Instant) -> Self {
        let latest = before.map_or(now + QUIET_AT_MOST, |before| before.latest);
        Self { quiet: now + QUIET, latest }
    }

    fn at(self) -> Instant {
        self.quiet.min(self.latest)
    }
}

/// How often files are looked at where no events come.
const POLL: Duration = Duration::from_secs(1);

/// Runs the exercise that is next whenever its file is saved, until the student quits.
pub(super) fn watch(arguments: &cli::Watch) -> Result<Exit> {
    let workspace = Workspace::find()?;
    let places = exercise::all(&workspace)?;
    let at = match &arguments.exercise {
        Some(wanted) => {
            let id = exercise::find(&workspace, wanted)?.place.id;
            places.iter().position(|place| place.id == id)
        }
        None => {
            let progress = Progress::read(&workspace);
            let next = progress.next(&places).or_else(|| places.first());
            next.and_then(|next| places.iter().position(|place| place.id == next.id))
        }
    };
    let Some(at) = at else {
        return Err(Usage(format!("`{}` holds no exercise", workspace.root().display())).into());
    };

    let (sender, events) = mpsc::channel();
    let (mut reader, wake) = io::pipe().context("cannot make a pipe")?;
    interrupt::stay(wake);
    let signals = sender.clone();
    std::thread::spawn(move || {
        let mut byte = [0];
        while reader.read_exact(&mut byte).is_ok() && signals.send(Event::Signal).is_ok() {}
    });

    let look = arguments.look;
    let on_screen = !look.json
        && !look.plain
        && !print::is_dumb()
        && io::stdout().is_terminal()
        && io::stdin().is_terminal();
    let files = Files::read(&places);
    let hearing = Hearing::start(&workspace, arguments.poll, sender.clone());
    let screen = if on_screen { Some(Screen::enter()?) } else { None };
    if on_screen {
        keys::from_terminal(sender.clone());
    } else {
        keys::from_lines(sender.clone());
    }
    let style = if look.plain || look.json { Style::Plain } else { Style::of_stdout() };
    let mut watch = Watch {
        workspace,
        places,
        arguments,
        style,
        at,
        files,
        hearing,
        screen,
        sender,
        job: None,
        verdict: None,
        view: View::Report,
        scroll: 0,
        said: None,
    };
    let ended = watch.follow(&events);
    let left = watch.leave();
    ended?;
    print::out(&left);
    Ok(Exit::Passed)
}

struct Watch<'a> {
    workspace: Workspace,
    places: Vec<Location>,
    arguments: &'a cli::Watch,
    style: Style,
    /// Which of the places is followed.
    at: usize,
    files: Files,
    hearing: Hearing,
    /// None where verdicts are lines.
    screen: Option<Screen>,
    sender: Sender<Event>,
    job: Option<Job>,
    /// The outcome of the last run, and its place.
    verdict: Option<(usize, Ended)>,
    view: View,
    /// Lines of the view above the screen.
    scroll: usize,
    /// The words about the last key, until the next one.
    said: Option<String>,
}

/// Outcomes of a run.
enum Ended {
    Ran(Box<Ran>),
    /// It could not be run at all.
    Trouble(String),
}

/// A run.
struct Job {
    thread: JoinHandle<()>,
    start: Instant,
    stage: Status,
    /// When each kind of stage began.
    began: Vec<(Discriminant<Status>, Instant)>,
    /// Whether another one comes after it, because its outcome is of no interest any more.
    again: bool,
    /// Whether it has been said in a line that it takes long.
    told: bool,
}

impl Job {
    fn enter(&mut self, stage: Status) {
        let kind = std::mem::discriminant(&stage);
        if self.began.last().is_none_or(|(last, _)| *last != kind) {
            self.began.push((kind, Instant::now()));
        }
        self.stage = stage;
    }

    /// How long each kind of stage took, in ms.
    fn timings(&self) -> String {
        let ends = self.began.iter().skip(1).map(|(_, at)| *at).chain([Instant::now()]);
        let took = |((_, at), end): (&(_, Instant), Instant)| {
            format!("{:.1}", (end - *at).as_secs_f64() * 1e3)
        };
        self.began.iter().zip(ends).map(took).collect::<Vec<_>>().join(" ")
    }
}

/// Whether the loop goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    On,
    Out,
}

impl Watch<'_> {
    /// Takes events in turn until the student quits or a signal comes.
    fn follow(&mut self, events: &Receiver<Event>) -> Result<()> {
        self.greet();
        self.run();
        let mut due: Option<Due> = None;
        loop {
            self.draw();
            let now = Instant::now();
            let timers = [
                due.map(Due::at),
                self.job.as_ref().map(|_| now + TICK),
                self.hearing.is_polling().then(|| now + POLL),
            ];
            let event = match timers.into_iter().flatten().min() {
                Some(wake) => events.recv_timeout(wake.saturating_duration_since(now)),
                None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match event {
                Ok(Event::Saved) => due = Some(Due::after(due, Instant::now())),
                Ok(event) => {
                    if self.take(event)? == Flow::Out {
                        return Ok(());
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            let now = Instant::now();
            if due.is_some_and(|due| now >= due.at()) || self.hearing.is_polling() {
                due = None;
                self.look();
            }
            self.grow_impatient();
        }
    }

    fn take(&mut self, event: Event) -> Result<Flow> {
        match event {
            Event::Key(key) => return self.press(key),
            Event::Resized | Event::Saved => {}
            // Lines may have come from a file, or from nowhere: saves still count.
            Event::KeyboardGone if self.screen.is_none() => {}
            Event::KeyboardGone => return Ok(Flow::Out),
            Event::Status(stage) => {
                if let Some(job) = &mut self.job {
                    job.enter(stage);
                }
            }
            Event::Done(ended) => return self.done(*ended),
            Event::Signal => interrupt::check()?,
        }
        Ok(Flow::On)
    }

    /// Runs what has been saved since the last look.
    fn look(&mut self) {
        if let Some(changed) = self.files.changed(&self.places, self.at) {
            self.go_to(changed);
        }
    }

    /// Follows another exercise, or the same again.
    fn go_to(&mut self, at: usize) {
        if at != self.at {
            self.at = at;
            self.verdict = None;
        }
        self.view = View::Report;
        self.scroll = 0;
        self.hearing.said();
        self.run();
    }

    /// Starts a run; if there is one, as soon as that has ended.
    fn run(&mut self) {
        if let Some(job) = &mut self.job {
            job.again = true;
            interrupt::supersede();
            return;
        }
        interrupt::begin();
        let cli::Watch { device, profile, feedback, look, .. } = self.arguments;
        let arguments = cli::Run {
            device: *device,
            profile: profile.clone(),
            feedback: *feedback,
            look: *look,
            ..cli::Run::of(&self.places[self.at].id)
        };
        let (sender, style) = (self.sender.clone(), self.style);
        let stages = self.sender.clone();
        let thread = std::thread::spawn(move || {
            let tell = |stage| _ = stages.send(Event::Status(stage));
            let ended = std::panic::catch_unwind(AssertUnwindSafe(|| {
                run::perform(&arguments, style, &tell)
            }));
            _ = sender.send(Event::Done(Box::new(ended))); // nobody waits after the end
        });
        let stage = Status::Building(String::new());
        let start = Instant::now();
        let began = Vec::new();
        self.job = Some(Job { thread, start, stage, began, again: false, told: false });
    }

    /// Takes the outcome of a run, unless it is one of a file that has changed meanwhile.
    fn done(&mut self, ended: Result<Result<Ran>, Box<dyn Any + Send>>) -> Result<Flow> {
        self.look();
        let Some(job) = self.job.take() else { return Ok(Flow::On) };
        // Its thread is at its end: the last that it did was to send this.
        let ended = match ended {
            Ok(ended) => ended,
            Err(panic) => {
                self.leave();
                std::panic::resume_unwind(panic)
            }
        };
        if self.arguments.timings && !job.again {
            print::err(&format!("timings {}\n", job.timings()));
        }
        if job.again {
            self.run();
            return Ok(Flow::On);
        }
        let ended = match ended {
            Ok(ran) => Ended::Ran(Box::new(ran)),
            Err(error) if error.is::<interrupt::Interrupted>() => return Err(error),
            Err(error) => Ended::Trouble(print::chain(&error)),
        };
        self.verdict = Some((self.at, ended));
        if self.screen.is_none() && self.line()? == Reader::Gone {
            return Ok(Flow::Out);
        }
        Ok(Flow::On)
    }

    fn press(&mut self, key: Key) -> Result<Flow> {
        // Objects show verdicts alone, and a hint that is not seen would be used up.
        let acts = matches!(key, Key::Quit | Key::Run | Key::Next | Key::Named(_));
        if self.arguments.look.json && !acts {
            return Ok(Flow::On);
        }
        let page = self.screen.as_ref().map_or(1, Screen::page);
        self.said = None;
        match key {
            Key::Unknown(letter) if self.screen.is_some() => {
                self.said = Some(format!("no key `{letter}`; the keys are below"));
            }
            Key::Unknown(letter) => {
                print::out(&format!("there is no `{letter}`; {LINES}\n"));
            }
            Key::Quit => return Ok(Flow::Out),
            Key::Run => self.go_to(self.at),
            Key::Next => match self.after() {
                Some(next) => self.go_to(next),
                None => self.show(View::Text(ALL_PASSED.to_owned())),
            },
            Key::Hint => {
                let text = self.hint();
                self.show(View::Text(text));
            }
            Key::List => {
                let entries = list::entries(&self.workspace)?;
                self.show(View::List { entries, cursor: self.at });
            }
            Key::Timeline => match &self.view {
                View::Timeline => self.show(View::Report),
                _ => self.show(View::Timeline),
            },
            Key::Back => self.show(View::Report),
            Key::Choose => match self.view {
                View::List { cursor, .. } => self.go_to(cursor),
                _ => self.show(View::Report),
            },
            Key::Named(name) => match exercise::find(&self.workspace, &name) {
                Ok(found) => {
                    let is_it = |place: &Location| place.id == found.place.id;
                    let at = self.places.iter().position(is_it);
                    at.into_iter().for_each(|at| self.go_to(at));
                }
                Err(error) if self.arguments.look.json => print::error(&error),
                Err(error) => self.show(View::Text(format!("{}\n", print::chain(&error)))),
            },
            Key::Up => self.move_by(-1),
            Key::Down => self.move_by(1),
            Key::PageUp => self.move_by(-(page as isize)),
            Key::PageDown => self.move_by(page as isize),
        }
        Ok(Flow::On)
    }

    /// The exercise to go on with after this one: the next that has not been passed, round the end.
    fn after(&self) -> Option<usize> {
        let progress = Progress::read(&self.workspace);
        let next = following(&self.places, &self.places[self.at], &progress)?;
        self.places.iter().position(|place| place.id == next.id)
    }

    fn hint(&self) -> String {
        let exercise = self.places[self.at].clone().open(&self.workspace);
        match exercise.and_then(|exercise| Steps::next(&self.workspace, &exercise)) {
            Ok(Some(steps)) => match steps.left() {
                0 => steps.text(),
                left => format!("{}\nh again: {left} more\n", steps.text()),
            },
            Ok(None) => format!("`{}` has no hints\n", self.places[self.at].id),
            Err(error) => format!("{}\n", print::chain(&error)),
        }
    }

    fn show(&mut self, view: View) {
        self.view = view;
        self.scroll = 0;
        if self.screen.is_none() && !self.arguments.look.json {
            let columns = print::columns();
            print::out(&format!("{}\n", view::text(&self.scene(), columns)));
            self.view = View::Report;
        }
    }

    fn move_by(&mut self, lines: isize) {
        match &mut self.view {
            View::List { entries, cursor } => {
                *cursor = cursor.saturating_add_signed(lines).min(entries.len().saturating_sub(1));
            }
            _ => self.scroll = self.scroll.saturating_add_signed(lines),
        }
    }

    fn scene(&self) -> view::Scene<'_> {
        let verdict = self.verdict.as_ref().filter(|(of, _)| *of == self.at);
        view::Scene {
            place: &self.places[self.at],
            file: self.workspace.relative(&self.places[self.at].file()).to_owned(),
            said: self.said.as_deref(),
            view: &self.view,
            ended: verdict.map(|(_, ended)| ended),
            status: match &self.job {
                Some(job) => Activity::Busy(&job.stage, job.start.elapsed()),
                None => Activity::Waiting,
            },
            next: match self.has_passed() {
                true => Some(self.after().map(|next| self.places[next].id.as_str())),
                false => None,
            },
            note: self.hearing.note(),
            style: self.style,
        }
    }

    fn has_passed(&self) -> bool {
        match &self.verdict {
            Some((of, Ended::Ran(ran))) if *of == self.at => {
                ran.report.verdict == Some(Verdict::Passed)
            }
            _ => false,
        }
    }

    fn draw(&mut self) {
        let Some(mut screen) = self.screen.take() else { return };
        let (columns, rows) = screen.size();
        let frame = view::frame(&self.scene(), columns, rows, self.scroll);
        self.scroll = frame.scroll;
        screen.draw(&frame.lines);
        self.screen = Some(screen);
    }

    /// Says in lines what is watched.
    fn greet(&mut self) {
        if self.screen.is_some() {
            return;
        }
        let note = self.hearing.note().map(|note| format!("note: {note}\n")).unwrap_or_default();
        self.hearing.said();
        if self.arguments.look.json {
            print::err(&note);
            return;
        }
        let file = self.places[self.at].file();
        let file = self.workspace.relative(&file).display();
        print::out(&format!("watching `{file}`\n{note}{LINES}\n"));
    }

    /// Says in a line that a run takes long.
    fn grow_impatient(&mut self) {
        let Some(job) = &mut self.job else { return };
        if self.screen.is_none() && !job.told && job.start.elapsed() >= PATIENCE {
            job.told = true;
            print::err(&format!("{} …\n", job.stage.words()));
        }
    }

    /// Writes the verdict where there is no screen.
    fn line(&self) -> Result<Reader> {
        if self.arguments.look.json {
            let Some((_, Ended::Ran(ran))) = &self.verdict else { return Ok(Reader::Present) };
            let object = json::object(&ran.report, &ran.presentation, self.arguments.feedback);
            let object = serde_json::to_string(&object)?;
            return Ok(print::out_to_reader(&format!("{object}\n")));
        }
        let scene = self.scene();
        let text = view::text(&scene, print::columns());
        let next = view::next(&scene).map(|next| format!("\n{next}\n")).unwrap_or_default();
        Ok(print::out_to_reader(&format!("{text}{next}\n")))
    }

    /// Gives the terminal back and ends what runs. Returns what is left to say.
    fn leave(&mut self) -> String {
        interrupt::end();
        let had_screen = self.screen.take().is_some();
        if let Some(job) = self.job.take() {
            _ = job.thread.join();
        }
        if had_screen { format!("{}\n", view::verdict(&self.scene())) } else { String::new() }
    }
}

const LINES: &str =
    "type a letter and Enter: h hint, l list, n next, t timeline, r run again, q quit";

const ALL_PASSED: &str = "there is no other exercise that you have not passed\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saves_are_looked_at_when_it_is_quiet_and_in_a_storm_all_the_same() {
        let start = Instant::now();
        let ms = |ms| start + Duration::from_millis(ms);
        let after = |saves: &[u64]| {
            saves.iter().fold(None, |due, at| Some(Due::after(due, ms(*at)))).map(Due::at)
        };
        assert_eq!(after(&[0]), Some(ms(40)));
        assert_eq!(after(&[0, 30, 60]), Some(ms(100)), "a save in several steps is one");
        let storm: Vec<u64> = (0..1000).step_by(10).collect();
        assert_eq!(after(&storm), Some(ms(400)));
    }
}
