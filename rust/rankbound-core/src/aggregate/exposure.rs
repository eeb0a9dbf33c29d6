//! Expected exposure and coverage at rest: plain sums per class, to be kept, stored and merged.

use super::fixed::Fixed;
use crate::error::{Error, Result};

/// Expected exposure and the probability of having been shown at least once, per class.
#[derive(Debug, Clone, PartialEq)]
pub struct Exposure {
    /// Expected number of rows that show the class in their top K, or the sum of what ranks are
    /// worth.
    pub expected: Vec<f64>,
    /// Probability that at least one row shows it.
    pub seen: Vec<f64>,
}

/// Order-free sums per class over any number of lists.
#[derive(Debug, Clone, PartialEq)]
pub struct ExposureSums {
    /// Lists in which the class is in the top K by every order of its ties.
    pub(super) certain: Vec<u64>,
    /// Sum of the exposures.
    pub(super) expected: Vec<Fixed>,
    /// Sum of `ln(1 - p)` over the lists in which the class may be shown and may not.
    pub(super) unseen: Vec<Fixed>,
}

/// Sums as integers, class after class: lists that certainly show the class, and two sums scaled by
/// 2^80, each as a low limb of 50 bits and a high one.
pub type StoredSums = (Vec<u64>, Vec<[i64; 4]>);

impl ExposureSums {
    /// Sums over no lists.
    pub fn new(n_classes: usize) -> Self {
        Self {
            certain: vec![0; n_classes],
            expected: vec![Fixed::default(); n_classes],
            unseen: vec![Fixed::default(); n_classes],
        }
    }

    /// Puts exposures by rank in the place of the probabilities of being shown.
    pub(crate) fn set_expected(&mut self, expected: Vec<Fixed>) {
        debug_assert_eq!(expected.len(), self.expected.len());
        self.expected = expected;
    }

    /// Adds the sums over other lists.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of classes; [`Error::Parameter`] if a sum leaves its range.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        if self.certain.len() != other.certain.len() {
            return Err(Error::Shape(format!(
                "exposures over {} and {} items cannot be merged",
                self.certain.len(),
                other.certain.len()
            )));
        }
        let full = || Error::Parameter("an exposure holds more lists than can be added".into());
        for (mine, theirs) in self.certain.iter_mut().zip(&other.certain) {
            *mine = mine.checked_add(*theirs).ok_or_else(full)?;
        }
        let pairs = self.expected.iter_mut().zip(&other.expected).chain(self.unseen.iter_mut().zip(&other.unseen));
        for (mine, theirs) in pairs {
            *mine = mine.plus(*theirs).ok_or_else(full)?;
        }
        Ok(())
    }

    /// The expectations, per class.
    pub fn exposure(&self) -> Exposure {
        // Adding 0 turns -0 into 0.
        let seen = |(&certain, unseen): (&u64, &Fixed)| {
            if certain > 0 { 1.0 } else { -libm::expm1(unseen.to_f64()) + 0.0 }
        };
        Exposure {
            expected: self.expected.iter().map(|sum| sum.to_f64()).collect(),
            seen: self.certain.iter().zip(&self.unseen).map(seen).collect(),
        }
    }

    /// The sums as integers, the same for every split of the lists.
    ///
    /// # Errors
    /// [`Error::Parameter`] if a sum leaves the range of its limbs.
    pub fn store(&self) -> Result<StoredSums> {
        let too_large = || Error::Parameter("an exposure is too large to be stored".into());
        let sums = self.expected.iter().zip(&self.unseen).map(|(expected, unseen)| {
            let [[a, b], [c, d]] =
                [expected.try_limbs().ok_or_else(too_large)?, unseen.try_limbs().ok_or_else(too_large)?];
            Ok([a, b, c, d])
        });
        Ok((self.certain.clone(), sums.collect::<Result<_>>()?))
    }

    /// The sums that [`ExposureSums::store`] wrote.
    ///
    /// # Errors
    /// [`Error::Shape`] if the arrays have different lengths.
    pub fn restore(certain: &[u64], sums: &[[i64; 4]]) -> Result<Self> {
        if certain.len() != sums.len() {
            return Err(Error::Shape(format!("{} counts for {} sums", certain.len(), sums.len())));
        }
        Ok(Self {
            certain: certain.to_vec(),
            expected: sums.iter().map(|&[low, high, ..]| Fixed::from_limbs(low, high)).collect(),
            unseen: sums.iter().map(|&[.., low, high]| Fixed::from_limbs(low, high)).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_sums_come_back() {
        let mut sums = ExposureSums::new(2);
        sums.certain = vec![0, 3];
        sums.expected = [0.25, 3.5].map(Fixed::from_f64).to_vec();
        sums.unseen = [-0.7, 0.0].map(Fixed::from_f64).to_vec();
        let (certain, stored) = sums.store().unwrap();
        assert_eq!(ExposureSums::restore(&certain, &stored), Ok(sums.clone()));
        assert!(ExposureSums::restore(&certain[1..], &stored).is_err());
        let mut twice = sums.clone();
        twice.merge(&sums).unwrap();
        assert_eq!(twice.exposure().expected, [0.5, 7.0]);
        assert!(twice.merge(&ExposureSums::new(3)).is_err());
    }
}
