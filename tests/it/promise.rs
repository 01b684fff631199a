//! Promises about folders, quotes, evidence and caches, each held by a test of its number (docs/reliability.md), and each
//! test seen to fail where a build breaks the promise.

mod envelope;
mod folder;
mod gate;
mod hazards;
mod names;
mod quotes;
mod stale;

use std::sync::atomic::{AtomicBool, Ordering};

use ragdb::Sabotage;

use crate::support::{said, this_program};

/// Says to a test, run as a process of its own, what to break first.
const SABOTAGE: &str = "RAGDB_TEST_SABOTAGE";
/// Says to a part of a test, run as a process of its own, where to work.
pub const PLACE: &str = "RAGDB_TEST_PLACE";

/// To be called first by a test that [`assert_noticed`] runs.
pub fn break_what_is_asked() {
    let asked = std::env::var(SABOTAGE).ok();
    for sabotage in [Sabotage::SkippedRehash, Sabotage::TombstoneOnFailure] {
        if asked.as_deref() == Some(&format!("{sabotage:?}")) {
            sabotage.begin();
        }
    }
}

/// A test must fail, with these words, where something is broken.
pub fn assert_noticed(sabotage: Sabotage, test: &str, words: &str) {
    let output = this_program().args([test, "--exact"]).env(SABOTAGE, format!("{sabotage:?}")).output();
    let output = output.expect("this program starts");
    let said = said(&output);
    assert!(!output.status.success() && said.contains("1 failed") && said.contains(words), "not noticed: {said}");
}

/// Runs `action` as a user whom permissions hold for: Linux lets one thread, and those that it starts, change its user.
#[cfg(target_os = "linux")]
pub fn as_nobody<T: Send>(action: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if rustix::process::geteuid().is_root() {
                let nobody = rustix::process::Uid::from_raw(65_534);
                rustix::thread::set_thread_res_uid(nobody, nobody, nobody).expect("root may become anybody");
            }
            action()
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Runs `action`: the tests must be run as an ordinary user here.
#[cfg(not(target_os = "linux"))]
pub fn as_nobody<T: Send>(action: impl FnOnce() -> T + Send) -> T {
    action()
}

/// Ends what another thread does in a loop, also where a test fails.
pub struct Stop<'a>(pub &'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
