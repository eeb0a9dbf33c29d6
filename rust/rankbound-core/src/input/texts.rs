//! Ids that are texts, as Arrow keeps them.

use std::cmp::Ordering;
use std::hash::Hasher;
use std::ops::Range;

use rustc_hash::FxHasher;

use super::id_table::HashTable;
use super::ids::{Id, IdColumn, IdList};
use super::score::Count;
use crate::error::{Error, Result};
use crate::kernel::column;

/// Texts, borrowed.
#[derive(Debug, Clone)]
pub struct Texts<'a>(Layout<'a>);

#[derive(Debug, Clone)]
enum Layout<'a> {
    /// One behind the other: their bytes, where each one starts, and where the last one ends.
    Joined(&'a [u8], &'a [i64]),
    /// 16 bytes for each: its length, then a short text itself, or of a long one its first four bytes,
    /// which buffer it is in, and where it starts there.
    Views(&'a [u8], Vec<&'a [u8]>),
}

/// Bytes of a view, and of the longest text within one.
const VIEW: usize = 16;
const SHORT: usize = 12;

impl<'a> Texts<'a> {
    /// Texts in Arrow's layout `LargeUtf8`, checked once, so that texts can be taken without checks.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `starts` rises, from 0 or later, to at most the number of bytes: one
    /// entry per text, and the end of the last one.
    pub fn joined(bytes: &'a [u8], starts: &'a [i64]) -> Result<Self> {
        let within = starts.first().is_some_and(|&first| first >= 0)
            && starts.last().is_some_and(|&last| usize::try_from(last).is_ok_and(|last| last <= bytes.len()));
        // Counted, not looked for: a loop that can end early takes one start at a time.
        let n_falling = starts.windows(2).fold(0_u64, |count, pair| count.plus(pair[0] > pair[1]));
        if !within || n_falling > 0 {
            return Err(Error::Shape("texts: starts do not fit the bytes".into()));
        }
        Ok(Self(Layout::Joined(bytes, starts)))
    }

    /// Texts in Arrow's layout `Utf8View`, checked once.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there are 16 bytes for each text, and every text lies in its buffer.
    pub fn views(views: &'a [u8], buffers: Vec<&'a [u8]>) -> Result<Self> {
        let fits = |view: &[u8]| {
            let (length, buffer, start) = (number(view, 0), number(view, 8), number(view, SHORT));
            length <= SHORT || buffers.get(buffer).is_some_and(|bytes| start.saturating_add(length) <= bytes.len())
        };
        if !views.len().is_multiple_of(VIEW) || !views.chunks_exact(VIEW).all(fits) {
            return Err(Error::Shape("texts: views do not fit the buffers".into()));
        }
        Ok(Self(Layout::Views(views, buffers)))
    }
}

/// Four bytes as a number.
#[inline]
fn number(bytes: &[u8], at: usize) -> usize {
    bytes[at..].first_chunk().map_or(0, |&four| u32::from_ne_bytes(four) as usize)
}

/// No start is below 0: that was checked on construction.
#[inline]
fn place(start: i64) -> usize {
    usize::try_from(start).unwrap_or(0)
}

/// Bytes of a text that are compared first.
const HEAD: usize = 8;

/// One text. The order is that of the bytes, which for UTF-8 is that of the code points.
#[derive(Debug, Clone, Copy, Default, Eq, PartialOrd, Ord)]
pub(crate) struct Text<'a> {
    // The first bytes as a number, with zeros behind a shorter text: mostly it decides alone, without
    // a look at bytes that may lie far away.
    head: u64,
    bytes: &'a [u8],
}

impl<'a> Text<'a> {
    /// The text between two places; there may be bytes before and behind it.
    #[inline(always)]
    fn new(bytes: &'a [u8], start: usize, end: usize) -> Self {
        let text = &bytes[start..end];
        // Eight bytes are taken at once, and those behind the text cleared.
        let first: [u8; HEAD] = bytes[start..].first_chunk().copied().unwrap_or_else(|| {
            let mut padded = [0; HEAD];
            padded[..text.len()].copy_from_slice(text);
            padded
        });
        let n_behind = u64::BITS.saturating_sub(u8::BITS * column(text.len().min(HEAD)));
        let own = u64::MAX.checked_shl(n_behind).unwrap_or(0);
        Self { head: u64::from_be_bytes(first) & own, bytes: text }
    }
}

impl PartialEq for Text<'_> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.head == other.head
            && self.bytes.len() == other.bytes.len()
            && (self.bytes.len() <= HEAD || self.bytes == other.bytes)
    }
}

/// Texts, owned.
#[derive(Debug, Clone, PartialEq)]
pub struct TextList {
    /// The bytes of all.
    pub bytes: Vec<u8>,
    /// Where each text starts, and where the last one ends.
    pub starts: Vec<i64>,
}

impl Default for TextList {
    fn default() -> Self {
        Self { bytes: Vec::new(), starts: vec![0] }
    }
}

impl TextList {
    /// Adds a text.
    pub fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        // No vector is longer than the largest i64.
        self.starts.push(i64::try_from(self.bytes.len()).unwrap_or(i64::MAX));
    }
}

impl<'t> FromIterator<&'t [u8]> for TextList {
    fn from_iter<T: IntoIterator<Item = &'t [u8]>>(texts: T) -> Self {
        let mut list = Self::default();
        texts.into_iter().for_each(|text| list.push(text));
        list
    }
}

impl Id for Text<'_> {
    type Table = HashTable<Self>;

    #[inline]
    fn digest(self) -> u32 {
        if self.bytes.len() <= HEAD {
            return self.head.cast_signed().digest();
        }
        let mut hasher = FxHasher::default();
        hasher.write(self.bytes);
        hasher.finish().cast_signed().digest()
    }

    fn compare_as_text(self, other: Self) -> Ordering {
        self.cmp(&other)
    }

    fn list(ids: &[Self]) -> IdList {
        IdList::Texts(ids.iter().map(|text| text.bytes).collect())
    }
}

impl<'a> IdColumn for Texts<'a> {
    type Id = Text<'a>;

    fn len(&self) -> usize {
        match &self.0 {
            Layout::Joined(_, starts) => starts.len() - 1,
            Layout::Views(views, _) => views.len() / VIEW,
        }
    }

    // As a call it would hand its result over in memory, in pieces that cannot be read as one at once.
    #[inline(always)]
    fn get(&self, row: usize) -> Text<'a> {
        match &self.0 {
            Layout::Joined(bytes, starts) => Text::new(bytes, place(starts[row]), place(starts[row + 1])),
            Layout::Views(views, buffers) => {
                let at = VIEW * row;
                let length = number(views, at);
                if length <= SHORT {
                    return Text::new(views, at + 4, at + 4 + length);
                }
                let start = number(views, at + SHORT);
                Text::new(buffers[number(views, at + 8)], start, start + length)
            }
        }
    }

    fn copy(&self, rows: Range<usize>, output: &mut Vec<Text<'a>>) {
        output.extend(rows.map(|row| self.get(row)));
    }

    fn table(&self, _others: &[Text<'a>]) -> HashTable<Text<'a>> {
        HashTable::new()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes<'a>(texts: &Texts<'a>) -> Vec<&'a [u8]> {
        texts.all().iter().map(|text| text.bytes).collect()
    }

    #[test]
    fn texts_are_taken_from_anywhere_in_the_bytes() {
        let texts = Texts::joined(b"unused d\xc3\xa9 q", &[7, 10, 10, 12]).unwrap();
        assert_eq!(bytes(&texts), [&b"d\xc3\xa9"[..], b"", b" q"]);
        let list: TextList = bytes(&texts).into_iter().collect();
        assert_eq!((&list.bytes[..], &list.starts[..]), (&b"d\xc3\xa9 q"[..], &[0, 3, 3, 5][..]));
        assert_eq!(Texts::joined(&[], &TextList::default().starts).unwrap().len(), 0);
    }

    /// A view of a length, a prefix or the text itself, and a place.
    fn view(length: u32, text: &[u8], buffer: u32, start: u32) -> Vec<u8> {
        let mut view = [length, 0, buffer, start].map(u32::to_ne_bytes).concat();
        view[4..4 + text.len()].copy_from_slice(text);
        view
    }

    #[test]
    fn views_hold_short_texts_and_point_to_long_ones() {
        let buffers = vec![&b"none"[..], b"...a text of 16 bytes"];
        let views = [(12, &b"twelve bytes"[..], 0, 0), (0, b"", 9, 9), (13, b"text", 1, 5), (3, b"abc", 0, 0)];
        let views = views.map(|(length, text, buffer, start)| view(length, text, buffer, start)).concat();
        let texts = Texts::views(&views, buffers.clone()).unwrap();
        assert_eq!(bytes(&texts), [&b"twelve bytes"[..], b"", b"text of 16 by", b"abc"]);
        assert_eq!(Texts::views(&[], vec![]).unwrap().len(), 0);
        for damaged in [view(13, b"text", 2, 5), view(17, b"text", 1, 5), vec![0; 15]] {
            assert!(matches!(Texts::views(&damaged, buffers.clone()), Err(Error::Shape(_))), "{damaged:?}");
        }
    }

    #[test]
    fn starts_that_do_not_fit_are_refused() {
        for starts in [&[][..], &[-1, 2], &[0, 3], &[0, 2, 1], &[2, 1], &[i64::MIN], &[0, i64::MAX]] {
            assert!(matches!(Texts::joined(b"ab", starts), Err(Error::Shape(_))), "{starts:?}");
        }
    }

    proptest! {
        /// Few letters, zero among them, so that texts begin alike.
        #[test]
        fn texts_compare_as_their_bytes(letters in prop::collection::vec(0_u8..2, 0..40), cuts in [0_usize..40, 0..40]) {
            let [first, second] = cuts.map(|cut| cut.min(letters.len()));
            for (a, b) in [(&letters[..first], &letters[second..]), (&letters[first..], &letters[second..])] {
                let joined = [a, b].concat();
                let texts = [Text::new(&joined, 0, a.len()), Text::new(&joined, a.len(), joined.len())];
                prop_assert_eq!(texts[0].cmp(&texts[1]), a.cmp(b));
                prop_assert_eq!(texts[0] == texts[1], a == b);
                prop_assert!(a != b || texts[0].digest() == texts[1].digest());
            }
        }
    }
}
