//! Metrics: exact expectations over the orders that ties allow, with their extremes and variance.
//!
//! [`values`] is for lists with one truth and reads placements, [`list`] for any number of relevant
//! items and reads tie profiles.

pub mod list;
mod rank_weights;
mod single_truth;

pub use rank_weights::RankWeights;
pub use single_truth::{Spread, TieSpread, values};
