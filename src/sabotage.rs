//! Ways to break ragdb on purpose. A test that holds a promise must first notice a build that breaks it: such a build is
//! made by switching one of these on, in a process of its own. Without the feature `sabotage`, which only this
//! repository's tests enable, none can be switched on and nothing of it is compiled in.

/// A promise to break, for all stores of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "sabotage"), expect(unreachable_pub, reason = "public with the feature only"))]
pub enum Sabotage {
    /// Commits don't wait for the disk (`synchronous=OFF`).
    SynchronousOff,
    /// Source files are believed to be as they were indexed.
    SkippedRehash,
    /// Writing transactions take the lock at their first write, after they have read.
    DeferredTransaction,
    /// What can't be listed or read counts as gone.
    TombstoneOnFailure,
    /// Writers keep a few pages in memory: pages of a transaction go into the log before it ends, as those of a very large
    /// one do. It breaks no promise: the others are to hold then as well.
    SmallCache,
}

#[cfg(feature = "sabotage")]
mod switched {
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::Sabotage;

    static ON: AtomicU8 = AtomicU8::new(0);

    impl Sabotage {
        const fn bit(self) -> u8 {
            1 << self as u8
        }

        /// Switches it on until the process ends.
        pub fn begin(self) {
            ON.fetch_or(self.bit(), Ordering::Relaxed);
        }

        pub(crate) fn is_on(self) -> bool {
            ON.load(Ordering::Relaxed) & self.bit() != 0
        }
    }
}

#[cfg(not(feature = "sabotage"))]
impl Sabotage {
    #[expect(clippy::unused_self, reason = "the same as with the feature")]
    pub(crate) const fn is_on(self) -> bool {
        false
    }
}
