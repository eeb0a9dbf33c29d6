//! Sums and means of per-list values, over all lists or by group (class, unit, slice).

use super::fixed::Fixed;
use crate::error::{Error, Result};

/// The mean, rounded once. NaN for no values.
///
/// # Errors
/// As [`sum`].
pub fn mean(values: &[f64], name: &'static str) -> Result<f64> {
    Ok(total(values, name)?.mean(values.len() as u64))
}

/// The sum, rounded once.
///
/// # Errors
/// [`Error::AccumulatorRange`] if a value or the sum does not fit the accumulator.
pub fn sum(values: &[f64], name: &'static str) -> Result<f64> {
    Ok(total(values, name)?.to_f64())
}

fn total(values: &[f64], name: &'static str) -> Result<Fixed> {
    // Most values are 0 where few lists hit: adding them would only take time.
    let mut terms = values.iter().enumerate().filter(|(_, value)| **value != 0.0);
    terms.try_fold(Fixed::default(), |sum, (position, &value)| sum.checked_add(value, name, position))
}

/// Sum and number of the values of each group.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupSums {
    sums: Vec<Fixed>,
    counts: Vec<u64>,
}

impl GroupSums {
    /// Adds up `values` by the group that `codes` names for each.
    ///
    /// # Errors
    /// [`Error::Shape`] if the lengths differ or a code names no group; [`Error::AccumulatorRange`].
    pub fn new(values: &[f64], codes: &[u32], n_groups: usize) -> Result<Self> {
        if values.len() != codes.len() {
            return Err(Error::Shape(format!("{} values for {} group codes", values.len(), codes.len())));
        }
        let mut groups = Self { sums: vec![Fixed::default(); n_groups], counts: vec![0; n_groups] };
        for (position, (&value, &code)) in values.iter().zip(codes).enumerate() {
            let code = code as usize;
            if code >= n_groups {
                return Err(Error::Shape(format!("group code {code} for {n_groups} groups")));
            }
            groups.counts[code] += 1;
            if value != 0.0 {
                groups.sums[code] = groups.sums[code].checked_add(value, "values", position)?;
            }
        }
        Ok(groups)
    }

    /// The sum of each group.
    pub fn sums(&self) -> Vec<f64> {
        self.sums.iter().map(|sum| sum.to_f64()).collect()
    }

    /// The number of values of each group.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The mean of each group; NaN for an empty one.
    pub fn means(&self) -> Vec<f64> {
        self.sums.iter().zip(&self.counts).map(|(sum, &count)| sum.mean(count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_keep_apart() {
        let groups = GroupSums::new(&[1.0, 0.5, 0.25, 1.0], &[2, 0, 0, 2], 3).unwrap();
        assert_eq!(groups.sums(), [0.75, 0.0, 2.0]);
        assert_eq!(groups.counts(), [2, 0, 2]);
        let means = groups.means();
        assert!(means[0] == 0.375 && means[1].is_nan() && means[2] == 1.0);
    }

    #[test]
    fn contradictions_are_refused() {
        assert!(GroupSums::new(&[1.0], &[0, 0], 1).is_err());
        assert!(GroupSums::new(&[1.0], &[1], 1).is_err());
    }
}
