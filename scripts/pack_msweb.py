"""Pack the anonymous web data of www.microsoft.com (1998) into python/rankbound/data/msweb.npz.

Usage: python scripts/pack_msweb.py SOURCE_DIR

SOURCE_DIR holds `anonymous-msweb.data` (training users) and `anonymous-msweb.test`, as distributed by the UCI Machine
Learning Repository (https://doi.org/10.24432/C5VS3Q). The same source gives the same bytes: areas are sorted by id,
each user's visits by area (their order in the source carries no time), and numpy dates every zip member 1980.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any

import numpy as np

from rankbound.demo import ATTRIBUTION

TARGET = Path(__file__).resolve().parent.parent / "python" / "rankbound" / "data" / "msweb.npz"


def read_source(path: Path) -> tuple[dict[int, tuple[str, str]], dict[int, list[int]]]:
    """Read one file: area id -> (title, path), and user id -> visited area ids."""
    areas: dict[int, tuple[str, str]] = {}
    users: dict[int, list[int]] = {}
    visits: list[int] = []
    with path.open(encoding="ascii", newline="") as file:
        for number, row in enumerate(csv.reader(file), start=1):
            match row:
                case ["A", area, "1", title, address]:
                    if int(area) in areas:
                        raise ValueError(f"{path.name}:{number}: area {area} is declared twice")
                    areas[int(area)] = (title, address)
                case ["C", _, user]:
                    if int(user) in users:
                        raise ValueError(f"{path.name}:{number}: user {user} is opened twice")
                    visits = users[int(user)] = []
                case ["V", area, "1"] if users:
                    if int(area) not in areas or int(area) in visits:
                        raise ValueError(f"{path.name}:{number}: area {area} is undeclared or visited twice")
                    visits.append(int(area))
                case ["I" | "T" | "N", *_]:
                    pass  # the header of the log's format
                case _:
                    raise ValueError(f"{path.name}:{number}: unexpected line {row}")
    return areas, users


def pack_visits(users: dict[int, list[int]], columns: dict[int, int], prefix: str) -> dict[str, Any]:
    """Write the visits as rows: user `first_user + i` visited the areas `indices[indptr[i]:indptr[i + 1]]`."""
    first = min(users)
    if sorted(users) != list(range(first, first + len(users))):
        raise ValueError(f"the {prefix} users are not numbered in sequence, so the first number is not enough")
    rows = [sorted(columns[area] for area in users[user]) for user in sorted(users)]
    return {
        f"{prefix}_first_user": np.array(first, dtype=np.uint16),
        f"{prefix}_indptr": np.cumsum([0, *map(len, rows)]).astype(np.int32),
        f"{prefix}_indices": np.array([column for row in rows for column in row], dtype=np.uint16),
    }


def main() -> None:
    """Read both files and write the packed one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source_dir", type=Path, metavar="SOURCE_DIR")
    source_dir = parser.parse_args().source_dir
    areas, train = read_source(source_dir / "anonymous-msweb.data")
    test_areas, test = read_source(source_dir / "anonymous-msweb.test")
    if areas != test_areas:
        raise ValueError("the training and the test file declare different areas")
    ids = sorted(areas)
    columns = {area: column for column, area in enumerate(ids)}
    np.savez_compressed(
        TARGET,
        attribution=np.array(ATTRIBUTION),
        area_ids=np.array(ids, dtype=np.uint16),
        titles=np.array([areas[area][0] for area in ids]),
        paths=np.array([areas[area][1] for area in ids]),
        **pack_visits(train, columns, "train"),
        **pack_visits(test, columns, "test"),
    )
    print(f"{TARGET.name}: {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
