"""Reading of the viewer's data as the page's script reads it."""

import json
import re


def read_data(out):
    """Name -> value of every data file of a report."""
    found = {}
    for file in sorted((out / "data").iterdir()):
        call = re.fullmatch(r'lmodData\((".*?"), (".*")\);\n', file.read_text("ascii"))
        found[json.loads(call[1])] = json.loads(json.loads(call[2]))
    return found


def rows(data, kind):
    """The rows of all blocks in order, each with the texts of its block."""
    blocks = sorted((name for name in data if name.startswith(f"{kind}-")), key=lambda name: int(name.split("-")[1]))
    return [row | {"texts": data[name]["texts"]} for name in blocks for row in data[name]["rows"]]
