//! A CUDA device of discrete events: virtual time in integer nanoseconds, real data.
//!
//! The same calls give the same bytes on every machine. Nothing here reads a clock, starts a thread
//! or does input or output, and nothing assumes that the student's program shares its address
//! space.
//!
//! # What it does not model
//! `exercises/lab/tests/conformance` compares it with a real device: 500 rows of order,
//! blocking and result codes, one body for both, on an NVIDIA H200 (driver 580.159.04,
//! 2026-12-01). Rows that no GPU has answered yet are named when they are run.
//! 10 rows are known gaps, which assert today's wrong answer. What follows is wrong or missing
//! today.
//! - Which operations fill a stream's queue of 1021 is measured for launches alone. Copies, memsets
//!   and host functions are taken to count as launches do; records, waits and stream-ordered
//!   allocation are taken not to count. Streams that share a work queue are taken to have room of
//!   their own.
//! - Waits of a stream hold back its own operations and what comes after those in their work queue,
//!   but take no place in a queue themselves, nor do host functions.
//! - A timed event recorded after a kernel takes no place in the kernel's work queue. On an H200 it
//!   kept back what came after it there until the kernel had ended.
//! - Stream priorities act on the order in which waiting kernels are dispatched, and on nothing
//!   else. On an H100 (driver 580.159.04, 2026-11-26) a small grid of `map_a` waited as long for a
//!   kernel of one wave: 1.12 ms of 1.3, and 1.13 with the highest priority. But there the wave's
//!   blocks end one after another, and what holds the small grid back is that older warps go first.
//!   So it took 0.53 and 0.85 ms where each multiprocessor had room for it from the beginning; here
//!   it is served at once.
//! - Memory pools: there is the default one, whose ways to reuse memory are not up to the program.
//!   It is divided and joined where time and sizes are counted, but an address is handed out again
//!   for a request of the same size alone, rounded to 512 bytes. The default streams' barrier does
//!   not count as an order for it. Memory that `cuMemAlloc` gave is never handed out again.
//! - Memory is real: what a program has on the device holds 4 GiB of data at most together, however
//!   much the profile says that there is, and what it has pinned 1 GiB. Beyond that,
//!   allocation fails as where there is no memory left.
//! - Contexts: there are the primary ones of two devices of one kind, with a link between them.
//! - A kernel cannot use the memory of the other device, whatever access it has; a memset of it
//!   takes what one of its own does. Copies of two streams through the host, in opposite
//!   directions, slow each other as other transfers do: on two H100 two of 256 MiB took 9.1 ms, and
//!   one 7.0. What a copy between devices takes of the memory of either is left out, and inside of
//!   a graph it keeps the engine of one of the two alone. To allow access costs what any other call
//!   does: two H200 took 2.3 ms for a context and 17 ms for a pool (driver 580.159.04, 2026-11-27).
//! - Graphs: only by capture, without memory nodes, external events and graphs in graphs; not
//!   updated or taken apart. What a graph costs the host is measured for kernels and copies up;
//!   other nodes are taken to cost the same.
//! - `cuMemAlloc` takes the same for 1 MiB and for 1 GiB: on an H200 (driver 580.159.04,
//!   2026-11-28) it took 49 us for 1 MiB and 73 us for 256 MiB.
//! - Of what the host does in a measured region, only what it writes to pinned memory counts as
//!   being in its cache, from where a copy up takes longer. What the host had only read took as
//!   much longer on that H200 (2026-11-29). In the playground nothing counts: its language does not
//!   say where the host writes.
//! - A kernel that waits for a copy begins a mean time after its end, which [`profile::Gaps`] says.
//!   On an H200 (driver 580.159.04, 2026-11-30) it looked for that end every 8.2 us: it began 8.2,
//!   16.4, 24.6 us and so on after it had begun to wait, up to 920 us. It began to wait when its
//!   call arrived, or when the kernel before it in its stream began. After an event with timing it
//!   began to wait when that kernel had ended. Tried as a rule here, that left the mean difference
//!   from the H200 in `book/measured` at 4.2 %, and `graphs`' reference took 6 % more.
//! - Kernels of a network have the times that they have over and over on the same data, wherever it
//!   is. In two traced programs on that H200 `sgd_step` took 2.0 and 2.7 us longer than here, where
//!   other kernels had used much memory since its gradients were written. Where they had not, it
//!   took as long as here. With what it reads in no cache it took 1.8 to 3.4 us more,
//!   `dense_input_gradient` up to 3.2 and others up to 1.9 (2026-12-01, `tests/figures/layers.cu`).
//!   To follow that here, a program would have to say how large weights are: they count as if there
//!   were more of them with larger batches.
//! - What the device's cache holds is followed range by range, and makes maps shorter alone. A map
//!   of 32 blocks with 16 waits for each thread took an H200 36.0 us on what it had just written
//!   itself. It took 38.1 on 2 MiB that a copy had just brought, 39.0 on those that a grid of 1056
//!   blocks had written, and 41.2 on elements in no cache (driver 580.159.04, 2026-11-30). Here it
//!   takes 35.9 on what any kernel has used and 39.2 on others.
//! - Of several kernels that wait for one event, those that were issued first start first here. On
//!   that H200 (2026-12-01, `tests/figures/order.cu`) two and three did so after an upload, 31 to
//!   38 of 40 times; four and more began with any of them. After a kernel the order of issue did
//!   not count.
//! - Of the right programs of `how_many_lanes` most take less time here than on that H200, those of
//!   single tasks up to 46 % less. The same calls from CUDA C++ took 9 to 10 us a task in most runs
//!   and 14 to 15 in some, on 32 streams and on 128. A wait for an event that had left the host's
//!   caches took twice as long as another. Groups that come together crowd on some multiprocessors
//!   here, where in a trace they came one after the other.
//! - The first copy over the link in each direction took two H200 181 and 241 us for 32 MiB in a
//!   trace, and later ones 88 (driver 580.159.04, 2026-12-01). Here all take as long as later ones.
//! - Copies from host memory to host memory take 142 us for each MiB, whatever their size, as where
//!   the host fills the staging buffer. On that H200 copies of 1 to 16 MiB took 66 to 75 us for
//!   each. Those of 64 and 256 MiB took 155 to 164 us in pageable memory and 134 to 137 in pinned.
//!   On the default stream `cuMemcpyAsync` blocked the host until the end, as `cuMemcpy` did.
//! - Host threads: what starting and joining them and their messages cost is that of an H200's
//!   host, whatever the profile. Some threads that waited woke up to 0.2 ms later there. The first
//!   copy and the first memset of a thread took 2.4 to 6 times as long as its second; here those of
//!   a region do, whatever thread makes them. Of the calls of several threads, those that put work
//!   into a stream take turns, and others do not hold one another up. On an H200 (driver
//!   580.159.04, 2026-11-28) two threads that issued 1536 small operations each took 8.5 ms in one
//!   visit and 10.1 in another; here they take 8.4. Captures and pools take the per-thread streams
//!   of all threads for one, and threads that the lab did not start for the first.
//! - After an illegal access of a kernel what is queued still takes its time, though it does
//!   nothing.
//! - Managed and registered memory, textures, 2D and 3D copies: the driver says
//!   that the call is not supported.
//! - Pinned memory is watched where the student's process was given it. A process that maps the
//!   same memory a second time can use it there while a copy does, unnoticed; the values that come
//!   of it are looked at as all others are.
//! - What is declared of the host's work, and what is asked of the device, comes to an hour at most
//!   in one run: beyond that it is refused.
//! - Where values come from is followed byte by byte, for a region's task alone; kernels that work
//!   otherwise (the matrix product) leave nothing that an output may go back to. What a host
//!   function or the host itself does between calls takes no time, so nothing that it computes
//!   counts either; the lab says where the host works, loads and copies, and that takes its time.
//! - Memsets and copies inside device memory take room for blocks of 512 threads. On an H200 a
//!   memset of 4 KiB and less took none, and a copy's blocks had 256 threads or fewer. Blocks of
//!   either got few of the cycles beside kernels that compute all the time: 8 MiB were clear after
//!   100 µs instead of 7 (driver 580.159.04, 2026-11-23).
//! - Device memory and pinned memory come block by block. On an H200 blocks of less than 2 MiB
//!   shared chunks of that size: one inside of a chunk cost about 1 µs, and a new chunk 31 µs, or
//!   430 to 750 µs pinned.
//! - Contention for device memory between copies and kernels, and clocks that change with load.
//! - What two kernels take of one multiprocessor. Where all of them say what their warps issue
//!   (`FunctionGet`, its `inner_loop`), a scheduler is followed cycle by cycle, and the oldest
//!   warps go first. Others are slower alike, as if each unit of work took some of the same store.
//!   A streaming map that came before multiply-adds of two warps a scheduler stands still on a
//!   device, and not here.
//! - Where blocks go. Here they go where there is most room, and beside a kernel that does not say
//!   what its warps issue all multiprocessors are equally full. Of 512 blocks of a map that came
//!   later than 64 others, 240 shared a multiprocessor with one of these on an H200 (driver
//!   580.159.04, 2026-12-01, `tests/figures/maps.cu`). Which of several with the same room gets a
//!   block is the simulator's own choice.
//! - What a grid finds that waits for one of several waves. Here blocks of a wave end together, and
//!   a grid that waits fills one multiprocessor after the other, as on a device after a grid of one
//!   wave. After four waves they end at times of their own there: 132 blocks of a product went two
//!   to three on each multiprocessor instead of up to eight. `tests/it/pairs.rs` has 28 pairs of
//!   kernels, measured and simulated. Off by more than a tenth are two pairs with multiply-adds of
//!   four waves, the streaming map before multiply-adds, and the full streaming map before a
//!   product.
//! - What a streaming map gets of the memory bandwidth on few multiprocessors. With blocks of 256
//!   threads it takes what it took an H200 to 8 %, with 128 it is up to 14 % too fast
//!   (`tests/figures/streams.txt`). How near to memory a multiprocessor is was found on one kind of
//!   device, and is the same on all of them here: 24 of 132 get more, in two steps.
//! - What memory bandwidth that is short does to a kernel that needs little of it. It waits for its
//!   words as long as the bandwidth takes for all that streaming maps have under way, and its
//!   launch does four times. On an H200 a product that came later than six or seven blocks on each
//!   multiprocessor waited longer than that, and one that came before waited less. Its blocks
//!   ended over up to 70 µs (driver 580.159.04, 2026-12-01, `tests/figures/beside.cu`). So a few
//!   microseconds decide whether the next launch finds some multiprocessors emptier than others,
//!   and is crowded there. With the same grids that happened in some runs and not in others.
//! - Blocks of one kernel all take the same time; real ones spread, which softens the edges of
//!   waves. What some take longer because they have an item more comes at the end of the kernel.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`profile`] | the figures of one device, each with its source |
//! | [`device`] | the timing core: streams, events, copy engines, multiprocessors, the host's clock |
//! | [`machine`] | the device with memory and handles: a [`Command`](machine::Command) in, a reply out |
//! | [`replay`](mod@replay) | a recorded program, simulated again for its times alone |
//! | [`bounds`](mod@bounds) | what a task's work takes alone, from the profile |
//! | [`advice`] | a recorded program, changed and simulated again: what each change gains |

pub mod advice;
pub mod bounds;
pub mod device;
pub mod machine;
pub mod profile;
pub mod replay;

pub use device::Schedule;
pub use profile::Profile;
pub use replay::{replay, replay_changed, replay_on};
