//! Exact ranking measurement, without Python.
//!
//! Scores narrow to one tie profile per list ([`profile`]); every metric ([`metric`]) and
//! aggregate ([`aggregate`]) reads only that. [`adjust`] rewrites scores before they are ranked,
//! [`resample`] gives intervals and tests afterwards. [`catalogue`] looks at which items a top K
//! holds, beyond where the judged ones stand. [`label_ranking`] and [`overlap`] stand alone: they
//! hold rankings against one another.

#![forbid(unsafe_code)]

pub mod adjust;
pub mod aggregate;
pub mod catalogue;
pub mod error;
pub mod input;
#[expect(unreachable_pub, reason = "its trait bounds public functions, but only this crate calls it")]
mod kernel;
pub mod label_ranking;
pub mod metric;
pub mod overlap;
pub mod par;
pub mod profile;
pub mod resample;
#[cfg(test)]
mod testing;

pub use error::{Error, PairProblem, Result};
pub use par::Par;
