//! From files to documents and chunks.
