//! Columns of long tables: ids of queries and items, and numbers.

use std::cmp::Ordering;
use std::ops::Range;

use super::id_table::{IdTable, IntegerTable};
use super::texts::{TextList, Texts};

/// A column as the caller holds it, in one of two widths.
#[derive(Debug, Clone, Copy)]
pub enum Column<'a, N, W> {
    /// 32 bits.
    Narrow(&'a [N]),
    /// 64 bits.
    Wide(&'a [W]),
}

/// Ids that are integers.
pub type Integers<'a> = Column<'a, i32, i64>;

/// Scores, ranks or grades.
pub type Values<'a> = Column<'a, f32, f64>;

/// Ids of one kind.
#[derive(Debug, Clone)]
pub enum Ids<'a> {
    /// Integers.
    Integers(Integers<'a>),
    /// Texts.
    Texts(Texts<'a>),
}

/// Runs generic code on a column of ids, whatever their kind.
macro_rules! with_ids {
    ($ids:expr, $column:ident => $body:expr) => {
        match $ids {
            $crate::input::Ids::Integers($column) => $body,
            $crate::input::Ids::Texts($column) => $body,
        }
    };
}

pub(crate) use with_ids;

impl Ids<'_> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        with_ids!(self, column => column.len())
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Ids that the core hands out.
#[derive(Debug, Clone, PartialEq)]
pub enum IdList {
    /// Integers.
    Integers(Vec<i64>),
    /// Texts.
    Texts(TextList),
}

/// An id, whose order is that of numbers or of code points.
pub(crate) trait Id: Copy + Ord + Default + Send + Sync {
    /// Keeps numbers by id.
    type Table: IdTable<Self>;

    /// A digest of which the highest bits differ most.
    fn digest(self) -> u32;

    /// The order of ids as texts.
    fn compare_as_text(self, other: Self) -> Ordering;

    /// Ids to hand out.
    fn list(ids: &[Self]) -> IdList;
}

/// A column of ids of a known kind.
pub(crate) trait IdColumn: Sync {
    /// The kind.
    type Id: Id;

    /// Number of rows.
    fn len(&self) -> usize;

    /// The id of a row.
    fn get(&self, row: usize) -> Self::Id;

    /// Adds the ids of some of the rows to `output`.
    fn copy(&self, rows: Range<usize>, output: &mut Vec<Self::Id>);

    /// The ids of all rows.
    fn all(&self) -> Vec<Self::Id> {
        let mut ids = Vec::new();
        self.copy(0..self.len(), &mut ids);
        ids
    }

    /// An empty table for the ids of the column and others, and for no more.
    fn table(&self, others: &[Self::Id]) -> <Self::Id as Id>::Table;
}

impl<N: Copy + Into<W>, W: Copy> Column<'_, N, W> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Narrow(rows) => rows.len(),
            Self::Wide(rows) => rows.len(),
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a row.
    pub(crate) fn get(&self, row: usize) -> W {
        match self {
            Self::Narrow(column) => column[row].into(),
            Self::Wide(column) => column[row],
        }
    }

    /// Adds some of the rows to `output`.
    pub(crate) fn copy(&self, rows: Range<usize>, output: &mut Vec<W>) {
        match self {
            Self::Narrow(column) => output.extend(column[rows].iter().map(|&value| value.into())),
            // Rows in no order come one by one, for which a call to copy memory is slow.
            Self::Wide(column) if rows.len() == 1 => output.push(column[rows.start]),
            Self::Wide(column) => output.extend_from_slice(&column[rows]),
        }
    }
}

impl Id for i64 {
    type Table = IntegerTable;

    #[inline]
    fn digest(self) -> u32 {
        // Multiplying mixes upwards only, so the high half is folded in first (Knuth, TAOCP 3, 6.4).
        let folded = self.cast_unsigned() ^ (self.cast_unsigned() >> 32);
        u32::try_from(folded.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> u32::BITS).unwrap_or(0)
    }

    /// 10 before 9, and every negative before both.
    fn compare_as_text(self, other: Self) -> Ordering {
        // The minus sign comes before the digits; behind equal signs the digits decide.
        let signs = (other < 0).cmp(&(self < 0));
        let [(a, n_a), (b, n_b)] = [self, other].map(|id| {
            let digits = id.unsigned_abs();
            (digits, digits.checked_ilog10().unwrap_or(0))
        });
        let aligned = |digits: u64, n: u32| u128::from(digits) * 10_u128.pow(n_a.max(n_b) - n);
        signs.then_with(|| aligned(a, n_a).cmp(&aligned(b, n_b))).then(n_a.cmp(&n_b))
    }

    fn list(ids: &[Self]) -> IdList {
        IdList::Integers(ids.to_vec())
    }
}

impl IdColumn for Integers<'_> {
    type Id = i64;

    fn len(&self) -> usize {
        Column::len(self)
    }

    fn get(&self, row: usize) -> i64 {
        Column::get(self, row)
    }

    fn copy(&self, rows: Range<usize>, output: &mut Vec<i64>) {
        Column::copy(self, rows, output);
    }

    fn table(&self, others: &[i64]) -> IntegerTable {
        let own = match self {
            Self::Narrow(ids) => limits(ids).map(|(least, most)| (least.into(), most.into())),
            Self::Wide(ids) => limits(ids),
        };
        IntegerTable::new(own.into_iter().chain(limits(others)))
    }
}

/// The smallest and the largest id.
fn limits<I: Copy + Ord>(ids: &[I]) -> Option<(I, I)> {
    let &first = ids.first()?;
    let (mut least, mut most) = (first, first);
    for &id in ids {
        least = least.min(id);
        most = most.max(id);
    }
    Some((least, most))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn integers_compare_as_their_text(a: i64, b: i64, shift_a in 0_u32..64, shift_b in 0_u32..64) {
            let (a, b) = (a >> shift_a, b >> shift_b);
            for (a, b) in [(a, b), (a, a), (a, a / 10), (i64::MIN, b), (0, b)] {
                prop_assert_eq!(a.compare_as_text(b), a.to_string().cmp(&b.to_string()));
            }
        }
    }
}
