//! Host threads of the lab: their turns, their clocks, what they wait for.

use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cudarc::driver::sys;
use kernels::Stage;
use lab::thread;
use trace::Record;
use trace::env;
use trace::lab_protocol::{Region, Request};
use trace::program::Call;

use crate::Case;
use crate::cases::{context, launch, map};
use crate::graphs::blocking;
use crate::lines::program;
use crate::order::{now, one_block};

pub(crate) const CASES: &[Case] = &[
    ("a_loader_beside_the_device_takes_no_time_of_its_own", a_loader_beside_the_device),
    (
        "threads_have_clocks_of_their_own_and_one_core",
        threads_have_clocks_of_their_own_and_one_core,
    ),
    ("a_hundred_workers_give_the_same_record_every_time", a_hundred_workers),
    ("messages_come_in_order_and_a_full_channel_holds_the_sender", messages_come_in_order),
    ("a_channel_without_its_other_end_says_so", a_channel_without_its_other_end),
    ("whoever_outlasts_all_senders_comes_after_what_each_of_them_did", outlasting_all_senders),
    ("a_panic_goes_through_join_and_through_the_scope", a_panic_goes_through_join),
    ("a_worker_that_outlives_the_region_is_refused_by_name", a_worker_outlives_the_region),
    ("threads_that_all_wait_end_the_program_with_their_lines", threads_that_all_wait),
    ("each_thread_has_a_per_thread_stream_of_its_own", each_thread_has_its_own_stream),
    ("a_thread_that_waits_for_the_device_lets_others_go_on", a_waiting_thread_lets_others_go_on),
    ("threads_that_the_lab_did_not_start_are_refused_beside_its_own", foreign_threads_are_refused),
    ("threads_that_share_a_receiver_get_a_message_each", threads_that_share_a_receiver),
    ("a_wait_for_the_default_stream_holds_no_other_thread_back", a_wait_for_the_default_stream),
];

const MS: Duration = Duration::from_millis(1);

fn ms(since: u64) -> u64 {
    (now() - since) / 1_000_000
}

/// Lines of this test count as the student's, those of the lab do not.
fn tests_are_the_students() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/driver").to_owned();
    lab::driver::ask(&Request::Source { directory }).unwrap();
}

fn begin() {
    lab::driver::ask(&Request::RegionBegin(Region::default())).unwrap();
}

fn end() {
    lab::driver::ask(&Request::RegionEnd).unwrap();
}

/// Rounds of the map over 1024 elements that take milliseconds.
const LONG: u32 = 25_000_001;

fn a_loader_beside_the_device() {
    let context = context();
    let stream = context.new_stream().unwrap();
    let map = map(&context, Stage::A);
    let mut data = stream.alloc_zeros::<u32>(1024).unwrap();
    context.synchronize().unwrap();
    begin();
    launch(&stream, &map, &mut data, LONG); // the first launch of a region takes longer
    stream.synchronize().unwrap();
    let start = now();
    launch(&stream, &map, &mut data, LONG);
    stream.synchronize().unwrap();
    let kernel = now() - start;
    // Ten loads and ten kernels that take as long: one after the other, then side by side.
    let load = Duration::from_nanos(kernel);
    let start = now();
    for _ in 0..10 {
        lab::host_work(load).unwrap();
        launch(&stream, &map, &mut data, LONG);
        stream.synchronize().unwrap();
    }
    let serial = now() - start;
    let start = now();
    thread::scope(|scope| {
        let (sender, receiver) = thread::sync_channel(2).unwrap();
        scope
            .spawn(move || {
                for batch in 0..10 {
                    lab::host_work(load).unwrap();
                    sender.send(batch).unwrap();
                }
            })
            .unwrap();
        for _ in receiver.iter() {
            launch(&stream, &map, &mut data, LONG);
            stream.synchronize().unwrap();
        }
    });
    let beside = now() - start;
    end();
    assert!(serial >= 20 * kernel - 1_000, "{serial} ns, kernels of {kernel} ns");
    assert!((11 * kernel..12 * kernel).contains(&beside), "{beside} ns, kernels of {kernel} ns");
}

fn threads_have_clocks_of_their_own_and_one_core() {
    let _context = context();
    let start = now();
    let workers: Vec<_> = [30, 10, 20]
        .map(|work| {
            thread::spawn(move || {
                lab::host_work(work * MS).unwrap();
                ms(start)
            })
            .unwrap()
        })
        .into();
    // The first two have started before the third is, and take the core one after the other. Then
    // it is the host's, and the third one's.
    lab::host_work(15 * MS).unwrap();
    assert_eq!(ms(start), 55);
    let finished: Vec<_> = workers.into_iter().map(|it| it.join().unwrap()).collect();
    assert_eq!(finished, [30, 40, 75]);
    assert_eq!(ms(start), 75);
}

/// Asks the case of a hundred workers to do its work, rather than to start others that do.
const HUNDRED: &str = "SWIM_TEST_HUNDRED";

/// What another process records that does the work of this case, with `asked` set.
fn record_with(asked: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.json");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(env::RECORD, &path).env(asked, "1").env_remove(env::MACHINE);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read_to_string(path).unwrap()
}

fn a_hundred_workers() {
    if std::env::var_os(HUNDRED).is_none() {
        let (first, second) = (record_with(HUNDRED), record_with(HUNDRED));
        assert_eq!(first, second);
        let record: Record = serde_json::from_str(&first).unwrap();
        let threads = record.program.steps.iter().map(|step| step.thread).max();
        assert_eq!(threads, Some(100));
        assert_eq!(trace::hazards::find(&record.program), []);
        let profile = toml::from_str(simulator::Profile::H200).unwrap();
        let again = simulator::replay(&record.program, &profile, simulator::Schedule::Exact);
        assert_eq!(again.spans, record.timeline.spans);
        assert_eq!(again.host, record.timeline.host);
        assert_eq!(again.region, record.timeline.region);
    }
    let context = context();
    let map = map(&context, Stage::A);
    begin();
    let sums: Vec<u32> = thread::scope(|scope| {
        let workers: Vec<_> = (0..100u32)
            .map(|index| {
                let (context, map) = (Arc::clone(&context), map.clone());
                scope
                    .spawn(move || {
                        let stream = context.new_stream().unwrap();
                        let mut data = stream.clone_htod(&vec![index; 1024]).unwrap();
                        lab::host_work(index % 7 * MS).unwrap();
                        launch(&stream, &map, &mut data, 1 + index % 3);
                        stream.clone_dtoh(&data).unwrap()[0]
                    })
                    .unwrap()
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    context.synchronize().unwrap();
    end();
    let once = kernels::map::map_constants(Stage::A);
    let expected: Vec<u32> =
        (0..100u32).map(|index| once.power(1 + index % 3).apply(index)).collect();
    assert_eq!(sums, expected);
}

fn messages_come_in_order() {
    let _context = context();
    let (sender, receiver) = thread::sync_channel(2).unwrap();
    let start = now();
    let producer = thread::spawn(move || {
        let mut sent = Vec::new();
        for message in 0..5u64 {
            sender.send(message).unwrap();
            sent.push(ms(start));
        }
        sent
    })
    .unwrap();
    let mut received = Vec::new();
    for message in receiver.iter() {
        received.push((message, ms(start)));
        lab::host_work(10 * MS).unwrap();
    }
    assert_eq!(received, [(0, 0), (1, 10), (2, 20), (3, 30), (4, 40)]);
    assert_eq!(producer.join().unwrap(), [0, 0, 0, 10, 20]);
    assert!(thread::sync_channel::<()>(0).is_err());
}

fn a_channel_without_its_other_end() {
    let _context = context();
    let (sender, receiver) = thread::channel().unwrap();
    drop(receiver);
    assert_eq!(sender.send(7).unwrap_err().0, 7);
    let (sender, receiver) = thread::channel().unwrap();
    let second = sender.clone();
    sender.send(1).unwrap();
    drop(sender);
    let worker = thread::spawn(move || {
        lab::host_work(10 * MS).unwrap();
        second.send(2).unwrap();
    })
    .unwrap();
    assert_eq!(receiver.iter().collect::<Vec<_>>(), [1, 2]);
    assert_eq!(receiver.recv(), Err(thread::RecvError));
    worker.join().unwrap();
    // A sender that waits for room learns that there will be none.
    let (sender, receiver) = thread::sync_channel(1).unwrap();
    let worker = thread::spawn(move || {
        sender.send(1).unwrap();
        sender.send(2).unwrap_err().0
    })
    .unwrap();
    lab::host_work(10 * MS).unwrap();
    drop(receiver);
    assert_eq!(worker.join().unwrap(), 2);
}

/// Asks the case of two senders to do its work, rather than to start another process that does.
const SENDERS: &str = "SWIM_TEST_SENDERS";

fn outlasting_all_senders() {
    if std::env::var_os(SENDERS).is_none() {
        let record = record_with(SENDERS);
        let record: Record = serde_json::from_str(&record).unwrap();
        assert_eq!(trace::hazards::find(&record.program), []);
        return;
    }
    let context = context();
    let [one, other] = [(); 2].map(|()| context.new_stream().unwrap());
    let map = map(&context, Stage::A);
    let data = Mutex::new(one.alloc_zeros::<u32>(1024).unwrap());
    context.synchronize().unwrap();
    begin();
    thread::scope(|scope| {
        let (first, receiver) = thread::channel::<()>().unwrap();
        let last = first.clone();
        let (one, map, data) = (&one, &map, &data);
        let worker = move || {
            launch(one, map, &mut data.lock().unwrap(), 1);
            one.synchronize().unwrap();
            drop(first);
        };
        scope.spawn(worker).unwrap();
        let idler = move || {
            lab::host_work(10 * MS).unwrap();
            drop(last);
        };
        scope.spawn(idler).unwrap();
        assert!(receiver.recv().is_err());
        launch(&other, map, &mut data.lock().unwrap(), 1);
    });
    context.synchronize().unwrap();
    end();
}

fn a_panic_goes_through_join() {
    let _context = context();
    begin();
    let worker = thread::spawn(|| {
        lab::host_work(MS).unwrap();
        panic!("out of batches");
    })
    .unwrap();
    let panic = worker.join().unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"out of batches"));
    let unjoined = std::panic::catch_unwind(|| {
        thread::scope(|scope| drop(scope.spawn(|| panic!("unseen")).unwrap()));
    });
    assert!(unjoined.is_err());
    let joined = thread::scope(|scope| scope.spawn(|| panic!("seen")).unwrap().join());
    assert!(joined.is_err());
    end();
}

fn a_worker_outlives_the_region() {
    let _context = context();
    tests_are_the_students();
    begin();
    let worker = thread::spawn(|| lab::host_work(10 * MS)).unwrap();
    let why = lab::driver::ask(&Request::RegionEnd).unwrap_err().to_string();
    assert!(why.contains("but there is host thread 1, started at threads.rs:"), "{why}");
    worker.join().unwrap().unwrap();
    end();
}

/// Asks the case of threads that all wait to do so.
const STUCK: &str = "SWIM_TEST_STUCK";

fn threads_that_all_wait() {
    if std::env::var_os(STUCK).is_some() {
        let _context = context();
        tests_are_the_students();
        let (_sender, receiver) = thread::channel::<()>().unwrap();
        let worker = thread::spawn(move || receiver.recv()).unwrap();
        let _ = worker.join();
        unreachable!("the program ends before");
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(STUCK, "1").env_remove(env::MACHINE).stdin(Stdio::null());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(101), "{said}");
    let source = include_str!("threads.rs");
    let line = |what: &str| 1 + source.lines().position(|line| line.contains(what)).unwrap();
    let (receives, joins) = (line("receiver.recv()).unwrap();"), line("let _ = worker.join();"));
    let file = "threads.rs";
    let expected = format!(
        "swim: every host thread waits for another, so none ever goes on:
  the first host thread waits for host thread 1 to end at {file}:{joins}
  host thread 1, started at {file}:{receives}, waits for a message in channel 0 at {file}:{receives}
hint: a receiver goes on when all senders are dropped; a thread that holds one itself waits for ever
"
    );
    assert_eq!(said, expected);
}

fn each_thread_has_its_own_stream() {
    let context = context();
    let map = map(&context, Stage::A);
    let mut data = context.new_stream().unwrap().alloc_zeros::<u32>(1024).unwrap();
    context.synchronize().unwrap();
    let start = now();
    one_block(&context.per_thread_stream(), &map, &mut data, 5_000_001);
    thread::scope(|scope| {
        let context = &context;
        let worker = scope.spawn(move || context.per_thread_stream().synchronize().unwrap());
        worker.unwrap().join().unwrap();
        assert_eq!(ms(start), 0, "another thread's stream was empty");
    });
    context.per_thread_stream().synchronize().unwrap();
    assert!(ms(start) > 1);
}

fn a_waiting_thread_lets_others_go_on() {
    let context = context();
    let (first, second) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let map = map(&context, Stage::A);
    let mut data = first.alloc_zeros::<u32>(1024).unwrap();
    let mut other = second.alloc_zeros::<u32>(1024).unwrap();
    context.synchronize().unwrap();
    let start = now();
    thread::scope(|scope| {
        let (map, data) = (&map, &mut data);
        let waits = scope
            .spawn(move || {
                one_block(&first, map, data, 5_000_001);
                first.synchronize().unwrap();
                now() - start
            })
            .unwrap();
        lab::host_work(MS).unwrap();
        // While the other thread waits, this one uses the device and is done before it.
        launch(&second, map, &mut other, 1);
        second.synchronize().unwrap();
        assert_eq!(ms(start), 1);
        assert!(waits.join().unwrap() > 5_000_000);
    });
}

fn foreign_threads_are_refused() {
    let context = context();
    let stream = context.new_stream().unwrap();
    let worker = thread::spawn(|| lab::host_work(10 * MS)).unwrap();
    let foreign = std::thread::spawn(move || (stream.synchronize(), lab::host_work(MS)));
    let (called, declared) = foreign.join().unwrap();
    assert!(called.is_err() && declared.is_err());
    worker.join().unwrap().unwrap();
}

fn threads_that_share_a_receiver() {
    let program = program(|| {
        let (sender, receiver) = thread::channel().unwrap();
        let received: Vec<u32> = thread::scope(|scope| {
            // Both wait before there is a message.
            let receivers = [(); 2].map(|()| scope.spawn(|| receiver.recv().unwrap()).unwrap());
            lab::host_work(MS).unwrap();
            sender.send(10).unwrap();
            sender.send(11).unwrap();
            receivers.map(|receiver| receiver.join().unwrap()).into()
        });
        assert_eq!(received, [10, 11]);
    });
    let received: Vec<_> = program
        .steps
        .iter()
        .filter_map(|step| match step.call {
            Call::ChannelReceive { message, .. } => Some((step.thread, message)),
            _ => None,
        })
        .collect();
    assert_eq!(received, [(1, Some(0)), (2, Some(1))]);
}

fn a_wait_for_the_default_stream() {
    let context = context();
    let streams = [(); 3].map(|()| blocking(&context));
    let map = map(&context, Stage::A);
    let mut data = [(); 3].map(|()| streams[0].alloc_zeros::<u32>(1024).unwrap());
    context.synchronize().unwrap();
    let start = now();
    thread::scope(|scope| {
        let [first, second, third] = &streams;
        let [long, short, other] = &mut data;
        let map = &map;
        let waits = scope
            .spawn(move || {
                // Two streams have work, so that no single operation stands for all that is waited for.
                one_block(second, map, short, 1);
                one_block(first, map, long, 5_000_001);
                // SAFETY: it is the default stream.
                unsafe { sys::cuStreamSynchronize(std::ptr::null_mut()) }.result().unwrap();
                now() - start
            })
            .unwrap();
        lab::host_work(MS).unwrap();
        one_block(third, map, other, 1);
        third.synchronize().unwrap();
        assert_eq!(ms(start), 1, "a wait of the host is no work of the default stream");
        assert!(waits.join().unwrap() > 5_000_000);
    });
}
