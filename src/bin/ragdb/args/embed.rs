//! The arguments of `embed`, and those of all verbs that need a model for vectors.

use std::path::PathBuf;

use clap::Args;

/// Give the chunks vectors of a model, for searches by meaning.
///
/// Chunks that have one keep it: after a sync only those are embedded whose title, headings or text are new. It can be
/// stopped at any time and goes on from there when it is called again; searches go on as before meanwhile. A store has
/// vectors of one model that searches use: another model's are made beside them, and take their place once every chunk has
/// one.
///
/// The model is the one of --embedder, of $RAGDB_EMBEDDER, or of `embedding` in ragdb.yaml.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  ragdb embed
  ragdb embed --embedder models/all-MiniLM-L6-v2
  ragdb embed --anew                          make all vectors again")]
pub struct EmbedArgs {
    /// Remove all vectors first, of every model, and make them again: what mends damaged ones
    #[arg(long)]
    pub anew: bool,
    /// Which model makes vectors.
    #[command(flatten)]
    pub embedder: EmbedderArgs,
}

/// Which model makes vectors.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Vectors")]
pub struct EmbedderArgs {
    /// The model for vectors: a folder with a BERT model, or `hashing`, a test double that knows words and not their meaning
    /// [default: $RAGDB_EMBEDDER, else `embedding` of ragdb.yaml]
    #[arg(long, value_name = "DIR|hashing")]
    pub embedder: Option<PathBuf>,
}
