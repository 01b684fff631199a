//! The `ragdb` program that is measured as a process: built here, in the profile of the bench.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;

/// Builds the program and gives its path; an older one beside the bench is taken where it can't be built, and that is
/// said.
pub fn locate(root: &Path) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--release", "--quiet", "--bin", "ragdb"]).current_dir(root);
    let built = command.status().is_ok_and(|status| status.success());
    // The bench is target/release/deps/report-….
    let bench = std::env::current_exe()?;
    let folder = bench.parent().and_then(Path::parent).ok_or("the bench stands in no target folder")?;
    let binary = folder.join(format!("ragdb{}", std::env::consts::EXE_SUFFIX));
    match (built, binary.is_file()) {
        (true, true) => {}
        (false, true) => eprintln!("ragdb could not be built; {} is measured as it is", binary.display()),
        (_, false) => return Err(format!("there is no {}; build it: cargo build --release", binary.display()).into()),
    }
    Ok(binary)
}
