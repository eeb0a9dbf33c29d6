//! Sums and means of per-list values, over all lists or by group (class, unit, slice).

use super::fixed::Fixed;
use super::words::{Reader, push_integer};
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

    /// Groups without values.
    pub fn empty(n_groups: usize) -> Self {
        Self { sums: vec![Fixed::default(); n_groups], counts: vec![0; n_groups] }
    }

    /// Adds a probability to a group.
    pub(crate) fn add_probability(&mut self, group: usize, probability: f64) {
        self.sums[group] += Fixed::from_f64(probability);
        self.counts[group] += 1;
    }

    /// Adds the values of another collection over the same groups.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of groups; [`Error::Parameter`] if a sum leaves its range.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        if self.sums.len() != other.sums.len() {
            return Err(Error::Shape(format!("sums over {} and {} groups", self.sums.len(), other.sums.len())));
        }
        for (mine, theirs) in self.sums.iter_mut().zip(&other.sums) {
            *mine = mine.plus(*theirs).ok_or_else(|| Error::Parameter("the sum of the values is too large".into()))?;
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(mine, theirs)| *mine += theirs);
        Ok(())
    }

    /// The mean of all values of the groups that are marked, rounded once; NaN for no values.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there is a mark per group; [`Error::Parameter`] if the sum leaves its
    /// range.
    pub fn mean_of(&self, marked: &[bool]) -> Result<f64> {
        if marked.len() != self.sums.len() {
            return Err(Error::Shape(format!("{} marks for {} groups", marked.len(), self.sums.len())));
        }
        let (mut total, mut count) = (Fixed::default(), 0);
        for ((sum, own), _) in self.sums.iter().zip(&self.counts).zip(marked).filter(|(_, marked)| **marked) {
            total = total.plus(*sum).ok_or_else(|| Error::Parameter("the sum of the values is too large".into()))?;
            count += own;
        }
        Ok(total.mean(count))
    }

    /// The sums as words, group after group: the number of values and the two words of their sum.
    pub fn store(&self) -> Vec<u64> {
        let mut words = Vec::with_capacity(3 * self.sums.len());
        for (sum, &count) in self.sums.iter().zip(&self.counts) {
            words.push(count);
            push_integer(&mut words, sum.to_scaled());
        }
        words
    }

    /// The sums that [`GroupSums::store`] wrote.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there are three words per group.
    pub fn restore(words: &[u64]) -> Result<Self> {
        let refuse = || Error::Shape(format!("{} words are no stored sums of groups", words.len()));
        let mut reader = Reader::new(words);
        let mut groups = Self::empty(0);
        while !reader.is_at_end() {
            groups.counts.push(reader.word().ok_or_else(refuse)?);
            groups.sums.push(Fixed::from_scaled(reader.integer().ok_or_else(refuse)?));
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
    fn merged_groups_hold_all_values() {
        let mut groups = GroupSums::new(&[1.0, 0.5], &[2, 0], 3).unwrap();
        groups.merge(&GroupSums::new(&[0.25], &[2], 3).unwrap()).unwrap();
        assert_eq!((groups.sums(), groups.counts()), (vec![0.5, 0.0, 1.25], &[1, 0, 2][..]));
        assert_eq!(groups.mean_of(&[true, true, false]), Ok(0.5));
        assert_eq!(groups.mean_of(&[true, false, true]), Ok(1.75 / 3.0));
        assert!(groups.mean_of(&[false, true, false]).unwrap().is_nan());
        assert!(groups.mean_of(&[true]).is_err() && groups.merge(&GroupSums::empty(2)).is_err());
    }

    #[test]
    fn stored_sums_come_back() {
        let groups = GroupSums::new(&[-1.0, 0.5, 0.1], &[2, 0, 2], 3).unwrap();
        let words = groups.store();
        assert_eq!(GroupSums::restore(&words), Ok(groups));
        assert!(GroupSums::restore(&words[1..]).is_err());
    }

    #[test]
    fn contradictions_are_refused() {
        assert!(GroupSums::new(&[1.0], &[0, 0], 1).is_err());
        assert!(GroupSums::new(&[1.0], &[1], 1).is_err());
    }
}
