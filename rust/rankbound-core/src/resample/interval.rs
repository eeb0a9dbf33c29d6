//! Bootstrap intervals, standard errors and p-values of gaps between means.

use super::bootstrap::Bootstrap;
use super::linearised::{ROUNDING, deviations, linearised_error, ratio, sum};
use super::normal;
use super::percentile::{percentile_limits, quantile};
use super::sign_flip::Alternative;
use crate::error::{Error, Result};
use crate::par::Par;

/// Limits are not given if more than this share of the resamples has nothing to make them of.
const MAX_DROPPED: f64 = 0.01;

/// How limits are made from replicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntervalMethod {
    /// Quantiles of the replicates (Efron & Tibshirani 1993, ch. 13).
    Percentile,
    /// Quantiles corrected for bias and acceleration (Efron & Tibshirani 1993, section 14.3).
    Bca,
    /// Quantiles of the replicates' deviations in units of their own linearised standard errors
    /// (Davison & Hinkley 1997, section 5.2.1).
    Studentized,
}

/// What the resamples say about a gap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GapInterval {
    /// Lower limit; NaN where the method has none.
    pub low: f64,
    /// Upper limit.
    pub high: f64,
    /// Standard deviation of the replicates; NaN if too many have no logarithm.
    pub standard_error: f64,
    /// `(1 + #) / (B + 1)` over replicates shifted to a mean gap of zero (Efron & Tibshirani 1993,
    /// section 16.4); those without a logarithm speak for no gap.
    pub p_value: f64,
    /// Resamples that the limits leave out: a mean of zero has no logarithm, and units that are all
    /// alike have no error to studentise by.
    pub n_dropped: usize,
}

impl Bootstrap<'_> {
    /// What the resamples say about every gap `(candidate, baseline)`, places in the series.
    ///
    /// A series with a logarithm in `log_scales` holds exponentials in units of `e` to that power, and
    /// what is compared is the logarithm of its mean, so that a gap is a log ratio. It has no
    /// studentised limits.
    ///
    /// Limits are computed for the model that is ahead, and mirrored for the other: turning a gap
    /// round turns its interval round in every bit, which no formula for quantiles does by itself.
    ///
    /// # Errors
    /// As [`Bootstrap::ratios`], and [`Error::Shape`] if a gap names no series, or a mean and a
    /// logarithm, or `log_scales` has not one entry per series.
    pub fn gap_intervals(
        &self,
        par: &mut Par<'_>,
        gaps: &[(usize, usize)],
        log_scales: &[Option<f64>],
        method: IntervalMethod,
        confidence_level: f64,
        alternative: Alternative,
    ) -> Result<Vec<GapInterval>> {
        let n_series = self.series.len();
        if let Some((a, b)) = gaps.iter().find(|(a, b)| a.max(b) >= &n_series) {
            return Err(Error::Shape(format!("a gap names series {a} and {b} of {n_series}")));
        }
        if log_scales.len() != n_series {
            return Err(Error::Shape(format!("{} log scales for {n_series} series", log_scales.len())));
        }
        if let Some((a, b)) = gaps.iter().find(|&&(a, b)| log_scales[a].is_some() != log_scales[b].is_some()) {
            return Err(Error::Shape(format!("series {a} and {b} are a mean and a logarithm, which have no gap")));
        }
        let means: Vec<f64> =
            self.series.iter().zip(log_scales).map(|(of, &scale)| on_scale(ratio(of, self.counts), scale)).collect();
        // If the means are equal, by the first unit that differs.
        let is_ahead = |&(a, b): &(usize, usize)| (means[a], self.series[a]) >= (means[b], self.series[b]);
        let ahead: Vec<bool> = gaps.iter().map(is_ahead).collect();
        let oriented: Vec<(usize, usize)> =
            gaps.iter().zip(&ahead).map(|(&(a, b), &ahead)| if ahead { (a, b) } else { (b, a) }).collect();
        let errors = Errors::new(self, if method == IntervalMethod::Studentized { &oriented } else { &[] });
        let series: Vec<&[f64]> = self.series.iter().copied().chain(errors.series()).collect();
        let mut ratios = Bootstrap { series: &series, ..*self }.ratios(par)?;
        for (ratios, &scale) in ratios.iter_mut().zip(log_scales) {
            ratios.iter_mut().for_each(|ratio| *ratio = on_scale(*ratio, scale));
        }
        let is_enough = |kept: &[f64]| (self.n_resamples - kept.len()) as f64 <= MAX_DROPPED * self.n_resamples as f64;
        let interval = |(index, &(a, b)): (usize, &(usize, usize))| {
            let replicates: Vec<f64> = ratios[a].iter().zip(&ratios[b]).map(|(a, b)| a - b).collect();
            let finite: Vec<f64> = replicates.iter().copied().filter(|gap| gap.is_finite()).collect();
            let estimate = means[a] - means[b];
            let standard_error = if is_enough(&finite) { standard_deviation(&finite) } else { f64::NAN };
            let kept = match method {
                IntervalMethod::Percentile | IntervalMethod::Bca => finite,
                IntervalMethod::Studentized if log_scales[a].is_some() => Vec::new(),
                IntervalMethod::Studentized => errors.pivots(&ratios[n_series..], index),
            };
            let limits = match method {
                _ if !is_enough(&kept) => (f64::NAN, f64::NAN),
                IntervalMethod::Percentile => percentile_limits(&kept, confidence_level),
                IntervalMethod::Bca => {
                    bca_limits(&kept, estimate, self.acceleration((a, b), log_scales), confidence_level)
                }
                IntervalMethod::Studentized => {
                    let error = linearised_error(self.series[a], self.series[b], self.counts);
                    let (low, high) = percentile_limits(&kept, confidence_level);
                    (estimate - high * error, estimate - low * error)
                }
            };
            let (low, high) = if ahead[index] { limits } else { (-limits.1, -limits.0) };
            GapInterval {
                low,
                high,
                standard_error,
                p_value: shifted_p_value(
                    &replicates,
                    estimate,
                    if ahead[index] { alternative } else { alternative.mirrored() },
                ),
                n_dropped: self.n_resamples - kept.len(),
            }
        };
        Ok(oriented.iter().enumerate().map(interval).collect())
    }

    /// The acceleration of a gap: a sixth of the skewness of what it is without each unit in turn.
    fn acceleration(&self, (a, b): (usize, usize), log_scales: &[Option<f64>]) -> f64 {
        let n_lists = self.counts.map_or(self.series[a].len() as f64, sum);
        let totals = [a, b].map(|series| sum(self.series[series]));
        let without = |unit: usize| {
            let rest = n_lists - self.counts.map_or(1.0, |counts| counts[unit]);
            on_scale((totals[0] - self.series[a][unit]) / rest, log_scales[a])
                - on_scale((totals[1] - self.series[b][unit]) / rest, log_scales[b])
        };
        let jackknife: Vec<f64> = (0..self.series[a].len()).map(without).collect();
        let mean = sum(&jackknife) / jackknife.len() as f64;
        let power = |exponent| sum(&jackknife.iter().map(|value| (mean - value).powi(exponent)).collect::<Vec<_>>());
        power(3) / (6.0 * power(2).powf(1.5))
    }
}

/// A mean, or the logarithm of one in units of `e` to the power of `log_scale`.
fn on_scale(mean: f64, log_scale: Option<f64>) -> f64 {
    log_scale.map_or(mean, |scale| libm::log(mean) + scale)
}

/// `(1 + #) / (B + 1)`, where `#` replicates deviate from the estimate by as much as it deviates
/// from zero, or are undefined.
fn shifted_p_value(replicates: &[f64], estimate: f64, alternative: Alternative) -> f64 {
    let is_extreme = |shifted: &f64| {
        shifted.is_nan()
            || match alternative {
                Alternative::TwoSided => shifted.abs() >= estimate.abs(),
                Alternative::Greater => *shifted >= estimate,
                Alternative::Less => *shifted <= estimate,
            }
    };
    let n_extreme = replicates.iter().map(|replicate| replicate - estimate).filter(is_extreme).count();
    (1.0 + n_extreme as f64) / (1.0 + replicates.len() as f64)
}

/// The standard deviation, with one degree of freedom spent, equal in every bit to `numpy.std`'s.
fn standard_deviation(values: &[f64]) -> f64 {
    let mean = sum(values) / values.len() as f64;
    let squares: Vec<f64> = values.iter().map(|value| (value - mean) * (value - mean)).collect();
    (sum(&squares) / (values.len() as f64 - 1.0)).sqrt()
}

/// Repeats `scipy.stats.bootstrap(..., method="BCa")`; NaN for degenerate replicates.
fn bca_limits(replicates: &[f64], estimate: f64, acceleration: f64, confidence_level: f64) -> (f64, f64) {
    let below = replicates.iter().filter(|&&replicate| replicate < estimate).count();
    let up_to = replicates.iter().filter(|&&replicate| replicate <= estimate).count();
    let bias = normal::quantile((below + up_to) as f64 / (2.0 * replicates.len() as f64));
    let tail = normal::quantile((1.0 - confidence_level) / 2.0);
    let level = |tail: f64| {
        let moved = bias + tail;
        normal::cdf(bias + moved / (1.0 - acceleration * moved))
    };
    let levels = [level(tail), level(-tail)];
    if levels.iter().any(|level| level.is_nan()) || replicates.iter().any(|value| value.is_nan()) {
        return (f64::NAN, f64::NAN);
    }
    let mut replicates = replicates.to_vec();
    (quantile(&mut replicates, levels[0]), quantile(&mut replicates, levels[1]))
}

/// What a resample needs for the standard errors of its own: sums of the deviations of each gap, of
/// their squares and of their products with the numbers of lists, and squares and number of those.
struct Errors {
    n_units: f64,
    of_gaps: Vec<Vec<f64>>,
    of_counts: Vec<Vec<f64>>,
}

impl Errors {
    fn new(bootstrap: &Bootstrap<'_>, gaps: &[(usize, usize)]) -> Self {
        let counts = bootstrap.counts;
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).collect();
        let of_gap = |&(a, b): &(usize, usize)| {
            let deviations = deviations(bootstrap.series[a], bootstrap.series[b], counts);
            let squares = product(&deviations, &deviations);
            let products = counts.map(|counts| product(&deviations, counts));
            [Some(deviations), Some(squares), products].into_iter().flatten()
        };
        let of_counts =
            counts.filter(|_| !gaps.is_empty()).map(|counts| [product(counts, counts), vec![1.0; counts.len()]]);
        Self {
            n_units: bootstrap.series.first().map_or(0.0, |series| series.len() as f64),
            of_gaps: gaps.iter().flat_map(of_gap).collect(),
            of_counts: of_counts.into_iter().flatten().collect(),
        }
    }

    fn series(&self) -> impl Iterator<Item = &[f64]> {
        self.of_gaps.iter().chain(&self.of_counts).map(Vec::as_slice)
    }

    /// The deviation of each resample's gap in units of its own error, where that is not zero, from
    /// the ratios of [`Errors::series`].
    fn pivots(&self, ratios: &[Vec<f64>], gap: usize) -> Vec<f64> {
        let (of_gaps, of_counts) = ratios.split_at(self.of_gaps.len());
        let with_counts = !of_counts.is_empty();
        let of_gap = &of_gaps[if with_counts { 3 * gap } else { 2 * gap }..];
        let pivot = |resample: usize| {
            let (deviation, squares) = (of_gap[0][resample], of_gap[1][resample]);
            // The deviations of the resample are from its own mean gap, and squared: divided by the
            // number of lists, as all ratios are.
            let (own_squares, n_lists) = if with_counts {
                let (products, count_squares) = (of_gap[2][resample], of_counts[0][resample]);
                let crossed = deviation * (2.0 * products - deviation * count_squares);
                (squares - crossed, self.n_units / of_counts[1][resample])
            } else {
                (squares - deviation * deviation, self.n_units)
            };
            // Products lose half of the digits that deviations have.
            let is_rounding = own_squares <= ROUNDING.sqrt() * squares;
            let error = (self.n_units / (self.n_units - 1.0) * own_squares / n_lists).sqrt();
            (!is_rounding).then(|| deviation / error)
        };
        (0..of_gap.first().map_or(0, Vec::len)).filter_map(pivot).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::SEED_0;
    use super::*;
    use Alternative::{Greater, Less, TwoSided};
    use IntervalMethod::{Bca, Percentile, Studentized};

    const CANDIDATE: [f64; 7] = [1.0, 0.5, 0.0, 2.0, 0.25, 1.0, 0.0];
    const BASELINE: [f64; 7] = [0.5, 0.5, 0.25, 1.0, 0.5, 0.5, 0.125];
    const COUNTS: [f64; 7] = [1.0, 1.0, 2.0, 3.0, 1.0, 2.0, 1.0];

    type Scales = [Option<f64>; 2];

    fn on_scales(series: [&[f64]; 2], scales: Scales, method: IntervalMethod, alternative: Alternative) -> GapInterval {
        let bootstrap = Bootstrap { series: &series, counts: Some(&COUNTS), seed_words: SEED_0, n_resamples: 1000 };
        Par::unwatched(2, |par| bootstrap.gap_intervals(par, &[(0, 1)], &scales, method, 0.95, alternative)).unwrap()[0]
    }

    fn interval(series: [&[f64]; 2], method: IntervalMethod, alternative: Alternative) -> GapInterval {
        on_scales(series, [None; 2], method, alternative)
    }

    #[test]
    fn seven_units_are_scipys() {
        // scipy 1.17.1, as in `tests.rs`: the mean itself, then the difference.
        let mean = interval([&CANDIDATE, &[0.0; 7]], Bca, TwoSided);
        assert_eq!((mean.low, mean.high), (0.15, 0.642_857_142_857_142_9));
        assert_eq!(mean.standard_error, 0.125_442_196_907_222_77);
        let difference = interval([&CANDIDATE, &BASELINE], Percentile, TwoSided);
        assert_eq!((difference.low, difference.high), (-0.090_980_113_636_363_57, 0.291_666_666_666_666_63));
    }

    #[test]
    fn turned_round_everything_is_mirrored() {
        let logarithms = [Some(-3.0), Some(-2.5)];
        for (method, [a, b]) in [
            (Percentile, [None; 2]),
            (Bca, [None; 2]),
            (Studentized, [None; 2]),
            (Percentile, logarithms),
            (Bca, logarithms),
        ] {
            for (alternative, mirrored) in [(TwoSided, TwoSided), (Greater, Less), (Less, Greater)] {
                let ahead = on_scales([&CANDIDATE, &BASELINE], [a, b], method, alternative);
                let behind = on_scales([&BASELINE, &CANDIDATE], [b, a], method, mirrored);
                assert!(ahead.low < ahead.high);
                assert_eq!(GapInterval { low: -behind.high, high: -behind.low, ..behind }, ahead);
            }
        }
    }

    /// Constant ratios: every resample has the same log ratio, whatever was drawn.
    #[test]
    fn gaps_of_logarithms_are_log_ratios() {
        let doubled = BASELINE.map(|value| 2.0 * value);
        let found = on_scales([&doubled, &BASELINE], [Some(-900.0), Some(-901.0)], Percentile, TwoSided);
        let log_ratio = 1.0 + std::f64::consts::LN_2;
        assert!([found.low, found.high].iter().all(|limit| (limit - log_ratio).abs() < 1e-12), "{found:?}");
        assert_eq!((found.n_dropped, found.p_value), (0, 1.0 / 1001.0));
        let studentized = on_scales([&doubled, &BASELINE], [Some(0.0); 2], Studentized, TwoSided);
        assert!(studentized.low.is_nan() && studentized.n_dropped == 1000);
    }

    #[test]
    fn resamples_without_a_logarithm_are_left_out() {
        let zeros = [0.0; 7];
        for series in [[&BASELINE, &zeros], [&zeros, &BASELINE], [&zeros, &zeros]] {
            let found = on_scales(series.map(|of| &of[..]), [Some(0.0); 2], Percentile, TwoSided);
            assert!(found.low.is_nan() && found.high.is_nan() && found.standard_error.is_nan());
            assert_eq!((found.p_value, found.n_dropped), (1.0, 1000));
        }
        // The only list that counts is missing from (6/7)^7 of the resamples.
        let single = [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let found = on_scales([&single, &BASELINE], [Some(0.0); 2], Percentile, TwoSided);
        assert!(found.low.is_nan() && (280..400).contains(&found.n_dropped), "{found:?}");
    }

    #[test]
    fn a_mean_and_a_logarithm_have_no_gap() {
        let bootstrap =
            Bootstrap { series: &[&CANDIDATE, &BASELINE], counts: None, seed_words: SEED_0, n_resamples: 5 };
        for scales in [&[None, Some(0.0)][..], &[None]] {
            let found =
                Par::unwatched(1, |par| bootstrap.gap_intervals(par, &[(0, 1)], scales, Percentile, 0.95, TwoSided));
            assert!(matches!(found, Err(Error::Shape(_))));
        }
    }

    #[test]
    fn equal_units_have_percentiles_alone() {
        let ones = [&COUNTS[..], &[0.0; 7]];
        let percentile = interval(ones, Percentile, TwoSided);
        assert_eq!((percentile.low, percentile.high, percentile.standard_error), (1.0, 1.0, 0.0));
        assert!(interval(ones, Bca, TwoSided).low.is_nan());
        let studentized = interval(ones, Studentized, TwoSided);
        assert!(studentized.low.is_nan() && studentized.n_dropped == 1000);
    }
}
