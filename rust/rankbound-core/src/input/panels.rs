//! Vectors side by side, in the order in which the kernel reads them.

use std::ops::Range;

use super::embeddings::Embeddings;
use crate::error::Result;
use crate::kernel::{LANES, QueryPanel, ROWS};
use crate::par::Par;

/// As many items as have about `values` numbers, in whole panels.
pub(crate) fn items_of(values: usize, n_dimensions: usize) -> usize {
    (values / n_dimensions).max(LANES) / LANES * LANES
}

/// Items in panels of [`LANES`], each their biases and then dimension after dimension.
#[derive(Debug, Default)]
pub(crate) struct ItemPanels {
    values: Vec<[f32; LANES]>,
    n_dimensions: usize,
}

impl ItemPanels {
    /// 16 MB of items for all workers: a third-level cache holds as much.
    pub(crate) fn items_per_chunk(n_dimensions: usize) -> usize {
        items_of(1 << 22, n_dimensions)
    }

    /// Copies items into the panels, in place of others. Places without an item score -inf, below
    /// every threshold.
    pub(crate) fn pack(&mut self, par: &mut Par<'_>, embeddings: &Embeddings<'_>, items: &Range<usize>) -> Result<()> {
        let n_dimensions = embeddings.n_dimensions();
        self.n_dimensions = n_dimensions;
        self.values.resize(items.len().div_ceil(LANES) * (1 + n_dimensions), [0.0; LANES]);
        par.run(
            items.clone().step_by(LANES).zip(self.values.chunks_exact_mut(1 + n_dimensions)),
            || vec![0.0; n_dimensions],
            |vector, (first, panel)| {
                for lane in 0..LANES {
                    let item = first + lane;
                    if item < items.end {
                        embeddings.items.load(item, embeddings.similarity, vector);
                        panel[0][lane] = embeddings.bias(item);
                    } else {
                        vector.fill(0.0);
                        panel[0][lane] = f32::NEG_INFINITY;
                    }
                    panel[1..].iter_mut().zip(&*vector).for_each(|(values, &value)| values[lane] = value);
                }
                Ok(())
            },
        )?;
        Ok(())
    }

    /// The panels, as many of them at a time as hold so many items.
    pub(crate) fn blocks(&self, n_items: usize) -> impl Iterator<Item = &[[f32; LANES]]> {
        self.values.chunks(n_items / LANES * (1 + self.n_dimensions))
    }
}

/// Queries in groups of [`ROWS`], dimension after dimension; zeros in the places without one.
#[derive(Debug, Default)]
pub(crate) struct QueryPanels {
    values: Vec<[f32; ROWS]>,
    n_dimensions: usize,
    vector: Vec<f32>,
}

impl QueryPanels {
    /// Copies queries into the groups, in place of others.
    pub(crate) fn load(&mut self, embeddings: &Embeddings<'_>, queries: impl ExactSizeIterator<Item = usize>) {
        let n_dimensions = embeddings.n_dimensions();
        self.n_dimensions = n_dimensions;
        self.vector.resize(n_dimensions, 0.0);
        self.values.clear();
        self.values.resize(queries.len().div_ceil(ROWS) * n_dimensions, [0.0; ROWS]);
        for (at, query) in queries.enumerate() {
            embeddings.queries.load(query, embeddings.similarity, &mut self.vector);
            let group = &mut self.values[at / ROWS * n_dimensions..];
            group.iter_mut().zip(&self.vector).for_each(|(values, &value)| values[at % ROWS] = value);
        }
    }

    /// The groups, in their order.
    pub(crate) fn groups(&self) -> impl Iterator<Item = QueryPanel<'_>> {
        self.values.chunks_exact(self.n_dimensions)
    }
}
