#!/usr/bin/env python3
"""The pairs of share.cu in the simulator: simulate.py GPUMUX SCHEDULER OUT.json    (gto or lrr; minutes, on one core)

Each kernel alone on all places of the SMs and on half of them, and all pairs with half each, either one first. Blocks stay
on their SMs as on hardware (stay.cu, as PTX stay.ptx); a quarter of the machine, 60,000 cycles. OUT.json has instructions per
cycle: "KERNEL/2" on all places, "KERNEL/1" on half, "FIRST+SECOND" of both. What it has already is not run again.
"""
import array
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SMS = 33
# A quarter of the H100, with one split of its L1 for all, and no end before the cycles' end.
QUARTER = [f"sms={SMS}", "l2.partitions=10", f"runtime.blocks_per_cycle={SMS}", "runtime.kernel_launch_latency=0",
           "sm.shared_size=100K", "l1.shared_carveouts=[102400]"]
ENDLESS = ["runtime.max_warp_instructions=0", "runtime.max_kernel_cycles=0"]
OPTIONS = 1 << 21


def zeros(count, kind="f32"):
    return f"zero:{kind}[{count}]"


# Kernel, threads, blocks of half an SM, grid, arguments. What is read and written is far larger than a quarter of L2.
KERNELS = {
    "add10": ("add", "256", 4, (16384, 1), [zeros(16384 * 256)] * 3 + ["i32:10"]),
    "add20": ("add", "256", 4, (16384, 1), [zeros(16384 * 256)] * 3 + ["i32:20"]),
    "stream1": ("stream1", "256", 4, (32768, 1), [zeros(32768 * 256)] * 2),
    "stream3": ("stream3", "256", 4, (16384, 1), [zeros(16384 * 768)] * 2),
    "sgemm": ("sgemm", "16,8", 4, (8, 512),
              [zeros(1024 * 512), zeros(8192 * 512), zeros(1024 * 8192), "i32:1024", "i32:8192", "i32:512"]),
    "transpose": ("transpose", "16,16", 4, (256, 256), [zeros(1 << 24), zeros(1 << 24), "i32:4096", "i32:4096"]),
    "hotspot": ("hotspot", "16,16", 4, (256, 256), [zeros(3072 * 3072)] * 3 + ["i32:3072"]),
    "pathfinder": ("pathfinder", "256", 4, (2428, 1),
                   [zeros(524288 * 22, "i32"), zeros(524288, "i32"), zeros(524288, "i32"), "i32:524288"]),
    "nn": ("nn", "256", 4, (16384, 1), [zeros(1 << 23), zeros(1 << 22), "i32:4194304"]),
    "blackscholes": ("blackscholes", "128", 8, (OPTIONS // 512, 1),
                     [zeros(OPTIONS), zeros(OPTIONS), "in:f32=price.bin", "in:f32=strike.bin", "in:f32=years.bin", f"i32:{OPTIONS}"]),
    "histogram": ("histogram", "192", 4, (1024, 1),
                  [zeros(1024 * 256, "u32"), "in:u32=bytes.bin", f"i32:{1024 * 192 * 32}"]),
    "3mm-first": ("product", "32,8", 4, (256, 128),
                  [zeros(1024 * 64), zeros(64 * 8192), zeros(1024 * 8192), "i32:1024", "i32:8192", "i32:64"]),
}


def inputs(folder):
    for name, low, high in (("price", 5, 30), ("strike", 1, 100), ("years", 0.25, 10)):
        random.seed(1)
        array.array("f", (random.uniform(low, high) for _ in range(OPTIONS))).tofile(open(f"{folder}/{name}.bin", "wb"))
    random.seed(1)
    array.array("I", (random.getrandbits(32) for _ in range(1024 * 192 * 32))).tofile(open(f"{folder}/bytes.bin", "wb"))


def app(name, parts):
    kernel, block, half, grid, args = KERNELS[name]
    words = [f"{HERE}/stay.ptx:stay_{kernel}", "--grid", str(SMS * half * parts), "--block", block]
    for a in [f"u32:{grid[0]}", f"u32:{grid[1]}", "u32:1000"] + args:
        words += ["--arg", a]
    return words


def run(gpumux, settings, apps, policy, folder):
    command = [gpumux, "run"] + [word for a in apps for word in a] + [
        "--machine", "h100-measured", "--policy", policy, "--baseline", "off", "--json", "run.json", "--quiet"]
    for s in settings:
        command += ["--set", s]
    subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL)
    return json.load(open(f"{folder}/run.json"))


def main():
    gpumux, scheduler, out = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3]
    settings = QUARTER + ENDLESS + [f"sm.warp_scheduler={scheduler}"]
    results = json.load(open(out)) if os.path.exists(out) else {}
    names = list(KERNELS)
    runs = [(f"{n}/{parts}", [app(n, parts)], "leftover") for n in names for parts in (2, 1)]
    runs += [(f"{a}+{b}", [app(a, 1), app(b, 1)], "even") for a in names for b in names if a != b]
    with tempfile.TemporaryDirectory() as folder:
        inputs(folder)
        for key, apps, policy in runs:
            if key in results: continue
            got = run(gpumux, settings, apps + [["--cycles", "60000"]], policy, folder)
            results[key] = [a["ipc"] for a in got["apps"]]
            with open(out, "w") as file:
                json.dump(results, file, indent=0)


if __name__ == "__main__":
    main()
