"""Runs clang-tidy on the sources of the libraries and tools.

Most of its time goes into MLIR's headers: sources that are compiled alike are
looked at together, as one file that includes them.
"""

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys

SOURCES_AT_A_TIME = 16


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


def groups(commands):
    """Lists of sources whose commands differ in nothing but the names of files."""
    alike = {}
    for path, command in sorted(commands.items()):
        text = command["command"].replace(command["file"], "FILE")
        text = re.sub(r" -o \S+", "", text)
        alike.setdefault((command["directory"], text), []).append(path)
    for (directory, text), paths in alike.items():
        for first in range(0, len(paths), SOURCES_AT_A_TIME):
            yield directory, text, paths[first : first + SOURCES_AT_A_TIME]


def write_database(commands, scratch):
    """Files that include the sources, their commands beside them; their paths."""
    database = []
    for number, (directory, text, paths) in enumerate(groups(commands)):
        together = os.path.join(scratch, f"together{number}.cpp")
        with open(together, "w", encoding="utf-8") as file:
            file.writelines(f'#include "{path}"\n' for path in paths)
        command = text.replace("FILE", together)
        database.append({"directory": directory, "file": together, "command": command})
    with open(os.path.join(scratch, "compile_commands.json"), "w", encoding="utf-8") as file:
        json.dump(database, file)
    return [entry["file"] for entry in database]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clang_tidy")
    parser.add_argument("source")
    parser.add_argument("build")
    parser.add_argument("scratch", help="a folder to write")
    options = parser.parse_args()

    commands = compile_commands(options.source, options.build)
    os.makedirs(options.scratch, exist_ok=True)
    config = os.path.join(options.source, ".clang-tidy")

    def findings(path):
        command = [
            options.clang_tidy,
            "-quiet",
            f"--config-file={config}",
            # Which is how sources are looked at together.
            "--checks=-bugprone-suspicious-include",
            "-p",
            options.scratch,
            path,
        ]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        return result.stdout + result.stderr if result.returncode else ""

    files = write_database(commands, options.scratch)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [text for text in pool.map(findings, files) if text]
    sys.stdout.write("".join(found))
    print(f"{len(commands)} sources, {len(found)} of {len(files)} groups with findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
