//! Long tables: which rows belong to each query.

use super::ids::{Column, IdTable, Ids};
use crate::error::{Error, Result};
use crate::kernel::column;
use crate::par::Par;

/// Rows handed to a worker at once.
const ROWS_PER_TASK: usize = 1 << 18;

/// A query that is not known, until it gets a number.
const OTHER: u32 = u32::MAX;

/// The rows of each query as stretches of the table: one per query if its rows stand together.
#[derive(Debug)]
pub(crate) struct RowsByQuery {
    // Where the stretches of each query end.
    ends: Vec<usize>,
    stretches: Vec<(u32, u32)>,
    /// Queries of the table that were not known, in the order of their first rows; they follow the
    /// known ones.
    pub(crate) others: Vec<i64>,
}

impl RowsByQuery {
    /// Gathers the rows of a table by its column of queries.
    pub(crate) fn new(par: &mut Par<'_>, queries: &Ids<'_>, known: &[i64]) -> Result<Self> {
        let n_rows = queries.len();
        if u32::try_from(n_rows).is_err() {
            return Err(Error::Shape(format!("a table has {n_rows} rows, more than 2^32: evaluate it in parts")));
        }
        let mut numbers = IdTable::new(&[*queries, Ids::Wide(known)]);
        for (number, &id) in known.iter().enumerate() {
            numbers.insert(id, column(number));
        }
        let mut parts: Vec<Part> = vec![Part::default(); n_rows.div_ceil(ROWS_PER_TASK)];
        par.run(
            parts.iter_mut().zip((0..n_rows).step_by(ROWS_PER_TASK)),
            || (),
            |(), (part, first)| {
                let rows = first..(first + ROWS_PER_TASK).min(n_rows);
                part.end = column(rows.end);
                match queries {
                    Column::Narrow(ids) => part.fill(&ids[rows], first, &numbers),
                    Column::Wide(ids) => part.fill(&ids[rows], first, &numbers),
                }
                Ok(())
            },
        )?;
        let mut others = Vec::new();
        for (query, row) in parts.iter_mut().flat_map(|part| &mut part.starts).filter(|(query, _)| *query == OTHER) {
            let id = queries.get(*row as usize);
            *query = numbers.get(id).unwrap_or_else(|| {
                let number = column(known.len() + others.len());
                numbers.insert(id, number);
                others.push(id);
                number
            });
        }
        // A counting sort: the place after a query's stretches, moved up as they are put there.
        let mut ends = vec![0; known.len() + others.len()];
        for (query, _) in parts.iter().flat_map(|part| &part.starts) {
            ends[*query as usize] += 1;
        }
        let mut total = 0;
        for end in &mut ends {
            total += std::mem::replace(end, total);
        }
        let mut stretches = vec![(0, 0); total];
        for part in &parts {
            let next = part.starts.iter().skip(1).map(|(_, row)| *row).chain([part.end]);
            for (&(query, first), end) in part.starts.iter().zip(next) {
                let place = &mut ends[query as usize];
                stretches[*place] = (first, end);
                *place += 1;
            }
        }
        Ok(Self { ends, stretches, others })
    }

    /// Number of queries, known and others.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// First row, and the row after the last, of each stretch of a query.
    pub(crate) fn stretches(&self, query: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
        let start = query.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.stretches[start..self.ends[query]].iter().map(|&(first, end)| first as usize..end as usize)
    }
}

/// What one task finds.
#[derive(Debug, Clone, Default)]
struct Part {
    // Query and first row of each stretch; it reaches to the next one.
    starts: Vec<(u32, u32)>,
    // The row after the last stretch.
    end: u32,
}

impl Part {
    fn fill<I: Copy + PartialEq + Into<i64>>(&mut self, ids: &[I], first: usize, numbers: &IdTable) {
        let mut row = first;
        for same in ids.chunk_by(|a, b| a == b) {
            self.starts.push((numbers.get(same[0].into()).unwrap_or(OTHER), column(row)));
            row += same.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_row_is_in_its_query_in_order(ids in prop::collection::vec(-4_i32..4, 0..60), threads in 1_usize..3) {
            let known = [3, -4, 7];
            let wide: Vec<i64> = ids.iter().map(|&id| id.into()).collect();
            for queries in [Ids::Narrow(&ids), Ids::Wide(&wide)] {
                let rows = Par::unwatched(threads, |par| RowsByQuery::new(par, &queries, &known)).unwrap();
                let mut first_seen: Vec<i64> = Vec::new();
                wide.iter().for_each(|id| if !known.contains(id) && !first_seen.contains(id) { first_seen.push(*id) });
                prop_assert_eq!(&rows.others, &first_seen);
                prop_assert_eq!(rows.len(), known.len() + first_seen.len());
                for (query, id) in known.iter().chain(&first_seen).enumerate() {
                    let expected: Vec<usize> = (0..wide.len()).filter(|&row| wide[row] == *id).collect();
                    prop_assert_eq!(rows.stretches(query).flatten().collect::<Vec<_>>(), expected);
                }
            }
        }
    }

    #[test]
    fn stretches_that_cross_tasks_stay_together() {
        let ids = vec![5; ROWS_PER_TASK + 3];
        let rows = Par::unwatched(2, |par| RowsByQuery::new(par, &Ids::Narrow(&ids), &[5])).unwrap();
        let stretches: Vec<_> = rows.stretches(0).collect();
        assert_eq!(stretches, [0..ROWS_PER_TASK, ROWS_PER_TASK..ROWS_PER_TASK + 3]);
    }
}
