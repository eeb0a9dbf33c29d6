//! Queries and items as vectors, and everything that keeps them from being scored.

use super::vectors::{Similarity, Vectors};
use crate::error::{Error, Result};
use crate::par::Par;

/// Vectors checked by a worker at once.
const VECTORS_PER_TASK: usize = 256;

/// Queries and items as vectors.
#[derive(Debug, Clone, Copy)]
pub struct Embeddings<'a> {
    /// One vector per list.
    pub queries: Vectors<'a>,
    /// One vector per item.
    pub items: Vectors<'a>,
    /// What each item scores beside the similarity; nothing if not given.
    pub item_bias: Option<&'a [f32]>,
    /// How the score is made.
    pub similarity: Similarity,
}

impl Embeddings<'_> {
    /// Number of dimensions of queries and items.
    pub(crate) fn n_dimensions(&self) -> usize {
        self.items.dim().1
    }

    /// What an item scores beside the similarity.
    pub(crate) fn bias(&self, item: usize) -> f32 {
        self.item_bias.map_or(0.0, |bias| bias[item])
    }

    /// Checks every size and value.
    ///
    /// # Errors
    /// [`Error::Shape`] if sizes contradict one another, and the first bias, query or item that
    /// cannot be scored.
    pub(crate) fn check(&self, par: &mut Par<'_>) -> Result<()> {
        let ((_, n_dimensions), (n_items, others)) = (self.queries.dim(), self.items.dim());
        if n_dimensions != others || n_dimensions == 0 || u32::try_from(n_items).is_err() {
            return Err(Error::Shape(format!(
                "queries have {n_dimensions} dimensions and the {n_items} items {others}: both need as many, at least 1"
            )));
        }
        if let Some(bias) = self.item_bias {
            if bias.len() != n_items {
                return Err(Error::Shape(format!("item_bias has {} values for {n_items} items", bias.len())));
            }
            if let Some(item) = bias.iter().position(|bias| !bias.is_finite()) {
                return Err(Error::ItemBias { item, value: bias[item] });
            }
        }
        for (name, vectors) in [("queries", self.queries), ("items", self.items)] {
            let n_vectors = vectors.dim().0;
            par.run(
                (0..n_vectors).step_by(VECTORS_PER_TASK),
                || vec![0.0; n_dimensions],
                |vector, first| {
                    let mut rows = first..n_vectors.min(first + VECTORS_PER_TASK);
                    rows.try_for_each(|row| vectors.check(name, row, self.similarity, vector))
                },
            )?;
        }
        Ok(())
    }
}
