//! Metrics of a list with one truth: exact expectations over the orders that ties allow, with their
//! extremes and variance. They read placements and nothing else.

mod rank_weights;
mod single_truth;

pub use rank_weights::RankWeights;
pub use single_truth::{Spread, TieSpread, values};
