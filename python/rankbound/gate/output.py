"""What a gate found, for CI systems."""

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from rankbound.gate.run import GateResult

_MARKS = {"pass": "✅ pass", "fail": "❌ fail", "cannot_judge": "⚠️ cannot judge"}


def to_markdown(result: GateResult) -> str:
    """Do what :meth:`GateResult.to_markdown` describes."""
    rows = [
        f"| {_MARKS[outcome.status]} | {_cell(outcome.rule)} | {_cell(outcome.reason)} |" for outcome in result.outcomes
    ]
    return "\n".join([f"**{result.summary()}**", "", "| | rule | numbers |", "|---|---|---|", *rows]) + "\n"


def _cell(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    return escaped.replace("|", "\\|").replace("\n", " ")


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
