//! Rank percentiles from knots: a step function at the knots, linear between them.

use crate::error::{Error, Result};

/// For each class some values of its reference column, each with the exact number of reference
/// scores below it and equal to it. Classes are stored one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Knots {
    pub(crate) values: Vec<f64>,
    pub(crate) less: Vec<u32>,
    pub(crate) equal: Vec<u32>,
    /// Class `c` owns the knots `offsets[c]..offsets[c + 1]`.
    pub(crate) offsets: Vec<usize>,
    /// Classes whose reference column is identically 0: they stay 0.
    pub(crate) dead: Vec<bool>,
}

/// The arrays of [`Knots`], in the order of its fields.
pub type KnotParts = (Vec<f64>, Vec<u32>, Vec<u32>, Vec<usize>, Vec<bool>);

impl Knots {
    /// Knots from storage.
    ///
    /// # Errors
    /// [`Error::Parameter`] if they could not have come from [`crate::adjust::fit_knots`].
    pub fn new(
        values: Vec<f64>,
        less: Vec<u32>,
        equal: Vec<u32>,
        offsets: Vec<usize>,
        dead: Vec<bool>,
    ) -> Result<Self> {
        let refuse = |problem: String| Err(Error::Parameter(format!("percentile knots {problem}")));
        let n_knots = values.len();
        if less.len() != n_knots || equal.len() != n_knots || offsets.len() != dead.len() + 1 {
            return refuse("have arrays of contradictory lengths".to_owned());
        }
        if offsets[0] != 0 || offsets[dead.len()] != n_knots || !offsets.windows(2).all(|pair| pair[0] < pair[1]) {
            return refuse("must give every class at least one knot, class after class".to_owned());
        }
        for class in 0..dead.len() {
            let (start, end) = (offsets[class], offsets[class + 1]);
            // The least reference score is always a knot, and atoms do not overlap.
            let mut below = 0;
            for knot in start..end {
                let rises = knot == start || values[knot - 1] < values[knot];
                let counts_fit = if knot == start { less[knot] == 0 } else { u64::from(less[knot]) >= below };
                if !values[knot].is_finite() || !rises || !counts_fit || equal[knot] == 0 {
                    return refuse(format!("of class {class} are not in order"));
                }
                below = u64::from(less[knot]) + u64::from(equal[knot]);
            }
            if below > u64::from(u32::MAX) {
                return refuse(format!("of class {class} count more rows than there can be"));
            }
        }
        Ok(Self { values, less, equal, offsets, dead })
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.dead.len()
    }

    /// The arrays that [`Knots::new`] takes.
    pub fn into_parts(self) -> KnotParts {
        (self.values, self.less, self.equal, self.offsets, self.dead)
    }

    /// The mid-rank percentile of a finite score in a class. Exact if every distinct reference
    /// value is a knot.
    pub(crate) fn percentile(&self, class: usize, score: f64) -> f64 {
        if self.dead[class] {
            return 0.0;
        }
        let (start, end) = (self.offsets[class], self.offsets[class + 1]);
        let passed = self.values[start..end].partition_point(|value| *value <= score);
        if passed == 0 {
            return 0.0;
        }
        let (knot, next) = (start + passed - 1, start + passed);
        // The greatest reference score is always a knot.
        let n_reference = self.not_above(end - 1);
        if self.values[knot] == score {
            // Both counts are below 2^33, so only the division rounds.
            return (2.0 * f64::from(self.less[knot]) + f64::from(self.equal[knot])) / (2.0 * n_reference);
        }
        if next == end {
            return 1.0;
        }
        let low = self.not_above(knot) / n_reference;
        let high = f64::from(self.less[next]) / n_reference;
        let fraction = fraction_between(self.values[knot], self.values[next], score);
        (low + (high - low) * fraction).min(high)
    }

    /// Number of reference scores that are at most the knot.
    fn not_above(&self, knot: usize) -> f64 {
        f64::from(self.less[knot]) + f64::from(self.equal[knot])
    }
}

/// Where `score` lies on the way from `low` to `high`, also where their difference overflows.
fn fraction_between(low: f64, high: f64, score: f64) -> f64 {
    let span = high - low;
    if span.is_finite() { (score - low) / span } else { (score / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0) }
}
