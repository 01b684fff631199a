//! What a verb needs to know of the world around it: which store, which configuration, and how to speak.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::path::PathBuf;

use ragdb::{ApiKey, Config, Error, Principal, Store};

use crate::args::Global;
use crate::exit::{Reporter, Stop};
use crate::render::{Palette, Role, Screen, View, clean, write_json};

/// The name that a configuration is looked for under.
pub const CONFIG_NAME: &str = "ragdb.yaml";
const DEFAULT_STORE: &str = "ragdb.db";

/// A refusal to write, with a hint how to go on without; any other reason as it is.
pub fn unwritable(stop: Stop, instead: &str) -> Stop {
    match stop {
        Stop::Ragdb(Error::ReadOnly { path }) => Stop::Ragdb(Error::Refused {
            code: "read_only",
            message: format!("{} can't be written, so nothing can be recorded", path.display()),
            hint: instead.to_owned(),
        }),
        other => other,
    }
}

/// The key in an environment variable, where it is set.
pub fn key(variable: &str) -> Result<Option<ApiKey>, Stop> {
    let value = if variable.is_empty() { None } else { std::env::var_os(variable) };
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(None) };
    // What is not UTF-8 is no key: the library says so.
    Ok(Some(ApiKey::new(value.to_str().unwrap_or_default())?))
}

/// How much is said on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Errors only.
    Quiet,
    /// Also warnings and notes.
    Normal,
    /// Also what was used and how long it took.
    Verbose,
}

/// The surroundings of one run.
pub struct Context {
    /// The store's path.
    pub db: PathBuf,
    /// `--config`, where it was given.
    pub config_argument: Option<PathBuf>,
    /// Results are JSON documents.
    pub json: bool,
    /// How much is said on standard error.
    pub verbosity: Verbosity,
    out: BufWriter<Stdout>,
    palette: Palette,
    error_palette: Palette,
}

impl Context {
    /// Works out the surroundings from the arguments and the environment.
    pub fn new(global: &Global) -> Self {
        let from_environment = || std::env::var_os("RAGDB_DB").filter(|path| !path.is_empty()).map(PathBuf::from);
        let verbosity = match (global.quiet, global.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, false) => Verbosity::Normal,
            (false, true) => Verbosity::Verbose,
        };
        Self {
            db: global.db.clone().or_else(from_environment).unwrap_or_else(|| DEFAULT_STORE.into()),
            config_argument: global.config.clone(),
            json: global.json,
            verbosity,
            out: BufWriter::new(io::stdout()),
            palette: Palette::of(global.color, &io::stdout()),
            error_palette: Palette::of(global.color, &io::stderr()),
        }
    }

    /// How an error of this run is said.
    pub fn reporter(&self) -> Reporter {
        Reporter { json: self.json, verbose: self.verbosity == Verbosity::Verbose, palette: self.error_palette }
    }

    /// Opens the store for a verb that only reads.
    pub fn open_read_only(&self) -> Result<Store, Stop> {
        self.detail(&format!("store: {}", self.db.display()));
        Ok(Store::open_read_only(&self.db)?)
    }

    /// Opens the store for a verb that writes and needs one to be there.
    pub fn open(&self) -> Result<Store, Stop> {
        self.detail(&format!("store: {}", self.db.display()));
        Ok(Store::open(&self.db)?)
    }

    /// Opens the store for a verb that keeps what it made; `instead` is the hint where it can't be written.
    pub fn open_to_record(&self, instead: &str) -> Result<Store, Stop> {
        match self.open() {
            Err(Stop::Ragdb(Error::Io { .. })) if Store::open_read_only(&self.db).is_ok() => {
                Err(unwritable(Error::ReadOnly { path: self.db.clone() }.into(), instead))
            }
            other => other,
        }
    }

    /// Opens the store, and makes it where there is none.
    pub fn open_or_create(&self) -> Result<Store, Stop> {
        self.detail(&format!("store: {}", self.db.display()));
        Ok(Store::open_or_create(&self.db)?)
    }

    /// The configuration: `--config`, else the nearest `ragdb.yaml` from the current folder upwards, else none.
    pub fn config(&self) -> Result<Option<Config>, Stop> {
        let Some(path) = self.config_path()? else { return Ok(None) };
        self.detail(&format!("configuration: {}", path.display()));
        Ok(Some(Config::load(&path)?))
    }

    /// The same for who reads. What is wrong with it names sources and groups, and is told to the operator alone.
    pub fn config_for(&self, reader: &Principal) -> Result<Option<Config>, Stop> {
        self.config().map_err(|stop| match stop {
            Stop::Ragdb(_) if !reader.is_operator() => {
                let message = "the configuration can't be read; ask whoever keeps the store".to_owned();
                Stop::Ragdb(Error::Invalid { message })
            }
            stop => stop,
        })
    }

    fn config_path(&self) -> Result<Option<PathBuf>, Stop> {
        if let Some(path) = &self.config_argument {
            return Ok(Some(path.clone()));
        }
        let here = std::env::current_dir().map_err(|source| Error::Io { path: ".".into(), source })?;
        Ok(here.ancestors().map(|folder| folder.join(CONFIG_NAME)).find(|path| path.is_file()))
    }

    /// Prints a verb's result.
    pub fn print(&mut self, view: &impl View) -> Result<(), Stop> {
        if self.json {
            write_json(&mut self.out, view)?;
        } else {
            view.text(&mut Screen { out: &mut self.out, palette: self.palette })?;
        }
        Ok(self.out.flush()?)
    }

    /// Prints text whose values are exact: as it is into a file or pipe, made harmless on a terminal.
    pub fn print_exact(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        if io::stdout().is_terminal() {
            write!(self.out, "{}", clean::Clean(&String::from_utf8_lossy(bytes)))?;
        } else {
            self.out.write_all(bytes)?;
        }
        Ok(self.out.flush()?)
    }

    /// Says on standard error what a reader of the result should know; not under `--quiet`.
    pub fn note(&self, message: &str) {
        self.say(Verbosity::Normal, Role::Strong, "note:", message);
    }

    /// Says on standard error what a reader of the result must look at; not under `--quiet`.
    pub fn warn(&self, message: &str) {
        self.say(Verbosity::Normal, Role::Warning, "warning:", message);
    }

    /// Says on standard error how the result came about; only under `--verbose`.
    pub fn detail(&self, message: &str) {
        self.say(Verbosity::Verbose, Role::Faint, "ragdb:", message);
    }

    /// Runs `write` on standard error with its palette; not under `--quiet`.
    pub fn diagnose(&self, write: impl FnOnce(&mut dyn Write, Palette) -> io::Result<()>) {
        if self.verbosity >= Verbosity::Normal {
            // A diagnostic that can't be written has nowhere else to go.
            let _ = write(&mut io::stderr().lock(), self.error_palette);
        }
    }

    fn say(&self, least: Verbosity, role: Role, label: &str, message: &str) {
        if self.verbosity >= least {
            self.diagnose(|out, palette| writeln!(out, "{} {}", palette.paint(role, label), clean::Clean(message)));
        }
    }
}
