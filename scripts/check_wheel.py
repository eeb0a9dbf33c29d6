"""Check an installed rankbound that has only its declared requirements. Run it outside the repository's root."""

import json
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files

import numpy as np

import rankbound
from rankbound.demo import load_msweb

SCHEMA = "ranking.schema.json"


def main() -> None:
    """Use each part that packaging could lose: the extension, the data, the schema, the requirements."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        assert not sys._is_gil_enabled(), "an extension turned the GIL on again"
    scores = np.random.default_rng(0).random((500, 200), dtype=np.float32)
    truths = np.arange(len(scores)) % scores.shape[1]

    def report(num_threads: int) -> str:
        return rankbound.build_ranking_report(scores, truths, y_train=truths, num_threads=num_threads).to_json()

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(report, [1, 2, 3, 4]))) == 1, "a report depends on threads"
    json.loads(files("rankbound.report").joinpath(SCHEMA).read_text(encoding="utf-8"))
    n_users = len(load_msweb().train_users)
    print(f"rankbound {rankbound.__version__} works in {rankbound.__file__}; its demo has {n_users:,} users")


if __name__ == "__main__":
    main()
