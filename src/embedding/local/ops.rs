//! What is done to each number alone, in place and on the thread that asks: candle's own takes turns on one pool of
//! threads for sums, which texts that are computed side by side would wait for, and goes through double precision for GELU.

use candle_core::{CpuStorage, InplaceOp1, InplaceOp2, Layout, Result};

/// The numerator and the denominator of erf(x) / x over x², highest power first: a rational minimax on |x| ≤ 4, where erf
/// is 1 in single precision. As in Eigen and XLA.
const ABOVE: [f32; 7] =
    [-2.726_142_4e-10, 2.770_681_4e-8, -2.101_024e-6, -5.692_506_4e-5, -7.349_906_3e-4, -2.954_6e-3, -1.609_603_3e-2];
const BELOW: [f32; 5] = [-1.456_607_2e-5, -2.133_740_6e-4, -1.682_827e-3, -7.373_329_2e-3, -1.426_473_9e-2];

fn gelu(x: f32) -> f32 {
    let scaled = (x * std::f32::consts::FRAC_1_SQRT_2).clamp(-4.0, 4.0);
    let square = scaled * scaled;
    let above = ABOVE[1..].iter().fold(ABOVE[0], |sum, term| sum * square + term);
    let below = BELOW[1..].iter().fold(BELOW[0], |sum, term| sum * square + term);
    0.5 * x * (1.0 + scaled * above / below)
}

/// GELU, x·Φ(x), in place of each number x of a tensor that lies in one piece.
pub struct Gelu;

impl InplaceOp1 for Gelu {
    fn name(&self) -> &'static str {
        "gelu"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        let (CpuStorage::F32(numbers), Some((start, end))) = (storage, layout.contiguous_offsets()) else {
            candle_core::bail!("gelu is of numbers of the type F32 that lie in one piece");
        };
        numbers[start..end].iter_mut().for_each(|number| *number = gelu(*number));
        Ok(())
    }
}

/// Adds a tensor, or one row to each row; both lie in one piece.
pub struct Add;

impl InplaceOp2 for Add {
    fn name(&self) -> &'static str {
        "add"
    }

    fn cpu_fwd(&self, sum: &mut CpuStorage, at: &Layout, other: &CpuStorage, of: &Layout) -> Result<()> {
        let (CpuStorage::F32(sum), CpuStorage::F32(other)) = (sum, other) else {
            candle_core::bail!("only numbers of the type F32 are added");
        };
        let (Some((start, end)), Some((first, last))) = (at.contiguous_offsets(), of.contiguous_offsets()) else {
            candle_core::bail!("only tensors that lie in one piece are added");
        };
        let (sum, other) = (&mut sum[start..end], &other[first..last]);
        if other.is_empty() || !sum.len().is_multiple_of(other.len()) {
            candle_core::bail!("{} numbers can't be added to {}", other.len(), sum.len());
        }
        for row in sum.chunks_exact_mut(other.len()) {
            row.iter_mut().zip(other).for_each(|(sum, number)| *sum += number);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Tensor};

    use super::*;

    #[test]
    fn it_is_candle_s_to_single_precision() {
        #[allow(clippy::cast_precision_loss)]
        let numbers: Vec<f32> = (-80_000_i32..=80_000).map(|step| step as f32 / 10_000.0).collect();
        let tensor = Tensor::new(numbers.as_slice(), &Device::Cpu).expect("a tensor");
        let expected: Vec<f32> = tensor.gelu_erf().and_then(|it| it.to_vec1()).expect("numbers");
        tensor.inplace_op1(&Gelu).expect("it runs");
        let found: Vec<f32> = tensor.to_vec1().expect("numbers");
        for ((number, expected), found) in numbers.iter().zip(&expected).zip(&found) {
            assert!((expected - found).abs() < 2e-6, "{number}: {found}, not {expected}");
        }
        for (number, known) in [(1.0, 0.841_345), (0.0, 0.0), (-9.0, 0.0)] {
            assert!((gelu(number) - known).abs() < 2e-6, "{number}");
        }
    }
}
