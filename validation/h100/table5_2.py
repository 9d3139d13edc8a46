#!/usr/bin/env python3
"""Table 5.2 of awatramani17 in the simulator, as share.cu measures it: table5_2.py GPUMUX share.json OUT.json

Blocks stay on their SMs, four of each kernel, and each block of the grid is done once: on a quarter of the H100 a sixteenth
of the blocks. OUT.json has cycles.
"""
import json
import os
import sys
import tempfile

import simulate

SMS = simulate.SMS


def app(kernel, places, blocks, args):
    words = [f"{simulate.HERE}/stay.ptx:stay_{kernel}:every=1s", "--grid", str(SMS * places), "--block", "256"]
    for a in [f"u32:{blocks}", "u32:1", "u32:1"] + args:
        words += ["--arg", a]
    return words


def add(loops, blocks, places):
    return app("add", places, blocks, [simulate.zeros(blocks * 256)] * 3 + [f"i32:{loops}"])


def stream(words, blocks, places):
    return app(f"stream{words}", places, blocks, [simulate.zeros(blocks * 256 * words)] * 2)


def main():
    gpumux, hardware, out = os.path.abspath(sys.argv[1]), json.load(open(sys.argv[2])), sys.argv[3]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        def cycles(apps, policy):
            return simulate.run(gpumux, simulate.QUARTER, apps, policy, folder)["cycles"]

        for h in hardware:
            if h["kind"] != "table5_2": continue
            a, s = h["add_blocks"] // 16, h["stream_blocks"] // 16
            rows.append({"loops": h["loops"], "words": h["words"],
                         "add": cycles([add(h["loops"], a, 8)], "leftover"),
                         "stream": cycles([stream(h["words"], s, 8)], "leftover"),
                         "add_first": cycles([add(h["loops"], a, 4), stream(h["words"], s, 4)], "even"),
                         "stream_first": cycles([stream(h["words"], s, 4), add(h["loops"], a, 4)], "even")})
            with open(out, "w") as file:
                json.dump(rows, file, indent=0)


main()
