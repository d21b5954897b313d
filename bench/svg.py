# SPDX-License-Identifier: MIT
"""Draws the figures of the bench as one picture, with nothing but text."""

import math


def text(x, y, words, anchor="start", size=12, weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"'
            f' font-weight="{weight}">{words}</text>')


def draw_compile(compiled, left, top, width, height):
    """Both axes logarithmic; the dashed line is n log n through the first point."""
    xs = [math.log10(r["entries"]) for r in compiled]
    times = [r["compile_ms"] for r in compiled]
    scale = times[0] / (compiled[0]["entries"] * math.log2(compiled[0]["entries"]))
    ideal = [scale * r["entries"] * math.log2(r["entries"]) for r in compiled]
    low = math.floor(math.log10(min(times + ideal)))
    high = math.ceil(math.log10(max(times + ideal)))

    def at(x, ms):
        return (left + width * (x - xs[0]) / (xs[-1] - xs[0]),
                top + height * (1 - (math.log10(ms) - low) / (high - low)))

    parts = [text(left, top - 24, "Compiling a policy", size=15, weight="bold"),
             text(left, top - 8, "milliseconds; dashed: n log n", size=11)]
    for power in range(low, high + 1):
        _, y = at(xs[0], 10.0 ** power)
        parts.append(f'<line x1="{left}" x2="{left + width}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(text(left - 6, y + 4, f"{10.0 ** power:g}", "end", 11))
    for values, style in ((ideal, 'stroke="#999" stroke-dasharray="5 4"'),
                          (times, 'stroke="#1f5fa8" stroke-width="2"')):
        points = " ".join("{:.1f},{:.1f}".format(*at(x, v)) for x, v in zip(xs, values))
        parts.append(f'<polyline fill="none" {style} points="{points}"/>')
    for x, v, row in zip(xs, times, compiled):
        px, py = at(x, v)
        parts.append(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="4" fill="#1f5fa8"/>')
        parts.append(text(px, top + height + 18, f"{row['entries']:,}", "middle", 11))
        parts.append(text(px, py - 10, f"{v:.1f}", "middle", 11))
    return parts


def draw_start(rows, left, top, width):
    parts = [text(left, top - 24, "Start to end of one command", size=15, weight="bold"),
             text(left, top - 8, "median in microseconds, in turns", size=11)]
    most = max(r["median_us"] for r in rows)
    for i, row in enumerate(rows):
        y = top + 8 + i * 46
        length = width * row["median_us"] / most
        colour = "#999" if i == 0 else "#1f5fa8"
        parts.append(text(left, y + 10, row["case"], size=12))
        parts.append(f'<rect x="{left}" y="{y + 15}" width="{length:.1f}" height="16" fill="{colour}"/>')
        parts.append(text(left + length + 6, y + 28, f"{row['median_us']:.0f} (×{row['ratio']:.2f})", size=11))
    return parts


def draw_run(rows, title, left, top, width):
    """A bar for each sandbox; the axis is logarithmic, or the small ones could not be seen."""
    parts = [text(left, top - 24, title, size=15, weight="bold"),
             text(left, top - 8, "median from start to end of `true`, logarithmic", size=11)]
    low = math.log10(min(r["median_us"] for r in rows)) - 0.5
    high = math.log10(max(r["median_us"] for r in rows))
    for i, row in enumerate(rows):
        y = top + 4 + i * 40
        length = width * (math.log10(row["median_us"]) - low) / (high - low)
        colour = "#1f5fa8" if row["case"].startswith("cordon") else "#999"
        parts.append(text(left, y + 10, row["case"], size=12))
        parts.append(f'<rect x="{left}" y="{y + 15}" width="{length:.1f}" height="14" fill="{colour}"/>')
        parts.append(text(left + length + 6, y + 26, f"{row['median_us'] / 1000:.2f} ms", size=11))
    return parts


def draw_masks(found, left, top, width, height):
    """One line for each user; a straight one is what is promised."""
    parts = [text(left, top - 24, "Denied files in a profile", size=15, weight="bold"),
             text(left, top - 8, "milliseconds from start to end; blue: root, red: ordinary user", size=11)]
    series = {who: [r for r in part["masks"]["rows"] if not str(r["case"]).startswith("bwrap")]
              for who, part in found.items() if "masks" in part}
    if not series:
        return []
    most = max(r["median_us"] for rows in series.values() for r in rows)
    last = max(r["case"] for rows in series.values() for r in rows)
    for who, rows in series.items():
        colour = "#1f5fa8" if who == "root" else "#b03a2e"
        points = [(left + width * r["case"] / last, top + height * (1 - r["median_us"] / most))
                  for r in rows]
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="'
                     + " ".join(f"{x:.1f},{y:.1f}" for x, y in points) + '"/>')
        for (x, y), row in zip(points, rows):
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>')
            parts.append(text(x, top + height + 18, row["case"], "middle", 11))
            parts.append(text(x, y - 8, f"{row['median_us'] / 1000:.1f}", "middle", 10))
    parts.append(f'<line x1="{left}" x2="{left + width}" y1="{top + height}" y2="{top + height}" stroke="#999"/>')
    return parts


NETWORK = (("net_download", "http", 1, "download"), ("net_download", "connect", 1, "download, tunnelled"),
           ("net_requests", "http", 1, "requests/s"), ("net_requests", "http", 32, "requests/s on 32"),
           ("net_connects", "http", 1, "connections/s"))
COLOURS = {"cordon proxy": "#1f5fa8", "in cordon run": "#5b9bd5", "tinyproxy": "#999", "in srt": "#c9a227",
           "in codex sandbox": "#b03a2e"}


def draw_network(found, left, top, width):
    """For each thing that is measured a bar for each proxy, as a part of what is to be had without one."""
    parts = [text(left, top - 24, "The managed network", size=15, weight="bold"),
             text(left, top - 8, "against no proxy at all: the thin line is the same speed", size=11)]
    x = left
    for name, colour in COLOURS.items():
        parts.append(f'<rect x="{x}" y="{top}" width="10" height="10" fill="{colour}"/>')
        parts.append(text(x + 14, top + 9, name, size=11))
        x += 150
    y = top + 22
    for part, way, connections, label in NETWORK:
        rows = [r for r in found.get(part, []) if (r["way"], r["connections"]) == (way, connections) and "ratio" in r
                and r["case"] in COLOURS]
        if not rows:
            continue
        parts.append(text(left, y + 12, label, size=12))
        for row in sorted(rows, key=lambda r: list(COLOURS).index(r["case"])):
            length = (width - 180) * min(row["ratio"], 1.2) / 1.2
            parts.append(f'<rect x="{left + 150}" y="{y}" width="{length:.1f}" height="11" fill="{COLOURS[row["case"]]}"/>')
            parts.append(text(left + 155 + length, y + 10, f"{row['ratio']:.2f}", size=10))
            y += 13
        y += 8
    line = left + 150 + (width - 180) / 1.2
    parts.append(f'<line x1="{line:.1f}" x2="{line:.1f}" y1="{top + 16}" y2="{y}" stroke="#444"/>')
    return parts


def draw(results):
    found = results["run"]
    started = [(who, part["start"]["rows"]) for who, part in found.items() if "start" in part]
    height = 340 + (60 + 40 * max((len(rows) for _, rows in started), default=0)) + 300
    network = results.get("network", {})
    masks_top = height - 240
    height += 440 if network else 0
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="960" height="{height}"'
             f' font-family="sans-serif"><rect width="960" height="{height}" fill="white"/>']
    parts += draw_compile(results["plan"]["compile"], 70, 60, 340, 220)
    parts += draw_start(results["start"], 520, 60, 320)
    for i, (who, rows) in enumerate(started):
        parts += draw_run(rows, f"A run, as {who}", 70 + i * 450, 380, 300)
    parts += draw_masks(found, 70, masks_top, 780, 180)
    if network:
        parts += draw_network(network, 70, height - 400, 820)
    parts.append("</svg>\n")
    return "\n".join(parts)
