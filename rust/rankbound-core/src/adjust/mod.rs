//! Rewrites scores before they are ranked, so that classes of unequal frequency can be compared.
//!
//! A [`Transform`] is frozen: applying it is a pure function of one row, so the ranking of a row
//! never depends on the rows beside it. Everything is evaluated in `f64`.

mod fit;
mod knots;
mod matrix;
mod transform;

#[cfg(test)]
mod tests;

pub use fit::{dead_classes, fit_knots};
pub use knots::{KnotParts, Knots};
pub use matrix::transform_matrix;
pub use transform::{Rates, Transform};
