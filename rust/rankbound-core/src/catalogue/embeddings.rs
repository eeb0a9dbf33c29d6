//! Vectors in, exposure of the items and values of the lists out: the scores of a few queries with
//! all items exist at a time.

use std::ops::Range;

use super::scan::{Desk, Found, Request, Scan};
use crate::error::{Error, Result};
use crate::input::{Embeddings, Exclusion, ItemPanels, Masks, QueryPanels, RowReader, items_of};
use crate::kernel::{LANES, ROWS, score_panels};
use crate::par::Par;

/// Scores that exist at once, unless each worker needs more for a group of queries: 64 MB.
const SCORES_PER_BLOCK: usize = 1 << 24;

/// Groups of queries that pass over the same items at once.
const GROUPS_PER_TASK: usize = 16;

/// Measures queries over all items, scored as by [`crate::profile::profile_embeddings`].
///
/// # Errors
/// As there.
pub fn scan_embeddings(
    par: &mut Par<'_>,
    embeddings: &Embeddings<'_>,
    exclude: Option<Exclusion<'_>>,
    request: &Request<'_>,
) -> Result<Found> {
    let (n_queries, n_items) = (embeddings.queries.dim().0, embeddings.items.dim().0);
    if let Some(exclude) = &exclude {
        exclude.check_sizes(n_queries, (n_queries, n_items))?;
    }
    embeddings.check(par)?;
    let per_block = (SCORES_PER_BLOCK / n_items.max(1)).max(ROWS * par.num_threads).next_multiple_of(ROWS);
    scan_blocks(par, embeddings, exclude, request, per_block)
}

fn scan_blocks(
    par: &mut Par<'_>,
    embeddings: &Embeddings<'_>,
    exclude: Option<Exclusion<'_>>,
    request: &Request<'_>,
    per_block: usize,
) -> Result<Found> {
    let (n_queries, n_items) = (embeddings.queries.dim().0, embeddings.items.dim().0);
    let mut scan = Scan::new(request, n_queries, n_items)?;
    let masks = Masks { exclude, neg_inf: false };
    let mut block = Block::default();
    for first in (0..request.rows.len()).step_by(per_block) {
        let places = first..request.rows.len().min(first + per_block);
        let queries = &request.rows[places.clone()];
        block.score(par, embeddings, queries)?;
        let (scores, per_row) = (block.scores.as_flattened(), n_items.next_multiple_of(LANES));
        let desk = || (RowReader::default(), Desk::default());
        scan.add(par, places, ROWS, desk, |(reader, desk), tally, places, values| {
            for (position, place) in places.clone().enumerate() {
                let query = request.rows[place];
                let of_query = &scores[(place - first) * per_row..][..n_items];
                let row = reader.made(of_query, query, &masks).map_err(as_overflow)?;
                tally.add_row(request, &row, query, desk, values.list(position)).map_err(as_overflow)?;
            }
            Ok(())
        })?;
    }
    scan.finish()
}

/// Says that it is the vectors that are too large.
fn as_overflow(error: Error) -> Error {
    match error {
        #[expect(clippy::cast_possible_truncation, reason = "it was single precision")]
        Error::NonFiniteScore { row: query, column: item, value } => {
            Error::ScoreOverflow { query, item, value: value as f32 }
        }
        other => other,
    }
}

/// Scores of some queries with all items, row after row; the last panel of a row may be part empty.
#[derive(Default)]
struct Block {
    scores: Vec<[f32; LANES]>,
    panels: ItemPanels,
}

impl Block {
    fn score(&mut self, par: &mut Par<'_>, embeddings: &Embeddings<'_>, queries: &[usize]) -> Result<()> {
        let (n_items, n_dimensions) = embeddings.items.dim();
        let per_row = n_items.div_ceil(LANES);
        self.scores.resize(queries.len().next_multiple_of(ROWS) * per_row, [0.0; LANES]);
        let per_chunk = ItemPanels::items_per_chunk(n_dimensions);
        for first in (0..n_items).step_by(per_chunk) {
            let items = first..n_items.min(first + per_chunk);
            self.panels.pack(par, embeddings, &items)?;
            let columns = first / LANES..items.end.div_ceil(LANES);
            let tasks = queries.chunks(GROUPS_PER_TASK * ROWS);
            let scores = self.scores.chunks_mut(GROUPS_PER_TASK * ROWS * per_row);
            par.run(tasks.zip(scores), QueryPanels::default, |panels, (queries, scores)| {
                panels.load(embeddings, queries.iter().copied());
                score_chunk(embeddings, panels, &self.panels, (scores, per_row), &columns);
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// Scores groups of queries with a chunk of items, which fills some `columns` of panels of each row.
fn score_chunk(
    embeddings: &Embeddings<'_>,
    queries: &QueryPanels,
    items: &ItemPanels,
    (scores, per_row): (&mut [[f32; LANES]], usize),
    columns: &Range<usize>,
) {
    // A second-level cache holds as many items.
    let per_block = items_of(1 << 16, embeddings.n_dimensions());
    for (start, panels) in columns.clone().step_by(per_block / LANES).zip(items.blocks(per_block)) {
        let end = columns.end.min(start + per_block / LANES);
        for (group, rows) in queries.groups().zip(scores.chunks_exact_mut(ROWS * per_row)) {
            let mut rows = rows.chunks_exact_mut(per_row).map(|row| &mut row[start..end]);
            let mut rows = std::array::from_fn(|_| rows.next().expect("a group has that many rows"));
            score_panels(embeddings.similarity, group, panels, &mut rows);
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::catalogue::{ItemWeights, ListMeasure, scan_scores};
    use crate::input::{Similarity, Targets, Vectors};
    use crate::kernel::score;
    use crate::metric::RankWeights;
    use crate::testing::Dice;

    /// Against the scores of all items as they are defined, whatever the cut.
    #[test]
    fn it_finds_what_a_scan_of_the_scores_finds() {
        let mut dice = Dice::new(3);
        for similarity in [Similarity::Inner, Similarity::L2] {
            let (n_queries, n_items, n_dimensions) = (23, 1 + dice.below(70), 3);
            let mut draw = || dice.below(3) as f32 - 1.0;
            let queries = Array2::from_shape_simple_fn((n_queries, n_dimensions), &mut draw);
            let items = Array2::from_shape_simple_fn((n_items, n_dimensions), &mut draw);
            let item_bias: Vec<f32> = (0..n_items).map(|_| draw()).collect();
            let embeddings = Embeddings {
                queries: Vectors::F32(queries.view()),
                items: Vectors::F32(items.view()),
                item_bias: Some(&item_bias),
                similarity,
            };
            let scores = Array2::from_shape_fn((n_queries, n_items), |(query, item)| {
                let [query, vector] = [queries.row(query).to_vec(), items.row(item).to_vec()];
                score(similarity, &query, &vector, item_bias[item])
            });
            // Item 0 is relevant to every query but the first, from which it is excluded if others are left.
            let starts: Vec<i64> = (0..=23).map(|end: i64| (end - 1).max(0)).collect();
            let targets = Targets::new(&starts, &[0; 22], None, n_items).unwrap();
            let ends: Vec<i64> = (0..=23).map(|end: i64| end.min(i64::from(n_items > 1))).collect();
            let excluded = vec![0; usize::from(n_items > 1)];
            let exclude = Exclusion::new(&ends, &excluded, n_queries, n_items).unwrap();
            let worth: Vec<f64> = (0..n_items).map(|item| item as f64).collect();
            let measure = ListMeasure::MeanWeight(ItemWeights::new(&worth).unwrap());
            let rows: Vec<usize> = (0..n_queries).filter(|row| row % 5 != 2).collect();
            let request = Request {
                k: 4,
                rows: &rows,
                measures: &[&measure],
                targets: Some(targets),
                rank_weights: Some(&RankWeights::ndcg(4, n_items)),
                class_hits: true,
                drop_masked: false,
            };
            let masks = Masks { exclude: Some(exclude), neg_inf: false };
            let expected = Par::unwatched(1, |par| scan_scores(par, &scores.view(), &masks, &request)).unwrap();
            for (num_threads, per_block) in [(1, 6), (2, 12), (3, 600)] {
                let found = Par::unwatched(num_threads, |par| {
                    scan_blocks(par, &embeddings, Some(exclude), &request, per_block)
                });
                assert_eq!(found.as_ref(), Ok(&expected));
            }
        }
    }

    #[test]
    fn what_cannot_be_scored_is_named_by_its_query() {
        let items = Array2::from_elem((3, 1), 1e30);
        // Query 7 scores what it is given, without some of the items.
        let scan = |value: f32, excluded: &[u32]| {
            let mut queries = Array2::zeros((8, 1));
            queries[[7, 0]] = value;
            let embeddings = Embeddings {
                queries: Vectors::F32(queries.view()),
                items: Vectors::F32(items.view()),
                item_bias: None,
                similarity: Similarity::Inner,
            };
            let starts = [0, 0, 0, 0, 0, 0, 0, 0, i64::try_from(excluded.len()).unwrap()];
            let exclude = Exclusion::new(&starts, excluded, 8, 3)?;
            let request = Request {
                k: 1,
                rows: &[1, 7],
                measures: &[],
                targets: None,
                rank_weights: None,
                class_hits: false,
                drop_masked: false,
            };
            Par::unwatched(2, |par| scan_embeddings(par, &embeddings, Some(exclude), &request))
        };
        let overflow = |item| Err(Error::ScoreOverflow { query: 7, item, value: f32::NEG_INFINITY });
        assert_eq!(scan(-1e30, &[]), overflow(0));
        assert_eq!(scan(-1e30, &[0]), overflow(1));
        assert_eq!(scan(-1e30, &[0, 1, 2]), Err(Error::AllMasked { row: 7, n_classes: 3 }));
        let nan = scan(f32::NAN, &[]).unwrap_err();
        assert!(matches!(nan, Error::VectorValue { name: "queries", row: 7, .. }), "{nan}");
    }
}
