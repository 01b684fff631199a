//! `cargo bench -p ragdb-bench --bench vectors`: exact search among 100,000 vectors of 384 dimensions, by ragdb as its
//! users call it and by sqlite-vec, in one process. Fails where ragdb has less than [`BAR`] of the speed of the fastest.
//! `-- --vectors 5000` is a short form, whose figures are told and fail nothing.

use std::process::ExitCode;

use ragdb_bench::Result;
use ragdb_bench::measure::{Contender, alternate, median, median_by_query, percentile, timed};
use ragdb_bench::sqlite_vec::{Files, Searcher, WAYS};
use ragdb_bench::vectors::{self, DIMENSIONS, NAME, Numbers, agree, direction};

/// The least share of the fastest peer's speed.
const BAR: f64 = 0.8;
/// What the bar is for.
const VECTORS: usize = 100_000;
const K: usize = 10;
const USAGE: &str = "usage: cargo bench -p ragdb-bench --bench vectors [-- [--vectors N] [--queries N] [--rounds N]]";

struct Args {
    vectors: usize,
    queries: usize,
    rounds: usize,
}

/// The milliseconds of one contender.
struct Times {
    name: String,
    /// Of each query, the median over the rounds.
    queries: Vec<f64>,
    /// Of the first query on what was just opened.
    first: f64,
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<bool> {
    let args = arguments(std::env::args().skip(1))?;
    let scratch = tempfile::Builder::new().prefix("vectors-").tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let store = scratch.path().join("ragdb.db");
    vectors::build(&store, &scratch.path().join("docs"), args.vectors)?;
    let files = Files::build(&store, &scratch.path().join("sqlite-vec.db"))?;
    let questions: Vec<String> = (0..args.queries).map(|number| format!("question {number}")).collect();
    let directions: Vec<Vec<f32>> = questions.iter().map(|question| direction(question)).collect();

    let ours = vectors::Searcher::open(&store)?;
    let theirs = WAYS.iter().map(|way| files.open(*way)).collect::<Result<Vec<Searcher>>>()?;
    let numbers = Numbers::read(&store)?;
    for (question, direction) in questions.iter().zip(&directions) {
        let ours = numbers.of(&ours.search(question, K)?)?;
        for (way, theirs) in WAYS.iter().zip(&theirs) {
            let theirs = theirs.search(direction, K)?;
            if !agree(&ours, &theirs) {
                return Err(format!("{question}: {NAME} finds {ours:?}, {} {theirs:?}", way.name).into());
            }
        }
    }

    let mut warm = vec![Contender::new(NAME, || each(&questions, |question| ours.search(question, K)))];
    warm.extend(
        WAYS.iter().zip(&theirs).map(|(way, theirs)| {
            Contender::new(way.name, || each(&directions, |direction| theirs.search(direction, K)))
        }),
    );
    let warm = alternate(args.rounds, &mut warm, |_| Ok(()))?;
    let mut first = vec![Contender::new(NAME, || {
        let opened = vectors::Searcher::open(&store)?;
        timed(|| opened.search(&questions[0], K))
    })];
    first.extend(WAYS.iter().map(|way| {
        Contender::new(way.name, || {
            let opened = files.open(*way)?;
            timed(|| opened.search(&directions[0], K))
        })
    }));
    let first = alternate(args.rounds, &mut first, |_| Ok(()))?;
    let times = warm.into_iter().zip(first).map(|((name, warm), (_, first))| Times {
        name,
        queries: median_by_query(&warm),
        first: median(&first),
    });
    println!(
        "{} vectors of {DIMENSIONS} dimensions, {} questions, k = {K}, {} rounds; sqlite-vec {}; all find the same",
        args.vectors,
        args.queries,
        args.rounds,
        theirs[0].build()?
    );
    Ok(tell(&times.collect::<Vec<_>>()) || args.vectors < VECTORS)
}

/// The milliseconds of each query.
fn each<Q, T>(queries: &[Q], mut search: impl FnMut(&Q) -> Result<T>) -> Result<Vec<f64>> {
    queries.iter().map(|query| timed(|| search(query))).collect()
}

/// Prints the table; whether the bar is met. The first is ragdb.
fn tell(times: &[Times]) -> bool {
    let p50 = |times: &Times| median(&times.queries);
    println!("{:<34} {:>9} {:>9} {:>9}  speed of ragdb over it", "milliseconds", "p50", "p99", "first");
    for it in times {
        let ratio = format!("{:.2} (first: {:.2})", p50(it) / p50(&times[0]), it.first / times[0].first);
        println!("{:<34} {:>9.2} {:>9.2} {:>9.2}  {ratio}", it.name, p50(it), percentile(&it.queries, 99), it.first);
    }
    let fastest = times[1..].iter().map(p50).fold(f64::INFINITY, f64::min);
    let speed = fastest / p50(&times[0]);
    let verdict = if speed >= BAR { "met" } else { "NOT met" };
    println!("{speed:.2} of the speed of the fastest of sqlite-vec; the bar is {BAR}: {verdict}");
    speed >= BAR
}

fn arguments(args: impl Iterator<Item = String>) -> Result<Args> {
    let mut parsed = Args { vectors: VECTORS, queries: 100, rounds: 5 };
    let mut args = args.filter(|argument| argument != "--bench");
    while let Some(name) = args.next() {
        let number = args.next().and_then(|value| value.parse().ok()).filter(|number| *number > 0).ok_or(USAGE)?;
        match name.as_str() {
            "--vectors" => parsed.vectors = number,
            "--queries" => parsed.queries = number,
            "--rounds" => parsed.rounds = number,
            _ => return Err(USAGE.into()),
        }
    }
    Ok(parsed)
}
