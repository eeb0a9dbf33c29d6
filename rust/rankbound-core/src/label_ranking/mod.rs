//! Kendall's measures between pairs of complete rankings of the same labels.
//!
//! A ranking is the vector of its labels' positions. All measures of two rankings follow from how
//! many pairs of labels they order in opposite ways, and how many they tie ([`PairSums`]; Kendall
//! 1938, Emond & Mason 2002). Those counts are integers and stay integers here, weights included:
//! the caller divides once.

mod count;
mod rankings;
mod sums;
#[cfg(test)]
mod tests;

use crate::error::{Error, Result};
use crate::par::Par;
use count::PairCounter;
pub use rankings::Rankings;
pub use sums::{PairSums, PairSumsByExponent};

/// Labels handed to a worker at once: enough to hide the hand-over, few enough to share evenly.
const LABELS_PER_TASK: usize = 1 << 16;

/// Sums up, over the rows of two matrices of rankings, the pairs of labels that tell them apart.
///
/// Without `weights` each row counts once.
///
/// # Errors
/// The first row that is no complete ranking, or that has ties if `refuse_ties`; [`Error::Shape`]
/// if sizes contradict one another; [`Error::Interrupted`].
pub fn sum_pairs(
    par: &mut Par<'_>,
    y_true: &dyn Rankings,
    y_pred: &dyn Rankings,
    weights: Option<&[f64]>,
    refuse_ties: bool,
) -> Result<PairSumsByExponent> {
    let (n_rows, n_labels) = y_true.shape();
    check_sizes((n_rows, n_labels), y_pred.shape(), weights)?;
    let per_task = (LABELS_PER_TASK / n_labels).max(1);
    let tasks = (0..n_rows).step_by(per_task).map(|first| first..n_rows.min(first + per_task));
    let workers = par.run(
        tasks,
        || (PairCounter::default(), PairSumsByExponent::default()),
        |(counter, sums), rows| {
            for row in rows {
                counter.read(y_true, y_pred, row, refuse_ties)?;
                sums.add(&counter.count(), weights.map_or(1.0, |weights| weights[row]));
            }
            Ok(())
        },
    )?;
    Ok(workers.into_iter().fold(PairSumsByExponent::default(), |sum, (_, sums)| sum.merge(&sums)))
}

fn check_sizes(y_true: (usize, usize), y_pred: (usize, usize), weights: Option<&[f64]>) -> Result<()> {
    let refuse = |message: String| Err(Error::Shape(message));
    if y_true != y_pred {
        return refuse(format!("y_true has shape {y_true:?}, but y_pred has {y_pred:?}"));
    }
    let (n_rows, n_labels) = y_true;
    if n_labels < 2 || u32::try_from(n_labels).is_err() {
        return refuse(format!("{n_labels} labels: a ranking needs at least two and fewer than 2^32"));
    }
    if let Some(weights) = weights.filter(|weights| weights.len() != n_rows) {
        return refuse(format!("{} weights for {n_rows} rankings", weights.len()));
    }
    Ok(())
}
