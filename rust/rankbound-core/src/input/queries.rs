//! Long tables: which rows belong to each query.

use std::ops::Range;

use super::id_table::IdTable;
use super::ids::IdColumn;
use crate::error::{Error, Result};
use crate::kernel::column;
use crate::par::Par;

/// Rows handed to a worker at once.
const ROWS_PER_TASK: usize = 1 << 18;

/// A query that is not known, until it gets a number.
const OTHER: u32 = u32::MAX;

/// The rows of each query as stretches of the table: one per query if its rows stand together.
/// Queries that were not known follow the known ones, in the order of their first rows.
#[derive(Debug)]
pub(crate) struct RowsByQuery {
    // Where the stretches of each query end.
    ends: Vec<usize>,
    stretches: Vec<(u32, u32)>,
}

impl RowsByQuery {
    /// Gathers the rows of a table by its column of queries.
    pub(crate) fn new<Q: IdColumn>(par: &mut Par<'_>, queries: &Q, known: &[Q::Id]) -> Result<Self> {
        let n_rows = queries.len();
        if u32::try_from(n_rows).is_err() {
            return Err(Error::Shape(format!("a table has {n_rows} rows, more than 2^32: evaluate it in parts")));
        }
        let mut numbers = queries.table(known);
        numbers.reset(known.len());
        for (number, &id) in known.iter().enumerate() {
            numbers.insert(id, column(number));
        }
        let mut parts: Vec<Part> = vec![Part::default(); n_rows.div_ceil(ROWS_PER_TASK)];
        par.run(
            parts.iter_mut().zip((0..n_rows).step_by(ROWS_PER_TASK)),
            || (),
            |(), (part, first)| {
                part.fill(queries, first..(first + ROWS_PER_TASK).min(n_rows), &numbers);
                Ok(())
            },
        )?;
        let mut n_queries = known.len();
        for (query, row) in parts.iter_mut().flat_map(|part| &mut part.starts).filter(|(query, _)| *query == OTHER) {
            let id = queries.get(*row as usize);
            *query = numbers.get(id).unwrap_or_else(|| {
                let number = column(n_queries);
                numbers.insert(id, number);
                n_queries += 1;
                number
            });
        }
        // A counting sort: the place after a query's stretches, moved up as they are put there.
        let mut ends = vec![0; n_queries];
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
        Ok(Self { ends, stretches })
    }

    /// Number of queries, known and others.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// First row, and the row after the last, of each stretch of a query.
    pub(crate) fn stretches(&self, query: usize) -> impl Iterator<Item = Range<usize>> {
        let start = query.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.stretches[start..self.ends[query]].iter().map(|&(first, end)| first as usize..end as usize)
    }

    /// The row of the table that is a query's row number `at`.
    pub(crate) fn row(&self, query: usize, at: usize) -> usize {
        self.stretches(query).flatten().nth(at).unwrap_or(0)
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
    fn fill<Q: IdColumn>(&mut self, queries: &Q, rows: Range<usize>, numbers: &impl IdTable<Q::Id>) {
        self.end = column(rows.end);
        let mut last = None;
        for row in rows {
            let id = queries.get(row);
            if last != Some(id) {
                last = Some(id);
                self.starts.push((numbers.get(id).unwrap_or(OTHER), column(row)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::input::{Column, Integers, TextList, Texts};

    /// Rows by query, the first two queries of the table being known, and one that it lacks.
    fn check<Q: IdColumn>(queries: &Q, absent: Q::Id, num_threads: usize) {
        let ids: Vec<Q::Id> = (0..queries.len()).map(|row| queries.get(row)).collect();
        let mut first_seen: Vec<Q::Id> = Vec::new();
        ids.iter().for_each(|id| {
            if !first_seen.contains(id) {
                first_seen.push(*id);
            }
        });
        first_seen.insert(2.min(first_seen.len()), absent);
        let known = &first_seen[..3.min(first_seen.len())];
        let rows = Par::unwatched(num_threads, |par| RowsByQuery::new(par, queries, known)).unwrap();
        assert_eq!(rows.len(), first_seen.len());
        for (query, id) in first_seen.iter().enumerate() {
            let expected: Vec<usize> = (0..ids.len()).filter(|&row| ids[row] == *id).collect();
            assert_eq!(rows.stretches(query).flatten().collect::<Vec<_>>(), expected);
            (0..expected.len()).for_each(|at| assert_eq!(rows.row(query, at), expected[at]));
        }
    }

    proptest! {
        #[test]
        fn every_row_is_in_its_query_in_order(ids in prop::collection::vec(-4_i32..4, 0..60), threads in 1_usize..3) {
            let wide: Vec<i64> = ids.iter().map(|&id| id.into()).collect();
            check::<Integers<'_>>(&Column::Narrow(&ids), 9, threads);
            check::<Integers<'_>>(&Column::Wide(&wide), 9, threads);
            let names: Vec<String> = ids.iter().map(|id| "q".repeat(id.unsigned_abs() as usize)).collect();
            let list: TextList = names.iter().map(String::as_bytes).collect();
            let absent: TextList = [&b"absent"[..]].into_iter().collect();
            let [texts, absent] = [&list, &absent].map(|list| Texts::joined(&list.bytes, &list.starts).unwrap());
            check(&texts, absent.get(0), threads);
        }
    }

    #[test]
    fn stretches_that_cross_tasks_stay_together() {
        let ids = vec![5; ROWS_PER_TASK + 3];
        let rows = Par::unwatched(2, |par| RowsByQuery::new(par, &Integers::Narrow(&ids), &[5])).unwrap();
        let stretches: Vec<_> = rows.stretches(0).collect();
        assert_eq!(stretches, [0..ROWS_PER_TASK, ROWS_PER_TASK..ROWS_PER_TASK + 3]);
    }
}
