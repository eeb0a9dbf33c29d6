//! Sums over lists that merge in any order to the same bits, and what is read from them.

mod catalogue;
mod concentration;
mod fixed;
mod groups;

pub use catalogue::{CatalogueSums, Exposure};
pub use concentration::{entropy, gini};
pub(crate) use fixed::significand_and_exponent;
pub use fixed::{Fixed, VALUE_LIMIT};
pub use groups::{GroupSums, mean, sum};
