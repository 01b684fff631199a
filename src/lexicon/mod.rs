//! Text to terms.

/// The version of the rules that turn text into terms; part of the policy.
pub const LEXER_VERSION: u32 = 1;
