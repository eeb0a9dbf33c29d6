//! Where ids stand in a list of ids.

use super::id_table::IdTable;
use super::ids::{IdColumn, Ids};
use crate::error::{Error, Result};
use crate::kernel::column;
use crate::par::Par;

/// Rows handed to a worker at once.
const ROWS_PER_TASK: usize = 1 << 16;

/// The place of each id among others, of which the first counts if some are equal; -1 for an id that
/// is none of them.
///
/// # Errors
/// [`Error::Shape`] if the ids are of two kinds.
pub fn places_of(par: &mut Par<'_>, ids: &Ids<'_>, among: &Ids<'_>) -> Result<Vec<i64>> {
    match (ids, among) {
        (Ids::Integers(ids), Ids::Integers(among)) => places(par, ids, among),
        (Ids::Texts(ids), Ids::Texts(among)) => places(par, ids, among),
        _ => Err(Error::Shape("ids of different kinds".into())),
    }
}

fn places<C: IdColumn>(par: &mut Par<'_>, ids: &C, among: &C) -> Result<Vec<i64>> {
    let among = among.all();
    let mut numbers = ids.table(&among);
    numbers.reset(among.len());
    for (place, &id) in among.iter().enumerate().rev() {
        numbers.insert(id, column(place));
    }
    let mut places = vec![-1; ids.len()];
    par.run(
        places.chunks_mut(ROWS_PER_TASK).zip((0..).step_by(ROWS_PER_TASK)),
        || (),
        |(), (places, first)| {
            for (row, place) in (first..).zip(places) {
                *place = numbers.get(ids.get(row)).map_or(-1, i64::from);
            }
            Ok(())
        },
    )?;
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{Column, TextList, Texts};

    #[test]
    fn the_first_place_counts_whatever_the_kind_of_ids() {
        let columns: [Vec<i64>; 2] = [vec![5, -1, 7, 5, 9], vec![7, 5, 7, 1 << 50, 5]];
        let texts = columns.each_ref().map(|ids| {
            let texts: Vec<String> = ids.iter().map(i64::to_string).collect();
            texts.iter().map(String::as_bytes).collect::<TextList>()
        });
        let integers = columns.each_ref().map(|ids| Ids::Integers(Column::Wide(ids)));
        let texts = texts.each_ref().map(|list| Ids::Texts(Texts::joined(&list.bytes, &list.starts).unwrap()));
        Par::unwatched(2, |par| {
            for [ids, among] in [&integers, &texts] {
                assert_eq!(places_of(par, ids, among), Ok(vec![1, -1, 0, 1, -1]));
            }
            assert!(matches!(places_of(par, &integers[0], &texts[1]), Err(Error::Shape(_))));
        });
    }
}
