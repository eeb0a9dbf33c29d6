"""The JSON Schema of a report."""

import json
from importlib.resources import files
from typing import Any

import msgspec

from rankbound.report.model import SCHEMA_VERSION, Report

FILE_NAME = "ranking.schema.json"


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of ``ranking.json``, made from the report's types.

    Returns
    -------
    dict
        What ``rankbound schema`` prints and the package ships as a file.
    """
    schema = msgspec.json.schema(Report)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"rankbound ranking report, schema version {SCHEMA_VERSION}",
        **schema,
    }


def schema_text() -> str:
    """Return the schema as the shipped file holds it."""
    return json.dumps(json_schema(), indent=2) + "\n"


def shipped_schema() -> str:
    """Return the text of the schema file in the package."""
    return files("rankbound.report").joinpath(FILE_NAME).read_text(encoding="utf-8")
