//! Bootstrap over units.
//!
//! [`Bootstrap`] is the paired percentile cluster bootstrap of a ratio of sums (Efron & Tibshirani
//! 1993, ch. 13; whole units are drawn, as in Davison & Hinkley 1997, section 3.8). It repeats
//! `scipy.stats.bootstrap(..., paired=True, method="percentile", rng=numpy.random.default_rng(seed))`
//! draw for draw and bit for bit, on any number of threads: numpy's indices are drawn in parallel, the
//! sums are added in numpy's order, the limits are scipy's.

mod bootstrap;
mod draws;
mod pairwise;
mod panel;
mod percentile;
mod stream;
#[cfg(test)]
mod tests;

pub use bootstrap::Bootstrap;
pub use percentile::percentile_limits;
