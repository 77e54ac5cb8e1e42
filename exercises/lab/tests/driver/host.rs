//! What the host itself does to pinned memory is noticed while copies use it.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{CudaContext, CudaStream, result, sys};
use lab::{HostBlock, HostMemory, Instant};
use trace::hazards;
use trace::lab_protocol::{Buffer, Region, Request};
use trace::program::{AccessKind, Call, Program};

use crate::cases::context;
use crate::lines::program;
use crate::{CASE, Case};

pub(crate) const CASES: &[Case] = &[
    ("a_source_written_in_flight_is_found", a_source_written_in_flight_is_found),
    ("a_result_read_too_early_is_found", a_result_read_too_early_is_found),
    ("uses_by_the_standard_library_have_the_students_line", by_the_standard_library),
    ("uses_after_a_synchronisation_are_in_order", uses_after_a_synchronisation_are_in_order),
    ("the_other_chunk_of_a_block_is_free", the_other_chunk_of_a_block_is_free),
    ("an_order_through_another_stream_counts", an_order_through_another_stream_counts),
    ("the_bytes_are_as_without_protection", the_bytes_are_as_without_protection),
    ("a_host_function_s_uses_are_those_of_its_stream", host_functions),
    ("a_system_call_gets_an_error", a_system_call_gets_an_error),
    ("a_graph_guards_what_its_copies_use", a_graph_guards_what_its_copies_use),
    ("a_wild_use_ends_the_process_as_ever", a_wild_use_ends_the_process_as_ever),
    ("a_thread_that_never_called_the_driver_is_let_through", another_thread),
    ("pinning_a_block_takes_as_long_as_copying_it_besides", pinning_a_block),
    ("what_the_host_writes_in_a_region_takes_as_long_as_its_copy", written_in_a_region),
    ("what_the_host_reads_in_a_region_takes_as_long", read_in_a_region),
    ("a_copy_between_pinned_blocks_takes_as_long_as_one", copied_in_a_region),
    ("a_word_by_itself_takes_the_host_no_time", a_word_by_itself),
    ("a_copy_that_is_cut_into_pages_takes_its_time", a_copy_in_pages),
    ("pages_take_time_again_once_a_copy_has_used_them", used_by_a_copy_in_between),
    ("work_that_is_declared_is_not_counted_twice", declared_work),
    ("new_memory_takes_time_like_any_other", new_memory),
    ("the_host_works_in_the_thread_that_writes", written_by_a_thread),
    ("outside_a_region_nothing_takes_the_host_time", written_outside_a_region),
];

/// Words in a block: 16 pages.
const WORDS: usize = 16 << 10;
const BYTES: usize = 4 * WORDS;

/// A block of pinned memory, as a program sees it that goes round cudarc's own waits.
#[derive(Clone, Copy)]
struct Pinned(*mut u32);

impl Pinned {
    fn new() -> Self {
        // SAFETY: there is a context; every test writes before it reads, or reads zeros.
        Self(unsafe { result::malloc_host(BYTES, 0) }.unwrap().cast())
    }

    fn words(&self) -> &'static mut [u32] {
        // SAFETY: the block is never freed, and the tests are about what goes wrong with this.
        unsafe { std::slice::from_raw_parts_mut(self.0, WORDS) }
    }

    fn write(&self, at: usize) {
        // SAFETY: inside the block.
        unsafe { self.0.add(at).write_volatile(7) }
    }

    fn read(&self, at: usize) -> u32 {
        // SAFETY: inside the block.
        unsafe { self.0.add(at).read_volatile() }
    }
}

struct Setup {
    context: Arc<CudaContext>,
    a: Arc<CudaStream>,
    b: Arc<CudaStream>,
    host: Pinned,
    device: sys::CUdeviceptr,
}

impl Setup {
    fn new() -> Self {
        let context = context();
        let (a, b) = (context.new_stream().unwrap(), context.new_stream().unwrap());
        // SAFETY: there is a context.
        let device = unsafe { result::malloc_sync(BYTES) }.unwrap();
        Self { context, a, b, host: Pinned::new(), device }
    }

    fn up(&self) {
        let words = self.host.words();
        // SAFETY: both are there; that the words may change meanwhile is what is tested.
        unsafe { result::memcpy_htod_async(self.device, words, self.a.cu_stream()) }.unwrap();
    }

    fn down(&self, words: std::ops::Range<usize>) {
        let words = &mut self.host.words()[words];
        // SAFETY: as above.
        unsafe { result::memcpy_dtoh_async(words, self.device, self.a.cu_stream()) }.unwrap();
    }
}

/// Code and lines of the hazards of a program.
fn hazards(program: &Program) -> Vec<(&'static str, u32, u32)> {
    let line = |it: &hazards::CallAt| it.site.as_ref().map_or(0, |site| site.line);
    let found = hazards::find(program);
    let found = found.iter().map(|it| {
        let (first, second) = (line(&it.first.call), line(&it.second.call));
        (it.code.as_str(), first, second)
    });
    found.collect()
}

/// How often the host itself was seen to use pinned memory.
fn seen(program: &Program) -> usize {
    program.steps.iter().filter(|step| matches!(step.call, Call::HostAccess { .. })).count()
}

/// The line of `Setup::up` or `Setup::down` is never the caller's own: these calls are written out.
macro_rules! up {
    ($setup:expr) => {
        // SAFETY: as in `Setup::up`.
        unsafe {
            let words = $setup.host.words();
            result::memcpy_htod_async($setup.device, words, $setup.a.cu_stream()).unwrap()
        }
    };
}

const UP: u32 = line!() - 5;

fn a_source_written_in_flight_is_found() {
    let program = program(|| {
        let it = Setup::new();
        up!(it);
        it.host.read(5);
        it.host.words()[9] = 1;
    });
    assert_eq!(hazards(&program), [("SWIM-H02", UP, line!() - 2)]);
    assert_eq!(seen(&program), 1, "reading a source is no fault");
}

fn a_result_read_too_early_is_found() {
    let mut line = 0;
    let program = program(|| {
        let it = Setup::new();
        it.down(0..WORDS);
        line = line!() + 1;
        std::hint::black_box(it.host.words()[WORDS - 1]);
    });
    let [(code, _, second)] = hazards(&program)[..] else { panic!("{:?}", hazards(&program)) };
    assert_eq!((code, second), ("SWIM-H01", line));
}

fn by_the_standard_library() {
    type Use = fn(&Pinned);
    let uses: [(Use, u32); 4] = [
        (|host| host.words().copy_from_slice(&vec![3; WORDS]), line!()),
        (|host| host.words().sort(), line!()),
        (|host| assert_eq!(host.words().iter().max(), Some(&0)), line!()),
        (|host| host.words().fill(1), line!()),
    ];
    for (what, line) in uses {
        let program = program(|| {
            let it = Setup::new();
            it.down(0..WORDS);
            what(&it.host);
        });
        let found = hazards(&program);
        assert_eq!(found.len(), 1, "line {line}: {found:?}");
        assert_eq!(found[0].2, line, "{found:?}");
    }
}

fn uses_after_a_synchronisation_are_in_order() {
    let waits: [fn(&Setup); 5] = [
        |it| it.a.synchronize().unwrap(),
        |it| it.context.synchronize().unwrap(),
        |it| it.a.record_event(None).unwrap().synchronize().unwrap(),
        |it| {
            // SAFETY: the stream is live.
            while unsafe { sys::cuStreamQuery(it.a.cu_stream()) } != sys::CUresult::CUDA_SUCCESS {}
        },
        |it| {
            let event = it.a.record_event(None).unwrap();
            while !event.is_complete() {}
        },
    ];
    for wait in waits {
        let program = program(|| {
            let it = Setup::new();
            it.down(0..WORDS);
            wait(&it);
            it.host.read(0);
            it.up();
            wait(&it);
            it.host.write(0);
        });
        assert_eq!(hazards(&program), []);
        assert_eq!(seen(&program), 0, "what is known to be over is not watched");
    }
}

fn the_other_chunk_of_a_block_is_free() {
    let program = program(|| {
        let it = Setup::new();
        it.down(0..WORDS / 2);
        it.a.synchronize().unwrap();
        it.down(WORDS / 2 + 100..WORDS);
        it.host.write(WORDS / 2 - 1);
        it.host.write(WORDS / 2 + 99);
    });
    assert_eq!((hazards(&program), seen(&program)), (vec![], 0));
}

fn an_order_through_another_stream_counts() {
    let program = program(|| {
        let it = Setup::new();
        it.down(0..WORDS);
        it.b.wait(&it.a.record_event(None).unwrap()).unwrap();
        it.b.synchronize().unwrap();
        it.host.read(0);
    });
    // It is noticed, and found to be in order.
    assert_eq!((hazards(&program), seen(&program)), (vec![], 1));
}

fn the_bytes_are_as_without_protection() {
    let it = Setup::new();
    it.host.words().fill(5);
    it.up();
    // The copy reads what is there when it starts, and that is later than the call.
    it.host.words()[0] = 6;
    lab::driver::ask(&Request::HostWork { ns: 1_000_000, asking_ns: 0 }).unwrap();
    it.down(0..WORDS);
    it.host.words().fill(9);
    it.context.synchronize().unwrap();
    let found = it.host.words();
    assert_eq!(found[0], 6);
    assert!(found[1..].iter().all(|&word| word == 5), "{:?}", &found[..4]);
}

unsafe extern "C" fn sums(data: *mut std::ffi::c_void) {
    // SAFETY: the test gives the address of a block.
    let words = unsafe { std::slice::from_raw_parts(data.cast::<u32>(), WORDS) };
    std::hint::black_box(words[..4096].iter().sum::<u32>());
}

fn host_functions() {
    let run = |on_b: bool| {
        program(|| {
            let it = Setup::new();
            it.down(0..WORDS);
            let stream = if on_b { &it.b } else { &it.a };
            // SAFETY: the block outlives the stream's work.
            unsafe {
                result::stream::launch_host_function(stream.cu_stream(), sums, it.host.0.cast())
            }
            .unwrap();
            it.context.synchronize().unwrap();
        })
    };
    let found = run(true);
    let accesses = found.steps.iter().find_map(|step| match &step.call {
        Call::HostFunction { accesses, .. } => Some(accesses.clone()),
        _ => None,
    });
    let accesses = accesses.expect("there is a host function");
    let pages: Vec<u64> = accesses.iter().map(|access| access.range.offset).collect();
    assert_eq!(pages, [0, 4096, 8192, 12288]);
    assert!(accesses.iter().all(|access| access.kind == AccessKind::Read));
    let codes: Vec<_> = hazards(&found).iter().map(|found| found.0).collect();
    assert_eq!(codes, ["SWIM-H01"]);
    assert_eq!(hazards(&run(false)), []);
}

fn a_system_call_gets_an_error() {
    let it = Setup::new();
    it.down(0..WORDS);
    let write = |fd| {
        // SAFETY: the block is there; the call only reads it.
        let written = unsafe { libc::write(fd, it.host.0.cast(), BYTES) };
        (written, std::io::Error::last_os_error().raw_os_error())
    };
    let file = tempfile::tempfile().unwrap();
    let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
    assert_eq!(write(fd), (-1, Some(libc::EFAULT)));
    it.context.synchronize().unwrap();
    assert_eq!(write(fd).0, BYTES as isize);
}

fn a_graph_guards_what_its_copies_use() {
    let program = program(|| {
        let it = Setup::new();
        it.a.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED).unwrap();
        it.down(0..WORDS);
        let flags = sys::CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        let graph = it.a.end_capture(flags).unwrap().expect("a graph");
        it.host.read(0); // nothing has been asked for yet
        graph.launch().unwrap();
        it.host.read(1);
        it.context.synchronize().unwrap();
        it.host.read(2);
    });
    assert_eq!(seen(&program), 1);
}

fn another_thread() {
    let program = program(|| {
        let it = Setup::new();
        it.down(0..WORDS);
        let address = it.host.0 as usize;
        std::thread::spawn(move || Pinned(address as *mut u32).read(3)).join().unwrap();
    });
    assert_eq!(seen(&program), 1);
}

/// Set in the process that is to do it.
const WILD: &str = "SWIM_TEST_WILD";

fn a_wild_use_ends_the_process_as_ever() {
    match std::env::var(WILD).as_deref() {
        Ok("wild") => {
            let it = Setup::new();
            it.down(0..WORDS);
            // SAFETY: none: nothing is there.
            unsafe { std::ptr::without_provenance_mut::<u32>(0x1000).write_volatile(1) };
        }
        Ok(_) => {
            let _it = Setup::new();
            fn deep(n: u64) -> u64 {
                std::hint::black_box([n; 512]);
                if n == 0 { 0 } else { 1 + deep(std::hint::black_box(n + 1)) }
            }
            std::hint::black_box(deep(1));
        }
        Err(_) => {
            let ends = |how: &str| {
                let mut again = Command::new(std::env::current_exe().unwrap());
                let name = "a_wild_use_ends_the_process_as_ever";
                let again = again.env(CASE, name).env(WILD, how).env_remove(trace::env::MACHINE);
                again.output().unwrap()
            };
            assert_eq!(ends("wild").status.signal(), Some(libc::SIGSEGV));
            let deep = ends("deep");
            assert_eq!(deep.status.signal(), Some(libc::SIGABRT));
            let said = String::from_utf8_lossy(&deep.stderr).into_owned();
            assert!(said.contains("has overflowed its stack"), "{said}");
        }
    }
}

/// How long a copy of the block by the host takes, in ns: `staging_bytes_per_us` of the profile.
const COPY_NS: u64 = BYTES as u64 * 1000 / 7_391;

/// How long the host worked, with the lines.
fn worked(program: &Program) -> Vec<(u64, u32)> {
    let works = program.steps.iter().filter_map(|step| match step.call {
        Call::HostWork { ns, .. } => Some((ns, program.site(step).map_or(0, |site| site.line))),
        _ => None,
    });
    works.collect()
}

fn written_in_a_region() {
    let mut line = 0;
    let program = program(|| {
        let it = Setup::new();
        line = line!() + 1;
        it.host.words().copy_from_slice(&vec![3; WORDS]);
        it.host.words().fill(4); // it has them in its caches, and says so no second time
        it.up();
    });
    assert_eq!(worked(&program), [(COPY_NS, line)]);
    assert_eq!(seen(&program), 0, "no copy uses them");
}

fn read_in_a_region() {
    let mut line = 0;
    let program = program(|| {
        let it = Setup::new();
        it.down(0..WORDS);
        it.a.synchronize().unwrap();
        line = line!() + 1;
        assert_eq!(it.host.words().iter().max(), Some(&0));
    });
    assert_eq!(worked(&program), [(COPY_NS, line)]);
}

fn copied_in_a_region() {
    let program = program(|| {
        let (from, to) = (Setup::new(), Setup::new());
        to.host.words().copy_from_slice(from.host.words());
    });
    let works: Vec<u64> = worked(&program).into_iter().map(|(ns, _)| ns).collect();
    assert_eq!(works, [COPY_NS]);
}

fn a_word_by_itself() {
    let program = program(|| {
        let it = Setup::new();
        it.host.write(5);
        it.host.write(WORDS - 1);
        it.host.read(WORDS / 2);
    });
    assert_eq!(worked(&program), []);
}

fn a_copy_in_pages() {
    let program = program(|| {
        let it = Setup::new();
        for _ in 0..8 {
            it.up();
            it.a.synchronize().unwrap();
            for page in it.host.words().chunks_mut(1024) {
                page.fill(1);
                Instant::now().unwrap(); // a call after each
            }
        }
    });
    // The first 64 pages are free, and it is a copy from there on.
    let works = worked(&program);
    let ns: u64 = works.iter().map(|(ns, _)| ns).sum();
    assert_eq!((works.len(), ns), (64, 64 * (COPY_NS / 16)));
}

fn used_by_a_copy_in_between() {
    let program = program(|| {
        let it = Setup::new();
        for _ in 0..2 {
            it.host.words().fill(1);
            it.up();
            it.a.synchronize().unwrap();
        }
        // Half of them is used by a copy, and half is not.
        it.down(0..WORDS / 2);
        it.a.synchronize().unwrap();
        it.host.words().fill(2);
        // A use that no known order allows is told, and takes its time as well.
        it.up();
        it.host.words().fill(3);
    });
    let works: Vec<u64> = worked(&program).into_iter().map(|(ns, _)| ns).collect();
    assert_eq!(works, [COPY_NS; 4]);
    assert_eq!(seen(&program), 1);
}

fn declared_work() {
    let program = program(|| {
        let it = Setup::new();
        drop(HostBlock::pageable(WORDS).pin(&it.context).unwrap());
        let address = it.host.words().as_ptr() as u64;
        it.host.words().fill(1);
        let place = Buffer { address, bytes: BYTES as u64, ..Buffer::default() };
        lab::driver::ask(&Request::Load { place, written: 0, ns: 7, began_ns: 0 }).unwrap();
    });
    let works: Vec<u64> = worked(&program).into_iter().map(|(ns, _)| ns).collect();
    assert_eq!(works, [COPY_NS, 7]);
}

fn new_memory() {
    let program = program(|| {
        let it = Setup::new();
        it.host.words().fill(1);
        // SAFETY: nothing uses it, and nothing will.
        unsafe { result::free_host(it.host.0.cast()) }.unwrap();
        Pinned::new().words().fill(1);
    });
    assert_eq!(worked(&program).len(), 2);
}

fn written_by_a_thread() {
    let program = program(|| {
        let it = Setup::new();
        lab::thread::scope(|scope| {
            let words = it.host.words();
            scope.spawn(|| words.fill(1)).unwrap();
            lab::host_work(Duration::from_nanos(5)).unwrap();
        });
    });
    let by: Vec<_> = program
        .steps
        .iter()
        .filter_map(|step| match step.call {
            Call::HostWork { ns, .. } => Some((step.thread, ns)),
            _ => None,
        })
        .collect();
    assert_eq!(by, [(0, 5), (1, COPY_NS)]);
}

fn written_outside_a_region() {
    let it = Setup::new();
    let ns = |what: &dyn Fn()| {
        let start = Instant::now().unwrap();
        what();
        start.elapsed().unwrap().as_nanos() as u64
    };
    let begin = || lab::driver::ask(&Request::RegionBegin(Region::default())).unwrap();
    let end = || lab::driver::ask(&Request::RegionEnd).unwrap();
    assert_eq!(ns(&|| it.host.words().fill(1)), 0);
    begin();
    assert_eq!(ns(&|| it.host.words().fill(1)), COPY_NS);
    end();
    assert_eq!(ns(&|| it.host.words().fill(1)), 0);
    begin();
    // SAFETY: nothing uses it, and nothing will.
    unsafe { result::free_host(it.host.0.cast()) }.unwrap();
    end();
    // The next two have room in what is mapped for it.
    assert!(!Pinned::new().0.is_null());
    assert_eq!(ns(&|| Pinned::new().words().fill(1)), ns(&|| assert!(!Pinned::new().0.is_null())));
}

fn pinning_a_block() {
    let context = context();
    let ordinary = HostBlock::pageable(WORDS);
    let ns = |make: &dyn Fn() -> lab::Result<HostBlock>| {
        let start = Instant::now().unwrap();
        drop(make().unwrap());
        start.elapsed().unwrap().as_nanos() as u64
    };
    let allocated = ns(&|| {
        let mut block = HostBlock::new(&context, HostMemory::Pinned, WORDS)?;
        block.words_mut()?; // which asks whether a copy still uses them
        Ok(block)
    });
    let pinned = ns(&|| ordinary.pin(&context));
    assert_eq!(pinned - allocated, COPY_NS);
}
