# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints lit's results (its --output file) in a few lines.

The last line is "N passed, N failed". Exit status 1 if a test failed or none
passed.
"""
import collections
import json
import re
import sys

PASSED = {"PASS", "XFAIL", "FLAKYPASS"}
NOT_RUN = {"UNSUPPORTED", "SKIPPED", "EXCLUDED"}


def main(results_file, log_file):
    with open(results_file) as file:
        tests = json.load(file)["tests"]
    counts = collections.Counter(test["code"] for test in tests)
    failed = [t for t in tests if t["code"] not in PASSED | NOT_RUN]
    for test in failed:
        print(f"\n{test['code']}: {test['name']}")
        output = test.get("output", "").rstrip().splitlines()
        for line in output[-12:]:
            print("  | " + line[:200])
    if failed:
        print(f"\nthe whole output is in {log_file}")
    not_run = [t for t in tests if t["code"] in NOT_RUN]
    if not_run:
        names = ", ".join(sorted(t["name"].split(" :: ")[-1] for t in not_run)[:5])
        more = f" and {len(not_run) - 5} more" if len(not_run) > 5 else ""
        print(f"  {len(not_run)} not run for want of a tool, or only with --all: {names}{more}")
    passed = sum(counts[code] for code in PASSED)
    if passed == 0:
        print("no test ran", file=sys.stderr)
    print(f"{passed} passed, {len(failed)} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
