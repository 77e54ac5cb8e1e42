//! The first call of its kind in a region takes the host longer, and each call takes what passes before it.

use trace::program::{Call, StreamId, StreamKind};

use crate::program::{Host, MIB, Script, Way, h200, host_ns};

/// What the calls of `stream` cost, in the order in which `calls` makes them.
fn costs(calls: impl FnOnce(&mut Script, StreamId) -> Vec<u32>) -> Vec<u64> {
    let mut script = Script::new();
    let stream = script.stream(StreamKind::NonBlocking);
    let steps = calls(&mut script, stream);
    let timeline = script.run();
    steps.into_iter().map(|step| host_ns(&timeline, step)).collect()
}

#[test]
fn in_each_region_the_first_call_of_a_kind_takes_longer_and_outside_of_regions_none_does() {
    let (host, first) = (h200().host, h200().first_calls);
    let costs = costs(|script, stream| {
        let outside = script.kernel(stream, 1, 1);
        let mut steps = vec![outside];
        for _ in 0..2 {
            script.call(Call::RegionBegin);
            steps.extend((0..2).map(|_| script.kernel(stream, 1, 1)));
            steps.extend((0..2).map(|_| script.copy(stream, Way::Up(Host::Pinned), MIB)));
            script.call(Call::RegionEnd);
        }
        steps.push(script.kernel(stream, 1, 1));
        steps
    });
    let later = |call_ns: u64| call_ns + host.between_ns.value;
    let launch = later(host.launch_ns.value);
    let copy = later(host.copy_ns.value);
    let region = [
        // The first that gives the device work pays the way there for all of them.
        launch + first.launch_ns.value + first.work_ns.value,
        launch,
        copy + first.copy_ns.value,
        copy,
    ];
    let outside = [host.launch_ns.value];
    assert_eq!(costs, [&outside[..], &region, &region, &outside].concat());
}

#[test]
fn after_a_module_is_loaded_the_next_launch_is_a_first_one_again_and_the_next_allocation_is_not() {
    let (host, first) = (h200().host, h200().first_calls);
    let costs = costs(|script, stream| {
        let launch = |script: &mut Script| script.kernel(stream, 1, 1);
        let allocation = |script: &mut Script| {
            let block = script.block();
            script.call(Call::Alloc { block, bytes: 64 * MIB })
        };
        let turn = |script: &mut Script| [launch(script), launch(script), allocation(script)];
        script.call(Call::RegionBegin);
        let before = turn(script);
        script.call(Call::ModuleLoad);
        let after = turn(script);
        script.call(Call::RegionEnd);
        [before, after].concat()
    });
    let later = |call_ns: u64| call_ns + host.between_ns.value;
    let launch = later(host.launch_ns.value);
    let first_launch = launch + first.launch_ns.value + first.work_ns.value;
    let allocation = later(host.alloc_ns.value);
    let first_allocation = allocation + first.alloc_ns.value;
    assert_eq!(costs, [first_launch, launch, first_allocation, first_launch, launch, allocation]);
}
