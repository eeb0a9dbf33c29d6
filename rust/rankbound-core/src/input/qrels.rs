//! Relevance judgements from a long table: the relevant items of each query, sorted.

use super::ids::{IdTable, Ids, Values};
use super::queries::RowsByQuery;
use crate::error::{Error, PairProblem, Result};
use crate::kernel::column;
use crate::par::Par;

/// Judged queries and their relevant items, sorted by id, so that the order of the rows is nowhere.
#[derive(Debug, PartialEq)]
pub struct Qrels {
    /// Queries, rising.
    pub query_ids: Vec<i64>,
    /// Items that are relevant to any query, rising.
    pub item_ids: Vec<i64>,
    /// Where each query's items start, and where the last one's end.
    pub starts: Vec<i64>,
    /// Relevant items as places in `item_ids`, rising within a query.
    pub items: Vec<u32>,
    /// Their grades, above 0.
    pub grades: Vec<f64>,
}

impl Qrels {
    /// Reads a table of judgements; items of grade 0 are judged not relevant.
    ///
    /// # Errors
    /// [`Error::Pair`] for an item judged twice for a query and a grade that is negative, NaN or
    /// infinite; [`Error::Shape`] if the columns differ in length.
    pub fn new(par: &mut Par<'_>, queries: &Ids<'_>, items: &Ids<'_>, grades: &Values<'_>) -> Result<Self> {
        if items.len() != queries.len() || grades.len() != queries.len() {
            return Err(Error::Shape("qrels: columns differ in length".into()));
        }
        let rows = RowsByQuery::new(par, queries, &[])?;
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_unstable_by_key(|&query| rows.others[query]);
        let mut qrels = Self {
            query_ids: order.iter().map(|&query| rows.others[query]).collect(),
            item_ids: Vec::new(),
            starts: vec![0],
            items: Vec::new(),
            grades: Vec::new(),
        };
        let mut numbers = IdTable::new(&[*items]);
        let (mut own_items, mut own_grades, mut judged) = (Vec::new(), Vec::new(), Vec::new());
        for query in order {
            own_items.clear();
            own_grades.clear();
            for stretch in rows.stretches(query) {
                items.copy(stretch.clone(), &mut own_items);
                grades.copy(stretch, &mut own_grades);
            }
            let refuse = |item, problem| Err(Error::Pair { query: rows.others[query], item, problem });
            judged.clear();
            judged.extend(own_items.iter().copied().zip(own_grades.iter().copied()));
            judged.sort_unstable_by_key(|&(item, _)| item);
            if let Some(pair) = judged.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                return refuse(pair[0].0, PairProblem::Twice);
            }
            if let Some(&(item, grade)) = judged.iter().find(|(_, grade)| !(*grade >= 0.0 && grade.is_finite())) {
                return refuse(item, PairProblem::Grade(grade));
            }
            for &(item, grade) in judged.iter().filter(|(_, grade)| *grade > 0.0) {
                let number = numbers.get(item).unwrap_or_else(|| {
                    let number = column(qrels.item_ids.len());
                    numbers.insert(item, number);
                    qrels.item_ids.push(item);
                    number
                });
                qrels.items.push(number);
                qrels.grades.push(grade);
            }
            qrels.starts.push(i64::from(column(qrels.items.len())));
        }
        qrels.sort_items();
        Ok(qrels)
    }

    /// Numbers the items by rising id instead of first appearance.
    fn sort_items(&mut self) {
        let mut order: Vec<usize> = (0..self.item_ids.len()).collect();
        order.sort_unstable_by_key(|&number| self.item_ids[number]);
        let mut places = vec![0; order.len()];
        for (place, &number) in order.iter().enumerate() {
            places[number] = column(place);
        }
        self.items.iter_mut().for_each(|item| *item = places[*item as usize]);
        self.item_ids.sort_unstable();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn qrels(rows: &[(i32, i64, f32)]) -> Result<Qrels> {
        let queries: Vec<_> = rows.iter().map(|row| row.0).collect();
        let items: Vec<_> = rows.iter().map(|row| row.1).collect();
        let grades: Vec<_> = rows.iter().map(|row| row.2).collect();
        Par::unwatched(2, |par| Qrels::new(par, &Ids::Narrow(&queries), &Ids::Wide(&items), &Values::Narrow(&grades)))
    }

    #[test]
    fn queries_and_items_are_sorted_whatever_the_order_of_the_rows() {
        let rows = [(9, 40, 1.0), (2, 70, 0.0), (5, 40, 2.0), (9, -3, 3.0), (9, 70, 0.0), (5, 8, 1.0)];
        let expected = Qrels {
            query_ids: vec![2, 5, 9],
            item_ids: vec![-3, 8, 40],
            starts: vec![0, 0, 2, 4],
            items: vec![1, 2, 0, 2],
            grades: vec![1.0, 2.0, 3.0, 1.0],
        };
        assert_eq!(qrels(&rows).unwrap(), expected);
        let mut reversed = rows;
        reversed.reverse();
        assert_eq!(qrels(&reversed).unwrap(), expected);
        assert_eq!(qrels(&[]).unwrap().starts, [0]);
    }

    #[test]
    fn a_pair_that_cannot_be_used_is_named() {
        let twice = qrels(&[(1, 2, 0.0), (1, 3, 1.0), (1, 2, 0.0)]).unwrap_err();
        assert_eq!(twice, Error::Pair { query: 1, item: 2, problem: PairProblem::Twice });
        for grade in [-1.0, f32::NAN, f32::INFINITY] {
            let error = qrels(&[(1, 2, 1.0), (4, 3, grade)]).unwrap_err();
            assert!(matches!(error, Error::Pair { query: 4, item: 3, problem: PairProblem::Grade(_) }), "{error}");
        }
        let short =
            Par::unwatched(1, |par| Qrels::new(par, &Ids::Wide(&[1, 2]), &Ids::Wide(&[1]), &Values::Wide(&[1.0, 1.0])));
        assert!(matches!(short, Err(Error::Shape(_))));
    }
}
