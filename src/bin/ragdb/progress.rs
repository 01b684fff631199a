//! Progress bars of a sync and of making vectors, on standard error.

use std::borrow::Cow;
use std::io::{self, IsTerminal};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use ragdb::{EmbedProgress, SyncEvent, SyncProgress};

use crate::context::{Context, Verbosity};

/// The bar of the stage that is running.
pub struct SyncBar(Mutex<ProgressBar>);

impl SyncBar {
    /// A bar, where somebody is there to see it.
    pub fn new(context: &Context) -> Option<Arc<Self>> {
        is_seen(context).then(|| Arc::new(Self(Mutex::new(ProgressBar::hidden()))))
    }

    /// Takes the bar off the screen.
    pub fn clear(&self) {
        self.bar().finish_and_clear();
    }

    fn stage(&self, total: Option<u64>, template: &str, message: impl Into<Cow<'static, str>>) {
        let bar =
            ticking(total.map_or_else(ProgressBar::new_spinner, ProgressBar::new), template).with_message(message);
        let before = std::mem::replace(&mut *self.bar(), bar);
        before.finish_and_clear();
    }

    fn bar(&self) -> MutexGuard<'_, ProgressBar> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether somebody sees a bar: standard error is a terminal, and neither `--quiet` nor `--json`.
fn is_seen(context: &Context) -> bool {
    io::stderr().is_terminal() && context.verbosity > Verbosity::Quiet && !context.json
}

fn ticking(bar: ProgressBar, template: &str) -> ProgressBar {
    let bar = match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    };
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// The bar of chunks that get vectors.
pub struct EmbedBar(ProgressBar);

impl EmbedBar {
    /// A bar, hidden where nobody is there to see it.
    pub fn new(context: &Context) -> Self {
        if !is_seen(context) {
            return Self(ProgressBar::hidden());
        }
        Self(ticking(ProgressBar::new(0), "{spinner} making vectors [{bar:20}] {pos}/{len} {per_sec} {eta}"))
    }

    /// Shows how far it is.
    pub fn show(&self, progress: EmbedProgress) {
        self.0.set_length(progress.total);
        self.0.set_position(progress.done);
    }
}

impl Drop for EmbedBar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

impl SyncProgress for SyncBar {
    fn event(&self, event: SyncEvent) {
        match event {
            SyncEvent::Walking => self.stage(None, "{spinner} {msg}", "looking for files"),
            SyncEvent::Reading { files, bytes } => self.stage(
                Some(bytes),
                "{spinner} {msg} [{bar:20}] {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec} {eta}",
                format!("reading {}", crate::render::counted(files, "file")),
            ),
            SyncEvent::Read { bytes } => self.bar().inc(bytes),
            SyncEvent::Writing { documents } => {
                self.stage(Some(documents), "{spinner} {msg} [{bar:20}] {pos}/{len} {eta}", "writing documents");
            }
            SyncEvent::Written => self.bar().inc(1),
            SyncEvent::Publishing => self.stage(None, "{spinner} {msg}", "publishing"),
        }
    }
}

impl Drop for SyncBar {
    fn drop(&mut self) {
        self.clear();
    }
}
