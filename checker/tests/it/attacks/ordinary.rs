//! Ordinary Rust of many kinds, and the work done as it should be.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use lab::Result;
use lab::first_launch::Session;

static COUNT: AtomicU64 = AtomicU64::new(0);
static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());
static TABLE: OnceLock<HashMap<u64, String>> = OnceLock::new();
static mut LAST: [u8; 4096] = [0; 4096];

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static SEEN: RefCell<BTreeMap<String, f64>> = RefCell::new(BTreeMap::new());
}

trait Shape {
    fn area(&self) -> f64;
}

struct Circle(f64);
struct Square(f64);

impl Shape for Circle {
    fn area(&self) -> f64 {
        self.0.powi(2) * std::f64::consts::PI + self.0.sin().hypot(self.0.cbrt()) % 3.0
    }
}

impl Shape for Square {
    fn area(&self) -> f64 {
        self.0.mul_add(self.0, self.0.exp().ln().floor().rem_euclid(7.5))
    }
}

impl Drop for Square {
    fn drop(&mut self) {
        COUNT.fetch_add(1, Ordering::Relaxed);
    }
}

extern "C" fn told(data: *mut std::ffi::c_void) {
    // SAFETY: it is given the count.
    unsafe { &*data.cast::<AtomicU64>() }.fetch_add(1, Ordering::Relaxed);
}

#[inline(never)]
fn wide(a: u128, b: u128) -> (u128, i128, f64) {
    (a / b + a % b, (a as i128) * -3 / (b as i128), a as f64)
}

fn all<T: Display + Clone>(items: &[T]) -> String {
    items.iter().cloned().map(|item| format!("{item:>8}")).collect::<Vec<_>>().join(",")
}

mod inner {
    #[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub struct Deep<const N: usize> {
        pub words: Vec<[u8; N]>,
    }
}

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Circle(1.5)), Box::new(Square(2.5))];
    let area: f64 = shapes.iter().map(|shape| shape.area()).sum();
    println!("{} {area:.3}", all(&[1, 2, 3]));
    println!("{:?}", wide(std::hint::black_box(1 << 100), std::hint::black_box(12_345)));
    DEPTH.with(|depth| depth.set(depth.get() + 1));
    SEEN.with_borrow_mut(|seen| seen.insert("area".to_owned(), area));
    NAMES.lock().unwrap().extend(["a", "b"].map(str::to_owned));
    let table = TABLE.get_or_init(|| (0..9).map(|n| (n, n.to_string())).collect());
    println!("{}", table.len());
    let caught = std::panic::catch_unwind(|| {
        let zero = std::hint::black_box(0);
        [1, 2, 3][zero + 5]
    });
    println!("{}", caught.is_err());
    let deep = inner::Deep::<7> { words: vec![[1; 7]; 3] };
    println!("{:?} {}", deep.clone(), deep == inner::Deep::default());
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || sender.send(std::time::Instant::now()));
    });
    println!("{}", receiver.recv().is_ok());
    // SAFETY: one thread.
    unsafe { (&raw mut LAST).cast::<u8>().add(7).write(1) };

    let context = session.context();
    let stream = context.new_stream()?;
    // SAFETY: the count is there to the end.
    unsafe {
        let count = (&raw const COUNT).cast_mut().cast();
        cudarc::driver::sys::cuLaunchHostFunc(stream.cu_stream(), Some(told), count);
    }
    stream.synchronize()?;
    let mut course = session.allocate()?;
    course.region(|lengths, log| {
        for length in lengths.iter_mut() {
            length.map(&stream)?;
            log.note()?;
        }
        stream.synchronize()?;
        Ok(())
    })
}
