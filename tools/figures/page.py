# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""The page: one self-contained HTML file, raw JSON beside it."""

import base64
import html
import os
import re

from . import plot
from .base import Missing
from .runner import LOCAL_PATH

# In the order of the page
PAPERS = {
    "A14": "Scale-Out NUMA, ASPLOS 2014",
    "M16": "SABRes: Atomic Object Reads, MICRO 2016",
    "T18": "Network-Compute Co-Design, PhD thesis, EPFL 2018",
    "R25": "Synchronizing Disaggregated Data Structures, TODS 2025",
    "HD": "HADES: Hardware-Assisted Distributed Transactions",
}

STYLE = """
body { font: 15px/1.5 sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em; color: #222;
  background: #fff }
h1, h2, h3 { line-height: 1.2 } h2 { margin-top: 2.5em; padding-top: .7em }
h4 { margin-bottom: .3em }
.plot { display: block; max-width: 860px; background: center / contain no-repeat }
.thumbs { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5em, 1fr)); gap: .6em }
.thumbs a { border: 1px solid #ccc; padding: .3em; font-size: 12px; color: inherit;
  text-decoration: none; overflow-wrap: anywhere }
h2.paper { background: none; font-size: 1.6em }
.figure { border-top: 1px solid #ccc; margin-top: 2em }
.differs { border-left: 4px solid #0072b2; padding: .2em 1em }
@media (max-width: 40em) { body { margin: 1em auto; padding: 0 .6em } th, td { padding: .2em .3em } }
.wide { overflow-x: auto }
table { border-collapse: collapse; margin: .5em 0; font-size: 13px }
th, td { border: 1px solid #ccc; padding: .2em .6em; text-align: right; vertical-align: top }
th:first-child, td:first-child, .text td { text-align: left }
th { background: #f4f4f4 }
.paper { background: #f0f0f0 }
.local { background: #eef5fc }
.emulated { color: #888; font-style: italic }
.missing { background: #fff3cd; padding: .5em 1em; border-left: 4px solid #e0a800 }
.note { color: #555; font-size: 13px }
code { font-size: 12px; overflow-wrap: anywhere }
"""


def escape(value):
    return html.escape(str(value))


def number(value):
    """Three digits that count; words as they are."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return escape(value)
    if isinstance(value, int) or value == 0:
        return str(value)
    digits = 3
    text = f"{value:.{digits}g}"
    return f"{float(text):.0f}" if "e+" in text else text


def table(head, rows, css=""):
    kinds = [kind for _, kind in head]
    out = [f'<div class="wide"><table class="{css}"><tr>']
    out += [f'<th class="{kind}">{escape(text)}</th>' for text, kind in head]
    out.append("</tr>")
    for row in rows:
        cells = "".join(f'<td class="{kind}">{number(cell)}</td>' for kind, cell in zip(kinds, row))
        out.append(f"<tr>{cells}</tr>")
    out.append("</table></div>")
    return "\n".join(out)


def plain(head, rows):
    """Of texts that may be markup already."""
    return ('<div class="wide"><table class="text"><tr>' +
            "".join(f"<th>{h}</th>" for h in head) + "</tr>" +
            "".join("<tr>" + "".join(f"<td>{c}</td>" for c in row) + "</tr>" for row in rows) +
            "</table></div>")


def picture(one, folder, pictures):
    """A picture is the background of a class, so that the page has it once for two sizes."""
    svg = plot.svg(one, os.path.join(folder, "plots"))
    box = re.search(rb'viewBox="0 0 (\d+) (\d+)"', svg)
    ratio = f"{int(box[1])} / {int(box[2])}" if box else "4 / 3"
    name = "plot-" + re.sub("[^a-z0-9]", "-", one.name)
    pictures.append((name, one.title, ratio, base64.b64encode(svg).decode()))
    return (f'<div id="{name}" class="plot {name}" role="img" '
            f'aria-label="{escape(one.title)}: {escape(one.ylabel)} against {escape(one.xlabel)}; '
            'its values are in the table below"></div>' +
            (f'<p class="note">{escape(one.note)}</p>' if one.note else ""))


def classes(pictures):
    return "".join(f'.{name} {{ aspect-ratio: {ratio}; background-image: '
                   f'url("data:image/svg+xml;base64,{data}") }}\n'
                   for name, _, ratio, data in pictures)


def thumbnails(pictures):
    """All plots, small"""
    return '<div class="thumbs">' + "".join(
        f'<a href="#{name}"><span class="plot {name}"></span>{escape(title)}</a>'
        for name, title, *_ in pictures) + "</div>" if pictures else ""


def missing(gaps, what):
    if not gaps:
        return ""
    items = "".join(f"<li>{escape(name)}: {escape(reason)}</li>" for name, reason in gaps)
    return f'<div class="missing">{what}<ul>{items}</ul></div>'


def block(one, figure, folder, pictures):
    if not isinstance(one, plot.Plot):
        note = f'<p class="note">{escape(one.note)}</p>' if one.note else ""
        return f"<h4>{escape(one.title)}</h4>{table(one.head, one.rows)}{note}"
    try:
        return picture(one, folder, pictures)
    except Missing as e:
        figure.parts[one.name] = False
        return missing([(one.title, e)], "This plot is missing:")


def printed(paper):
    """Where the published values stand."""
    rows = []
    for s in paper.get("series", ()):
        rows.append((escape(f"{s['platform']}, {s['part']}"), escape(s["source"]),
                     escape(s.get("derived", ""))))
    for r in paper.get("table", {}).get("rows", ()):
        rows.append((escape(r["metric"]), escape(r["source"]), escape(r.get("derived", ""))))
    said = "".join(f"<li>{escape(s['text'])} <span class='note'>({escape(s['source'])})</span></li>"
                   for s in paper.get("statements", ()))
    return (f"<p>The paper says:</p><ul>{said}</ul>" if said else "") + \
        "<details><summary>Where the published values stand</summary>" + \
        plain(("value", "source", "computed here as"), rows) + "</details>"


def commands(used, run):
    rows = []
    for key, raw in sorted(used.items()):
        plan = run.plans.get(raw["job"]["machine"])
        facts = raw.get("machine") or {}
        where = plan.label if plan else raw["job"]["machine"]
        if facts.get("kernel"):
            where += f", guest kernel {facts['kernel']}"
        if facts.get("shared"):
            where += ", applications and workers share CPUs"
        if raw.get("boot"):
            where += f", {raw['boot']}"
        rows.append((f'<a href="raw/{escape(key)}.json">{escape(key)}</a>', escape(where),
                     f"<code>{escape(raw['command'])}</code>", escape(raw["started"]),
                     f"{raw['load']:.1f}"))
    return ("<details><summary>Commands, raw results</summary>" +
            plain(("raw JSON", "machine", "command", "started", "load before"), rows) + "</details>")


def machines(run):
    rows = [(escape(p.title), escape(p.what),
             escape(p.missing) if p.missing else
             escape(p.accel if p.native else f"{p.accel}: emulated, times are not representative"))
            for p in run.plans.values()]
    return plain(("machine", "what it is", "here"), rows)


def summary(figures):
    rows = []
    for f in figures:
        verdict = "complete" if f.complete() else "missing"
        if f.complete() and f.gaps:
            verdict = f"{len(f.gaps)} of its parts missing"
        rows.append((f'<a href="#{f.name}">{escape(f.paper["paper"])} '
                     f'{escape(f.paper["figure"])}</a>', escape(f.title), verdict))
    return plain(("figure", "shows", "here"), rows)


def busy(loads, cpus):
    """A warning if other processes used this machine at the same time."""
    high = [x for x in loads if x > cpus / 2]
    if not high:
        return ""
    return (f'<p class="missing">Others used this machine meanwhile: before {len(high)} of '
            f'{len(loads)} runs its load was above {cpus / 2:.0f} (up to {max(high):.1f} on {cpus} '
            'CPUs). Medians forget what was interrupted, not that caches and memory were shared: times are '
            'too long.</p>')


def make(folder, run, head, figures, results_of):
    """Write index.html; figures: [Figure], results_of: {name: Results}."""
    loads = [raw["load"] for r in results_of.values() for raw in r.used.values()]
    body, pictures, paper = [], [], None
    for f in sorted(figures, key=lambda f: list(PAPERS).index(f.paper["paper"])):
        if f.paper["paper"] != paper:
            paper = f.paper["paper"]
            body.append(f'<h2 class="paper" id="paper-{paper}">{paper}: {escape(PAPERS[paper])}</h2>')
        body.append(f'<h3 class="figure" id="{f.name}">{escape(f.paper["paper"])} '
                    f'{escape(f.paper["figure"])}: {escape(f.title)}</h3>')
        if f.differs:
            body.append(f'<p class="differs">What differs from the paper: {escape(f.differs)}</p>')
        body.append(f'<p class="note">{escape(f.paper["paper"])}, section '
                    f'{escape(f.paper["section"])}. Grey columns and black points are the paper\'s, '
                    'values printed there only; dashed curves are of emulated guests and mean '
                    'nothing but that it works. Curves and columns are of packets, as in the paper, but '
                    f'for blue columns named "{escape(LOCAL_PATH)}": operations without packets, '
                    'where one worker has both nodes.</p>')
        body.append(missing(f.gaps, "Missing here:"))
        body += [block(b, f, folder, pictures) for b in f.blocks]
        body.append(printed(f.paper))
        body.append(commands(results_of[f.name].used, run))
    text = f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>The papers' figures, measured</title>
<meta name="viewport" content="width=device-width"><style>{STYLE}{classes(pictures)}</style></head><body>
<h1>The papers' figures, measured here</h1>
<p>{escape(head['started'])}, <code>{escape(head['command'])}</code>
({'quick' if run.quick else 'full'} mode). How to read this: Documentation/figures.rst.</p>
{busy(loads, run.cpus)}
{summary(figures)}
{thumbnails(pictures)}
<h3>Machines</h3>
{machines(run)}
<h3>Versions</h3>
{plain(("what", "which"), [(escape(a), escape(b)) for a, b in head['versions']])}
{"".join(body)}
</body></html>
"""
    path = os.path.join(folder, "index.html")
    with open(path + ".new", "w", encoding="utf-8") as f:
        f.write(text)
    os.rename(path + ".new", path)
    return path
