//! What ranks chunks, and what a hit says of it.

use std::sync::Arc;

use crate::embedding::Embedder;
use crate::error::{Error, Result};
use crate::model::{Digest, EmbeddingProfile, Fusion, RetrieverKind};

/// What ranks chunks. Vectors are those that `ragdb embed` made with the same model; without them a search that asks for
/// them is refused.
#[derive(Clone, Debug, Default)]
pub enum Retriever {
    /// The words of the question, by BM25.
    #[default]
    Bm25,
    /// The vector of the question, by cosine: exact, over every chunk that may be read.
    Dense(Arc<dyn Embedder>),
    /// Both, by their ranks. A chunk is a hit where one of the lists has it, and a list has what reaches its own floor:
    /// nothing is found where nothing reaches either.
    Rrf {
        /// What embeds the question.
        embedder: Arc<dyn Embedder>,
        /// How the ranks become one score.
        fusion: Fusion,
    },
}

impl Retriever {
    /// The retriever of a kind; `embedder` embeds the question, and is not asked for BM25.
    ///
    /// # Errors
    /// [`Error::Invalid`] where the kind needs an embedder and there is none, or `fusion` is outside its ranges.
    pub fn new(kind: RetrieverKind, embedder: Option<Arc<dyn Embedder>>, fusion: Fusion) -> Result<Self> {
        fusion.check()?;
        Ok(match (kind, embedder) {
            (RetrieverKind::Bm25, _) => Self::Bm25,
            (RetrieverKind::Dense, Some(embedder)) => Self::Dense(embedder),
            (RetrieverKind::Rrf, Some(embedder)) => Self::Rrf { embedder, fusion },
            (kind, None) => {
                let message = format!("the retriever {} needs an embedder for the question", kind.as_str());
                return Err(Error::Invalid { message });
            }
        })
    }

    /// Which one it is.
    #[must_use]
    pub const fn kind(&self) -> RetrieverKind {
        match self {
            Self::Bm25 => RetrieverKind::Bm25,
            Self::Dense(_) => RetrieverKind::Dense,
            Self::Rrf { .. } => RetrieverKind::Rrf,
        }
    }

    /// What embeds the question, where anything does.
    #[must_use]
    pub fn embedder(&self) -> Option<&dyn Embedder> {
        match self {
            Self::Bm25 => None,
            Self::Dense(embedder) | Self::Rrf { embedder, .. } => Some(embedder.as_ref()),
        }
    }

    /// How two lists become one, where there are two.
    #[must_use]
    pub const fn fusion(&self) -> Option<&Fusion> {
        match self {
            Self::Rrf { fusion, .. } => Some(fusion),
            Self::Bm25 | Self::Dense(_) => None,
        }
    }
}

/// Equal are those that rank alike: of the same kind, with the same model, floor and fusion.
impl PartialEq for Retriever {
    fn eq(&self, other: &Self) -> bool {
        let (one, other_one) = (self.embedder(), other.embedder());
        let model = one.map(Embedder::profile) == other_one.map(Embedder::profile);
        let floor = one.map(Embedder::floor) == other_one.map(Embedder::floor);
        self.kind() == other.kind() && self.fusion() == other.fusion() && model && floor
    }
}

/// Where one list has a hit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ListPlace {
    /// 1 for the best of the list.
    pub rank: usize,
    /// What the list is ordered by: a BM25 score, or a cosine from -1 to 1.
    pub score: f64,
}

/// The lists that a hit comes from: what a retriever asked, and what of it has the chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FoundBy {
    /// Its place by BM25.
    pub bm25: Option<ListPlace>,
    /// Its place by cosine.
    pub dense: Option<ListPlace>,
}

/// The vectors that a search compared with its question.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchedVectors {
    /// What they are of.
    pub profile: EmbeddingProfile,
    /// What names those that the reader may see, as they were: another after each change of one of them.
    pub state: Digest,
    /// The cosine that a chunk had to reach.
    pub floor: f64,
    /// How many of the chunks that the reader can find have no vector yet: only words find them until `ragdb embed`.
    pub missing: u64,
}
