# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""open_deep.py LEVELS: what an editor sends that opens a file of so many brackets."""
import json
import sys

levels = int(sys.argv[1])
text = "module attributes {a.a = " + "[" * levels + "]" * levels + "} {}"
for message in (
        {"id": 0, "method": "initialize",
         "params": {"processId": 1, "rootPath": "kvcache", "capabilities": {}, "trace": "off"}},
        {"method": "textDocument/didOpen",
         "params": {"textDocument": {"uri": "test:///a.mlir", "languageId": "mlir", "version": 1,
                                     "text": text}}},
        {"id": 3, "method": "shutdown"}, {"method": "exit"}):
    body = json.dumps({"jsonrpc": "2.0", **message})
    sys.stdout.write(f"Content-Length: {len(body)}\r\n\r\n{body}")
