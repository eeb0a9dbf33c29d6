"""The README and the docstrings say what is true: their examples run."""

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import rankbound

README = Path(__file__).parents[2] / "README.md"
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(rankbound.__path__, "rankbound.")
    if not module.name.endswith(("_core", "__main__"))
)


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0


FUNCTIONS = [name for name in rankbound.__all__ if inspect.isfunction(getattr(rankbound, name))]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_public_functions_have_an_example(name):
    assert ">>>" in getattr(rankbound, name).__doc__


def test_readme_examples():
    results = doctest.testfile(str(README), module_relative=False)
    assert results.attempted > 10
    assert results.failed == 0


def test_readme_shows_the_demo(capsys, tmp_path):
    from rankbound import RankingReport
    from rankbound.cli import main

    readme = README.read_text(encoding="utf-8")
    assert main(["demo"]) == 0
    excerpt = re.search(r"<!-- demo -->\n```text\n(.*?)```", readme, re.DOTALL)[1]
    assert excerpt in capsys.readouterr().out
    assert main(["demo", "-o", str(tmp_path / "ranking.json")]) == 0
    report = RankingReport.from_json(tmp_path / "ranking.json")
    difference = report["uncertainty"]["baselines"]["global_pop"]["difference"]["ndcg@10"]
    ndcg, tail = (
        {name: block[family][metric] for name, block in (report["objectives"] | report["baselines"]).items()}
        for family, metric in (("micro", "ndcg@10"), ("macro", "tail_hit@10"))
    )
    prose = " ".join(readme.split())
    for claim in (
        "beats popularity by {estimate:.3f} [{ci_low:.3f}, {ci_high:.3f}] in ndcg@10".format(**difference),
        f"gives up {ndcg['accuracy'] - ndcg['balanced']:.3f} of that metric",
        f"finds {tail['balanced']:.0%} of the visits to rare areas where accuracy finds {tail['accuracy']:.0%}",
    ):
        assert claim.replace("%", " %") in prose
    assert tail["global_pop"] == 0
