//! The embedder behind an OpenAI-compatible endpoint: texts go out in batches, vectors come back. What comes back is
//! believed in nothing: neither its order, nor its number, nor its lengths.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{EmbedAs, Embedder, Prefixes, check_floor, unit};
use crate::endpoint::{Client, EndpointSettings};
use crate::error::{Error, Result};
use crate::model::{Digest, DigestBuilder, EmbeddingProfile};

/// The most texts of one request; OpenAI's own limit.
const MOST_TEXTS: usize = 2048;
/// The largest response.
const LARGEST_BODY: usize = 64 << 20;
/// The most bytes that a number takes in a response, however it is laid out.
const NUMBER_BYTES: usize = 48;
/// What a response has beside its numbers, at most.
const AROUND: usize = 1 << 16;

/// A model behind an endpoint, as an embedder.
#[derive(Clone, Debug)]
pub struct EndpointEmbedding {
    /// Where it is.
    pub endpoint: EndpointSettings,
    /// How many numbers its vectors have; 1 to 8,192. Another number is an error.
    pub dimensions: usize,
    /// Whether the request names `dimensions`, which cuts the vectors of a model that is made for it, and which other models
    /// refuse.
    pub send_dimensions: bool,
    /// Which of the model, such as a date: part of the profile, so that another one embeds all anew. Where it is empty, a
    /// digest of the endpoint's address stands for it: the address itself may hold a secret, and a store is handed on.
    pub revision: String,
    /// What the model wants before each text.
    pub prefixes: Prefixes,
    /// The least cosine, from -1 to 1, that a chunk must have with a question to be a hit. It has to be measured for each
    /// model: with one that is too low, what has no answer is never found to have none.
    pub floor: f64,
    /// How many texts one request has; 1 to 2,048.
    pub batch: usize,
    /// A longer text is cut to so many characters, since most models refuse more tokens than they read; at least 1.
    pub longest_text: usize,
}

impl EndpointEmbedding {
    /// Without prefixes, and with a floor of 0, below which hardly any chunk is: set a measured one. 32 texts a request, of
    /// 6,000 characters each at most.
    #[must_use]
    pub fn new(endpoint: EndpointSettings, dimensions: usize) -> Self {
        Self {
            endpoint,
            dimensions,
            send_dimensions: false,
            revision: String::new(),
            prefixes: Prefixes::default(),
            floor: 0.0,
            batch: 32,
            longest_text: 6000,
        }
    }
}

/// A model behind an OpenAI-compatible endpoint. The texts of chunks and questions go there. It follows no redirect and
/// uses no proxy.
pub struct EndpointEmbedder {
    profile: EmbeddingProfile,
    settings: EndpointEmbedding,
    client: Client,
}

impl fmt::Debug for EndpointEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndpointEmbedder")
            .field("profile", &self.profile)
            .field("url", &self.url())
            .finish_non_exhaustive()
    }
}

impl EndpointEmbedder {
    /// Checks the settings; nothing is sent yet.
    ///
    /// # Errors
    /// [`Error::Invalid`] where a number is out of range, and as [`Endpoint::new`](crate::Endpoint::new).
    pub fn new(settings: EndpointEmbedding) -> Result<Self> {
        let EndpointEmbedding { endpoint, dimensions, revision, prefixes, floor, batch, longest_text, .. } = &settings;
        if !(1..=MOST_TEXTS).contains(batch) || *longest_text == 0 {
            let message = format!("an embedding request has 1 to {MOST_TEXTS} texts of at least 1 character");
            return Err(Error::Invalid { message });
        }
        check_floor(*floor)?;
        let most = EmbeddingProfile::MOST_DIMENSIONS;
        let batch = (*batch).min(LARGEST_BODY / ((*dimensions).clamp(1, most) * NUMBER_BYTES));
        let largest = AROUND + batch * (*dimensions).min(most) * NUMBER_BYTES;
        let client = Client::new(endpoint, "/embeddings", largest as u64)?;
        let mut digest = DigestBuilder::new("ragdb embedding endpoint 1");
        digest.field(&prefixes.query).field(&prefixes.chunk);
        digest.number(i64::try_from(*longest_text).unwrap_or(i64::MAX));
        let address = Digest::of(client.shown()).to_string();
        let which = if revision.is_empty() { format!("at sha-256 {address:.12}") } else { revision.clone() };
        let profile = EmbeddingProfile {
            model: endpoint.model.clone(),
            version: format!("{which}, settings {:.12}", digest.finish().to_string()),
            dimensions: *dimensions,
            normalised: true,
        };
        profile.check()?;
        Ok(Self { profile, settings: EndpointEmbedding { batch, ..settings }, client })
    }

    /// The address that is asked, without anything secret.
    #[must_use]
    pub fn url(&self) -> &str {
        self.client.shown()
    }

    /// The host that is asked, with its port where it names one.
    #[must_use]
    pub fn host(&self) -> &str {
        self.client.host()
    }

    fn ask(&self, texts: &[&str], role: EmbedAs) -> Result<Vec<Vec<f32>>> {
        let prefix = self.settings.prefixes.of(role);
        let input: Vec<String> = texts.iter().map(|text| format!("{prefix}{}", self.cut(text))).collect();
        let dimensions = self.settings.send_dimensions.then_some(self.profile.dimensions);
        let request = Request { model: &self.profile.model, input: &input, dimensions };
        let request =
            serde_json::to_vec(&request).map_err(|_| self.client.error("the request can't be written as JSON"))?;
        let response = self.client.post(&request)?;
        let response: Response = serde_json::from_slice(&response)
            .map_err(|_| self.client.error("answers with something that is no list of embeddings"))?;
        let mut vectors = self.in_order(response.data, texts.len())?;
        for vector in &mut vectors {
            let expected = self.profile.dimensions;
            if vector.len() != expected {
                let message = format!("answers with vectors of {} dimensions, not {expected}", vector.len());
                return Err(self.client.error(message));
            }
            if !unit(vector) {
                let message = "answers with a vector that has a number that is not finite, or no direction";
                return Err(self.client.error(message));
            }
        }
        Ok(vectors)
    }

    /// The vectors in the order of the texts. Their indices say it; where none has one, the order of the response.
    fn in_order(&self, data: Vec<Item>, expected: usize) -> Result<Vec<Vec<f32>>> {
        if data.len() != expected {
            return Err(self.client.error(format!("answers with {} embeddings for {expected} texts", data.len())));
        }
        if data.iter().all(|item| item.index.is_none()) {
            return Ok(data.into_iter().map(|item| item.embedding).collect());
        }
        let mut vectors: Vec<Option<Vec<f32>>> = vec![None; expected];
        for item in data {
            let place = item.index.and_then(|index| vectors.get_mut(index)).filter(|place| place.is_none());
            *place.ok_or_else(|| {
                self.client.error("answers with embeddings whose indices are not those of the texts")
            })? = Some(item.embedding);
        }
        Ok(vectors.into_iter().flatten().collect())
    }

    /// A text as far as the model is given it.
    fn cut<'a>(&self, text: &'a str) -> &'a str {
        match text.char_indices().nth(self.settings.longest_text) {
            Some((end, _)) => &text[..end],
            None => text,
        }
    }
}

impl Embedder for EndpointEmbedder {
    fn profile(&self) -> &EmbeddingProfile {
        &self.profile
    }

    fn embed(&self, texts: &[&str], role: EmbedAs) -> Result<Vec<Vec<f32>>> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(self.settings.batch) {
            vectors.append(&mut self.ask(batch, role)?);
        }
        Ok(vectors)
    }

    fn batch(&self) -> usize {
        self.settings.batch
    }

    fn floor(&self) -> f64 {
        self.settings.floor
    }
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    input: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
}

#[derive(Deserialize)]
struct Response {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: Option<usize>,
    embedding: Vec<f32>,
}
