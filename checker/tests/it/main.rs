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
//! | `gpu` | a machine with a GPU, or with one that is broken |
//! | `learner` | what a student keeps: progress, and files that were reset |
//! | `prebuilt` | programs that were built elsewhere |
//! | `real` | the real exercises, in a copy of the workspace |
//! | `traces` | traces of other tools, and of ours |
//! | `authors` | the commands for authors |
//! | `measured` | predicted against measured, and the files in which it is kept |

mod authors;
mod calibrate;
mod device_process;
mod gates;
mod gpu;
mod learner;
mod measured;
mod prebuilt;
mod processes;
mod real;
mod reports;
mod traces;
mod tree;
mod usage;

#[path = "../../trace/tests/kineto/mod.rs"]
#[expect(dead_code, reason = "the tests of `trace` use all of it")]
mod kineto;
