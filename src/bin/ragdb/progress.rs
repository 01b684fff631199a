//! Progress bars of a sync, on standard error.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use ragdb::{SyncEvent, SyncProgress};

use crate::context::{Context, Verbosity};

/// One bar that is reshaped for each stage.
pub struct SyncBar(ProgressBar);

impl SyncBar {
    /// A bar, where somebody is there to see it: standard error is a terminal, and neither `--quiet` nor `--json`.
    pub fn new(context: &Context) -> Option<Arc<Self>> {
        let seen = io::stderr().is_terminal() && context.verbosity > Verbosity::Quiet && !context.json;
        seen.then(|| {
            let bar = ProgressBar::new_spinner();
            bar.enable_steady_tick(Duration::from_millis(100));
            Arc::new(Self(bar))
        })
    }

    /// Takes the bar off the screen.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }

    fn stage(&self, total: Option<u64>, template: &str, message: String) {
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.0.set_style(style);
        }
        self.0.reset();
        if let Some(total) = total {
            self.0.set_length(total);
        }
        self.0.set_message(message);
    }
}

impl SyncProgress for SyncBar {
    fn event(&self, event: SyncEvent) {
        match event {
            SyncEvent::Walking => self.stage(None, "{spinner} {msg}", "looking for files".into()),
            SyncEvent::Reading { files, bytes } => self.stage(
                Some(bytes),
                "{spinner} {msg} [{bar:30}] {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec} {eta}",
                format!("reading {}", crate::render::counted(files, "file")),
            ),
            SyncEvent::Read { bytes } => self.0.inc(bytes),
            SyncEvent::Writing { documents } => {
                self.stage(Some(documents), "{spinner} {msg} [{bar:30}] {pos}/{len} {eta}", "writing documents".into());
            }
            SyncEvent::Written => self.0.inc(1),
            SyncEvent::Publishing => self.stage(None, "{spinner} {msg}", "publishing".into()),
        }
    }
}

impl Drop for SyncBar {
    fn drop(&mut self) {
        self.clear();
    }
}
