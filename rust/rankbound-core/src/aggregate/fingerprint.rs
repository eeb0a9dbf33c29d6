//! A digest of many lists that can be made piece by piece and joined.

use std::ops::Range;

use crate::error::Result;
use crate::input::Targets;
use crate::par::Par;

/// The Mersenne prime `2^61 - 1`: products of two numbers below it fit 128 bits.
const PRIME: u64 = (1 << 61) - 1;

/// The two bases in which the hashes of lists are digits.
pub const BASES: [u64; 2] = [0x0b5a_d4ec_eda1_ce2b, 0x1d8e_4e27_c47d_124f];

/// Lists handed to a worker at once.
const LISTS_PER_TASK: usize = 4096;

/// Two polynomials over the hashes of the lists, first list first: behind `n` more lists the digest
/// of what came before counts `base^n` times, so digests of consecutive pieces join exactly.
///
/// # Errors
/// [`Error::Interrupted`].
///
/// [`Error::Interrupted`]: crate::Error::Interrupted
pub fn fingerprint(par: &mut Par<'_>, targets: &Targets<'_>) -> Result<[u64; 2]> {
    let pieces =
        (0..targets.len()).step_by(LISTS_PER_TASK).map(|first| first..(first + LISTS_PER_TASK).min(targets.len()));
    let mut digests = vec![[0; 2]; pieces.len()];
    par.run(
        digests.iter_mut().zip(pieces.clone()),
        || (),
        |(), (digest, piece)| {
            *digest = of_piece(targets, piece);
            Ok(())
        },
    )?;
    let joined = digests.iter().zip(pieces).fold([0; 2], |before, (digest, piece)| {
        [0, 1].map(|at| multiply_add(before[at], power(BASES[at], piece.len()), digest[at]))
    });
    Ok(joined)
}

fn of_piece(targets: &Targets<'_>, lists: Range<usize>) -> [u64; 2] {
    lists.fold([0; 2], |digest, list| {
        let (items, grades) = targets.list(list);
        let start = [0, 1].map(|at| mix(items.len() as u64 ^ at));
        let hashes = items.iter().map(|&item| u64::from(item)).fold(start, add_word);
        let hashes = grades.iter().map(|grade| grade.to_bits()).fold(hashes, add_word);
        [0, 1].map(|at| multiply_add(digest[at], BASES[at], mix(hashes[at]) % PRIME))
    })
}

/// A multiplication and a rotation carry every word on to all bits; the end is mixed well.
fn add_word(hashes: [u64; 2], word: u64) -> [u64; 2] {
    [0, 1].map(|at| (hashes[at].rotate_left(26) ^ word).wrapping_mul(BASES[at] | 1))
}

fn power(base: u64, exponent: usize) -> u64 {
    (0..usize::BITS).rev().fold(1, |power, bit| {
        let square = multiply_add(power, power, 0);
        if exponent >> bit & 1 == 1 { multiply_add(square, base, 0) } else { square }
    })
}

/// `a b + c` of numbers up to the prime: modulo `2^61 - 1` a number is the sum of its digits of 61 bits.
#[expect(clippy::cast_possible_truncation, reason = "a digit has 61 bits")]
fn multiply_add(a: u64, b: u64, c: u64) -> u64 {
    let sum = u128::from(a) * u128::from(b) + u128::from(c);
    let digits = (sum as u64 & PRIME) + (sum >> 61) as u64;
    if digits >= PRIME { digits - PRIME } else { digits }
}

/// Spreads every bit over all (the finaliser of `SplitMix64`, Steele, Lea and Flood 2014).
fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(starts: &[i64], items: &[u32], grades: &[f64]) -> [u64; 2] {
        let targets = Targets::new(starts, items, Some(grades), 9).unwrap();
        Par::unwatched(2, |par| fingerprint(par, &targets)).unwrap()
    }

    #[test]
    fn every_change_changes_the_digest() {
        let digests = [
            of(&[0, 2, 3], &[1, 4, 0], &[1.0, 1.0, 1.0]),
            of(&[0, 1, 3], &[1, 0, 4], &[1.0, 1.0, 1.0]),
            of(&[0, 1, 3], &[0, 1, 4], &[1.0, 1.0, 1.0]),
            of(&[0, 2, 3], &[1, 4, 0], &[1.0, 2.0, 1.0]),
            of(&[0, 2, 2, 3], &[1, 4, 0], &[1.0, 1.0, 1.0]),
            of(&[0, 0], &[], &[]),
        ];
        for (at, digest) in digests.iter().enumerate() {
            assert!(digests[..at].iter().all(|other| other[0] != digest[0] && other[1] != digest[1]));
        }
    }

    #[test]
    fn pieces_join_to_the_digest_of_the_whole() {
        let whole = of(&[0, 2, 3, 4], &[1, 4, 0, 7], &[1.0, 2.0, 1.0, 3.0]);
        let (first, rest) = (of(&[0, 2], &[1, 4], &[1.0, 2.0]), of(&[0, 1, 2], &[0, 7], &[1.0, 3.0]));
        for at in 0..2 {
            let shifted = multiply_add(multiply_add(first[at], BASES[at], 0), BASES[at], rest[at]);
            assert_eq!(shifted, whole[at]);
        }
    }

    #[test]
    fn the_digest_of_more_lists_than_a_worker_takes_at_once_is_that_of_all() {
        let n_lists = 2 * LISTS_PER_TASK + 5;
        let starts: Vec<i64> = (0..=n_lists).map(|list| i64::try_from(list).unwrap()).collect();
        let items: Vec<u32> = (0..n_lists).map(|list| u32::try_from(list * list % 9).unwrap()).collect();
        let targets = Targets::new(&starts, &items, None, 9).unwrap();
        let whole = of_piece(&targets, 0..n_lists);
        for num_threads in [1, 3] {
            assert_eq!(Par::unwatched(num_threads, |par| fingerprint(par, &targets)), Ok(whole));
        }
    }

    #[test]
    fn remainders_are_those_of_long_division() {
        let numbers = [0, 1, 2, PRIME / 3, PRIME - 2, PRIME - 1, BASES[0], BASES[1]];
        for (a, b, c) in numbers.iter().flat_map(|&a| numbers.iter().map(move |&b| (a, b, a ^ b))) {
            let c = c % PRIME;
            let expected = (u128::from(a) * u128::from(b) + u128::from(c)) % u128::from(PRIME);
            assert_eq!(u128::from(multiply_add(a, b, c)), expected, "{a} {b} {c}");
        }
        assert_eq!(power(BASES[0], 0), 1);
        assert_eq!(power(BASES[0], 5), (0..5).fold(1, |power, _| multiply_add(power, BASES[0], 0)));
    }
}
