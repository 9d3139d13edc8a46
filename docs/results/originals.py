#!/usr/bin/env python3
"""Rodinia's programs as they are, and ours, on chimera15-fermi30: the times that its Table 2 gives.

usage: docs/results/originals.py build/release/bin/gpumux RODINIA/cuda >docs/results/originals.md    (three minutes; needs nvcc)
RODINIA is a copy of Rodinia 3.1. Of the paper's programs those are left out that read textures, which CUDA 13 has no references for, and those that
need files which the copy lacks (b+tree, heartwall).
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import tomllib

NVCC = os.environ.get("NVCC", "/usr/local/cuda/bin/nvcc")
FLAGS = ["-O3", "-cudart", "shared", "-gencode", "arch=compute_75,code=compute_75", "-DcudaThreadSynchronize=cudaDeviceSynchronize"]
MACHINE = "chimera15-fermi30"
CLOCK_MHZ = 1400
CLAIMS = pathlib.Path(__file__).resolve().parents[2] / "experiments/claims/chimera15.toml"
# program: (folder, CUDA sources, C sources, arguments, ours, label of Table 2)
PROGRAMS = [
    ("lud/cuda", ["lud.cu", "lud_kernel.cu"], ["../common/common.c"], ["-s", "512"], "chimera15/LUD", "LUD"),
    ("nw", ["needle.cu"], [], ["4096", "10"], "chimera15/NW", "NW"),
    ("backprop", ["backprop_cuda.cu"], ["backprop.c", "facetrain.c", "imagenet.c"], ["131072"], "chimera15/BP", "BP"),
    ("hotspot", ["hotspot.cu"], [], ["1024", "2", "8", "TEMP", "POWER", "OUT"], "chimera15/HS:steps=8", "HS"),
]


def run(command, **rest):
    done = subprocess.run(command, capture_output=True, text=True, **rest)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def compile_program(folder, cuda, plain, into):
    objects = []
    for source in plain:
        objects.append(into / (pathlib.Path(source).stem + ".o"))
        run(["gcc", "-O3", "-w", "-I.", "-I../common", "-c", source, "-o", objects[-1]], cwd=folder)
    run([NVCC, *FLAGS, "-w", "-I../common", "-o", into / "program", *cuda, *objects], cwd=folder)
    return into / "program"


def kernels(gpumux, into, what):
    result = into / "result.json"
    run([gpumux, "run", "--machine", MACHINE, "--baseline", "off", "--quiet", "--json", result, *what], cwd=into)
    return [(kernel["mean_block_cycles"] / 2 / CLOCK_MHZ, kernel["mean_block_instructions"])
            for kernel in json.loads(result.read_text())["apps"][0]["kernels"]]


def table2():
    claims = tomllib.loads(CLAIMS.read_text(encoding="utf-8"))
    return {row["name"]: row["average_drain_us"] for row in claims["benchmark"] if row["table"] == "Table 2"}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    gpumux = pathlib.Path(sys.argv[1]).resolve()
    rodinia = pathlib.Path(sys.argv[2]).resolve()
    paper = table2()
    print("# Rodinia's own programs beside ours\n")
    version = run([gpumux, "--version"]).strip()
    print(f"Made by `docs/results/originals.py` with {version}, on {MACHINE}: programs of Rodinia 3.1 as they are, compiled by nvcc 13, and the\n"
          "built-in applications that do what they do. *Drain*: half of the mean time of a block, as in chimera15's Table 2.\n")
    print("| kernel | warp instructions of a block: original | ours | drain, us: paper | original | ours |")
    print("|---|---:|---:|---:|---:|---:|")
    for folder, cuda, plain, arguments, app, label in PROGRAMS:
        with tempfile.TemporaryDirectory() as name:
            into = pathlib.Path(name)
            for data, value in (("TEMP", "323.5"), ("POWER", "0.001")):
                if data in arguments:
                    (into / data).write_text(f"{value}\n" * 1024 * 1024)
            program = compile_program(rodinia / folder, cuda, plain, into)
            original = kernels(gpumux, into, ["--", program, *arguments])
            ours = kernels(gpumux, into, [app])
        for index, ((us, count), (our_us, our_count)) in enumerate(zip(original, ours, strict=True)):
            print(f"| {label}.{index} | {count:.0f} | {our_count:.0f} | {paper[f'{label}.{index}']} | {us:.2f} | {our_us:.2f} |")
    print()
    print(run([sys.executable, pathlib.Path(__file__).with_name("fingerprint.py"), "originals.md"]).strip())


if __name__ == "__main__":
    main()
