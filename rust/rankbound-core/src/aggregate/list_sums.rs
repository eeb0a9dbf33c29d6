//! What the values of one metric add up to over lists: merges to the same bits in any order.

use super::fixed::{Fixed, VALUE_LIMIT};
use super::log_mean::LogMean;
use super::words::{Reader, push_integer};
use crate::error::{Error, Result};

/// Sums of one metric over lists with relevant items.
#[derive(Debug, Clone, PartialEq)]
pub struct ListSums {
    n_lists: u64,
    n_crossing: u64,
    of_values: Values,
    // None once a list has no known variance, or one beyond the accumulator.
    variance: Option<Fixed>,
}

/// Expected values, and those with every tie broken for and against the list.
#[derive(Debug, Clone, PartialEq)]
enum Values {
    /// Plain values, whose mean is reported.
    Plain(Cases<Fixed>),
    /// Logarithms, whose exponentials are averaged.
    Logarithms(Cases<LogMean>),
}

/// Sums over lists without ties, whose cases are one, and over lists with ties: expected, best, worst.
#[derive(Debug, Clone, PartialEq, Default)]
struct Cases<S> {
    untied: S,
    tied: [S; 3],
}

/// The mean of a metric and what ties leave open about it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ListMeans {
    /// Number of lists.
    pub n_lists: u64,
    /// Mean of the expected values; for logarithms the logarithm of the mean of their exponentials.
    pub mean: f64,
    /// The mean if every tie is broken for the relevant items.
    pub best: f64,
    /// The mean if every tie is broken against them.
    pub worst: f64,
    /// Standard deviation of the mean over random tie-breaks; none where no short form is known.
    pub sd: Option<f64>,
    /// Share of lists in which a tie group with relevant items crosses the cut-off.
    pub share_tied_at_cut: f64,
}

impl<S> Cases<S> {
    fn all(&mut self) -> impl Iterator<Item = &mut S> {
        std::iter::once(&mut self.untied).chain(&mut self.tied)
    }

    fn each(&self) -> impl Iterator<Item = &S> {
        std::iter::once(&self.untied).chain(&self.tied)
    }

    /// What `next` returns one after another, in the order of [`Cases::each`].
    fn read(mut next: impl FnMut() -> Option<S>) -> Option<Self> {
        Some(Self { untied: next()?, tied: [next()?, next()?, next()?] })
    }
}

/// A value as it is summed; none if it is too large.
fn fixed(value: f64) -> Option<Fixed> {
    (value.abs() < VALUE_LIMIT).then(|| Fixed::from_f64(value))
}

impl ListSums {
    /// Nothing added yet.
    pub fn new(logarithms: bool) -> Self {
        let of_values = if logarithms { Values::Logarithms(Cases::default()) } else { Values::Plain(Cases::default()) };
        Self { n_lists: 0, n_crossing: 0, of_values, variance: (!logarithms).then(Fixed::default) }
    }

    /// Adds a list whose value no tie can change; none if it is too large.
    #[inline]
    pub fn add(&mut self, value: f64) -> Option<()> {
        match &mut self.of_values {
            Values::Plain(sums) => sums.untied = sums.untied.plus(fixed(value)?)?,
            Values::Logarithms(means) => means.untied.add(value),
        }
        self.n_lists += 1;
        Some(())
    }

    /// Adds a list with ties.
    pub fn add_tied(&mut self, value: f64, best: f64, worst: f64, variance: Option<f64>, crosses: bool) -> Option<()> {
        let cases = [value, best, worst];
        match &mut self.of_values {
            Values::Plain(sums) => {
                for (sum, value) in sums.tied.iter_mut().zip(cases) {
                    *sum = sum.plus(fixed(value)?)?;
                }
            }
            Values::Logarithms(means) => means.tied.iter_mut().zip(cases).for_each(|(mean, value)| mean.add(value)),
        }
        self.n_lists += 1;
        self.n_crossing += u64::from(crosses);
        let variance = variance.filter(|variance| *variance < VALUE_LIMIT);
        self.variance = self.variance.zip(variance).and_then(|(sum, own)| sum.plus(Fixed::from_f64(own)));
        Some(())
    }

    /// Adds the lists of another sum of the same metric.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the sums leave the accumulator's range, or are not of one metric.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        match (&mut self.of_values, &other.of_values) {
            (Values::Plain(mine), Values::Plain(theirs)) => {
                let too_large = || Error::Parameter("the sum of a metric exceeds 2^47; rescale the grades".into());
                for (own, other) in mine.all().zip(theirs.each()) {
                    *own = own.plus(*other).ok_or_else(too_large)?;
                }
                // The means add up both kinds of lists.
                if mine.tied.iter().any(|sum| sum.plus(mine.untied).is_none()) {
                    return Err(too_large());
                }
            }
            (Values::Logarithms(mine), Values::Logarithms(theirs)) => {
                mine.all().zip(theirs.each()).for_each(|(mine, theirs)| mine.merge(theirs));
            }
            _ => return Err(Error::Parameter("sums of different metrics cannot be merged".into())),
        }
        self.n_lists += other.n_lists;
        self.n_crossing += other.n_crossing;
        self.variance = self.variance.zip(other.variance).and_then(|(mine, theirs)| mine.plus(theirs));
        Ok(())
    }

    /// The sums as words, the same for every split of the lists: numbers of lists and of those with a
    /// tie at the cut-off, the kind of values, and the integers that make up each sum.
    pub fn store(&self) -> Vec<u64> {
        let mut words = vec![self.n_lists, self.n_crossing, u64::from(self.variance.is_some())];
        push_integer(&mut words, self.variance.unwrap_or_default().to_scaled());
        match &self.of_values {
            Values::Plain(sums) => {
                words.push(0);
                sums.each().for_each(|sum| push_integer(&mut words, sum.to_scaled()));
            }
            Values::Logarithms(means) => {
                words.push(1);
                for mean in means.each() {
                    words.push(mean.windows().len() as u64);
                    for (window, sum) in mean.windows() {
                        words.push(window.cast_unsigned());
                        push_integer(&mut words, sum);
                    }
                }
            }
        }
        words
    }

    /// The sums that [`ListSums::store`] wrote.
    ///
    /// # Errors
    /// [`Error::Shape`] for other words.
    pub fn restore(words: &[u64]) -> Result<Self> {
        let mut reader = Reader::new(words);
        Self::read(&mut reader)
            .filter(|_| reader.is_at_end())
            .ok_or_else(|| Error::Shape("these are no stored sums of a metric".into()))
    }

    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let [n_lists, n_crossing, has_variance] = [reader.word()?, reader.word()?, reader.word()?];
        let variance = Fixed::from_scaled(reader.integer()?);
        let of_values = match reader.word()? {
            0 => Values::Plain(Cases::read(|| Some(Fixed::from_scaled(reader.integer()?)))?),
            1 => Values::Logarithms(Cases::read(|| {
                let windows = (0..reader.word()?).map(|_| Some((reader.word()?.cast_signed(), reader.integer()?)));
                Some(LogMean::from_windows(windows.collect::<Option<Vec<_>>>()?.into_iter()))
            })?),
            _ => return None,
        };
        Some(Self { n_lists, n_crossing, of_values, variance: (has_variance == 1).then_some(variance) })
    }

    /// The means; NaN without lists.
    pub fn means(&self) -> ListMeans {
        let n_lists = self.n_lists;
        let [mean, best, worst] = match &self.of_values {
            Values::Plain(sums) => sums.tied.map(|sum| (sum + sums.untied).mean(n_lists)),
            Values::Logarithms(means) => means.tied.each_ref().map(|mean| {
                let mut whole = means.untied.clone();
                whole.merge(mean);
                whole.log_mean(n_lists)
            }),
        };
        let sd = self.variance.map(|variance| variance.to_f64().sqrt() / n_lists as f64);
        let share_tied_at_cut = self.n_crossing as f64 / n_lists as f64;
        ListMeans { n_lists, mean, best, worst, sd, share_tied_at_cut }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_is_adding() {
        let mut whole = ListSums::new(false);
        let mut parts = [ListSums::new(false), ListSums::new(false)];
        for (at, value) in [0.1, 0.25, 1.0 / 3.0, 0.7].into_iter().enumerate() {
            whole.add_tied(value, value + 0.1, value - 0.1, Some(0.01), at == 0).unwrap();
            parts[at % 2].add_tied(value, value + 0.1, value - 0.1, Some(0.01), at == 0).unwrap();
        }
        let [first, mut second] = parts;
        second.merge(&first).unwrap();
        assert_eq!(second, whole);
        let means = whole.means();
        assert_eq!((means.n_lists, means.share_tied_at_cut), (4, 0.25));
        assert!((means.sd.unwrap() - 0.05).abs() < 1e-15);
    }

    #[test]
    fn stored_sums_come_back() {
        let mut all = [ListSums::new(false), ListSums::new(false), ListSums::new(true), ListSums::new(true)];
        for sums in &mut all[1..3] {
            sums.add(-0.25).unwrap();
            sums.add_tied(-814.3, -0.1, f64::NEG_INFINITY.max(-1e4), Some(0.01), true).unwrap();
        }
        all[0].add_tied(0.5, 1.0, 0.0, None, false).unwrap();
        for sums in all {
            let words = sums.store();
            assert_eq!(ListSums::restore(&words), Ok(sums));
            for damaged in [&words[1..], &words[..words.len() - 1], &[&words[..], &[0]].concat()] {
                assert!(ListSums::restore(damaged).is_err());
            }
        }
        // The kind of values is none.
        assert!(ListSums::restore(&[0, 0, 0, 0, 0, 2]).is_err());
    }

    #[test]
    fn an_unknown_or_huge_variance_leaves_the_sd_open() {
        for variance in [None, Some(1e13)] {
            let mut sums = ListSums::new(false);
            sums.add_tied(0.5, 1.0, 0.0, variance, true).unwrap();
            assert_eq!(sums.means().sd, None);
        }
    }

    #[test]
    fn nothing_added_has_no_mean() {
        assert!(ListSums::new(false).means().mean.is_nan());
        assert!(ListSums::new(true).means().mean.is_nan());
    }

    #[test]
    fn sums_that_fit_by_themselves_only_are_not_merged() {
        let largest = VALUE_LIMIT * (1.0 - f64::EPSILON);
        let (mut untied, mut tied) = (ListSums::new(false), ListSums::new(false));
        for _ in 0..100 {
            untied.add(largest).unwrap();
            tied.add_tied(largest, largest, largest, Some(0.0), false).unwrap();
        }
        assert!(untied.clone().merge(&ListSums::new(false)).is_ok());
        assert!(untied.merge(&tied).is_err());
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        let mut sums = ListSums::new(false);
        assert_eq!(sums.add(VALUE_LIMIT), None);
        assert_eq!(sums.add(f64::NAN), None);
    }
}
