//! Sums at rest: integers of 128 bits as pairs of words.

/// Adds an integer as two words, the low one first.
#[expect(clippy::cast_possible_truncation, reason = "each word is half of the integer")]
pub(super) fn push_integer(words: &mut Vec<u64>, integer: i128) {
    let bits = integer.cast_unsigned();
    words.extend([bits as u64, (bits >> 64) as u64]);
}

/// Reads words one after another; none beyond their end.
pub(super) struct Reader<'a>(&'a [u64]);

impl<'a> Reader<'a> {
    pub(super) fn new(words: &'a [u64]) -> Self {
        Self(words)
    }

    pub(super) fn word(&mut self) -> Option<u64> {
        let (&word, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(word)
    }

    pub(super) fn integer(&mut self) -> Option<i128> {
        let [low, high] = [self.word()?, self.word()?];
        Some((i128::from(high.cast_signed()) << 64) + i128::from(low))
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }
}
