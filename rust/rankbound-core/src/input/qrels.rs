//! Relevance judgements from a long table: the relevant items of each query, sorted.

use super::id_table::IdTable;
use super::ids::{Id, IdColumn, IdList, Ids, Values, with_ids};
use super::queries::RowsByQuery;
use crate::error::{Error, PairProblem, Result};
use crate::kernel::column;
use crate::par::Par;

/// Judged queries and their relevant items, sorted by id, so that the order of the rows is nowhere.
#[derive(Debug, PartialEq)]
pub struct Qrels {
    /// Queries, rising.
    pub query_ids: IdList,
    /// Items that are relevant to any query, rising.
    pub item_ids: IdList,
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
        let (query_ids, order, rows) = with_ids!(queries, queries => sort_queries(par, queries))?;
        with_ids!(items, items => Self::of_items(query_ids, &order, &rows, items, grades))
    }

    fn of_items<I: IdColumn>(
        query_ids: IdList,
        order: &[usize],
        rows: &RowsByQuery,
        items: &I,
        grades: &Values<'_>,
    ) -> Result<Self> {
        let (mut starts, mut relevant) = (vec![0], Vec::new());
        let (mut item_ids, mut numbers) = (Vec::new(), items.table(&[]));
        let mut judged = Vec::new();
        for &query in order {
            judged.clear();
            judged.extend(rows.stretches(query).flatten().map(|row| (items.get(row), row, grades.get(row))));
            judged.sort_unstable_by_key(|&(item, row, _)| (item, row));
            if let Some(pair) = judged.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                return Err(Error::Pair { row: pair[1].1, problem: PairProblem::Twice });
            }
            if let Some(&(_, row, grade)) = judged.iter().find(|(.., grade)| !(*grade >= 0.0 && grade.is_finite())) {
                return Err(Error::Pair { row, problem: PairProblem::Grade(grade) });
            }
            for &(item, _, grade) in judged.iter().filter(|(.., grade)| *grade > 0.0) {
                let number = numbers.get(item).unwrap_or_else(|| {
                    let number = column(item_ids.len());
                    numbers.insert(item, number);
                    item_ids.push(item);
                    number
                });
                relevant.push((number, grade));
            }
            starts.push(i64::from(column(relevant.len())));
        }
        // Items are numbered by rising id instead of first appearance.
        let mut order: Vec<usize> = (0..item_ids.len()).collect();
        order.sort_unstable_by_key(|&number| item_ids[number]);
        let mut places = vec![0; order.len()];
        for (place, &number) in order.iter().enumerate() {
            places[number] = column(place);
        }
        let item_ids: Vec<I::Id> = order.iter().map(|&number| item_ids[number]).collect();
        let (items, grades) = relevant.iter().map(|&(number, grade)| (places[number as usize], grade)).unzip();
        Ok(Self { query_ids, item_ids: Id::list(&item_ids), starts, items, grades })
    }
}

/// The queries of a table by rising id, which of its queries each one is, and the rows of those.
fn sort_queries<Q: IdColumn>(par: &mut Par<'_>, queries: &Q) -> Result<(IdList, Vec<usize>, RowsByQuery)> {
    let rows = RowsByQuery::new(par, queries, &[])?;
    let ids: Vec<Q::Id> = (0..rows.len()).map(|query| queries.get(rows.row(query, 0))).collect();
    let mut order: Vec<usize> = (0..ids.len()).collect();
    order.sort_unstable_by_key(|&query| ids[query]);
    let sorted: Vec<Q::Id> = order.iter().map(|&query| ids[query]).collect();
    Ok((Id::list(&sorted), order, rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{Column, TextList, Texts};

    fn qrels(rows: &[(i32, i64, f32)]) -> Result<Qrels> {
        let queries: Vec<_> = rows.iter().map(|row| row.0).collect();
        let items: Vec<_> = rows.iter().map(|row| row.1).collect();
        let grades: Vec<_> = rows.iter().map(|row| row.2).collect();
        let [queries, items] = [Column::Narrow(&queries), Column::Wide(&items)].map(Ids::Integers);
        Par::unwatched(2, |par| Qrels::new(par, &queries, &items, &Values::Narrow(&grades)))
    }

    #[test]
    fn queries_and_items_are_sorted_whatever_the_order_of_the_rows() {
        let rows = [(9, 40, 1.0), (2, 70, 0.0), (5, 40, 2.0), (9, -3, 3.0), (9, 70, 0.0), (5, 8, 1.0)];
        let expected = Qrels {
            query_ids: IdList::Integers(vec![2, 5, 9]),
            item_ids: IdList::Integers(vec![-3, 8, 40]),
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
    fn texts_are_sorted_by_code_points() {
        let [queries, items] = [["10", "9", "9"], ["z", "\u{1f600}", "\u{ffff}"]]
            .map(|texts| texts.iter().map(|text| text.as_bytes()).collect::<TextList>());
        let [queries, items] =
            [&queries, &items].map(|list| Ids::Texts(Texts::joined(&list.bytes, &list.starts).unwrap()));
        let qrels =
            Par::unwatched(2, |par| Qrels::new(par, &queries, &items, &Values::Wide(&[1.0, 2.0, 3.0]))).unwrap();
        let texts = |texts: &[&str]| IdList::Texts(texts.iter().map(|text| text.as_bytes()).collect());
        let expected = Qrels {
            query_ids: texts(&["10", "9"]),
            item_ids: texts(&["z", "\u{ffff}", "\u{1f600}"]),
            starts: vec![0, 1, 3],
            items: vec![0, 1, 2],
            grades: vec![1.0, 3.0, 2.0],
        };
        assert_eq!(qrels, expected);
    }

    #[test]
    fn a_pair_that_cannot_be_used_is_named() {
        let twice = qrels(&[(1, 2, 0.0), (1, 3, 1.0), (1, 2, 0.0)]).unwrap_err();
        assert_eq!(twice, Error::Pair { row: 2, problem: PairProblem::Twice });
        for grade in [-1.0, f32::NAN, f32::INFINITY] {
            let error = qrels(&[(1, 2, 1.0), (4, 3, grade)]).unwrap_err();
            assert!(matches!(error, Error::Pair { row: 1, problem: PairProblem::Grade(_) }), "{error}");
        }
        let [queries, items] = [Column::Wide(&[1, 2][..]), Column::Wide(&[1])].map(Ids::Integers);
        let short = Par::unwatched(1, |par| Qrels::new(par, &queries, &items, &Values::Wide(&[1.0, 1.0])));
        assert!(matches!(short, Err(Error::Shape(_))));
    }
}
