//! What a top K holds: exposure of the items, and measures of lists that need to know which items
//! they show. All are expectations over the orders that ties allow.
//!
//! [`scan_scores`], [`scan_lists`] and [`scan_embeddings`] reduce a list to its [`top::Top`]; every
//! measure reads only that.

mod diversity;
mod embeddings;
mod expected_exposure;
mod measure;
mod scan;
mod top;

#[cfg(test)]
mod tests;

pub use diversity::Diversity;
pub use embeddings::scan_embeddings;
pub use measure::{ItemWeights, ListMeasure, Unexpected};
pub use scan::{Found, Request, scan_lists, scan_scores};
pub use top::TopRules;
