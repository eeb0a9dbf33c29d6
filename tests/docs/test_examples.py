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


def test_readme_shows_the_demo(capsys):
    from rankbound.cli import main

    assert main(["demo"]) == 0
    printed = capsys.readouterr().out
    excerpt = re.search(r"<!-- demo -->\n```text\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)[1]
    assert excerpt in printed
