//! `cargo bench -p ragdb-bench --bench report -- --corpus S --json FILE`: the figures of one run, as a table and as
//! JSON. See `Args` for the arguments.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use ragdb_bench::args::Args;
use ragdb_bench::corpus::{self, Scale};
use ragdb_bench::fts5::Fts5;
use ragdb_bench::report::{self, Row};
use ragdb_bench::stage::{self, Bench};
use ragdb_bench::subject::{self, Subject};
use ragdb_bench::{Result, chunk};
use serde_json::{Value, json};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<()> {
    let args = Args::parse(std::env::args().skip(1))?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("the package has no parent folder")?;
    let data = args.data.clone().unwrap_or_else(|| root.join("target/data"));
    let mut rows = Vec::new();
    let mut corpora = Vec::new();
    for scale in &args.corpora {
        match scale.locate(&data, &root.join("../shared/data/unpack.sh")) {
            Ok(folders) => {
                let scratch = tempfile::Builder::new().prefix("bench-").tempdir_in(scratch_root(root)?)?;
                let mut bench = prepare(*scale, &folders, scratch.path(), &args)?;
                corpora.push(json!({
                    "corpus": scale.name(), "files": bench.files.len(), "markdown_bytes": bench.markdown_bytes,
                    "chunks": chunk::count(&bench.files),
                }));
                rows.extend(measure(&mut bench, args.only.as_deref())?);
            }
            Err(reason) => eprintln!("corpus {} is skipped: {reason}", scale.name()),
        }
    }
    print!("{}", report::table(&rows));
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(&report::json(&environment(&args, corpora), &rows))?;
        fs::write(path, text + "\n").map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

fn scratch_root(root: &Path) -> Result<std::path::PathBuf> {
    let target = root.join("target");
    fs::create_dir_all(&target)?;
    Ok(target)
}

fn prepare(scale: Scale, folders: &[std::path::PathBuf], scratch: &Path, args: &Args) -> Result<Bench> {
    let copy = scratch.join("corpus");
    corpus::copy(folders, &copy)?;
    stage::warm(&copy)?;
    let mut subject = Subject::open(scratch)?;
    subject.sync_new(&copy)?;
    let files = subject::stored_chunks(subject.database())?;
    Ok(Bench {
        scale,
        markdown_bytes: corpus::walk(&copy)?.iter().map(|file| file.bytes).sum(),
        corpus: copy,
        scratch: scratch.to_owned(),
        files,
        subject,
        peers: vec![Box::new(Fts5::create(scratch)?)],
        rounds: args.rounds,
        queries: args.queries,
    })
}

/// A stage's name for the progress on standard error, and the stage.
type Stage = (&'static str, fn(&mut Bench) -> Result<Vec<Row>>);

/// The stages in order: what changes the corpus comes last.
const STAGES: [Stage; 6] = [
    ("first sync", Bench::first_sync),
    ("sizes", Bench::sizes),
    ("queries", Bench::queries),
    ("access", Bench::access),
    ("no change", Bench::unchanged),
    ("changes", Bench::changed),
];

fn measure(bench: &mut Bench, only: Option<&str>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (name, stage) in STAGES.into_iter().filter(|(name, _)| only.is_none_or(|only| only == *name)) {
        let start = Instant::now();
        rows.extend(stage(bench)?);
        eprintln!("corpus {}: {name} took {:.1} s", bench.scale.name(), start.elapsed().as_secs_f64());
    }
    Ok(rows)
}

fn environment(args: &Args, corpora: Vec<Value>) -> Value {
    json!({
        "sqlite": rusqlite::version(), "cores": std::thread::available_parallelism().map_or(1, usize::from),
        "os": std::env::consts::OS, "arch": std::env::consts::ARCH,
        "rounds": args.rounds, "queries": args.queries, "corpora": corpora,
    })
}
