//! Vectors against their chunks and profiles.

use super::Findings;
use crate::error::Result;
use crate::store::postings::PostingReader;
use crate::store::{Connection, vectors};

/// Whether each vector is one of its profile, of a chunk that is as it was, and counted.
pub(super) fn vectors(conn: &Connection, findings: &mut Findings) -> Result<()> {
    for problem in vectors::contradictions(conn)? {
        findings.expect(false, || problem);
    }
    let classes = PostingReader::new(conn)?.classes()?;
    for row in vectors::profiles(conn)? {
        for &class_no in &classes {
            vectors::for_each(conn, &row, class_no, |chunk_no, bytes| {
                findings.count += 1;
                let vector: Vec<f32> = bytes.as_chunks().0.iter().map(|number| f32::from_le_bytes(*number)).collect();
                let fault = row.profile.fault(&vector);
                let told =
                    || format!("the vector of chunk number {chunk_no} is one {}", fault.as_deref().unwrap_or_default());
                findings.expect(fault.is_none(), told);
                Ok(())
            })?;
        }
    }
    Ok(())
}
