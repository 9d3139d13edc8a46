#!/usr/bin/env python3
"""A part of what texture.cu gives, for the test of the sampler: texture_subset.py texture.json texture.bin >h100_textures.txt

coordinates AXES NORMALIZED: a fetch's coordinates in each line; cases take as many from the front as they have results.
texels FORMAT AXES W [H [D]] BYTES. case FORMAT AXES ADDRESS NORMALIZED FILTER, then results; all are hexadecimal,
coordinates and results the bits of floats.
"""
import json
import struct
import sys

# Where other rules would give something else: coordinates just beyond a texel's edge, halves of 256ths and of results.
CHOSEN = {1: [1564, 1748, 1840, 1900, 1576, 1580, 1584, 1916, 2036, 2729, 3392, 3177, 3300, 2008],
          2: [1556, 1600, 1644, 1656, 1672, 89, 345, 409, 601, 793, 857, 1305, 2638, 2640, 2937, 3161],
          3: []}
SIZES = {"f32": 4, "f16": 2, "u8n": 1, "s8n": 1, "u16n": 2, "s16n": 2}


def fetches(axes):
    spread = [j * 16 + j * 7 % 16 for j in (k * 37 % 256 for k in range(256))]
    return CHOSEN[axes] + [i for i in spread if i not in CHOSEN[axes]][:256 - len(CHOSEN[axes])]


def words(data, at, indexes):
    return [struct.unpack_from("<I", data, at + 4 * i)[0] for i in indexes]


def main():
    rows = json.load(open(sys.argv[1]))
    data = open(sys.argv[2], "rb").read()
    print("# An H100's texture fetches: validation/h100/texture_subset.py. The border's value is", rows[0]["border"])
    told = set()
    for row in rows:
        axes, fmt, mode, normalized = row["axes"], row["format"], row["address"], row["normalized"]
        # In texels wrap and mirror are clamp. Of three dimensions points alone follow known rules.
        if not normalized and mode in ("wrap", "mirror") and fmt != "f32": continue
        if axes == 3 and (row["filter"] == "linear" or fmt not in ("f32", "u8n")): continue
        chosen = fetches(axes)
        if (axes, normalized) not in told:
            told.add((axes, normalized))
            print(f"coordinates {axes} {normalized}")
            for i in chosen:
                print(*(f"{words(data, row['coordinates_at'] + 4 * row['count'] * k, [i])[0]:08x}" for k in range(axes)))
        if (axes, fmt) not in told:
            told.add((axes, fmt))
            extent = [e for e in row["extent"] if e]
            size = SIZES[fmt]
            for e in extent: size *= e
            print("texels", fmt, axes, *extent, data[row["texels_at"]:row["texels_at"] + size].hex())
        print("case", fmt, axes, mode, normalized, row["filter"])
        chosen = chosen[:256 if fmt == "f32" and axes < 3 else 64]
        print("".join(f"{w:08x}" for w in words(data, row["results_at"], chosen)))


main()
