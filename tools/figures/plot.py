# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Plots by gnuplot. The input stays beside the page: NAME.gp and NAME.svg."""

import dataclasses
import os
import subprocess

from .base import Missing

# Distinct also for the colour-blind, one per curve of measured values
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7b3294", "#8c510a")
SYMBOLS = (4, 6, 8, 10, 12, 14)     # hollow ones, for printed values


@dataclasses.dataclass
class Series:
    label: str
    points: list            # [(x, y)]
    kind: str = "native"    # native, emulated, paper; of the local path: with " local" behind it


@dataclasses.dataclass
class Plot:
    name: str               # of its files
    title: str
    xlabel: str
    ylabel: str
    series: list
    logy: bool = True
    logx: bool = True      # sizes in powers of two
    note: str = ""         # below it


def quote(text):
    return '"' + text.replace("\\", "\\\\").replace('"', "'") + '"'


def script(plot):
    """gnuplot's input, data included, so that it can be run again by hand."""
    xs = sorted({x for s in plot.series for x, _ in s.points})
    height = 400 + 20 * len(plot.series)
    lines = [f"set terminal svg size 860,{height} dynamic font 'sans-serif,12' "
             "background '#ffffff'",
             "set grid lc rgb '#dddddd'", "set key below Left reverse noenhanced maxcols 1",
             # an empty line between the label and the key
             f"set xlabel {quote(plot.xlabel)[:-1]}\\n\" noenhanced",
             f"set ylabel {quote(plot.ylabel)} noenhanced",
             f"set title {quote(plot.title)} noenhanced"]
    if plot.logx:
        lines += ["set logscale x 2", f"set xrange [{min(xs) / 1.2}:{max(xs) * 1.2}]",
                  "set xtics (" + ", ".join(f"'{size(x)}' {x}" for x in xs) + ")"]
    else:
        lines += [f"set xrange [0:{max(xs)}]"]
    lines += ["set logscale y"] if plot.logy else ["set yrange [0:*]"]
    curves, colour, papers = [], 0, 0
    for i, s in enumerate(plot.series):
        lines.append(f"$d{i} << EOD")
        lines += [f"{x} {y}" for x, y in s.points]
        lines.append("EOD")
        if s.kind == "paper":
            # only points: a line between two printed values would be invented
            style = f"points pt {SYMBOLS[papers % len(SYMBOLS)]} ps 1.3 lw 2 lc rgb 'black'"
            papers += 1
        else:
            dash = " dt 2 pt 2 ps 0.6 lw 1" if s.kind == "emulated" else " pt 7 ps 0.6 lw 2"
            style = f"linespoints lc rgb '{COLOURS[colour % len(COLOURS)]}'{dash}"
            colour += 1
        curves.append(f"$d{i} using 1:2 with {style} title {quote(s.label)}")
    lines.append("plot " + ", \\\n     ".join(curves))
    return "\n".join(lines) + "\n"


def size(x):
    return f"{x // 1024}K" if x >= 1024 and x % 1024 == 0 else str(x)


def svg(plot, folder):
    """The picture; Missing when gnuplot does not make one."""
    plot.series = [s for s in plot.series if s.points]
    if not plot.series:
        raise Missing("there is nothing to plot")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, plot.name)
    with open(path + ".gp", "w", encoding="utf-8") as f:
        f.write(script(plot))
    try:
        done = subprocess.run(["gnuplot", path + ".gp"], stdin=subprocess.DEVNULL, check=False,
                              capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise Missing(f"gnuplot: {e}") from None
    if done.returncode or not done.stdout.strip():
        raise Missing(f"gnuplot: {done.stderr.decode(errors='replace').strip()[-300:]}")
    with open(path + ".svg", "wb") as f:
        f.write(done.stdout)
    return done.stdout
