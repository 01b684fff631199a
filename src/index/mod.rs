//! The BM25 index.
