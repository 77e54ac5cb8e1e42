//! The checker's program, run as people run it: mostly on a miniature tree of exercises that need
//! neither a driver nor a GPU.
//!
//! | module | what it is about |
//! | --- | --- |
//! | [`tree`] | the miniature tree, and how to run the checker in it |
//! | `gates` | each way in which a run can go wrong, and what it comes to |
//! | `processes` | that nothing is left running, whatever a program does |
//! | `reports` | what a run prints, for people and for programs |
//! | `usage` | command lines that ask for something that is not there |
//! | `device_process` | the simulated device in a process of the checker's |
//! | [`compiled`] | what is compiled already, for the copies of the workspace |
//! | `documents` | the files that ARCHITECTURE.md and CONTRIBUTING.md name are there
//! | `gpu` | a machine with a GPU, or with one that is broken |
//! | `learner` | what a student keeps: progress, and files that were reset |
//! | `next` | what a run says to do next |
//! | `prebuilt` | programs that were built elsewhere |
//! | `readme` | what README shows is what happens |
//! | `real` | the real exercises, in a copy of the workspace |
//! | `alternatives` | right solutions that are written differently |
//! | `attacks` | files that attack the grading of a class |
//! | `sandbox` | what somebody else's code can do, with each layer of the sandbox and without |
//! | `student` | a student's workspace, and what is new for it |
//! | [`terminal`] | a terminal of our own, and what it shows |
//! | `watch` | saves and verdicts |
//! | `lifetime` | memory that is given back too early or too late |
//! | `meter` | the meters of `measuring`, at home and in a class |
//! | `racy` | races as students write them: the report, and what comes of following it |
//! | `traces` | traces of other tools, and of ours |
//! | `synchronisations` | what happens without each of them, and on other schedules |
//! | `unwaited` | files that end well by luck |
//! | `book` | the pages of the book: named, opened, built |
//! | `authors` | the commands for authors |
//! | `class` | a folder of what students handed in |
//! | `guide` | what the page for instructors shows is what happens |
//! | `chapters` | chapters that were started, and chapters that are broken |
//! | `circles` | imports among the files of a package |
//! | `compare` | a file that passes, beside the reference's |
//! | `relay` | the plan of the last chapter, change by change, and its poster |
//! | `measured` | predicted against measured, and the files in which it is kept |

mod alternatives;
mod attacks;
mod authors;
mod book;
mod calibrate;

mod chapters;
mod circles;
mod class;
mod compare;
mod compiled;
mod device_process;
mod documents;
mod gates;
mod gpu;
mod guide;
mod learner;
mod lifetime;
mod measured;
mod meter;
mod next;
mod prebuilt;
mod processes;
mod provenance;
mod racy;
mod readme;
mod real;
mod relay;
mod reports;
mod requests;
mod sandbox;
mod student;
mod synchronisations;
mod told;
mod traces;
mod tree;
mod unwaited;
mod usage;
mod watch;

// The library's own tests use it too, and students have those.
#[path = "../../src/commands/watch/pseudo.rs"]
mod terminal;

#[path = "../../trace/tests/kineto/mod.rs"]
#[expect(dead_code, reason = "the tests of `trace` use all of it")]
mod kineto;
