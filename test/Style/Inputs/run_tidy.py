"""Runs clang-tidy on the sources of the libraries and tools."""

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys


def split_unity(command):
    """Of a file that only includes sources (CMAKE_UNITY_BUILD) a command of each."""
    path = command["file"]
    if os.path.basename(os.path.dirname(path)) != "Unity":
        return [command]
    with open(path, encoding="utf-8") as file:
        sources = re.findall(r'^#include "(.*)"$', file.read(), re.MULTILINE)
    return [
        {**command, "file": source, "command": command["command"].replace(path, source)}
        for source in sources
    ]


def compile_commands(source, build):
    """The command of each file under lib/ and tools/, of several the first."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = [one for command in json.load(file) for one in split_unity(command)]
    folders = tuple(os.path.join(os.path.realpath(source), name, "") for name in ("lib", "tools"))
    found = {}
    for command in commands:
        path = os.path.realpath(command["file"])
        if path.startswith(folders):
            found.setdefault(path, command)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clang_tidy")
    parser.add_argument("source")
    parser.add_argument("build")
    parser.add_argument("scratch", help="a folder to write")
    options = parser.parse_args()

    commands = compile_commands(options.source, options.build)
    os.makedirs(options.scratch, exist_ok=True)
    database = os.path.join(options.scratch, "compile_commands.json")
    with open(database, "w", encoding="utf-8") as file:
        json.dump(list(commands.values()), file)

    def findings(path):
        command = [options.clang_tidy, "-quiet", "-p", options.scratch, path]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        return result.stdout + result.stderr if result.returncode else ""

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [text for text in pool.map(findings, sorted(commands)) if text]
    sys.stdout.write("".join(found))
    print(f"{len(commands)} files, {len(found)} with findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
