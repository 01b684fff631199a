//! The same from outside: by the command line, and by another program on the store's file.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use ragdb::{EmbedAs, Embedder, HashingEmbedder, Principal, Retriever, SearchRequest, Store};

use crate::embed::embed;
use crate::support::Project;
use crate::world::World;

/// Python's `sqlite-vec`, with its functions on the store's file.
const NEAREST: &str = "
import sqlite3, sqlite_vec, sys, json
store, question = sys.argv[1], bytes.fromhex(sys.argv[2])
conn = sqlite3.connect('file:' + store + '?mode=ro', uri=True)
conn.enable_load_extension(True)
sqlite_vec.load(conn)
sql = '''SELECT c.chunk_id, 1 - vec_distance_cosine(e.vector, ?) AS cosine FROM embeddings e JOIN chunks c USING (chunk_no)
         ORDER BY cosine DESC LIMIT 10'''
print(json.dumps(conn.execute(sql, [question]).fetchall()))
";

/// A Python whose SQLite loads extensions, with `sqlite-vec` where it is installed once; `None`, with a reason, where there is
/// none.
fn python() -> Option<Command> {
    let packages = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sqlite-vec");
    let script = "import sqlite3, sqlite_vec; sqlite3.connect(':memory:').enable_load_extension(True)";
    let command = |python: &str| {
        let mut command = Command::new(python);
        command.env("PYTHONPATH", &packages);
        command
    };
    let found = || {
        let works =
            |python: &&str| command(python).args(["-c", script]).output().is_ok_and(|output| output.status.success());
        ["python3", "/usr/bin/python3"].into_iter().find(works)
    };
    if let Some(python) = found() {
        return Some(command(python));
    }
    let install = ["-m", "pip", "install", "--quiet", "sqlite-vec==0.1.6", "--target"];
    let installed = Command::new("python3").args(install).arg(&packages).output();
    let python = found();
    if python.is_none() {
        println!("skipped: no python3 loads sqlite-vec: {installed:?}");
    }
    python.map(command)
}

#[test]
fn sqlite_vec_reads_the_vectors_and_finds_the_same() {
    let Some(mut python) = python() else { return };
    python.args(["-c", NEAREST]);
    let world = World::new(&[]);
    for number in 0..60_u32 {
        let words: Vec<String> = (0..12).map(|at| format!("word{}", number * (at + 3) % 41)).collect();
        world.write(&format!("{number}.md"), format!("# Page {number}\n\n{}.\n", words.join(" ")));
    }
    world.sync();
    let store = world.store();
    let embedder = HashingEmbedder::new();
    embed(&store, &embedder).unwrap();
    {
        let query = "word3 word9 word27";
        let request = SearchRequest {
            retriever: Retriever::Dense(Arc::new(embedder.clone())),
            similarity_floor: Some(-1.0),
            ..SearchRequest::new(query)
        };
        let ours = store.search(&Principal::operator(), &request).unwrap().hits;
        let vector = embedder.embed(&[query], EmbedAs::Query).unwrap().remove(0);
        let hex: String =
            vector.iter().flat_map(|number| number.to_le_bytes()).map(|byte| format!("{byte:02x}")).collect();
        let said = python.arg(world.db()).arg(hex).output().unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        let theirs: Vec<(String, f64)> = serde_json::from_slice(&said.stdout).unwrap();
        assert_eq!(theirs.len(), 10);
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert!((ours.score - theirs.1).abs() < 1e-5, "{query}: {} and {theirs:?}", ours.score);
            // Equal cosines come in an order of their own.
            let same = theirs.0 == ours.chunk_id.to_string();
            assert!(same || ours_have(&store, &request, &theirs.0, theirs.1), "{query}: {theirs:?}");
        }
    }
}

/// Whether a chunk is found with this cosine.
fn ours_have(store: &Store, request: &SearchRequest, chunk_id: &str, cosine: f64) -> bool {
    let all = SearchRequest { top_k: 100, ..request.clone() };
    let hits = store.search(&Principal::operator(), &all).unwrap().hits;
    hits.iter().any(|hit| hit.chunk_id.to_string() == chunk_id && (hit.score - cosine).abs() < 1e-5)
}

#[test]
fn the_command_line_ranks_by_what_it_is_told() {
    let project = Project::synced();
    let refused = project.run(&["search", "--retriever", "rrf", "--embedder", "hashing", "rotate", "key"]);
    assert_eq!(refused.code, 2, "{}", refused.transcript());
    assert!(refused.stderr.contains("ragdb embed"), "{}", refused.transcript());
    project.ok(&["embed", "--embedder", "hashing"]);
    let (code, found) = project.json(&["search", "--retriever", "rrf", "--embedder", "hashing", "rotate", "key"]);
    assert_eq!((code, &found["retriever"]), (0, &"rrf".into()));
    assert_eq!(found["vectors"]["profile"]["model"], "hashing (test double)");
    assert_eq!(found["hits"][0]["found_by"]["bm25"]["rank"], 1);
    let (_, plain) = project.json(&["search", "rotate", "key"]);
    assert_eq!((plain.get("retriever"), plain["hits"][0].get("found_by")), (None, None));
    let (code, _) = project.json(&[
        "search",
        "--retriever",
        "dense",
        "--embedder",
        "hashing",
        "--similarity-floor",
        "1",
        "rotate",
        "key",
    ]);
    assert_eq!(code, 1, "nothing is so like it");
    // What ragdb.yaml says holds where nothing is said.
    let yaml = "retrieval: {kind: rrf, fusion: {k: 1}}\nembedding: {kind: hashing}\n";
    project.write("ragdb.yaml", yaml);
    let (_, declared) = project.json(&["search", "rotate", "key"]);
    assert_eq!(declared["retriever"], "rrf");
    assert_eq!(declared["hits"][0]["score"], 1.0, "two lists, each 1 / (1 + 1)");
    let (_, told) = project.json(&["search", "--fusion-k", "3", "rotate", "key"]);
    assert_eq!(told["hits"][0]["score"], 0.5);
    assert_eq!(project.json(&["search", "--retriever", "bm25", "rotate", "key"]).1.get("retriever"), None);
    let text = project.ok(&["search", "rotate", "key"]);
    assert!(text.stdout.contains("    bm25 1 ("), "{}", text.transcript());
    let (_, shown) = project.json(&["context", "rotate", "key"]);
    assert_eq!(shown["retriever"]["kind"], "rrf");
    let (_, answered) = project.json(&["answer", "--no-cache", "how often is a key rotated?"]);
    assert_eq!(answered["answered"], true, "{answered}");
}
