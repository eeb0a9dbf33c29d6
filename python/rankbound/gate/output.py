"""What a gate found, for CI systems."""

from html import escape
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from rankbound._text_tables import markdown_table
from rankbound.gate.run import GateResult

_MARKS = {"pass": "✅ pass", "fail": "❌ fail", "cannot_judge": "⚠️ cannot judge"}


def to_markdown(result: GateResult) -> str:
    """Do what :meth:`GateResult.to_markdown` describes."""
    rows = [
        [_MARKS[outcome.status], escape(outcome.rule, quote=False), escape(outcome.reason, quote=False)]
        for outcome in result.outcomes
    ]
    return f"**{result.summary()}**\n\n{markdown_table([['', 'rule', 'numbers'], *rows])}\n"


def to_junit(result: GateResult) -> str:
    """Do what :meth:`GateResult.to_junit` describes."""
    statuses = [outcome.status for outcome in result.outcomes]
    suite = Element(
        "testsuite",
        name="rankbound gate",
        tests=str(len(statuses)),
        failures=str(statuses.count("fail")),
        errors=str(statuses.count("cannot_judge")),
    )
    for outcome in result.outcomes:
        case = SubElement(suite, "testcase", classname="rankbound.gate", name=_printable(outcome.rule))
        if outcome.status == "pass":
            SubElement(case, "system-out").text = _printable(outcome.reason)
        else:
            kind = "failure" if outcome.status == "fail" else "error"
            SubElement(case, kind, message=_printable(outcome.reason))
    root = Element("testsuites")
    root.append(suite)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _printable(text: str) -> str:
    """Return text without the control characters that XML cannot hold."""
    return "".join(char for char in text if char.isprintable() or char == " ")
