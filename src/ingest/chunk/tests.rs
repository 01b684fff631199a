use super::*;
#[test]
fn x() {
    for (max, want) in [(900, 13), (120, 21)] {
        let policy = ChunkPolicy { target_chars: 800.min(max), max_chars: max, overlap_chars: 0 };
        let mut n = 0;
        for f in std::fs::read_dir("/work/data/S0_fixtures/corpus").unwrap() {
            let s = std::fs::read_to_string(f.unwrap().path()).unwrap();
            let c = chunk_markdown(&s, 0, &policy);
            for c in &c.chunks {
                println!("{:?} {:?} {}", c.span, c.heading_path, c.heading_only);
            }
            n += c.chunks.len();
        }
        assert_eq!(n, want);
    }
}
