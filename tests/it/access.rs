//! What somebody may not read changes nothing that they see.

mod build;
mod cli;
mod cost;
mod exact;
mod hostile;
mod observe;
mod plan;
mod promise_02;
mod promise_18;
mod promise_18_cli;
mod reads;
mod runs;
mod sql;
mod trace;

use std::path::Path;

use ragdb::{Config, Principal, Store, SyncReport, SyncRequest, SyncSources};
use tempfile::TempDir;

use crate::world::write;

const SOURCES: &str = "\
access:
  groups: [staff, hr]
sources:
  - {id: hr, path: hr, visibility: internal, tenant: acme, groups: [hr]}
  - {id: rival, path: rival, visibility: internal, tenant: rival}
  - {id: site, path: site, visibility: public}
  - {id: staff, path: staff, visibility: internal, tenant: acme, groups: [staff]}
";

/// A folder with sources for several readers, and a store of them.
pub struct House {
    folder: TempDir,
}

impl House {
    /// Its sources are empty.
    pub fn new() -> Self {
        let house = Self { folder: tempfile::tempdir().expect("a temporary folder") };
        for source in ["hr", "rival", "site", "staff"] {
            std::fs::create_dir(house.path().join(source)).expect("a folder is made");
        }
        house.write("ragdb.yaml", SOURCES);
        house
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn write(&self, path: &str, text: &str) {
        write(&self.path().join(path), text.as_bytes());
    }

    pub fn remove(&self, path: &str) {
        std::fs::remove_file(self.path().join(path)).expect("the file is there");
    }

    pub fn store(&self) -> Store {
        Store::open_or_create(self.path().join("ragdb.db")).expect("the store opens")
    }

    /// The store, with the folder that it goes with.
    pub fn store_and_folder(self) -> (TempDir, Store) {
        let store = self.store();
        (self.folder, store)
    }

    pub fn sync(&self) -> SyncReport {
        let config = Config::load(self.path().join("ragdb.yaml")).expect("the configuration is read");
        let request = SyncRequest {
            sources: SyncSources::Config(config),
            checksum: true,
            max_delete: Some(1000),
            ..SyncRequest::default()
        };
        self.store().sync(&request).expect("the sync succeeds")
    }
}

/// Somebody of the staff of acme.
pub fn alice() -> Principal {
    Principal::new("acme", "alice").and_then(|alice| alice.with_group("staff")).expect("a principal")
}

/// Somebody of acme who is in `hr` alone.
pub fn bob() -> Principal {
    Principal::new("acme", "bob").and_then(|bob| bob.with_group("hr")).expect("a principal")
}
