//! A recorded program, simulated again for its times alone.

use trace::{Program, Timeline};

use crate::device::{Device, Schedule};
use crate::profile::Profile;

/// What happens on the device of `profile` when a host makes the calls of `program`.
///
/// The program is played as it was recorded: calls that failed are left out, and a program that
/// branched on a query takes the branch that it took then.
pub fn replay(program: &Program, profile: &Profile, schedule: Schedule) -> Timeline {
    let mut device = Device::new(profile.clone(), schedule);
    for (index, step) in program.steps.iter().enumerate() {
        // A query's "not ready" is an answer, not a failure.
        const NOT_READY: u32 = 600;
        if step.result == 0 || step.result == NOT_READY {
            device.call(index as u32, &step.call, &mut ());
        }
    }
    device.run_to_idle(&mut ());
    device.into_timeline()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::program::*;
    fn pipeline(streams: u32, breadth: bool) -> Program {
        let mut p = Program::new(1);
        let mut s =
            |call: Call| p.steps.push(Step { call, site: None, thread: 0, gap_ns: 0, result: 0 });
        for i in 0..streams {
            s(Call::StreamCreate {
                stream: StreamId(2 + i),
                kind: StreamKind::NonBlocking,
                priority: 0,
            });
        }
        s(Call::FunctionGet {
            kernel: KernelId(0),
            name: "map_a".into(),
            rate: "map".into(),
            registers: 32,
            shared_bytes: 0,
        });
        s(Call::RegionBegin);
        let bytes = 16 << 20;
        let dev = |i: u32| Range { block: BlockId(i), offset: 0, bytes };
        let up = |i: u32| Call::Copy {
            stream: StreamId(2 + i % streams),
            mode: Mode::Asynchronous,
            source: Place::Pinned(dev(i)),
            target: Place::Device(dev(i)),
            bytes,
        };
        let k = |i: u32| {
            Call::Launch(Launch {
                kernel: KernelId(0),
                stream: StreamId(2 + i % streams),
                grid: [2048, 1, 1],
                block: [256, 1, 1],
                shared_bytes: 0,
                units: 1520 * (4 << 20),
                bytes: 2 * bytes,
                accesses: vec![],
            })
        };
        let down = |i: u32| Call::Copy {
            stream: StreamId(2 + i % streams),
            mode: Mode::Asynchronous,
            source: Place::Device(dev(i)),
            target: Place::Pinned(dev(i)),
            bytes,
        };
        if breadth {
            for i in 0..16 {
                s(up(i))
            }
            for i in 0..16 {
                s(k(i))
            }
            for i in 0..16 {
                s(down(i))
            }
        } else {
            for i in 0..16 {
                s(up(i));
                s(k(i));
                s(down(i));
            }
        }
        s(Call::ContextSynchronize);
        s(Call::RegionEnd);
        p
    }
    #[test]
    fn probe() {
        let profile: Profile = toml::from_str(Profile::H200).unwrap();
        for (n, b) in [(1, false), (2, false), (3, false), (4, false), (4, true), (8, false)] {
            let t = replay(&pipeline(n, b), &profile, Schedule::Exact);
            println!("{n} {b} {:.2} ms", t.region.unwrap().ns() as f64 / 1e6);
        }
    }
}
