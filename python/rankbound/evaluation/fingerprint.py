"""A digest of targets that does not depend on how their rows are split into batches."""

from dataclasses import dataclass
from hashlib import blake2b

from rankbound import _core
from rankbound.evaluation.targets import Targets

# Digests are polynomials modulo this prime; the bases come from the core.
_PRIME = 2**61 - 1


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Digest of the lists of some targets, in their order; digests of consecutive pieces join to that of the whole."""

    n_rows: int = 0
    n_items: int = 0
    bases: tuple[int, ...] = (0, 0)
    words: tuple[int, ...] = (0, 0)

    @classmethod
    def of(cls, targets: Targets, *, num_threads: int) -> "Fingerprint":
        """Return the digest of targets."""
        bases, words = _core.fingerprint(targets.core(graded=True), num_threads=num_threads)
        return cls(len(targets), targets.n_items, tuple(bases), tuple(words))

    def join(self, following: "Fingerprint") -> "Fingerprint":
        """Return the digest of these lists and those that follow them."""
        words = tuple(
            (own * pow(base, following.n_rows, _PRIME) + other) % _PRIME
            for own, other, base in zip(self.words, following.words, following.bases, strict=True)
        )
        return Fingerprint(self.n_rows + following.n_rows, following.n_items, following.bases, words)

    def digest(self) -> str:
        """Return it as 32 hexadecimal digits."""
        return blake2b(repr((self.n_rows, self.n_items, *self.words)).encode(), digest_size=16).hexdigest()
