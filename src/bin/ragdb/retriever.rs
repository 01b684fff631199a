//! What ranks chunks, from the arguments and the configuration.

use ragdb::{Config, Fusion, Retriever, RetrieverKind};

use crate::args::{RankingArgs, RetrieverArgs};
use crate::context::Context;
use crate::embedder;
use crate::exit::Stop;

/// The one that is named, or that of ragdb.yaml.
pub fn retriever(args: &RetrieverArgs, config: Option<&Config>, context: &Context) -> Result<Retriever, Stop> {
    let declared = config.map(|config| config.retrieval.kind).unwrap_or_default();
    let kind = args.retriever.map_or(declared, |named| named.0);
    let mut made = retrievers(&[kind], &args.ranking, config, context)?;
    Ok(made.pop().unwrap_or_default())
}

/// Those of these kinds, with one model.
pub fn retrievers(
    kinds: &[RetrieverKind],
    args: &RankingArgs,
    config: Option<&Config>,
    context: &Context,
) -> Result<Vec<Retriever>, Stop> {
    let declared = config.map(|config| config.retrieval.fusion).unwrap_or_default();
    let fusion = Fusion { k: args.fusion_k.unwrap_or(declared.k), ..declared };
    let needs_model = kinds.iter().any(|kind| *kind != RetrieverKind::Bm25);
    let embedder = if needs_model { Some(embedder::required(&args.embedder, config, context)?) } else { None };
    kinds.iter().map(|&kind| Ok(Retriever::new(kind, embedder.clone(), fusion)?)).collect()
}
