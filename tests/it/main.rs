//! The integration tests: what a user of the binary, or of the public interface, can see.

mod access;
mod acl;
mod answer;
mod backup;
mod cache;
mod check;
mod cite;
mod cli;
mod context;
mod data;
mod docs;
mod eval;
mod lock;
mod model;
mod purge;
mod reference;
mod rollback;
mod search;
mod store;
mod stub;
mod support;
mod sync;
mod tidy;
mod unsafe_text;
mod verify;
mod world;
