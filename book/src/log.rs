//! The log of mdBook's build. mdBook logs errors that should fail the build, and continues, so
//! each warning is kept.

use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<String>>>);

/// Runs `work` and returns, beside its result, the warnings and errors that were logged.
pub(crate) fn capture<T>(work: impl FnOnce() -> T) -> (T, Vec<String>) {
    let kept = Kept::default();
    let result = tracing::subscriber::with_default(kept.clone(), work);
    let messages = kept.0.lock().map(|mut kept| std::mem::take(&mut *kept)).unwrap_or_default();
    (result, messages)
}

impl Subscriber for Kept {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut message = Message(String::new());
        event.record(&mut message);
        if let Ok(mut kept) = self.0.lock() {
            kept.push(message.0);
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            _ = write!(self.0, "{value:?}");
        }
    }
}
