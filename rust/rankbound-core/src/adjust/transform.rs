//! The transforms of one row: shrinkage, popularity discount, rank percentile.

use multiversion::multiversion;

use crate::adjust::Knots;
use crate::error::{Error, Result};
use crate::input::{Count, Score};

/// How the scores of a row are rewritten before they are ranked.
#[derive(Debug, Clone, PartialEq)]
pub enum Transform {
    /// The scores themselves.
    Identity,
    /// Shrinkage towards the base rate, then division by a power of it; either may be off.
    Rates(Rates),
    /// The mid-rank percentile of a score among the reference scores of its class.
    Percentile(Knots),
}

/// Per-class constants of [`Transform::Rates`].
#[derive(Debug, Clone, PartialEq)]
pub struct Rates {
    pub(crate) shrinkage: Option<Shrinkage>,
    /// `max(pi, 1/N)^alpha` per class: positive, normal numbers.
    pub(crate) divisor: Option<Vec<f64>>,
}

/// `pi + Z (s - pi)` with `Z = n / (n + strength)`: the posterior mean of a Beta prior of that
/// strength around the base rate (Buehlmann 1967). Dead classes have `pi = Z = 0`, hence stay 0.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shrinkage {
    pub(crate) pi: Vec<f64>,
    pub(crate) z: Vec<f64>,
}

impl Transform {
    /// Shrinkage of the given strength, then the discount with exponent `alpha`, over classes
    /// that had `counts` positives among `n_labelled` rows. Zero for both gives the identity.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a strength or exponent that is negative or not finite, for an
    /// exponent so large that a divisor underflows, and for a discount without any base rate.
    pub fn rates(counts: &[u64], n_labelled: u64, dead: &[bool], alpha: f64, strength: f64) -> Result<Self> {
        for (name, value) in [("popularity_discount", alpha), ("shrinkage_strength", strength)] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::Parameter(format!("{name} must be finite and at least 0, got {value}")));
            }
        }
        if counts.len() != dead.len() {
            return Err(Error::Shape(format!("{} counts for {} dead flags", counts.len(), dead.len())));
        }
        if let Some(class) = counts.iter().position(|count| *count > n_labelled) {
            let count = counts[class];
            return Err(Error::Parameter(format!("class {class} has {count} of {n_labelled} labelled rows")));
        }
        if alpha == 0.0 && strength == 0.0 {
            return Ok(Self::Identity);
        }
        let shrinkage = (strength > 0.0).then(|| Shrinkage::new(counts, n_labelled, dead, strength));
        let divisor = (alpha > 0.0).then(|| divisors(counts, n_labelled, alpha)).transpose()?;
        Ok(Self::Rates(Rates { shrinkage, divisor }))
    }

    /// Writes the transformed row to `out`. Masked entries become `-inf`.
    ///
    /// # Errors
    /// [`Error::NonFiniteScore`] or [`Error::ScoreOutOfRange`], naming the first such column;
    /// `out` then holds nothing of use.
    pub fn apply_row<T: Score>(&self, row_index: usize, row: &[T], out: &mut [f64]) -> Result<()> {
        let n_classes = self.n_classes().unwrap_or(row.len());
        if row.len() != n_classes || out.len() != n_classes {
            return Err(Error::Shape(format!(
                "row {row_index} has {} columns, the transform has {n_classes} and the output {}",
                row.len(),
                out.len()
            )));
        }
        for (value, &score) in out.iter_mut().zip(row) {
            *value = if score == T::MASKED { f64::NEG_INFINITY } else { score.to_f64() };
        }
        // The loops only note that something is wrong, which keeps them free of branches; a
        // second look then finds the place.
        let accepted = match self {
            Self::Identity => out.iter().fold(0_u64, |refused, value| refused.plus(!is_candidate_or_mask(*value))) == 0,
            Self::Rates(rates) => rates.apply(out),
            Self::Percentile(knots) => knots.apply(out),
        };
        if accepted { Ok(()) } else { Err(self.refusal(row_index, row)) }
    }

    /// Number of classes, unless any number will do.
    pub fn n_classes(&self) -> Option<usize> {
        match self {
            Self::Identity => None,
            Self::Rates(Rates { shrinkage: Some(shrinkage), .. }) => Some(shrinkage.pi.len()),
            Self::Rates(Rates { divisor, .. }) => divisor.as_ref().map(Vec::len),
            Self::Percentile(knots) => Some(knots.n_classes()),
        }
    }

    /// The error for a row that was not accepted.
    fn refusal<T: Score>(&self, row: usize, scores: &[T]) -> Error {
        let out_of_range = |column, value, range, hint| Error::ScoreOutOfRange {
            row,
            column,
            value,
            transform: if self.shrinks() { "shrinkage" } else { "the popularity discount" },
            range,
            hint,
        };
        for (column, &score) in scores.iter().enumerate() {
            let value = score.to_f64();
            if score == T::MASKED {
                continue;
            }
            if !score.is_finite() {
                return Error::NonFiniteScore { row, column, value };
            }
            match self {
                Self::Rates(Rates { shrinkage: Some(_), .. }) if !(0.0..=1.0).contains(&value) => {
                    return out_of_range(
                        column,
                        value,
                        "between 0 and 1",
                        "turn logits into probabilities first (softmax or sigmoid)",
                    );
                }
                Self::Rates(Rates { divisor: Some(_), .. }) if value < 0.0 => {
                    return out_of_range(
                        column,
                        value,
                        "of at least 0",
                        "dividing a negative score by a small rate would demote rare classes; \
                         turn logits into probabilities first (softmax or sigmoid)",
                    );
                }
                Self::Rates(Rates { divisor: Some(divisor), .. }) if !(value / divisor[column]).is_finite() => {
                    return out_of_range(
                        column,
                        value,
                        "whose discounted value is finite",
                        "scale the scores down or lower popularity_discount",
                    );
                }
                _ => {}
            }
        }
        Error::Shape(format!("row {row} was refused without a reason: please report this"))
    }

    fn shrinks(&self) -> bool {
        matches!(self, Self::Rates(Rates { shrinkage: Some(_), .. }))
    }
}

impl Rates {
    /// The transformed score of one class: the same arithmetic as for a whole row.
    pub(crate) fn value(&self, class: usize, score: f32) -> f64 {
        let score = f64::from(score);
        let shrunk = match &self.shrinkage {
            Some(Shrinkage { pi, z }) => pi[class] + z[class] * (score - pi[class]),
            None => score,
        };
        self.divisor.as_ref().map_or(shrunk, |divisor| shrunk / divisor[class])
    }

    /// Transforms in place; `false` if a score was out of range.
    fn apply(&self, values: &mut [f64]) -> bool {
        let shrunk = self.shrinkage.as_ref().is_none_or(|Shrinkage { pi, z }| shrink(values, pi, z) == 0);
        let divided = self.divisor.as_ref().is_none_or(|divisor| divide(values, divisor) == 0);
        shrunk && divided
    }
}

/// Shrinks scores, and counts those out of range.
#[multiversion(targets("x86_64+avx2+fma"))]
fn shrink(values: &mut [f64], pi: &[f64], z: &[f64]) -> u64 {
    let mut refused = 0_u64;
    for ((value, pi), z) in values.iter_mut().zip(pi).zip(z) {
        let score = *value;
        let masked = score == f64::NEG_INFINITY;
        refused = refused.plus(!(masked | (0.0..=1.0).contains(&score)));
        // This form gives pi exactly at Z = 0 or s = pi, and rounding keeps it monotone.
        *value = if masked { score } else { pi + z * (score - pi) };
    }
    refused
}

/// Divides scores, and counts those out of range.
#[multiversion(targets("x86_64+avx2+fma"))]
fn divide(values: &mut [f64], divisor: &[f64]) -> u64 {
    let mut refused = 0_u64;
    for (value, divisor) in values.iter_mut().zip(divisor) {
        let masked = *value == f64::NEG_INFINITY;
        let positive = *value >= 0.0;
        *value /= divisor;
        refused = refused.plus(!(masked | (positive & (*value < f64::INFINITY))));
    }
    refused
}

impl Shrinkage {
    fn new(counts: &[u64], n_labelled: u64, dead: &[bool], strength: f64) -> Self {
        let (pi, z) = counts
            .iter()
            .zip(dead)
            .map(|(&count, &dead)| {
                if dead || count == 0 {
                    (0.0, 0.0)
                } else {
                    let count = count as f64;
                    (count / n_labelled as f64, count / (count + strength))
                }
            })
            .unzip();
        Self { pi, z }
    }
}

impl Knots {
    /// Replaces scores by percentiles; `false` if a score was not finite.
    fn apply(&self, values: &mut [f64]) -> bool {
        let mut accepted = true;
        for (class, value) in values.iter_mut().enumerate() {
            accepted &= is_candidate_or_mask(*value);
            if *value != f64::NEG_INFINITY {
                *value = self.percentile(class, *value);
            }
        }
        accepted
    }
}

/// `max(pi, 1/N)^alpha` per class: a class never seen counts as one seen once.
fn divisors(counts: &[u64], n_labelled: u64, alpha: f64) -> Result<Vec<f64>> {
    if counts.iter().all(|count| *count == 0) {
        return Err(Error::Parameter(
            "popularity_discount needs base rates, but every class has a count of 0".to_owned(),
        ));
    }
    let power = |rate: f64| match alpha {
        1.0 => rate,
        0.5 => rate.sqrt(), // rounded correctly, which pow need not be
        _ => libm::pow(rate, alpha),
    };
    let divisors: Vec<f64> = counts.iter().map(|&count| power(count.max(1) as f64 / n_labelled as f64)).collect();
    // Below the normal numbers a divisor has lost digits, and then order.
    if let Some(class) = divisors.iter().position(|divisor| *divisor < f64::MIN_POSITIVE) {
        return Err(Error::Parameter(format!(
            "popularity_discount {alpha} is too large: the base rate of class {class} to that power underflows"
        )));
    }
    Ok(divisors)
}

fn is_candidate_or_mask(value: f64) -> bool {
    value < f64::INFINITY
}
