//! Sums over lists that merge in any order to the same bits, and what is read from them.

mod catalogue;
mod concentration;
mod exposure;
mod fingerprint;
mod fixed;
mod groups;
mod list_sums;
mod log_mean;
mod words;

pub use catalogue::CatalogueSums;
pub use concentration::{entropy, gini};
pub use exposure::{Exposure, ExposureSums, StoredSums};
pub use fingerprint::{BASES, fingerprint};
pub(crate) use fixed::significand_and_exponent;
pub use fixed::{Fixed, VALUE_LIMIT};
pub use groups::{GroupSums, mean, sum};
pub use list_sums::{ListMeans, ListSums};
pub use log_mean::LogMean;
