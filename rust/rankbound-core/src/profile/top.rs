//! The best items of each row as a list, for people to look at.

use ndarray::ArrayView2;

use super::lists_per_task;
use crate::error::{Error, Result};
use crate::input::{Element, Masks, RowReader, Score, check_finite};
use crate::kernel::{BLOCK, Kernel, TopK, column};
use crate::par::Par;

/// The best columns of each row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopColumns {
    /// Rows of `k` columns, best first; only the first `counts[row]` of a row mean something.
    pub columns: Vec<u32>,
    /// How many columns each row has: `k`, or fewer if there are fewer candidates.
    pub counts: Vec<u32>,
}

/// Finds the best `k` columns of every row. Equal scores are listed by column, which is an
/// arbitrary choice: metrics must not be computed from such a list.
///
/// # Errors
/// The first score, in row order, that cannot be ranked; [`Error::Interrupted`].
pub fn top_columns<E>(par: &mut Par<'_>, matrix: &ArrayView2<'_, E>, k: usize, masks: &Masks<'_>) -> Result<TopColumns>
where
    E: Element,
    E::Native: Kernel,
{
    let (n_rows, n_classes) = matrix.dim();
    if n_rows == 0 || n_classes == 0 || k == 0 {
        return Err(Error::Shape(format!("proba of {n_rows} rows and {n_classes} columns has no top {k}")));
    }
    if let Some(exclude) = &masks.exclude {
        exclude.check_sizes(n_rows, (n_rows, n_classes))?;
    }
    let k = k.min(n_classes);
    let mut columns = vec![0; n_rows * k];
    let mut counts = vec![0; n_rows];
    let rows: Vec<usize> = (0..n_rows).collect();
    let per_task = lists_per_task(n_classes);
    let tasks = columns.chunks_mut(per_task * k).zip(counts.chunks_mut(per_task)).zip(rows.chunks(per_task));
    par.run(
        tasks,
        || (RowReader::default(), Vec::new(), TopK::default()),
        |(reader, maxima, top), ((columns, counts), rows)| {
            reader.load(matrix, rows)?;
            for (position, (columns, count)) in columns.chunks_mut(k).zip(counts).enumerate() {
                let index = rows[position];
                let row = reader.row(matrix, (position, index, index), masks)?;
                let pass = E::Native::block_pass(row.scores, row.scores[0], maxima);
                if row.masked.is_empty() && !pass.sum.is_finite() {
                    check_finite(row.scores, index)?;
                }
                top.find(row.scores, maxima, k, !row.masked.is_empty());
                *count = column(list(top, row.scores, columns));
            }
            Ok(())
        },
    )?;
    Ok(TopColumns { columns, counts })
}

/// Writes the columns of a top K, best first, and returns how many there are.
fn list<T: Score>(top: &TopK<T>, row: &[T], columns: &mut [u32]) -> usize {
    let mut best = top.above.clone();
    best.sort_unstable_by(|&a, &b| {
        let (score_a, score_b) = (row[a as usize], row[b as usize]);
        score_b.partial_cmp(&score_a).expect("scores are ordered: NaN was refused").then(a.cmp(&b))
    });
    if let Some(cut) = top.cut {
        let blocks = top.tied_blocks.iter().flat_map(|&(block, _)| block * BLOCK..row.len().min((block + 1) * BLOCK));
        let members = blocks.filter(|&at| row[at] == cut.value).map(column);
        best.extend(members.take(cut.slots as usize));
    }
    columns[..best.len()].copy_from_slice(&best);
    best.len()
}
