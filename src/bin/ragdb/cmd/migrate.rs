//! `ragdb migrate`: an older store becomes a current one.

use std::io;

use ragdb::Store;
use serde::Serialize;

use crate::args::MigrateArgs;
use crate::context::Context;
use crate::exit::{Outcome, Stop};
use crate::render::{Screen, View};

#[derive(Serialize)]
struct MigrateView {
    schema_version_before: i64,
    schema_version_after: i64,
    migrated: bool,
}

/// Runs the verb.
pub fn run(_args: &MigrateArgs, context: &mut Context) -> Result<Outcome, Stop> {
    let (before, after) = Store::migrate(&context.db)?;
    context.print(&MigrateView {
        schema_version_before: before,
        schema_version_after: after,
        migrated: before != after,
    })?;
    Ok(Outcome::Done)
}

impl View for MigrateView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        if self.migrated {
            writeln!(screen.out, "schema: version {} to {}", self.schema_version_before, self.schema_version_after)?;
            writeln!(screen.out, "`ragdb optimize` gives back what the old tables took of the file")
        } else {
            writeln!(screen.out, "schema: version {} is current; nothing to do", self.schema_version_after)
        }
    }
}
