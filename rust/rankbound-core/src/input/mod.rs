//! What the caller lends: score matrices of any numeric type, read row by row.

mod element;
mod embeddings;
mod exclusion;
mod id_table;
mod ids;
mod panels;
mod places;
mod qrels;
mod queries;
mod rows;
mod score;
mod targets;
mod texts;
mod trec;
mod vectors;

#[cfg(test)]
mod tests;

pub use element::Element;
pub use embeddings::Embeddings;
pub use exclusion::Exclusion;
pub(crate) use id_table::IdTable;
pub use ids::{Column, IdList, Ids, Integers, Values};
pub(crate) use ids::{Id, IdColumn};
pub(crate) use panels::{ItemPanels, QueryPanels, items_of};
pub use places::places_of;
pub use qrels::Qrels;
pub(crate) use queries::RowsByQuery;
pub use rows::Masks;
pub(crate) use rows::{Row, RowReader, check_finite};
pub use score::{Count, Score};
pub use targets::Targets;
pub use texts::{TextList, Texts};
pub use trec::{TrecFile, TrecFormat};
pub use vectors::{Similarity, Vectors};
