# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the simulator on a pseudo-terminal and reads what it writes there."""
import os
import pty
import re
import subprocess
import sys

# Blocks that count down, as many rounds as the argument says.
with open(sys.argv[1], "w") as file:
    file.write(""".version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u32 rounds)
{
  .reg .pred %p; .reg .b32 %r;
  ld.param.u32 %r, [rounds];
$again:
  sub.u32 %r, %r, 1;
  setp.ne.u32 %p, %r, 0;
  @%p bra $again;
  ret;
}
""")


def command(rounds):
    return ["ptxsim", sys.argv[1], "--kernel", "k", "--grid", "256", "--block", "256",
            "--threads", "1", "--tool", "memcheck", "--arg", f"u32:{rounds}"]


def on_terminal(rounds):
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command(rounds), stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    text = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:
            # The other end is closed.
            break
        if not part:
            break
        text += part
    os.close(ours)
    assert process.wait() == 0, text
    return text.decode()


# Long enough on any machine: doubled until progress is shown.
rounds = 20000
while True:
    text = on_terminal(rounds)
    shown = [(int(a), int(b)) for a, b in
             re.findall(r"\r(\d+) of 256 blocks \((\d+) %\)", text)]
    if len(shown) >= 3:
        break
    rounds *= 2
    assert rounds < 1 << 28, text
done = [a for a, _ in shown]
assert done == sorted(done) and 0 <= done[0] < done[-1] <= 256, shown
assert all(percent == a * 100 // 256 for a, percent in shown), shown
assert re.fullmatch(r"(\r\d+ of 256 blocks \(\d+ %\))+\r\x1b\[K0 findings\r\n", text), text
print("terminal: a growing number of blocks of 256, wiped out, then 0 findings")
assert on_terminal(1) == "0 findings\r\n"
print("short run on a terminal: nothing but 0 findings")
done = subprocess.run(command(rounds), capture_output=True, text=True)
assert (done.returncode, done.stderr, done.stdout) == (0, "0 findings\n", ""), done
print("file: nothing but 0 findings")
