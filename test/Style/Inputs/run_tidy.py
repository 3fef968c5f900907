"""Runs clang-tidy on every SHARE-th source of the libraries and tools."""

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys


def sources(source, build):
    """The compiled files under lib/ and tools/, each once."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        files = {os.path.realpath(command["file"]) for command in json.load(file)}
    folders = tuple(os.path.join(os.path.realpath(source), name, "") for name in ("lib", "tools"))
    return sorted(file for file in files if file.startswith(folders))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clang_tidy")
    parser.add_argument("source")
    parser.add_argument("build")
    parser.add_argument("--share", type=int, default=1)
    options = parser.parse_args()

    def findings(file):
        command = [options.clang_tidy, "-quiet", "-p", options.build, file]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        return result.stdout + result.stderr if result.returncode else ""

    chosen = sources(options.source, options.build)[:: options.share]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [text for text in pool.map(findings, chosen) if text]
    sys.stdout.write("".join(found))
    print(f"{len(chosen)} files, {len(found)} with findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
