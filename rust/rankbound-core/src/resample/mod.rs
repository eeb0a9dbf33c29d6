//! Bootstrap and randomisation over units.
//!
//! [`Bootstrap`] is the paired percentile cluster bootstrap of a ratio of sums (Efron & Tibshirani
//! 1993, ch. 13; whole units are drawn, as in Davison & Hinkley 1997, section 3.8). It repeats
//! `scipy.stats.bootstrap(..., paired=True, method="percentile", rng=numpy.random.default_rng(seed))`
//! draw for draw and bit for bit, on any number of threads: numpy's indices are drawn in parallel, the
//! sums are added in numpy's order, the limits are scipy's. [`Bootstrap::gap_intervals`] adds what a
//! comparison of two models needs, [`SignFlips`] its randomisation test, [`linearised_error`] the
//! standard error without resampling.

mod bootstrap;
mod interval;
mod linearised;
mod normal;
mod pairwise;
mod panel;
mod percentile;
mod sign_flip;
mod stream;
#[cfg(test)]
mod tests;

pub use bootstrap::Bootstrap;
pub use interval::{GapInterval, IntervalMethod};
pub use linearised::linearised_error;
pub use percentile::percentile_limits;
pub use sign_flip::{Alternative, MAX_ENUMERATED, PATTERNS_OF_TASK, SignFlips, Significance};
