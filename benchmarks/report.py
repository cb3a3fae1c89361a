"""A result as a Markdown table and as bars."""

from __future__ import annotations

from html import escape
from typing import Any

__all__ = ["as_markdown", "as_svg"]

_BAR, _WIDTH = 26, 360


def _short(figure: float | None) -> str:
    if figure is None:
        return "-"
    return f"{figure:,.0f}" if abs(figure) >= 100 else f"{figure:.3g}"


def as_markdown(result: dict[str, Any]) -> str:
    """A table of the rows, with the machine above and growth below."""
    where = ", ".join(f"{k} {v}" for k, v in result["machine"].items())
    lines = [
        f"### {result['workload']}",
        "",
        where,
        "",
        "| what | ours | floor | ratio | target | holds |",
        "|---|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        holds = {True: "yes", False: "no", None: "-"}[row["holds"]]
        lines.append(
            f"| {row['name']} | {_short(row['ours'])} {row['unit']} | {_short(row['floor'])} "
            f"| {_short(row['ratio_floor'])} | {_short(row['target'])} | {holds} |"
        )
    lines += [
        "",
        *(f"growth of {name}: size^{exponent}" for name, exponent in result["growth"].items()),
    ]
    return "\n".join(lines)


def as_svg(result: dict[str, Any]) -> str:
    """A bar for each ratio to the floor; the line is the floor itself."""
    rows = [row for row in result["rows"] if row["ratio_floor"] is not None]
    most = max([1.0, *(row["ratio_floor"] for row in rows)])
    height = _BAR * len(rows) + 20
    font = 'font-family="sans-serif" font-size="13"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="700" height="{height}" {font}>']
    for n, row in enumerate(rows):
        y, width = n * _BAR + 10, row["ratio_floor"] / most * _WIDTH
        parts.append(f'<text x="0" y="{y + 15}">{escape(row["name"])}</text>')
        parts.append(f'<rect x="240" y="{y}" width="{width:.1f}" height="20" fill="#4a7fb5"/>')
        parts.append(f'<text x="{246 + width:.1f}" y="{y + 15}">{row["ratio_floor"]:.2f}</text>')
    at = 240 + _WIDTH / most
    parts.append(
        f'<line x1="{at:.1f}" y1="4" x2="{at:.1f}" y2="{height - 6}" stroke="#c33"/></svg>'
    )
    return "\n".join(parts) + "\n"
