//! The posting codec under any bytes: see `src/fuzz.rs`.

use super::encode::{BLOCK, SKIP_BYTES, Skip, Widths, decode_block, encode_block};

/// Reads bytes as a block: what is accepted ascends below its limit, and is the same once it was written and read again.
/// Then takes them as the numbers of a block, which must come back.
pub(crate) fn fuzz_block(data: &[u8]) {
    if let Some(entry) = data.first_chunk::<SKIP_BYTES>() {
        let mut bytes = Vec::new();
        Skip::read(entry).write(&mut bytes);
        assert_eq!(bytes, entry, "a skip entry is written otherwise than it was read");
    }
    let Some((&[count, bits, b0, b1, b2, b3, l0, l1], block)) = data.split_first_chunk() else { return };
    let count = 1 + usize::from(count) % BLOCK;
    let (base, widths) = (u32::from_be_bytes([b0, b1, b2, b3]), Widths::from_bits(bits));
    let limit = base.saturating_add(u32::from_be_bytes([0, l0, l1, 0]));
    if let Some(block) = block.get(..widths.block_bytes(count)) {
        let (mut chunks, mut tfs) = (vec![0; count], vec![0; count]);
        if decode_block(block, widths, base, limit, &mut chunks, &mut tfs).is_ok() {
            assert!(chunks.is_sorted_by(|a, b| a < b) && chunks[0] >= base && chunks[count - 1] < limit, "{chunks:?}");
            assert!(!tfs.contains(&0), "a frequency is 0");
            comes_back(base, &chunks, &tfs);
        }
    }
    let (mut chunks, mut tfs, mut next) = (Vec::new(), Vec::new(), base / 2);
    for &[gap, large, tf] in block.as_chunks().0.iter().take(BLOCK) {
        let gap = u32::from(gap) << (large % 24);
        let Some(chunk) = next.checked_add(gap).filter(|&chunk| chunk < u32::MAX) else { break };
        chunks.push(chunk);
        tfs.push(1 + (u32::from(tf) << (large / 8 % 24)));
        next = chunk + 1;
    }
    if !chunks.is_empty() {
        comes_back(base / 2, &chunks, &tfs);
    }
}

fn comes_back(base: u32, chunks: &[u32], tfs: &[u32]) {
    let mut bytes = Vec::new();
    let widths = encode_block(base, chunks, tfs, &mut bytes);
    let (mut read, mut read_tfs) = (vec![0; chunks.len()], vec![0; chunks.len()]);
    let read_again = decode_block(&bytes, widths, base, u32::MAX, &mut read, &mut read_tfs);
    assert!(
        read_again.is_ok() && read == chunks && read_tfs == tfs,
        "{chunks:?} {tfs:?} come back as {read:?} {read_tfs:?}"
    );
}
