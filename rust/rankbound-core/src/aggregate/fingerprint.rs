//! A digest of many lists that can be made piece by piece and joined.

use crate::input::Targets;

/// The Mersenne prime `2^61 - 1`: products of two numbers below it fit 128 bits.
const PRIME: u64 = (1 << 61) - 1;

/// The two bases in which the hashes of lists are digits.
pub const BASES: [u64; 2] = [0x0b5a_d4ec_eda1_ce2b, 0x1d8e_4e27_c47d_124f];

/// Two polynomials over the hashes of the lists, first list first: behind `n` more lists the digest
/// of what came before counts `base^n` times, so digests of consecutive pieces join exactly.
pub fn fingerprint(targets: &Targets<'_>) -> [u64; 2] {
    let mut digest = [0_u64; 2];
    for list in 0..targets.len() {
        let (items, grades) = targets.list(list);
        for (at, (digest, base)) in digest.iter_mut().zip(BASES).enumerate() {
            let words = items.iter().map(|&item| u64::from(item)).chain(grades.iter().map(|grade| grade.to_bits()));
            // A multiplication and a rotation carry every word on to all bits; the end is mixed well.
            let multiplier = base | 1;
            let hash = words.fold(mix(items.len() as u64 ^ at as u64), |hash, word| {
                (hash.rotate_left(26) ^ word).wrapping_mul(multiplier)
            });
            *digest = multiply_add(*digest, base, mix(hash) % PRIME);
        }
    }
    digest
}

fn multiply_add(a: u64, b: u64, c: u64) -> u64 {
    let sum = u128::from(a) * u128::from(b) + u128::from(c);
    u64::try_from(sum % u128::from(PRIME)).expect("a remainder of 61 bits")
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
        fingerprint(&Targets::new(starts, items, Some(grades), 9).unwrap())
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
}
