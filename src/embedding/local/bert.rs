//! The BERT encoder: tokens → one vector. Every tensor's shape is checked as it is loaded, so that a text can't fail on it.

use candle_core::safetensors::SliceSafetensors;
use candle_core::{DType, Device, Error, Result, Tensor};
use candle_nn::ops::{layer_norm, softmax_last_dim};

use super::folder::{Pooling, Shape};
use super::ops::{Add, Gelu};

pub struct Bert {
    words: Tensor,
    /// The vector of each place, with that of the only sentence there is.
    places: Tensor,
    norm: Norm,
    layers: Vec<Layer>,
    heads: usize,
    pooling: Pooling,
}

struct Layer {
    /// Queries, keys and values at once.
    attend: Linear,
    attended: Linear,
    attended_norm: Norm,
    widen: Linear,
    narrow: Linear,
    norm: Norm,
}

impl Bert {
    /// # Errors
    /// Where the file is cut off or damaged, or a tensor is missing or has another shape or type than the settings say.
    pub fn load(file: &[u8], shape: &Shape) -> Result<Self> {
        let weights = Weights::new(file)?;
        let Shape { hidden, intermediate, .. } = *shape;
        let token_types = weights.get("embeddings.token_type_embeddings.weight", &[shape.token_types, hidden])?;
        let places = weights.get("embeddings.position_embeddings.weight", &[shape.positions, hidden])?;
        let norm = |name: &str| weights.norm(name, hidden, shape.epsilon);
        let layer = |number: usize| {
            let name = |part: &str| format!("encoder.layer.{number}.{part}");
            let square = |part: &str| weights.linear(&name(part), hidden, hidden);
            let (query, key, value) =
                (square("attention.self.query")?, square("attention.self.key")?, square("attention.self.value")?);
            Ok(Layer {
                attend: Linear::beside(&[query, key, value])?,
                attended: square("attention.output.dense")?,
                attended_norm: norm(&name("attention.output.LayerNorm"))?,
                widen: weights.linear(&name("intermediate.dense"), hidden, intermediate)?,
                narrow: weights.linear(&name("output.dense"), intermediate, hidden)?,
                norm: norm(&name("output.LayerNorm"))?,
            })
        };
        Ok(Self {
            words: weights.get("embeddings.word_embeddings.weight", &[shape.vocabulary, hidden])?,
            places: places.broadcast_add(&token_types.narrow(0, 0, 1)?)?,
            norm: norm("embeddings.LayerNorm")?,
            layers: (0..shape.layers).map(layer).collect::<Result<_>>()?,
            heads: shape.heads,
            pooling: shape.pooling,
        })
    }

    /// The vector of a text's tokens.
    ///
    /// # Errors
    /// Where there is no token, more than there are places, or one that is not in the vocabulary.
    pub fn embed(&self, tokens: &[u32]) -> Result<Vec<f32>> {
        let (vocabulary, _) = self.words.dims2()?;
        if tokens.is_empty() || tokens.len() > self.places.dim(0)? {
            candle_core::bail!("a text has {} tokens", tokens.len());
        }
        if let Some(token) = tokens.iter().find(|&&token| token as usize >= vocabulary) {
            candle_core::bail!("its tokenizer knows a token {token} that it does not");
        }
        let words = self.words.index_select(&Tensor::new(tokens, &Device::Cpu)?, 0)?;
        words.inplace_op2(&self.places.narrow(0, 0, tokens.len())?, &Add)?;
        let mut state = self.norm.apply(&words)?;
        for layer in &self.layers {
            state = layer.apply(&state, self.heads)?;
        }
        match self.pooling {
            Pooling::Mean => state.mean(0)?.to_vec1(),
            Pooling::First => state.get(0)?.to_vec1(),
        }
    }
}

/// What an error says, without the backtrace that candle may put behind it.
pub fn said(error: Error) -> String {
    match error {
        Error::WithBacktrace { inner, .. } => said(*inner),
        other => other.to_string(),
    }
}

impl Layer {
    fn apply(&self, state: &Tensor, heads: usize) -> Result<Tensor> {
        let (tokens, hidden) = state.dims2()?;
        let width = hidden / heads;
        let all = self.attend.apply(state)?;
        // Each head's part: heads × tokens × width.
        let part = |number: usize| {
            all.narrow(1, number * hidden, hidden)?.reshape((tokens, heads, width))?.transpose(0, 1)?.contiguous()
        };
        let (query, key, value) = (part(0)?, part(1)?, part(2)?);
        #[allow(clippy::cast_precision_loss)]
        let scale = 1.0 / (width as f64).sqrt();
        let scores = (query * scale)?.matmul(&key.t()?)?;
        let seen = softmax_last_dim(&scores)?.matmul(&value)?;
        let seen = seen.transpose(0, 1)?.reshape((tokens, hidden))?;
        let attended = self.attended.apply(&seen)?;
        attended.inplace_op2(state, &Add)?;
        let state = self.attended_norm.apply(&attended)?;
        let wide = self.widen.apply(&state)?;
        wide.inplace_op1(&Gelu)?;
        let narrow = self.narrow.apply(&wide)?;
        narrow.inplace_op2(&state, &Add)?;
        self.norm.apply(&narrow)
    }
}

struct Linear {
    weight: Tensor,
    bias: Tensor,
}

impl Linear {
    /// Several that read the same, as one.
    fn beside(all: &[Self]) -> Result<Self> {
        let weights: Vec<&Tensor> = all.iter().map(|one| &one.weight).collect();
        let biases: Vec<&Tensor> = all.iter().map(|one| &one.bias).collect();
        Ok(Self { weight: Tensor::cat(&weights, 0)?, bias: Tensor::cat(&biases, 0)? })
    }

    fn apply(&self, input: &Tensor) -> Result<Tensor> {
        let output = input.matmul(&self.weight.t()?)?;
        output.inplace_op2(&self.bias, &Add)?;
        Ok(output)
    }
}

struct Norm {
    weight: Tensor,
    bias: Tensor,
    epsilon: f32,
}

impl Norm {
    fn apply(&self, input: &Tensor) -> Result<Tensor> {
        layer_norm(input, &self.weight, &self.bias, self.epsilon)
    }
}

/// The tensors of a file. Some models are saved with `bert.` before each name.
struct Weights<'a> {
    tensors: SliceSafetensors<'a>,
    before: &'static str,
}

impl<'a> Weights<'a> {
    fn new(file: &'a [u8]) -> Result<Self> {
        let tensors = SliceSafetensors::new(file)?;
        let is_inner = tensors.get("bert.embeddings.word_embeddings.weight").is_ok();
        Ok(Self { tensors, before: if is_inner { "bert." } else { "" } })
    }

    fn get(&self, name: &str, shape: &[usize]) -> Result<Tensor> {
        let name = format!("{}{name}", self.before);
        let Ok(found) = self.tensors.get(&name) else { candle_core::bail!("has no tensor {name}") };
        if found.shape() != shape {
            candle_core::bail!("{name} has the shape {:?}, and {shape:?} by config.json", found.shape());
        }
        let kind = DType::try_from(found.dtype());
        if !matches!(kind, Ok(DType::F32 | DType::F16 | DType::BF16)) {
            candle_core::bail!("{name} has numbers of the type {:?}; F32, F16 and BF16 can be read", found.dtype());
        }
        self.tensors.load(&name, &Device::Cpu)?.to_dtype(DType::F32)
    }

    fn linear(&self, name: &str, input: usize, output: usize) -> Result<Linear> {
        let weight = self.get(&format!("{name}.weight"), &[output, input])?;
        Ok(Linear { weight, bias: self.get(&format!("{name}.bias"), &[output])? })
    }

    fn norm(&self, name: &str, width: usize, epsilon: f64) -> Result<Norm> {
        #[allow(clippy::cast_possible_truncation)]
        let epsilon = epsilon as f32;
        let weight = self.get(&format!("{name}.weight"), &[width])?;
        Ok(Norm { weight, bias: self.get(&format!("{name}.bias"), &[width])?, epsilon })
    }
}
