"""What rankbound refuses: one class per kind of mistake, each a ``ValueError``.

Where a type is wrong it is a ``TypeError`` as well; so is every :class:`InvalidKError`, whether the type or the value
of the cut-off is wrong. Every message names the argument, the place and the value, and says what to do.
:class:`ReliabilityWarning` refuses nothing: it stands beside a result.
"""


class RankboundError(ValueError):
    """Base of everything that rankbound refuses."""


class InvalidTypeError(RankboundError, TypeError):
    """An argument has a type or dtype that cannot be used."""


class InvalidParameterError(RankboundError):
    """An option has a value outside its range, or options contradict one another."""


class InvalidKError(InvalidParameterError, TypeError):
    """A cut-off is not an integer, or out of range: also a ``TypeError``, in both cases."""


class ShapeError(RankboundError):
    """An array has the wrong number of dimensions, or two lengths differ."""


class EmptyInputError(RankboundError):
    """There is nothing to evaluate: no rows, no columns, or no row with a truth."""


class NonFiniteScoreError(RankboundError):
    """A score is NaN or infinite."""


class ScoreRangeError(RankboundError):
    """A score lies outside the range on which a transform is defined."""


class IncompleteRankingError(RankboundError):
    """A ranking of labels leaves a label without a finite position."""


class TiedRankingError(RankboundError):
    """Labels of a ranking tie, and the measure is defined without ties only."""


class UnknownLabelError(RankboundError):
    """A label or class index does not name a column."""


class DuplicateItemError(RankboundError):
    """A class or item is named twice where each must be named once."""


class GradeError(RankboundError):
    """A grade of relevance is negative, missing, or above what the metric allows."""


class GainOverflowError(GradeError):
    """A grade whose gain is too large to be summed exactly."""


class OpenTieError(RankboundError):
    """A list ends within a tie that items beyond its end may share, so that its value is unknown."""


class StateError(RankboundError):
    """A comparability state is missing, unfit for the request, or belongs to other classes."""


class ComparisonError(RankboundError):
    """Two results measure different things, cannot be paired, or leave a test undefined."""


class FileFormatError(RankboundError):
    """A file is missing, truncated or of another format."""


class ReportError(RankboundError):
    """A JSON document is not a rankbound report of a schema version that can be read."""


class MissingDependencyError(RankboundError, ImportError):
    """An optional library is needed and not installed."""


class ReliabilityWarning(UserWarning):
    """An estimate was returned, but its own diagnostics say how little it may be relied on."""
