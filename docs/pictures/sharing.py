#!/usr/bin/env python3
"""Draws docs/pictures/sharing.svg from real runs: the figures of `./dev demo`, as stacked bars.

usage: docs/pictures/sharing.py build/release/bin/gpumux docs/pictures/sharing.svg
"""
import json
import os
import subprocess
import sys
import tempfile

POLICIES = ["sequential", "leftover", "spatial", "even", "ws", "ws-dmil"]
APPS = ["hotspot", "kmeans"]
MACHINE = "dai18-maxwell"
COLOURS = ["#3b6ea8", "#d98032"]


def run(program, policy, folder):
    path = os.path.join(folder, policy + ".json")
    subprocess.run([program, "run", *APPS, "--machine", MACHINE, "--cycles", "500000", "--policy", policy,
                    "--json", path, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def draw(results):
    left, top, height, width, gap = 60, 60, 260, 84, 32
    top_value = float(len(APPS))  # nobody loses anything
    y = lambda value: top + height * (1 - value / top_value)
    parts = []
    for tick in (0.0, 0.5, 1.0, 1.5, 2.0):
        parts.append(f'<line x1="{left}" x2="{left + len(POLICIES) * (width + gap)}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" '
                     f'stroke="{"#666" if tick == 1.0 else "#ddd"}"/>')
        parts.append(f'<text x="{left - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for i, (policy, result) in enumerate(results):
        x, base = left + gap / 2 + i * (width + gap), 0.0
        for app, colour in zip(result["apps"], COLOURS):
            value = app["normalized_ipc"] or 0.0
            box = height * value / top_value
            parts.append(f'<rect x="{x}" y="{y(base + value):.1f}" width="{width}" height="{box:.1f}" fill="{colour}"/>')
            if box > 14:
                parts.append(f'<text x="{x + width / 2}" y="{y(base + value / 2) + 4:.1f}" text-anchor="middle" '
                             f'fill="#fff">{value:.2f}</text>')
            else:  # beside the bar
                parts.append(f'<text x="{x + width + 2}" y="{y(base + value / 2) + 4:.1f}" font-size="11" fill="{colour}">'
                             f'{value:.2f}</text>')
            base += value
        parts.append(f'<text x="{x + width / 2}" y="{y(base) - 6:.1f}" text-anchor="middle" font-weight="bold">'
                     f'{base:.2f}</text>')
        parts.append(f'<text x="{x + width / 2}" y="{top + height + 20}" text-anchor="middle">{policy}</text>')
    parts.append(f'<text x="16" y="{top + height / 2}" text-anchor="middle" transform="rotate(-90 16 {top + height / 2})">'
                 f'normalized IPC, stacked</text>')
    parts.append(f'<text x="{left + 400}" y="{top + height + 46}">1 = taking turns, 2 = no application loses</text>')
    for i, (app, colour) in enumerate(zip(APPS, COLOURS)):
        parts.append(f'<rect x="{left + 14 + i * 110}" y="{top + height + 36}" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{left + 32 + i * 110}" y="{top + height + 46}">{app}</text>')
    total = left + len(POLICIES) * (width + gap) + 20
    title = f"Normalized IPC of {APPS[0]} and {APPS[1]} together on {MACHINE}; their sum is the weighted speedup"
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total} {top + height + 64}" '
            f'font-family="sans-serif" font-size="13" role="img" aria-label="{title}">'
            f'<rect width="100%" height="100%" fill="#fff"/>'
            f'<text x="{total / 2}" y="24" text-anchor="middle" font-size="14">{title}</text>'
            + "".join(parts) + "</svg>\n")


def main():
    program, output = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        results = [(policy, run(program, policy, folder)) for policy in POLICIES]
    with open(output + ".tmp", "w", encoding="utf-8") as file:
        file.write(draw(results))
    os.replace(output + ".tmp", output)


if __name__ == "__main__":
    main()
