//! The sign-flip randomisation test of paired gaps.

use rand_core::Rng;

use super::stream::pcg64;
use crate::aggregate::Fixed;
use crate::error::{Error, Result};
use crate::par::Par;

/// Gaps with at most this many non-zero units are tested over all patterns of signs.
pub const MAX_ENUMERATED: usize = 20;
/// Random patterns of one task: enough to pay for the tables of its units.
pub const PATTERNS_OF_TASK: usize = 1 << 10;
/// Units that share a word of signs.
const WORD: usize = 64;

/// What a test looks for instead of no difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alternative {
    /// A difference in either direction.
    TwoSided,
    /// The candidate is ahead of the baseline.
    Greater,
    /// The candidate is behind the baseline.
    Less,
}

impl Alternative {
    /// The alternative for the gap seen from the other side.
    pub(super) fn mirrored(self) -> Self {
        match self {
            Self::TwoSided => Self::TwoSided,
            Self::Greater => Self::Less,
            Self::Less => Self::Greater,
        }
    }
}

/// A p-value and how it was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Significance {
    /// The p-value.
    pub p_value: f64,
    /// Whether all patterns of signs were counted, none drawn.
    pub exact: bool,
}

/// Tests gaps between series of unit sums: under the hypothesis that the two labels of a unit could
/// be exchanged, each unit's gap is as likely with the other sign (Smucker, Allan & Carterette 2007).
///
/// The statistic is the sum of the gaps. Up to [`MAX_ENUMERATED`] units with a gap, the p-value is
/// the share of all patterns of signs that give a statistic at least as extreme as the one observed;
/// beyond, `(1 + #) / (B + 1)` over `B` random patterns (Phipson & Smyth 2010). Sums are compared as
/// integers, so that ties count.
///
/// Unit `u` of pattern `r` changes its sign if bit `u % 64` of the 64-bit word
/// `r * ceil(U / 64) + u / 64` of numpy's PCG64 is set: a pattern depends neither on batches or
/// threads nor on what else is tested.
#[derive(Debug, Clone, Copy)]
pub struct SignFlips<'a> {
    /// Sums of a metric over each unit's lists, one slice for each metric and model.
    pub series: &'a [&'a [f64]],
    /// Candidate and baseline of each gap, as places in `series`.
    pub gaps: &'a [(usize, usize)],
    /// numpy's `SeedSequence(seed).generate_state(4, uint64)`.
    pub seed_words: [u64; 4],
    /// Number of random patterns, for gaps that are not enumerated.
    pub n_resamples: usize,
}

impl SignFlips<'_> {
    /// The p-value of every gap.
    ///
    /// The tick of `par` is told the number of finished tasks, each of at most
    /// [`PATTERNS_OF_TASK`] patterns.
    ///
    /// # Errors
    /// [`Error::Shape`] if a gap names no series or series of different lengths;
    /// [`Error::AccumulatorRange`] for values or sums out of range; [`Error::Interrupted`].
    pub fn p_values(&self, par: &mut Par<'_>, alternative: Alternative) -> Result<Vec<Significance>> {
        let gaps = self.gaps.iter().map(|&gap| self.gap(gap)).collect::<Result<Vec<_>>>()?;
        let tasks = gaps.iter().enumerate().flat_map(|(index, gap)| {
            let step = if gap.is_enumerated() { usize::MAX } else { PATTERNS_OF_TASK };
            let n_patterns = if gap.is_enumerated() { 1 } else { self.n_resamples };
            (0..n_patterns).step_by(step).map(move |first| (index, first))
        });
        let count = |counts: &mut Vec<u64>, (index, first): (usize, usize)| {
            let (gap, counts) = (&gaps[index], &mut counts[index]);
            if gap.is_enumerated() {
                *counts = gap.enumerate(alternative);
            } else {
                let n_patterns = PATTERNS_OF_TASK.min(self.n_resamples - first);
                *counts += gap.draw(self.seed_words, first, n_patterns, alternative);
            }
            Ok(())
        };
        let of_workers = par.run(tasks, || vec![0; gaps.len()], count)?;
        let n_extreme = |index| of_workers.iter().map(|counts| counts[index]).sum::<u64>() as f64;
        let significance = |(index, gap): (usize, &Gap<'_>)| {
            let exact = gap.is_enumerated();
            let p_value = if exact {
                n_extreme(index) / (1_u64 << gap.non_zero.len()) as f64
            } else {
                (1.0 + n_extreme(index)) / (1.0 + self.n_resamples as f64)
            };
            Significance { p_value, exact }
        };
        Ok(gaps.iter().enumerate().map(significance).collect())
    }

    fn gap(&self, (candidate, baseline): (usize, usize)) -> Result<Gap<'_>> {
        let n_series = self.series.len();
        let (Some(&candidate), Some(&baseline)) = (self.series.get(candidate), self.series.get(baseline)) else {
            return Err(Error::Shape(format!("a gap names series {candidate} and {baseline} of {n_series}")));
        };
        if candidate.len() != baseline.len() {
            let lengths = (candidate.len(), baseline.len());
            return Err(Error::Shape(format!("a gap is between series of {} and {} units", lengths.0, lengths.1)));
        }
        // No sum of gaps, whatever their signs, exceeds the sum of all magnitudes.
        for values in [candidate, baseline] {
            let mut magnitudes = values.iter().enumerate();
            magnitudes.try_fold(Fixed::default(), |sum, (unit, value)| {
                // Twice over, since there are two series.
                sum.checked_add(value.abs(), "values", unit)?.checked_add(value.abs(), "values", unit)
            })?;
        }
        let mut gap = Gap { candidate, baseline, total: Fixed::default(), non_zero: Vec::new() };
        for unit in 0..candidate.len() {
            let difference = gap.difference(unit);
            gap.total += difference;
            if difference != Fixed::default() && gap.non_zero.len() <= MAX_ENUMERATED {
                gap.non_zero.push(difference);
            }
        }
        Ok(gap)
    }
}

/// One gap, unit by unit.
struct Gap<'a> {
    candidate: &'a [f64],
    baseline: &'a [f64],
    total: Fixed,
    /// The differences that are not zero, one more than can be enumerated at most.
    non_zero: Vec<Fixed>,
}

impl Gap<'_> {
    fn is_enumerated(&self) -> bool {
        self.non_zero.len() <= MAX_ENUMERATED
    }

    fn difference(&self, unit: usize) -> Fixed {
        Fixed::from_f64(self.candidate[unit]) - Fixed::from_f64(self.baseline[unit])
    }

    /// Whether the statistic is at least as extreme once the units that make up `flipped` of the
    /// total have changed their sign: it is `total - 2 * flipped`.
    fn is_extreme(&self, flipped: Fixed, alternative: Alternative) -> bool {
        let zero = Fixed::default();
        match alternative {
            Alternative::Greater => flipped <= zero,
            Alternative::Less => flipped >= zero,
            Alternative::TwoSided if self.total >= zero => flipped <= zero || flipped >= self.total,
            Alternative::TwoSided => flipped >= zero || flipped <= self.total,
        }
    }

    /// Number of extreme patterns among all, each of which differs from the one before in one sign.
    fn enumerate(&self, alternative: Alternative) -> u64 {
        let mut flipped = Fixed::default();
        let mut n_extreme = 1;
        for step in 1_u32..1 << self.non_zero.len() {
            let unit = step.trailing_zeros();
            let is_set = (step >> (unit + 1)) & 1 == 0;
            let difference = self.non_zero[unit as usize];
            if is_set {
                flipped += difference;
            } else {
                flipped -= difference;
            }
            n_extreme += u64::from(self.is_extreme(flipped, alternative));
        }
        n_extreme
    }

    /// Number of extreme patterns among `n_patterns` random ones from `first` on.
    ///
    /// All patterns look up the sums of eight units at a time in the same tables, which stay near.
    fn draw(&self, seed_words: [u64; 4], first: usize, n_patterns: usize, alternative: Alternative) -> u64 {
        let n_units = self.candidate.len();
        let words_of_pattern = n_units.div_ceil(WORD);
        let mut rngs: Vec<_> = (first..first + n_patterns)
            .map(|pattern| {
                let mut rng = pcg64(seed_words);
                rng.advance((pattern * words_of_pattern) as u128);
                rng
            })
            .collect();
        let mut flipped = vec![Fixed::default(); n_patterns];
        let mut tables = vec![[Fixed::default(); 256]; WORD / 8];
        for start in (0..n_units).step_by(WORD) {
            for (octet, table) in tables.iter_mut().enumerate() {
                self.tabulate(start + 8 * octet, table);
            }
            for (flipped, rng) in flipped.iter_mut().zip(&mut rngs) {
                let signs = rng.next_u64().to_le_bytes();
                *flipped += tables.iter().zip(signs).map(|(table, signs)| table[usize::from(signs)]).sum();
            }
        }
        flipped.iter().map(|&flipped| u64::from(self.is_extreme(flipped, alternative))).sum()
    }

    /// The sum of every subset of the eight units from `start` on; units beyond the last add nothing.
    fn tabulate(&self, start: usize, table: &mut [Fixed; 256]) {
        let differences: [Fixed; 8] = std::array::from_fn(|bit| {
            let unit = start + bit;
            if unit < self.candidate.len() { self.difference(unit) } else { Fixed::default() }
        });
        for subset in 1..table.len() {
            table[subset] = table[subset & (subset - 1)] + differences[subset.trailing_zeros() as usize];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::SEED_0;
    use super::*;
    use Alternative::{Greater, Less, TwoSided};

    fn p_values(gaps: &[f64], n_resamples: usize, num_threads: usize, alternative: Alternative) -> Significance {
        let zeros = vec![0.0; gaps.len()];
        let flips = SignFlips { series: &[gaps, &zeros], gaps: &[(0, 1)], seed_words: SEED_0, n_resamples };
        Par::unwatched(num_threads, |par| flips.p_values(par, alternative)).unwrap()[0]
    }

    #[test]
    fn few_units_are_enumerated() {
        for (gaps, two_sided, greater, less) in [
            (&[3.0, 1.0, 2.0, 0.0][..], 1.0 / 4.0, 1.0 / 8.0, 1.0),
            (&[3.0, 1.0, 2.0, -1.0], 3.0 / 8.0, 3.0 / 16.0, 15.0 / 16.0),
            (&[1.0; 5], 1.0 / 16.0, 1.0 / 32.0, 1.0),
            (&[0.0; 30], 1.0, 1.0, 1.0),
            (&[], 1.0, 1.0, 1.0),
            // Every pattern is at least as extreme as a statistic of zero.
            (&[0.5, -0.25, -0.25], 1.0, 5.0 / 8.0, 5.0 / 8.0),
        ] {
            for (alternative, p_value) in [(TwoSided, two_sided), (Greater, greater), (Less, less)] {
                assert_eq!(p_values(gaps, 0, 2, alternative), Significance { p_value, exact: true }, "{gaps:?}");
            }
            let mirrored: Vec<f64> = gaps.iter().map(|gap| -gap).collect();
            assert_eq!(p_values(&mirrored, 0, 1, Greater).p_value, less);
        }
    }

    #[test]
    fn the_enumeration_ends_at_twenty_units() {
        let all_ahead = |n_units| p_values(&vec![1.0; n_units], 999, 1, TwoSided);
        assert_eq!(all_ahead(20), Significance { p_value: 2.0 / 1_048_576.0, exact: true });
        assert_eq!(all_ahead(21), Significance { p_value: 1.0 / 1000.0, exact: false });
    }

    /// The definition, sign by sign: one generator for all patterns, sums of small integers.
    #[test]
    fn patterns_follow_the_stream() {
        let n_resamples = 2_500;
        for n_units in [30, 63, 64, 65, 200] {
            let gaps: Vec<f64> = (0..n_units).map(|unit: i32| f64::from((unit * 7 + 3) % 11 - 4)).collect();
            let total: f64 = gaps.iter().sum();
            let mut rng = pcg64(SEED_0);
            let mut counts = [1.0; 3];
            for _ in 0..n_resamples {
                let mut statistic = 0.0;
                for units in gaps.chunks(64) {
                    let signs = rng.next_u64();
                    statistic += units
                        .iter()
                        .zip(0..)
                        .map(|(gap, bit)| if signs >> bit & 1 == 1 { -gap } else { *gap })
                        .sum::<f64>();
                }
                for (count, extreme) in
                    counts.iter_mut().zip([statistic.abs() >= total.abs(), statistic >= total, statistic <= total])
                {
                    *count += f64::from(u8::from(extreme));
                }
            }
            for (alternative, count) in [TwoSided, Greater, Less].into_iter().zip(counts) {
                for num_threads in [1, 2, 16] {
                    let found = p_values(&gaps, n_resamples, num_threads, alternative);
                    assert_eq!(
                        found,
                        Significance { p_value: count / 2_501.0, exact: false },
                        "{n_units} {alternative:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn contradictions_and_sums_out_of_range_are_refused() {
        let refused = |series: &[&[f64]], gap| {
            let flips = SignFlips { series, gaps: &[gap], seed_words: SEED_0, n_resamples: 5 };
            Par::unwatched(1, |par| flips.p_values(par, TwoSided)).unwrap_err()
        };
        assert!(matches!(refused(&[&[1.0], &[1.0]], (0, 2)), Error::Shape(_)));
        assert!(matches!(refused(&[&[1.0], &[1.0, 2.0]], (0, 1)), Error::Shape(_)));
        assert!(matches!(refused(&[&[f64::NAN], &[1.0]], (0, 1)), Error::AccumulatorRange { .. }));
        let large = [1e12; 100];
        assert!(matches!(refused(&[&large, &large], (0, 1)), Error::AccumulatorRange { position: 70, .. }));
    }
}
