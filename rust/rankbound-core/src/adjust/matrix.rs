//! A transform of a whole matrix.

use ndarray::{Array2, ArrayView2};

use crate::adjust::Transform;
use crate::error::{Error, Result};
use crate::input::{Element, Score};
use crate::par::Par;

/// Scores of one task.
const TASK_SCORES: usize = 1 << 16;

/// The transformed matrix, row by row. Masked entries (`-inf`) are refused unless `mask_neg_inf`.
///
/// # Errors
/// Those of [`Transform::apply_row`], for the first row that has one.
pub fn transform_matrix<E: Element>(
    par: &mut Par<'_>,
    transform: &Transform,
    scores: &ArrayView2<'_, E>,
    mask_neg_inf: bool,
) -> Result<Array2<f64>> {
    let (n_rows, n_classes) = scores.dim();
    let mut values = vec![0.0; n_rows * n_classes];
    let rows_per_task = (TASK_SCORES / n_classes.max(1)).max(1);
    let tasks = values.chunks_mut(rows_per_task * n_classes.max(1)).enumerate();
    par.run(tasks, Vec::new, |copy: &mut Vec<E::Native>, (task, out)| {
        for (index, out) in out.chunks_mut(n_classes).enumerate() {
            let row = task * rows_per_task + index;
            let view = scores.row(row);
            let scores = if let Some(lent) = view.to_slice().and_then(E::lend) {
                lent
            } else {
                copy.clear();
                for (column, score) in view.iter().enumerate() {
                    copy.push(score.widen_at(row, column)?);
                }
                &*copy
            };
            if !mask_neg_inf && let Some(column) = scores.iter().position(|score| *score == E::Native::MASKED) {
                return Err(Error::NonFiniteScore { row, column, value: f64::NEG_INFINITY });
            }
            transform.apply_row(row, scores, out)?;
        }
        Ok(())
    })?;
    Array2::from_shape_vec((n_rows, n_classes), values).map_err(|error| Error::Shape(error.to_string()))
}
