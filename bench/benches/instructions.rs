//! `cargo bench -p ragdb-bench --no-default-features --bench instructions`: counts the instructions of five cases under
//! valgrind and holds them to `bench/instructions.json`; with `-- --update` it writes that file.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use ragdb_bench::Result;
use ragdb_bench::baseline::Baseline;
use ragdb_bench::cases::{CASES, Case};

/// The hidden arguments of the processes that prepare a case and run it; name and folder follow.
const PREPARE: &str = "--prepare";
const RUN: &str = "--run";

/// Percent. From run to run the counts differ by less than a tenth of this.
const TOLERANCE: f64 = 3.0;

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
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [] => compare(),
        ["--update"] => update(),
        [PREPARE, name, folder] => (case(name)?.before)(Path::new(folder)).map(|()| true),
        [RUN, name, folder] => (case(name)?.run)(Path::new(folder)).map(|()| true),
        _ => Err("usage: cargo bench -p ragdb-bench --no-default-features --bench instructions [-- --update]".into()),
    }
}

fn case(name: &str) -> Result<&'static Case> {
    CASES.iter().find(|case| case.name == name).ok_or_else(|| format!("{name} is no case").into())
}

fn file() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/instructions.json"))
}

/// Whether no count is above the baseline's.
fn compare() -> Result<bool> {
    if !has_valgrind() {
        println!("skipped: there is no valgrind");
        return Ok(std::env::var_os("CI").is_none());
    }
    let text = fs::read_to_string(file()).map_err(|error| format!("{}: {error}", file().display()))?;
    let (told, good) = Baseline::parse(&text)?.judge(&measure()?);
    print!("{told}");
    Ok(good)
}

fn update() -> Result<bool> {
    let now = measure()?;
    fs::write(file(), now.text()?)?;
    print!("{}", now.judge(&now).0);
    Ok(true)
}

/// The processor: libraries choose their code by what it can do.
fn processor() -> String {
    let about = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = about.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}

fn has_valgrind() -> bool {
    let version = Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

fn measure() -> Result<Baseline> {
    let rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())).arg("--version").output()?;
    let made_with = format!("{}, {}", String::from_utf8(rustc.stdout)?.trim(), processor());
    use_one_core()?;
    let counts = CASES.iter().map(|case| Ok((case.name.to_owned(), count(case)?))).collect::<Result<_>>()?;
    Ok(Baseline { made_with, tolerance: TOLERANCE, counts })
}

/// On one core the work is the same wherever it runs: as many threads are started as there are cores.
fn use_one_core() -> Result<()> {
    let allowed = sched_getaffinity(Pid::from_raw(0))?;
    let mut one = CpuSet::new();
    let first = (0..CpuSet::count()).find(|core| allowed.is_set(*core).unwrap_or(false)).unwrap_or(0);
    one.set(first)?;
    Ok(sched_setaffinity(Pid::from_raw(0), &one)?)
}

fn count(case: &Case) -> Result<u64> {
    let folder = tempfile::tempdir()?;
    let own = std::env::current_exe()?;
    let prepared = Command::new(&own).arg(PREPARE).arg(case.name).arg(folder.path()).status()?;
    if !prepared.success() {
        return Err(format!("{} can't be prepared: {prepared}", case.name).into());
    }
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]);
    let output = valgrind.arg(&own).arg(RUN).arg(case.name).arg(folder.path()).stdout(Stdio::null()).output()?;
    let told = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{} failed: {}\n{told}", case.name, output.status).into());
    }
    counted(&told).ok_or_else(|| format!("valgrind told no count:\n{told}").into())
}

/// The number of a line such as `==12== I refs:  1,234`.
fn counted(told: &str) -> Option<u64> {
    let (_, rest) = told.split_once("I refs:").or_else(|| told.split_once("I   refs:"))?;
    let digits: String = rest.lines().next()?.chars().filter(char::is_ascii_digit).collect();
    digits.parse().ok()
}
