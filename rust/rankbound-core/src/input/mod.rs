//! What the caller lends: score matrices of any numeric type, read row by row.

mod element;
mod embeddings;
mod exclusion;
mod rows;
mod score;
mod targets;
mod vectors;

#[cfg(test)]
mod tests;

pub use element::Element;
pub use embeddings::Embeddings;
pub use exclusion::Exclusion;
pub use rows::Masks;
pub(crate) use rows::{Row, RowReader, check_finite};
pub use score::Score;
pub use targets::Targets;
pub use vectors::{Similarity, Vectors};
