# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_errors.py SOURCE PAGE: the page of errors has what sources say.

Its own scan takes any text that reads like a message, wherever it goes, and looks for
the longest piece of it: it knows nothing of how the page is made.
"""
import pathlib
import re
import sys

BEGINS = (r"\s*(?:: )?(?:expected|cannot|can not|unknown|unsupported|unexpected|missing|only|no|"
          r"wrong|too many|out of memory|deadlock|use of|row|is out of)\b")
# What is said elsewhere than in errors, and text that is no message.
NO_ERRORS = re.compile(r"(?:\b(?:assert|llvm_unreachable|desc|static_assert|emitRemark|remarkWidth"
                       r"|formatv|pass|define|line)\(|_a\b)[^;]*$")
# Of each part some, which a reader would look for.
SOME = (
    "no chip given; say which to compile for", "expected an opt-level of 0 to 3",
    "cannot write the output file '…'", "format=… needs '",
    "expected at least 1 layer, got …", "expected a token of at least 0, got …",
    "expected bytecode of the kvcache dialect of version 1 to …",
    "expected a dtype in a layout, got none", "row %llu goes to block %llu",
    "missing-proxy-fence: ", "barrier-mismatch: ", "unexpected character",
    "expected ';' after a list of targets", "the truth table of lop3 has 8 bits",
    "needs a number up to", "--tool and --count need --device sim",
    "expected at most … layers to list, got …", "name an empty folder")


def literals(source):
    """The texts of a C++ source, neighbours as one, and what stands before them."""
    source = re.sub(r"^\s*//.*|\s//\s.*", "", source, flags=re.M)
    for match in re.finditer(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+', source):
        text = "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', match[0]))
        yield source[max(0, match.start() - 300):match.start()], text.replace('\\"', '"')


def main(root, page):
    page = re.sub(r"\s+", " ", page.read_text())
    unfound = [text for text in SOME if text not in page]
    if unfound:
        sys.exit("missing: " + "; ".join(unfound))
    count, missing = 0, []
    for file in sorted([*root.glob("lib/**/*.cpp"), *root.glob("tools/**/*.cpp"),
                        *root.glob("python/src/*.cpp")]):
        for before, text in literals(file.read_text()):
            if not re.match(BEGINS, text) or NO_ERRORS.search(before):
                continue
            piece = max(re.split(r"\\n|%\w+|\{\d*\}", text), key=len).strip(" :")
            if len(piece) < 12:
                continue
            count += 1
            if re.sub(r"\s+", " ", piece)[:40] not in page:
                missing.append(f"{file.relative_to(root)}: {text}")
    print(f"{count} messages, {len(missing)} missing")
    if count < 400 or len(missing) > count // 100:
        sys.exit("\n".join(missing))


main(*map(pathlib.Path, sys.argv[1:3]))
