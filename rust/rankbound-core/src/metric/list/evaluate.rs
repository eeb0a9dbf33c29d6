//! Every metric of every list, and what they add up to.

use super::{ListMetric, ListValue, slots};
use crate::aggregate::ListSums;
use crate::error::{Error, Result};
use crate::par::Par;
use crate::profile::{BrokenTies, Profiles, TieProfile};

/// Lists handed to a worker at once.
const LISTS_PER_TASK: usize = 1024;

/// The values of metrics for lists.
#[derive(Debug)]
pub struct Evaluation {
    /// Per metric, the expected value of each list; NaN for a list without relevant items.
    pub values: Vec<Vec<f64>>,
    /// Per metric, the sums over the lists that have relevant items.
    pub sums: Vec<ListSums>,
}

/// Evaluates every metric of every list.
///
/// # Errors
/// [`Error::AccumulatorRange`] for a value too large to be summed; [`Error::Interrupted`].
pub fn evaluate(par: &mut Par<'_>, profiles: &Profiles, metrics: &[ListMetric]) -> Result<Evaluation> {
    let depth = profiles.depth();
    let prepared: Vec<Box<dyn ListValue>> = metrics.iter().map(|metric| metric.prepare(depth)).collect();
    let mut values = vec![vec![0.0; profiles.len()]; metrics.len()];
    let mut columns: Vec<_> = values.iter_mut().map(|column| column.chunks_mut(LISTS_PER_TASK)).collect();
    let tasks = (0..profiles.len()).step_by(LISTS_PER_TASK).map(|first| {
        let outputs: Vec<&mut [f64]> = columns.iter_mut().filter_map(Iterator::next).collect();
        (first, (first + LISTS_PER_TASK).min(profiles.len()), outputs)
    });
    let empty = || metrics.iter().map(|metric| ListSums::new(matches!(metric, ListMetric::LogRbp { .. }))).collect();
    let workers = par.run(
        tasks,
        || Worker { sums: empty(), broken: BrokenTies::default() },
        |worker, (first, last, mut outputs)| {
            for list in first..last {
                let profile = profiles.list(list);
                let has_ties = profile.has_ties();
                for ((metric, sums), output) in prepared.iter().zip(&mut worker.sums).zip(&mut outputs) {
                    output[list - first] = if profile.n_relevant == 0 {
                        f64::NAN
                    } else {
                        let value = metric.expected(profile);
                        let added = if has_ties {
                            add_tied(metric.as_ref(), value, profile, sums, &mut worker.broken)
                        } else {
                            sums.add(value)
                        };
                        added.ok_or(Error::AccumulatorRange { name: "a metric", position: list, value })?;
                        value
                    };
                }
            }
            Ok(())
        },
    )?;
    let mut sums: Vec<ListSums> = empty();
    for worker in &workers {
        sums.iter_mut().zip(&worker.sums).try_for_each(|(mine, theirs)| mine.merge(theirs))?;
    }
    Ok(Evaluation { values, sums })
}

struct Worker {
    sums: Vec<ListSums>,
    broken: BrokenTies,
}

/// Adds a list with ties to the sums of a metric; none if its value is too large.
fn add_tied(
    metric: &dyn ListValue,
    value: f64,
    profile: TieProfile<'_>,
    sums: &mut ListSums,
    broken: &mut BrokenTies,
) -> Option<()> {
    let cut = metric.cut_off(profile.n_relevant);
    let crosses = profile.groups.iter().any(|group| {
        let slots = slots(group.better, group.tied, cut);
        slots > 0 && slots < group.tied
    });
    // Rounding must not put the mean of the orders outside them.
    let best = metric.expected(broken.of(profile, true)).max(value);
    let worst = metric.expected(broken.of(profile, false)).min(value);
    sums.add_tied(value, best, worst, metric.variance(profile), crosses)
}
