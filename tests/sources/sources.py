"""Whose sources name a run: a policy's file concerns that policy alone, comments and papers' columns nobody. And what serves
all papers names none of them.
"""
import os
import re
import shutil
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDERS = [name for name in sorted(os.listdir(os.path.join(ROOT, "src"))) if os.path.isdir(os.path.join(ROOT, "src", name))]


def hashes(root):
    """Name -> hash: the simulator's, policies' by file, benchmarks' by folder."""
    header = os.path.join(root, "sources.hpp")
    subprocess.run(["cmake", f"-DROOT={root}", f"-DFOLDERS={','.join(FOLDERS)}", f"-DOUTPUT={header}", "-DVERSION=1", "-P",
                    os.path.join(ROOT, "cmake/hash_sources.cmake")], check=True)
    text = open(header).read()
    found = dict(re.findall(r'\{"(\w+(?:\.cpp)?)", "(\w{32})"\}', text))
    found["simulator"] = re.search(r'simulator_sources = "(\w{32})"', text)[1]
    return found


def names_no_paper():
    """Code that serves all papers is none's: their names stand in comments, as sources, and in help texts, as examples."""
    papers = [name.removesuffix(".toml") for name in sorted(os.listdir(os.path.join(ROOT, "experiments/claims")))]
    for folder in ("apps", "src/experiment", "src/database", "src/report", "src/sweep"):
        for name in sorted(os.listdir(os.path.join(ROOT, folder))):
            if not name.endswith((".cpp", ".hpp")):
                continue
            with open(os.path.join(ROOT, folder, name)) as file:
                code = re.sub(r"//[^\n]*", "", re.sub(r'R"\(.*?\)"', "", file.read(), flags=re.S))
            found = [paper for paper in papers if paper in code]
            assert not found, f"{folder}/{name} names {found}: what is a paper's is in papers/ (docs/adding-a-paper.md)"


def main():
    names_no_paper()
    with tempfile.TemporaryDirectory() as root:
        for folder in ("src", "benchmarks", "papers"):
            shutil.copytree(os.path.join(ROOT, folder), os.path.join(root, folder))
        before = hashes(root)
        assert {"even.cpp", "smk_p.cpp", "ws.cpp", "hotspot", "simulator"} <= set(before), before

        def expect(path, change, concerned):
            path = os.path.join(root, path)
            old = open(path).read() if os.path.exists(path) else None
            with open(path, "w") as file:
                file.write(change(old or ""))
            after = hashes(root)
            changed = {name for name in before if before[name] != after[name]}
            assert changed == concerned, f"{path}: {sorted(changed)} instead of {sorted(concerned)}"
            assert set(after) - set(before) <= {os.path.basename(path)}
            os.remove(path)
            if old is not None:
                with open(path, "w") as file:
                    file.write(old)

        code = "\nnamespace gpumux { inline constexpr int kNew = 1; }\n"
        policies = {name for name in before if name.endswith(".cpp")}
        expect("src/policy/even.cpp", lambda old: old + code, {"even.cpp"})
        expect("src/policy/mine.cpp", lambda old: '#include "policy/policy.hpp"\nregister_policy({});\n', set())
        expect("src/policy/smk.hpp", lambda old: old + code, {"smk_p.cpp", "smk_pw.cpp"})
        expect("src/policy/slicer.cpp", lambda old: old + code, {"ws.cpp", "ws_static.cpp"})
        throttles = {"dyncta.cpp", "lcs.cpp", "perf_sat.cpp"}
        blocks = throttles | {"limit.cpp", "max.cpp"}
        cores = {"first.cpp", "onac.cpp", "seq_det.cpp"}
        concurrency = {"cm_bal.cpp", "cm_cpu.cpp"}
        schemes = {"dmil.cpp", "mshr.cpp", "qbmi.cpp", "qbmi_dmil.cpp", "rbmi.cpp", "smil.cpp", "ucp.cpp"}
        expect("src/policy/mechanism.hpp", lambda old: old + code, policies | {"simulator"})
        expect("src/policy/policy.hpp", lambda old: old + code, (policies - blocks - cores - concurrency) | {"simulator"})
        expect("src/policy/memory_scheme.cpp", lambda old: old + code, schemes | {"simulator"})
        expect("src/policy/memory_schemes/smil.cpp", lambda old: old + code, {"smil.cpp"})
        expect("src/policy/memory_schemes/settings.cpp", lambda old: old + code, schemes - {"mshr.cpp", "ucp.cpp"})
        expect("src/policy/block_schedulers/limit.cpp", lambda old: old + code, {"limit.cpp"})
        expect("src/policy/block_schedulers/throttle.hpp", lambda old: old + code, throttles)
        expect("src/policy/block_schedulers/saturation.cpp", lambda old: old + code, {"perf_sat.cpp"})
        expect("src/policy/block_schedulers/max.cpp", lambda old: old + code, {"max.cpp", "simulator"})
        expect("src/policy/block_schedulers/mine.cpp",
               lambda old: '#include "policy/block_scheduler.hpp"\nregister_block_scheduler({});\n', set())
        expect("src/policy/core_controls/estimation.cpp", lambda old: old + code, {"onac.cpp"})
        expect("src/policy/core_controls/detector.cpp", lambda old: old + code, {"onac.cpp", "seq_det.cpp"})
        expect("src/policy/concurrency_controls/balanced_level.cpp", lambda old: old + code, {"cm_bal.cpp"})
        expect("src/policy/concurrency_controls/congestion.cpp", lambda old: old + code, concurrency)
        expect("src/policy/level_arguments.cpp", lambda old: old + code,
               {"cm_bal.cpp", "cm_cpu.cpp", "dyncta.cpp", "lcs.cpp", "onac.cpp", "perf_sat.cpp", "seq_det.cpp"})
        expect("src/sm/lsu.cpp", lambda old: old + code, {"simulator"})
        expect("benchmarks/hotspot/hotspot.cpp", lambda old: old + code, {"hotspot"})
        expect("papers/dai18/table2.cpp", lambda old: old + code, set())  # shows what came of runs
        for comment in ("\n// Another word.\n", "\n  /// Another word: \"quoted\", with [brackets]; and more.\n"):
            expect("src/sm/lsu.cpp", lambda old: old.rstrip("\n") + comment, set())
            expect("src/policy/policy.hpp", lambda old: old.rstrip("\n") + comment, set())
        expect("src/sm/lsu.cpp", lambda old: old.replace(";\n", ";  // Another word.\n", 1), set())
    print("sources are hashed by whom they concern; what serves all papers names none")


main()
