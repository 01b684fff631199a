//! `cargo bench -p ragdb-bench --bench report -- --corpus S --json FILE`: the figures of one run, as a table and as
//! JSON. See `Args` for the arguments.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use ragdb_bench::args::Args;
use ragdb_bench::corpus::{self, Scale};
use ragdb_bench::fts5::Fts5;
use ragdb_bench::page::Corpus;
use ragdb_bench::peer::Peer;
use ragdb_bench::report::{self, Row};
use ragdb_bench::stage::{self, Bench, STAGES, cold};
use ragdb_bench::subject::{self, Subject};
use ragdb_bench::{Result, binary, chunk, growth, page, process};
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

/// The report, or what it calls itself for: see [`process::WATCH`], [`cold::ANSWER`] and [`cold::PAGE_CACHE`].
fn run() -> Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let hidden = std::env::args().nth(1).unwrap_or_default();
    if hidden == process::WATCH {
        return process::watch(arguments.skip(1));
    }
    let arguments: Vec<String> = arguments.by_ref().map(|argument| argument.to_string_lossy().into_owned()).collect();
    match arguments.as_slice() {
        [hidden, how, files @ ..] if hidden == cold::PAGE_CACHE => {
            cold::page_cache(how, &files.iter().map(std::path::PathBuf::from).collect::<Vec<_>>())
        }
        [hidden, peer, folder, query] if hidden == cold::ANSWER => cold::answer(peer, Path::new(folder), query),
        _ => {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("the package has no parent folder")?;
            report(&Args::parse(arguments, root)?, root)
        }
    }
}

fn report(args: &Args, root: &Path) -> Result<()> {
    let data = args.data.clone().unwrap_or_else(|| root.join("target/data"));
    let binary = binary::locate(root).map_err(|reason| eprintln!("rows of processes are left out: {reason}")).ok();
    let (mut rows, mut corpora) = (Vec::new(), Vec::new());
    for scale in &args.corpora {
        match scale.locate(&data, &root.join("../shared/data/unpack.sh")) {
            Ok(folders) => {
                let scratch = tempfile::Builder::new().prefix("bench-").tempdir_in(scratch_root(root)?)?;
                let mut bench = prepare(*scale, &folders, scratch.path(), binary.clone(), args)?;
                corpora.push(Corpus {
                    scale: *scale,
                    files: bench.files.len(),
                    bytes: bench.markdown_bytes,
                    chunks: chunk::count(&bench.files),
                });
                rows.extend(measure(&mut bench, &args.only)?);
                // After each corpus: the next one may take long, or fail.
                write(args, &corpora, &rows)?;
            }
            Err(reason) => eprintln!("corpus {} is skipped: {reason}", scale.name()),
        }
    }
    rows.extend(growth::rows(&rows, &corpora.iter().map(|it| (it.scale, it.chunks)).collect::<Vec<_>>()));
    print!("{}", report::table(&rows));
    write(args, &corpora, &rows)
}

fn write(args: &Args, corpora: &[Corpus], rows: &[Row]) -> Result<()> {
    let to = |path: &Path, text: String| fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()));
    if let Some(path) = &args.json {
        let report = report::json(&environment(args, corpora), rows);
        to(path, serde_json::to_string_pretty(&report)? + "\n")?;
    }
    if let Some(path) = &args.markdown {
        let before = fs::read_to_string(path).unwrap_or_default();
        to(path, page::with_report(&before, &page::report(&machine(args), corpora, rows)))?;
    }
    Ok(())
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn machine(args: &Args) -> String {
    format!(
        "{} cores, {} on {}, SQLite {}; {} rounds, {} queries of each kind.",
        cores(),
        std::env::consts::OS,
        std::env::consts::ARCH,
        rusqlite::version(),
        args.rounds,
        args.queries
    )
}

fn scratch_root(root: &Path) -> Result<PathBuf> {
    let target = root.join("target");
    fs::create_dir_all(&target)?;
    Ok(target)
}

fn prepare(scale: Scale, folders: &[PathBuf], scratch: &Path, binary: Option<PathBuf>, args: &Args) -> Result<Bench> {
    let copy = scratch.join("corpus");
    corpus::copy(folders, &copy)?;
    stage::warm(&copy)?;
    let mut subject = Subject::create(scratch)?;
    subject.sync_new(&copy)?;
    let files = subject::stored_chunks(subject.database())?;
    let mut peers = peers(scratch)?;
    if !wanted(&args.only, stage::FIRST) {
        peers.iter_mut().try_for_each(|peer| peer.build(&files))?;
    }
    Ok(Bench {
        scale,
        markdown_bytes: corpus::walk(&copy)?.iter().map(|file| file.bytes).sum(),
        corpus: copy,
        scratch: scratch.to_owned(),
        files,
        subject,
        binary,
        peers,
        rounds: args.rounds,
        queries: args.queries,
    })
}

fn peers(scratch: &Path) -> Result<Vec<Box<dyn Peer>>> {
    Ok(vec![
        #[cfg(feature = "tantivy")]
        Box::new(ragdb_bench::tantivy::Tantivy::at(scratch)),
        Box::new(Fts5::create(scratch)?),
    ])
}

fn wanted(only: &[String], name: &str) -> bool {
    only.is_empty() || only.iter().any(|only| only == name)
}

fn measure(bench: &mut Bench, only: &[String]) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (name, stage) in STAGES.into_iter().filter(|(name, _)| wanted(only, name)) {
        let start = Instant::now();
        rows.extend(stage(bench)?);
        eprintln!("corpus {}: {name} took {:.1} s", bench.scale.name(), start.elapsed().as_secs_f64());
    }
    Ok(rows)
}

fn environment(args: &Args, corpora: &[Corpus]) -> Value {
    let corpus = |it: &Corpus| json!({"corpus": it.scale.name(), "files": it.files, "markdown_bytes": it.bytes, "chunks": it.chunks});
    json!({
        "sqlite": rusqlite::version(), "cores": cores(),
        "os": std::env::consts::OS, "arch": std::env::consts::ARCH,
        "rounds": args.rounds, "queries": args.queries, "corpora": corpora.iter().map(corpus).collect::<Vec<_>>(),
    })
}
