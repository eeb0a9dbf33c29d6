//! Vectors of queries and items, and how alike two of them are.

use half::f16;
use ndarray::ArrayView2;

use crate::error::{Error, Result};

/// How the score of an item is made from its vector and that of the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Similarity {
    /// Their inner product.
    Inner,
    /// The inner product of the vectors divided by their lengths.
    Cosine,
    /// Minus their squared Euclidean distance.
    L2,
}

/// A lent matrix with one vector a row; half precision widens without loss.
#[derive(Debug, Clone, Copy)]
pub enum Vectors<'a> {
    /// Single precision.
    F32(ArrayView2<'a, f32>),
    /// Half precision.
    F16(ArrayView2<'a, f16>),
}

impl Vectors<'_> {
    /// Number of vectors, and of dimensions of each.
    pub fn dim(&self) -> (usize, usize) {
        match self {
            Self::F32(view) => view.dim(),
            Self::F16(view) => view.dim(),
        }
    }

    /// Copies a vector into `vector`, as long as there are dimensions, in the form in which it is
    /// scored: as it is, but for [`Similarity::Cosine`] at length 1.
    pub(crate) fn load(&self, row: usize, similarity: Similarity, vector: &mut [f32]) {
        match self {
            Self::F32(view) => match view.row(row).as_slice() {
                Some(values) => vector.copy_from_slice(values),
                None => vector.iter_mut().zip(view.row(row)).for_each(|(to, &from)| *to = from),
            },
            Self::F16(view) => vector.iter_mut().zip(view.row(row)).for_each(|(to, &from)| *to = from.to_f32()),
        }
        if similarity == Similarity::Cosine {
            normalise(vector);
        }
    }

    /// Checks that a vector can be scored; `name` is the argument it came in.
    ///
    /// # Errors
    /// [`Error::VectorValue`] for a value that is not finite, [`Error::ZeroVector`] for a vector
    /// without direction if one is needed.
    pub(crate) fn check(
        &self,
        name: &'static str,
        row: usize,
        similarity: Similarity,
        vector: &mut [f32],
    ) -> Result<()> {
        self.load(row, Similarity::Inner, vector);
        if let Some(dimension) = vector.iter().position(|value| !value.is_finite()) {
            return Err(Error::VectorValue { name, row, dimension, value: vector[dimension] });
        }
        if similarity == Similarity::Cosine && vector.iter().all(|&value| value == 0.0) {
            return Err(Error::ZeroVector { name, row });
        }
        Ok(())
    }
}

/// Divides a vector by its length: the squares are summed in the order of the dimensions and each
/// value is divided in double precision, where neither can overflow, then rounded once. So equal
/// vectors stay equal.
fn normalise(vector: &mut [f32]) {
    let length = vector.iter().map(|&value| f64::from(value)).fold(0.0, |sum, value| sum + value * value).sqrt();
    #[expect(clippy::cast_possible_truncation, reason = "the rounding that is meant")]
    vector.iter_mut().for_each(|value| *value = (f64::from(*value) / length) as f32);
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn unit_length_is_reached_from_any_magnitude() {
        let vectors = array![[3.0, 0.0, 4.0], [-3e38, 0.0, 0.0], [0.0, 1e-45, 0.0], [3e-40, 0.0, 4e-40]];
        let expected = [[0.6, 0.0, 0.8], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        let mut vector = [0.0; 3];
        for (row, unit) in expected.iter().enumerate() {
            Vectors::F32(vectors.view()).load(row, Similarity::Cosine, &mut vector);
            assert_eq!(&vector, unit);
        }
        Vectors::F32(vectors.view()).load(3, Similarity::Cosine, &mut vector);
        assert!((vector[0] - 0.6).abs() < 1e-5, "subnormal values keep the digits they have");
    }

    #[test]
    fn half_precision_widens() {
        let vectors = array![[0.1, -65504.0].map(f16::from_f32)];
        let mut vector = [0.0; 2];
        Vectors::F16(vectors.view()).load(0, Similarity::Inner, &mut vector);
        assert_eq!(vector, [0.099_975_586, -65504.0]);
    }

    #[test]
    fn what_cannot_be_scored_is_named() {
        let vectors = array![[1.0, f32::NEG_INFINITY], [0.0, -0.0]];
        let vectors = Vectors::F32(vectors.view());
        let check = |row, similarity| vectors.check("items", row, similarity, &mut [0.0; 2]);
        let infinite = Error::VectorValue { name: "items", row: 0, dimension: 1, value: f32::NEG_INFINITY };
        assert_eq!(check(0, Similarity::L2), Err(infinite));
        assert_eq!(check(1, Similarity::Cosine), Err(Error::ZeroVector { name: "items", row: 1 }));
        assert_eq!(check(1, Similarity::Inner), Ok(()));
    }
}
