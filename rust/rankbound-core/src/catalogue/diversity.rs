//! How different the items of a list are from one another (Ziegler et al. 2005).

use super::top::Top;
use crate::aggregate::{Fixed, VALUE_LIMIT};
use crate::error::{Error, Result};

/// Distances between items.
#[derive(Debug)]
pub enum Diversity {
    /// `1 - cos` of the items' vectors: unit vectors, item after item, and their length.
    Cosine {
        /// The unit vectors.
        units: Vec<f64>,
        /// Numbers per vector.
        n_features: usize,
    },
    /// A matrix, row after row; the distance of two items is the mean of both entries.
    Distances {
        /// The entries.
        matrix: Vec<f64>,
        /// Its rows.
        n_items: usize,
    },
}

/// How far the vectors of a set lie from their mean, in squares, and the mean.
#[derive(Debug, Default)]
struct Spread {
    squares: f64,
    mean: Vec<f64>,
    sums: Vec<Fixed>,
}

/// Buffers for one worker.
#[derive(Debug, Default)]
pub(super) struct Spreads([Spread; 2]);

impl Diversity {
    /// Takes the items' feature vectors, item after item.
    ///
    /// # Errors
    /// [`Error::Shape`] if they do not fit the number of features; [`Error::Parameter`] for a number
    /// that is not finite, and for a vector of zeros, which has no direction.
    pub fn cosine(features: &[f64], n_features: usize) -> Result<Self> {
        if n_features == 0 || !features.len().is_multiple_of(n_features) {
            return Err(Error::Shape(format!("{} numbers for vectors of {n_features}", features.len())));
        }
        let mut units = Vec::with_capacity(features.len());
        for (item, vector) in features.chunks(n_features).enumerate() {
            let refuse = |why: &str| Error::Parameter(format!("features {why} for item {item}"));
            let largest = vector.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
            if !vector.iter().all(|value| value.is_finite()) {
                return Err(refuse("must be finite, but has NaN or infinity"));
            }
            if largest == 0.0 {
                return Err(refuse("must not be all zero, which has no direction: give metric= distances instead, as"));
            }
            // Divided by the largest first, so that no square overflows or vanishes.
            let norm = vector.iter().map(|value| (value / largest).powi(2)).sum::<f64>().sqrt();
            units.extend(vector.iter().map(|value| value / largest / norm));
        }
        Ok(Self::Cosine { units, n_features })
    }

    /// Takes a square matrix of distances, row after row.
    ///
    /// # Errors
    /// [`Error::Shape`] if it is not square; [`Error::Parameter`] for a distance that is negative, not
    /// finite, or too large to be summed.
    pub fn distances(matrix: Vec<f64>, n_items: usize) -> Result<Self> {
        if Some(matrix.len()) != n_items.checked_mul(n_items) {
            return Err(Error::Shape(format!("{} distances between {n_items} items", matrix.len())));
        }
        let mut total = Fixed::default();
        for (at, &distance) in matrix.iter().enumerate() {
            let term = (0.0..VALUE_LIMIT).contains(&distance).then(|| Fixed::from_f64(distance));
            total = term.and_then(|term| total.plus(term)).ok_or_else(|| {
                let (row, column) = (at / n_items, at % n_items);
                Error::Parameter(format!(
                    "distances has {distance} between the items {row} and {column}: distances must be at least 0 and \
                     add up to less than 2^47; rescale them"
                ))
            })?;
        }
        Ok(Self::Distances { matrix, n_items })
    }

    pub(super) fn n_items(&self) -> usize {
        match self {
            Self::Cosine { units, n_features } => units.len() / n_features,
            Self::Distances { n_items, .. } => *n_items,
        }
    }

    /// Expected mean distance between two items of the top K; NaN for fewer than two.
    ///
    /// With `A` above the cut and `t` items `G` at it for `s` places, a pair within `A` is always
    /// there, one between `A` and `G` with probability `s / t`, and one within `G` with probability
    /// `s (s - 1) / (t (t - 1))`.
    pub(super) fn of(&self, top: &Top, Spreads(spreads): &mut Spreads) -> f64 {
        let (a, s, t) = (top.above.len() as f64, top.slots as f64, top.members.len() as f64);
        let pairs = (a + s) * (a + s - 1.0) / 2.0;
        if pairs < 1.0 {
            return f64::NAN;
        }
        let within = if s > 1.0 { s * (s - 1.0) / (t * (t - 1.0)) } else { 0.0 };
        let across = if t > 0.0 { s / t } else { 0.0 };
        let expected = match self {
            Self::Cosine { units, n_features } => {
                // 1 - cos is half a squared distance of unit vectors, and those add up by spreads:
                // within X it is |X| times the squares about the mean of X; across X and Y it is
                // |X| SY + |Y| SX + |X| |Y| |mean X - mean Y|^2. Nothing cancels, and equal vectors give 0.
                let [above, tied] = spreads;
                above.measure(&top.above, units, *n_features);
                tied.measure(&top.members, units, *n_features);
                let apart = if a * t > 0.0 { squared_distance(&above.mean, &tied.mean) } else { 0.0 };
                let between = a * tied.squares + t * above.squares + a * t * apart;
                (a * above.squares + across * between + within * t * tied.squares) / 2.0
            }
            Self::Distances { matrix, n_items } => {
                let distance = |i: u32, j: u32| {
                    let (i, j) = (i as usize, j as usize);
                    Fixed::from_f64(matrix[i * n_items + j]) + Fixed::from_f64(matrix[j * n_items + i])
                };
                let inside = |items: &[u32]| -> f64 {
                    let rest = |at: usize| items[at + 1..].iter().map(move |&j| distance(items[at], j));
                    (0..items.len()).flat_map(rest).sum::<Fixed>().to_f64()
                };
                let cross = top.above.iter().flat_map(|&i| top.members.iter().map(move |&j| distance(i, j)));
                let at_cut = if within > 0.0 { within * inside(&top.members) } else { 0.0 };
                (inside(&top.above) + across * cross.sum::<Fixed>().to_f64() + at_cut) / 2.0
            }
        };
        expected / pairs
    }
}

impl Spread {
    /// Measures a set of unit vectors, whatever the order of the items.
    fn measure(&mut self, items: &[u32], units: &[f64], n_features: usize) {
        let vector = |item: u32| &units[item as usize * n_features..][..n_features];
        self.sums.clear();
        self.sums.resize(n_features, Fixed::default());
        for &item in items {
            self.sums.iter_mut().zip(vector(item)).for_each(|(sum, &value)| *sum += Fixed::from_f64(value));
        }
        self.mean.clear();
        self.mean.extend(self.sums.iter().map(|sum| sum.mean(items.len() as u64)));
        let squares = items.iter().map(|&item| Fixed::from_f64(squared_distance(vector(item), &self.mean)));
        self.squares = squares.sum::<Fixed>().to_f64();
    }
}

fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}
