//! File stamps: what tells, without reading a file, that it can't have changed.

use std::time::{Duration, SystemTime};

use rustix::fs::Stat;

pub(crate) use crate::model::Stamps;

/// How far in the past a stamp must lie before it is trusted. A file written twice within one tick of its file
/// system's clock shows the same stamp for both contents. The coarsest clock in use is FAT's, with two seconds;
/// kernels and file servers are finer, but may lag behind this process by some milliseconds.
const SETTLING_TIME: Duration = Duration::from_secs(2);

impl Stamps {
    /// These stamps, if content written later would have to show others; `None` for a file that changed so
    /// shortly before `now` (or after it) that it must be read again by the next sync. `now` is a moment before
    /// the stamps were taken, such as the start of the sync.
    pub fn settled(self, now: SystemTime) -> Option<Self> {
        let settled_before = now.checked_sub(SETTLING_TIME)?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        let settled_before = i64::try_from(settled_before.as_nanos()).unwrap_or(i64::MAX);
        (self.mtime_ns < settled_before && self.ctime_ns < settled_before).then_some(self)
    }

    // The fields of `stat` differ in type and sign from one system to the next.
    #[allow(clippy::cast_possible_wrap, clippy::cast_sign_loss, clippy::unnecessary_cast, clippy::cast_lossless)]
    pub fn of(stat: &Stat) -> Self {
        let nanoseconds = |seconds: i64, fraction: i64| seconds.saturating_mul(1_000_000_000).saturating_add(fraction);
        Self {
            size: stat.st_size as u64,
            mtime_ns: nanoseconds(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            ctime_ns: nanoseconds(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
            inode: stat.st_ino as i64,
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::long_ago(1_000, 1_000, true)]
    #[case::just_older(97_999_999_999, 97_999_999_999, true)]
    #[case::at_the_margin(98_000_000_000, 1_000, false)]
    #[case::touched_lately(1_000, 99_000_000_000, false)]
    #[case::written_after_the_start(100_000_000_001, 100_000_000_001, false)]
    #[case::dated_in_the_future(i64::MAX, 1_000, false)]
    #[case::dated_before_1970(-5, 1_000, true)]
    fn stamps_count_only_when_older_than_the_margin(#[case] mtime_ns: i64, #[case] ctime_ns: i64, #[case] ok: bool) {
        let stamps = Stamps { size: 1, mtime_ns, ctime_ns, inode: 1 };
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(100);
        assert_eq!(stamps.settled(now), ok.then_some(stamps));
    }
}
