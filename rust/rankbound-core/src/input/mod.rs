//! What the caller lends: score matrices of any numeric type, read row by row.

mod element;
mod embeddings;
mod exclusion;
mod ids;
mod panels;
mod qrels;
mod queries;
mod rows;
mod score;
mod targets;
mod trec;
mod vectors;

#[cfg(test)]
mod tests;

pub use element::Element;
pub use embeddings::Embeddings;
pub use exclusion::Exclusion;
pub(crate) use ids::IdTable;
pub use ids::{Column, Ids, Values};
pub(crate) use panels::{ItemPanels, QueryPanels, items_of};
pub use qrels::Qrels;
pub(crate) use queries::RowsByQuery;
pub use rows::Masks;
pub(crate) use rows::{Row, RowReader, check_finite};
pub use score::Score;
pub use targets::Targets;
pub use trec::{TrecFile, TrecFormat};
pub use vectors::{Similarity, Vectors};
