//! The student's files, and how changes of them are heard of.

use std::path::Path;
use std::sync::mpsc::Sender;

use notify::event::{EventKind, ModifyKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use super::Event;
use crate::exercise::Location;
use crate::workspace::Workspace;

/// Contents of the student's files when they were looked at last, in the order of their exercises.
pub(super) struct Files(Vec<Option<Vec<u8>>>);

impl Files {
    pub(super) fn read(places: &[Location]) -> Self {
        Self(places.iter().map(|place| std::fs::read(place.file()).ok()).collect())
    }

    /// Looks again: the exercise whose file holds something else now. Of several the one that is
    /// followed, else the one saved last. A file that is gone is being replaced: its last contents
    /// still count.
    pub(super) fn changed(&mut self, places: &[Location], at: usize) -> Option<usize> {
        let mut changed = Vec::new();
        for (index, (place, held)) in places.iter().zip(&mut self.0).enumerate() {
            let Ok(holds) = std::fs::read(place.file()) else { continue };
            if held.as_ref() != Some(&holds) {
                *held = Some(holds);
                changed.push(index);
            }
        }
        let saved = |index: &usize| {
            std::fs::metadata(places[*index].file()).and_then(|data| data.modified()).ok()
        };
        changed
            .iter()
            .copied()
            .find(|index| *index == at)
            .or_else(|| changed.into_iter().max_by_key(saved))
    }
}

/// How changes are heard of.
pub(super) enum Hearing {
    /// The kernel tells.
    Events { _watcher: RecommendedWatcher },
    /// No system tells, so the files are looked at again and again. The reason is said once.
    Polling { note: Option<String> },
}

impl Hearing {
    /// Listens for events of the exercises' folders. Where none would come, files are polled.
    pub(super) fn start(workspace: &Workspace, poll: bool, sender: Sender<Event>) -> Self {
        let folder = workspace.root().join("exercises");
        if poll {
            return Self::Polling { note: Some("looking at the files once a second".to_owned()) };
        }
        if let Some(system) = deaf(&folder) {
            let note = format!(
                "`exercises` is on {system}, which sends no events: looking at the files once a second"
            );
            return Self::Polling { note: Some(note) };
        }
        match listen(&folder, sender) {
            Ok(watcher) => Self::Events { _watcher: watcher },
            Err(error) => Self::Polling {
                note: Some(format!(
                    "the kernel sends no events ({error}): looking at the files once a second"
                )),
            },
        }
    }

    pub(super) fn is_polling(&self) -> bool {
        matches!(self, Self::Polling { .. })
    }

    /// A note to be said about it.
    pub(super) fn note(&self) -> Option<&str> {
        match self {
            Self::Polling { note } => note.as_deref(),
            Self::Events { .. } => None,
        }
    }

    /// It has been said.
    pub(super) fn said(&mut self) {
        if let Self::Polling { note } = self {
            *note = None;
        }
    }
}

fn listen(folder: &Path, sender: Sender<Event>) -> notify::Result<RecommendedWatcher> {
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Reading a file is an event too, and looking at the files reads them.
        let counts = event.is_ok_and(|event| {
            !matches!(event.kind, EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_)))
        });
        if counts {
            _ = sender.send(Event::Saved); // nobody listens after the end
        }
    })?;
    watcher.watch(folder, RecursiveMode::Recursive)?;
    Ok(watcher)
}

/// The file systems, by their magic number, whose files others may change unseen by this kernel:
/// statfs(2) and `linux/magic.h`.
const DEAF: &[(u32, &str)] = &[
    (0x0102_1997, "a folder of another system (9p, as WSL mounts Windows drives)"),
    (0x6969, "a network folder (NFS)"),
    (0x517B, "a network folder (SMB)"),
    (0xFE53_4D42, "a network folder (SMB)"),
    (0xFF53_4D42, "a network folder (CIFS)"),
    (0x6573_5546, "a FUSE folder"),
    (0x786F_4256, "a shared folder (VirtualBox)"),
    (0xBACB_ACBC, "a shared folder (VMware)"),
    (0x5346_414F, "a network folder (AFS)"),
    (0x00C3_6400, "a network folder (Ceph)"),
];

/// The sort of folder this is, if changes that others make in it are not heard of.
fn deaf(folder: &Path) -> Option<&'static str> {
    let path = std::ffi::CString::new(std::os::unix::ffi::OsStrExt::as_bytes(folder.as_os_str()));
    let path = path.ok()?;
    let mut answer = std::mem::MaybeUninit::<libc::statfs>::zeroed();
    // SAFETY: the path is NUL-terminated, `answer` is writable for one `statfs`.
    let result = unsafe { libc::statfs(path.as_ptr(), answer.as_mut_ptr()) };
    if result != 0 {
        return None;
    }
    // SAFETY: the call succeeded, and zeroes are a valid value anyway.
    let magic = unsafe { answer.assume_init() }.f_type as u32;
    DEAF.iter().find(|(number, _)| *number == magic).map(|(_, name)| *name)
}
