//! Gates: whether a run did the task at all, asked in a fixed order.

use trace::draw::{duration, size};
use trace::failed_call::FailedCall;
use trace::hazards::{Severity, TooMuch};
use trace::metrics::{Bounds, Latency};
use trace::record::{DeviceState, Origin, Output, Trial};
use trace::unsupported::Unsupported;
use trace::{Program, hazards};

use crate::attempt::Attempt;
use crate::grade::Gate;
use sandbox::Exceeded;
use sandbox::process::Ending;

/// Findings.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Finding {
    /// All gates are clear.
    Clear,
    /// One is not; those after it have not been looked at.
    Failed {
        /// Which.
        gate: Gate,
        /// Why, for the student.
        message: String,
    },
    /// The run says nothing about the student's work.
    Trouble {
        /// The reason, for the person who looks after the machine.
        message: String,
    },
}

/// The demand on a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// The task done, in so many passes through the region.
    Task {
        /// How many passes.
        trials: usize,
    },
    /// A region that came to its end; it has no outputs that anyone checks.
    Region,
}

/// The exit status by which lab and driver say that the trouble is not the student's.
const NOT_YOURS: i32 = 4;
/// The exit status of a panic.
const PANICKED: i32 = 101;

const DEVICE_OVER: &str = "the simulated device came to its end over what the program asked of it: it has limits of \
                           memory, of data in flight and of time, and one of them was exceeded";

/// Looks at all gates but `builds`.
pub fn judge(attempt: &Attempt, limit_s: f64, demand: Demand) -> Finding {
    let failed = |gate, message| Finding::Failed { gate, message };
    let trials = attempt.record().map_or(&[][..], |record| &record.trials);
    let when = if trials.is_empty() {
        "before the measured region came to its end"
    } else {
        "after the measured region"
    };
    if attempt.exceeded == Some(Exceeded::Device) {
        return failed(Gate::Output, format!("{DEVICE_OVER} {when}"));
    }
    match attempt.ending {
        Ending::Deserted => {
            return Finding::Trouble { message: "the device process is gone".to_owned() };
        }
        Ending::OutOfTime => {
            return failed(
                Gate::Time,
                format!("the program ran for more than {limit_s} s and was stopped {when}"),
            );
        }
        Ending::OutOfOutput => {
            return failed(
                Gate::Output,
                format!("the program printed without end and was stopped {when}"),
            );
        }
        // Once there is a record the student's code has had its turn, and may have chosen this
        // status.
        Ending::Exited(NOT_YOURS) if matches!(attempt.record, Ok(None)) => {
            return Finding::Trouble { message: last_words(attempt) };
        }
        Ending::Exited(1..) if let Some(call) = refused(attempt) => {
            return failed(Gate::Output, format!("{call}, and the program ended {when}"));
        }
        Ending::Exited(1) if let Some(call) = FailedCall::last_in(attempt.output.end()) => {
            return failed(Gate::Output, format!("{call}, and the program ended {when}"));
        }
        Ending::Exited(1) if let Some(words) = gave_up(attempt.output.end()) => {
            let said = format!("{words}; the program exited with status 1 {when}");
            return failed(Gate::Output, said);
        }
        Ending::Exited(PANICKED) => {
            let panic = panic_message(attempt.output.end());
            let message = match panic {
                Some(panic) => format!("the program panicked {panic}"),
                None => format!("the program panicked {when}"),
            };
            return failed(Gate::Output, message);
        }
        Ending::Exited(0) => {}
        Ending::Exited(status) => {
            return failed(Gate::Output, format!("the program exited with status {status} {when}"));
        }
        Ending::Signalled(signal) => {
            return failed(
                Gate::Output,
                format!("the program was ended by {} {when}", signal_name(signal)),
            );
        }
    }
    if let Err(error) = &attempt.record {
        return Finding::Trouble { message: format!("{error:#}") };
    }
    if trials.is_empty() {
        return failed(Gate::Output, format!("the program exited with status 0 {when}"));
    }
    let Demand::Task { trials: expected } = demand else { return Finding::Clear };
    if trials.len() != expected {
        return failed(
            Gate::Output,
            format!("the measured region ended {} times, not {expected}", trials.len()),
        );
    }
    // Gate by gate rather than trial by trial: the first gate that fails in any trial is named.
    let wrong = attempt.record().and_then(|record| {
        record.trials.iter().find_map(|trial| wrong_output(&record.program, trial))
    });
    if let Some(message) = wrong {
        return failed(Gate::Output, message);
    }
    if let Some(message) = attempt.record().and_then(|record| hazard(&record.program)) {
        return failed(Gate::Hazard, message);
    }
    if let Some(message) = trials.iter().find_map(missing_work) {
        return failed(Gate::Work, message);
    }
    if let Some(message) = attempt.record().and_then(|record| unwaited(&record.program, trials)) {
        return failed(Gate::Idle, message);
    }
    let too_large = attempt.record().and_then(|record| {
        record.trials.iter().find_map(|trial| over_budget(&record.program, trial))
    });
    if let Some(message) = too_large {
        return failed(Gate::Memory, message);
    }
    Finding::Clear
}

/// Where there are requests to answer, all work of the device has so many percent of the time that
/// it takes alone. Short gaps between kernels are less than that; a program that lets the device
/// wait for the host again and again takes more.
const PACE_PERCENT: u64 = 110;

/// Why a region with requests took too long. It is asked where times mean something: on no other
/// schedule than the usual one, and on a GPU of the median.
pub fn too_slow(makespan_ns: u64, bounds: Bounds, latency: Option<Latency>) -> Option<String> {
    latency?;
    let allowed_ns = bounds.floor_ns.saturating_mul(PACE_PERCENT) / 100;
    let [took, alone, allowed] = [makespan_ns, bounds.floor_ns, allowed_ns].map(duration);
    let said = format!(
        "the requests are answered, but all of the work took {took}; alone it takes {alone}, and {allowed} are allowed"
    );
    (makespan_ns > allowed_ns).then_some(said)
}

/// The call that the simulated device does not have, where a program gave up over one.
fn refused(attempt: &Attempt) -> Option<Unsupported> {
    let came_to_an_end = attempt.record().is_some_and(|record| !record.trials.is_empty());
    Unsupported::last_in(attempt.output.end()).filter(|_| !came_to_an_end)
}

/// Finds work that the region ended without a wait for. By order, not by time: that the device
/// happened to be done proves nothing.
fn unwaited(program: &Program, trials: &[Trial]) -> Option<String> {
    let is_busy = trials.iter().any(|trial| trial.device == DeviceState::Busy);
    let found = match hazards::unwaited_within(program, hazards::MOST_EFFORT) {
        Ok(found) => found,
        Err(TooMuch { step }) => return Some(too_much(program, step)),
    };
    let Some(first) = found.first() else {
        let busy = || "the device was still at work when the measured region ended".to_owned();
        return is_busy.then(busy);
    };
    let more = match found.len() {
        1 => String::new(),
        more => format!("; the same goes for {} more streams", more - 1),
    };
    Some(format!("{}{}", first.message(!is_busy), more.replace("1 more streams", "1 more stream")))
}

/// Finds what is wrong with the outputs of a region; none where they are right.
pub fn wrong_output(program: &Program, trial: &Trial) -> Option<String> {
    let wrong = wrong_elements(program, trial)?;
    let Some(misled) = &trial.misled else { return Some(wrong) };
    let step = program.steps.get(misled.step as usize);
    let site = step.and_then(|step| program.site(step));
    let at = site.map_or(String::new(), |site| format!(" at {site}"));
    Some(format!("{wrong}; `{}`{at} reads {}", misled.kernel, misled.reads))
}

fn wrong_elements(program: &Program, trial: &Trial) -> Option<String> {
    match &trial.output {
        Output::Correct => None,
        Output::Unchecked => Some("nobody checked the outputs of the measured region".to_owned()),
        // Only a part of the array is looked at, and this is its place in the whole.
        Output::Wrong { element, expected, found, wrong, of, .. } if element >= of => {
            Some(format!(
                "the output is wrong in {wrong} of the {of} elements that are looked at; the first, element \
                 {element} of the array, is {found} instead of {expected}"
            ))
        }
        Output::Wrong { element, expected, found, wrong, of, .. } => Some(format!(
            "the output is wrong in {wrong} of {of} elements; the first, element {element}, is {found} \
             instead of {expected}"
        )),
        Output::Unfounded { element, origin, step, unfounded, of, .. } => {
            let step = step.and_then(|step| program.steps.get(step as usize));
            let site = step.and_then(|step| program.site(step));
            let at = site.map_or(String::new(), |site| format!(" at {site}"));
            Some(format!(
                "the output is right, but {unfounded} of {of} elements did not come about as the task wants \
                 them to; the first, element {element}, {}",
                came_about(*origin, &at)
            ))
        }
    }
}

/// How a value came about that should have come about otherwise. `at` says where in the source,
/// after a space, or is empty.
fn came_about(origin: Origin, at: &str) -> String {
    match origin {
        Origin::Host => {
            "was brought where it is by no copy or kernel of the region that goes back to the task's input"
                .to_owned()
        }
        Origin::Upload => {
            format!(
                "goes back to a copy{at} of something that is not the task's input, or was not loaded"
            )
        }
        Origin::Kernel => {
            format!(
                "went through a kernel{at} whose turn it was not, or through too many rounds of it"
            )
        }
        Origin::Grid => {
            format!(
                "went through a kernel{at} in a grid of more blocks than it has for so many elements"
            )
        }
        Origin::Unfinished => "did not go through all kernels".to_owned(),
        Origin::Elsewhere => "was made from another element".to_owned(),
        Origin::Untold => "was moved in more pieces than can be followed".to_owned(),
    }
}

/// The first error among the hazards; warnings are for the report.
fn hazard(program: &Program) -> Option<String> {
    let found = match hazards::find_within(program, hazards::MOST_EFFORT) {
        Ok(found) => found,
        Err(TooMuch { step }) => return Some(too_much(program, step)),
    };
    let mut errors = found.iter().filter(|hazard| hazard.severity == Severity::Error);
    let first = errors.next()?;
    let more = match errors.count() {
        0 => String::new(),
        1 => "; and 1 more".to_owned(),
        more => format!("; and {more} more"),
    };
    Some(format!("{}: {} ({}){more}", first.code, first.headline(), first.places()))
}

/// Said of a program in which it cannot be told what is in order.
pub fn too_much(program: &Program, step: u32) -> String {
    let step = program.steps.get(step as usize);
    let site = step.and_then(|step| program.site(step));
    let at = site.map_or(String::new(), |site| format!(", at {site}"));
    format!(
        "the program has {} calls on so many streams, threads and pieces of memory that it cannot be told what is \
         in order (it became too much after some of them{at}): do the same with fewer",
        program.steps.len()
    )
}

fn missing_work(trial: &Trial) -> Option<String> {
    if trial.missing_work.is_empty() {
        return None;
    }
    let each: Vec<_> = trial
        .missing_work
        .iter()
        .map(|lack| format!("{}: {} of {}", lack.what, lack.found, lack.needed))
        .collect();
    Some(format!("the task's work was not all done in the measured region; {}", each.join(", ")))
}

fn over_budget(program: &Program, trial: &Trial) -> Option<String> {
    let memory = trial.memory.filter(|memory| memory.is_exceeded())?;
    let step = program.steps.get(memory.peak.step as usize);
    let site = step.and_then(|step| program.site(step));
    let at = site.map_or(String::new(), |site| format!(", at {site}"));
    Some(format!(
        "{} of device memory were allocated at one time{at}; the task allows {}",
        size(memory.peak.bytes),
        size(memory.budget_bytes)
    ))
}

/// `at src/lib.rs:3:5: message` of the last panic in `output`.
fn panic_message(output: &str) -> Option<String> {
    const MARK: &str = "' panicked at ";
    let at = output.rfind(MARK)?;
    let mut lines = output[at + MARK.len()..].lines();
    let place = lines.next()?.trim_end_matches(':');
    let message = lines.next().unwrap_or_default();
    Some(format!("at {place}: {message}"))
}

/// Why the program gave up, where it ended with an error of the lab's.
fn gave_up(output: &str) -> Option<String> {
    let last = output.trim_end().lines().last()?;
    last.strip_prefix(trace::env::GAVE_UP).map(str::to_owned)
}

/// The last words of the lab or the driver before it gave up: the last lines, since what the
/// student's code printed comes before.
fn last_words(attempt: &Attempt) -> String {
    let text = attempt.output.end().trim();
    // A message of ours starts with its kind; hints belong to it.
    let text = match text.rfind("error: ") {
        Some(at) if at == 0 || text[..at].ends_with('\n') => &text[at + "error: ".len()..],
        _ => text,
    };
    if text.is_empty() {
        return format!("the driver gave up with status {NOT_YOURS} and without a word");
    }
    text.to_owned()
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGILL => "SIGILL",
        libc::SIGKILL => "SIGKILL",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGTERM => "SIGTERM",
        libc::SIGTRAP => "SIGTRAP",
        _ => return format!("signal {signal}"),
    };
    format!("signal {signal} ({name})")
}

#[cfg(test)]
mod tests {
    use sandbox::process;
    use trace::metrics::memory::Peak;
    use trace::program::{BlockId, Call, Mode, Range, Step, StreamId};
    use trace::record::{self, Memory, Record};
    use trace::{Timeline, timeline};

    use super::*;

    const RANGE: Range = Range { block: BlockId(0), offset: 0, bytes: 16 };

    fn stream(number: u32) -> StreamId {
        StreamId(StreamId::FIRST_CREATED + number)
    }

    fn set(number: u32) -> Call {
        Call::Memset { stream: stream(number), mode: Mode::Asynchronous, target: RANGE }
    }

    fn wait_for(number: u32) -> Call {
        Call::StreamSynchronize { stream: stream(number) }
    }

    fn program(calls: &[Call]) -> Program {
        let mut program = Program::new(1);
        program.steps = (calls.iter().cloned())
            .map(|call| Step { call, site: None, thread: 0, gap_ns: 0, result: 0, device: 0 })
            .collect();
        program
    }

    fn trial() -> Trial {
        Trial {
            name: String::new(),
            makespan_ns: 1,
            bounds: None,
            output: Output::Correct,
            device: DeviceState::Idle,
            missing_work: Vec::new(),
            memory: None,
            misled: None,
            latency: None,
        }
    }

    fn attempt(ending: Ending, printed: &str, calls: &[Call], trials: Vec<Trial>) -> Attempt {
        let record = Record {
            version: record::VERSION,
            program: program(calls),
            timeline: Timeline::new(timeline::Origin::Simulated { profile: "h200".to_owned() }),
            trials,
            watched: None,
            notes: Vec::new(),
        };
        let output = process::Output { head: printed.to_owned(), ..Default::default() };
        Attempt { ending, exceeded: None, output, record: Ok(Some(record)) }
    }

    /// The gate that is not clear, and why; none where all are.
    fn judged(attempt: &Attempt, demand: Demand) -> Option<(Gate, String)> {
        match judge(attempt, 1.0, demand) {
            Finding::Clear => None,
            Finding::Failed { gate, message } => Some((gate, message)),
            Finding::Trouble { message } => panic!("trouble: {message}"),
        }
    }

    /// The same of a task that ran once and ended well.
    fn of_task(calls: &[Call], trial: Trial) -> Option<(Gate, String)> {
        judged(&attempt(Ending::Exited(0), "", calls, vec![trial]), Demand::Task { trials: 1 })
    }

    #[test]
    fn a_region_that_ended_as_often_as_it_should_is_clear_and_else_the_numbers_are_said() {
        let twice = |demand| judged(&attempt(Ending::Exited(0), "", &[], vec![trial(); 2]), demand);
        assert_eq!(twice(Demand::Task { trials: 2 }), None);
        assert_eq!(twice(Demand::Region), None);
        let (gate, message) = twice(Demand::Task { trials: 3 }).expect("it is not clear");
        assert_eq!(
            (gate, message.contains("ended 2 times, not 3")),
            (Gate::Output, true),
            "{message}"
        );
    }

    #[test]
    fn only_the_limits_of_the_device_are_said_to_be_those_of_the_device() {
        let over = |exceeded| {
            let attempt = attempt(Ending::Exited(1), "", &[], Vec::new());
            judged(&Attempt { exceeded, ..attempt }, Demand::Region).expect("it failed").1
        };
        let [device, time, none] = [Some(Exceeded::Device), Some(Exceeded::Time), None].map(over);
        assert!(device.starts_with(DEVICE_OVER), "{device}");
        assert_eq!(time, none);
        assert!(none.starts_with("the program exited with status 1 before"), "{none}");
    }

    #[test]
    fn a_call_that_was_refused_is_why_a_program_gave_up_unless_its_region_had_ended() {
        let printed = "swim: `cuMemAllocManaged` is not supported by the simulated device\n";
        let of = |trials| {
            judged(&attempt(Ending::Exited(1), printed, &[], trials), Demand::Region)
                .expect("it failed")
                .1
        };
        assert!(
            of(Vec::new()).starts_with("`cuMemAllocManaged` is not supported"),
            "{}",
            of(Vec::new())
        );
        assert!(
            of(vec![trial()]).starts_with("the program exited with status 1"),
            "{}",
            of(vec![trial()])
        );
        let unrecorded = attempt(Ending::Exited(1), printed, &[], Vec::new());
        let unrecorded = Attempt { record: Ok(None), ..unrecorded };
        assert_eq!(judged(&unrecorded, Demand::Region).map(|it| it.1), Some(of(Vec::new())));
    }

    #[test]
    fn streams_that_nothing_waited_for_are_counted_after_the_first() {
        let region =
            |calls: &[Call]| [&[Call::RegionBegin][..], calls, &[Call::RegionEnd]].concat();
        let apart = |number: u32| {
            let target = Range { block: BlockId(number), ..RANGE };
            Call::Memset { stream: stream(number), mode: Mode::Asynchronous, target }
        };
        let found = |calls: &[Call]| of_task(&region(calls), trial());
        assert_eq!(found(&[apart(0), wait_for(0)]), None);
        let [one, two, three] = [1, 2, 3].map(|count| {
            let calls: Vec<_> = (0..count).map(apart).collect();
            let (gate, message) = found(&calls).expect("nothing waits");
            assert_eq!(gate, Gate::Idle);
            message
        });
        assert_eq!(two, format!("{one}; the same goes for 1 more stream"));
        assert_eq!(three, format!("{one}; the same goes for 2 more streams"));
    }

    #[test]
    fn a_device_at_work_after_any_trial_is_not_idle_and_without_a_reason_that_is_all_that_is_said()
    {
        let busy = Trial { device: DeviceState::Busy, ..trial() };
        let waited = [Call::RegionBegin, set(0), wait_for(0), Call::RegionEnd];
        let trials = Demand::Task { trials: 2 };
        let mixed = attempt(Ending::Exited(0), "", &waited, vec![trial(), busy.clone()]);
        let (gate, message) = judged(&mixed, trials).expect("one is busy");
        assert_eq!(gate, Gate::Idle);
        assert_eq!(message, "the device was still at work when the measured region ended");
        // Where the device happened to be done, the message about a stream says so.
        let unwaited = [Call::RegionBegin, set(0), Call::RegionEnd];
        let [idle, busy] =
            [trial(), busy].map(|it| of_task(&unwaited, it).expect("nothing waits").1);
        assert!(idle.contains("it was over when the region ended"), "{idle}");
        assert!(busy.contains("it was still at work when the region ended"), "{busy}");
    }

    #[test]
    fn a_race_between_streams_fails_and_the_same_work_in_order_does_not() {
        let race = [set(0), set(1), wait_for(0), wait_for(1)];
        let (gate, message) = of_task(&race, trial()).expect("it races");
        assert_eq!(gate, Gate::Hazard, "{message}");
        assert_eq!(of_task(&[set(0), wait_for(0), set(1), wait_for(1)], trial()), None);
    }

    #[test]
    fn as_much_memory_as_the_task_allows_is_allowed_and_a_byte_more_is_not() {
        let with = |bytes| Memory { peak: Peak { bytes, step: 0 }, budget_bytes: 100 };
        let found = |bytes| of_task(&[], Trial { memory: Some(with(bytes)), ..trial() });
        assert_eq!(found(100), None);
        assert_eq!(found(101).map(|it| it.0), Some(Gate::Memory));
    }

    #[test]
    fn an_element_after_as_many_as_are_looked_at_is_an_element_of_the_whole_array() {
        let wrong = |element| {
            let output =
                Output::Wrong { block: 0, element, expected: 1, found: 2, wrong: 1, of: 8 };
            of_task(&[], Trial { output, ..trial() }).expect("it is wrong").1
        };
        assert!(!wrong(7).contains("of the array"), "{}", wrong(7));
        assert!(wrong(8).contains("element 8 of the array"), "{}", wrong(8));
    }

    #[test]
    fn the_last_panic_is_named_with_its_place_and_its_first_line() {
        let printed = "thread 'a' panicked at src/a.rs:1:2:\nfirst\nthread 'b' panicked at src/b.rs:3:4:\nsecond\nmore\n";
        assert_eq!(panic_message(printed).as_deref(), Some("at src/b.rs:3:4: second"));
        assert_eq!(panic_message("no panic"), None);
    }

    #[test]
    fn the_last_words_of_the_lab_begin_after_the_word_error_at_the_start_of_a_line() {
        let words = |printed: &str| {
            let attempt = attempt(Ending::Exited(NOT_YOURS), printed, &[], Vec::new());
            let attempt = Attempt { record: Ok(None), ..attempt };
            match judge(&attempt, 1.0, Demand::Region) {
                Finding::Trouble { message } => message,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(
            words("error: no device\n\nhint: plug it in\n"),
            "no device\n\nhint: plug it in"
        );
        assert_eq!(words("printed\nerror: no device"), "no device");
        assert_eq!(words("it said error: no device"), "it said error: no device");
        assert!(words("  \n").contains("without a word"), "{}", words("  \n"));
    }

    #[test]
    fn beside_requests_all_of_the_work_may_take_a_tenth_longer_than_alone_and_no_more() {
        let bounds = Bounds { serial_ns: 0, floor_ns: 1_000_000, host_ns: 0, request_ns: 10 };
        let latency = Latency::of(&[20]);
        assert_eq!(too_slow(1_100_000, bounds, latency), None);
        let message = too_slow(1_100_001, bounds, latency).expect("it is too slow");
        assert!(message.contains("alone it takes 1.00 ms, and 1.10 ms are allowed"), "{message}");
        // Where there are no requests, how long it takes is for the metric to say.
        assert_eq!(too_slow(9_000_000, bounds, None), None);
    }
}
