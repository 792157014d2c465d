"""A normal build carries no fault: its code is that of the rungs without the statements of faults.

Cuts every statement of a planted fault out of a rung, compiles what is left and the whole rung as
the build does, and compares: objects of host rungs bit by bit, CUDA rungs as PTX. Run by ctest, its
argument the build's compile_commands.json.
"""

import json
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from pathlib import Path

SITE = re.compile(r'if constexpr \((!?)(?:gemm::)?fault\("')
Command = list[str]


def end_of_parentheses(text: str, start: int, pair: str = "()") -> int:
    """Where the pair that opens at `start` has closed."""
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] == pair[0]) - (text[place] == pair[1])
        if depth == 0:
            return place + 1
    raise ValueError(f"unbalanced {pair} at {text[start : start + 40]!r}")


def end_of_statement(text: str, start: int) -> int:
    """Where the statement ends that begins at `start`: a block, or what a semicolon ends."""
    if text[start] == "{":
        return end_of_parentheses(text, start, "{}")
    while text[start] != ";":
        start = end_of_parentheses(text, start) if text[start] == "(" else start + 1
    return start + 1


def without_faults(text: str) -> str:
    """The source as if no fault had been planted, with every line where it was."""
    while site := SITE.search(text):
        begin = site.start()
        body = end_of_parentheses(text, text.index("(", begin))
        body += len(text[body:]) - len(text[body:].lstrip())
        sound_only = site[1] == "!"
        end = body if sound_only else end_of_statement(text, body)
        text = text[:begin] + "\n" * text.count("\n", begin, end) + text[end:]
    assert "fault(" not in text, "a site of a fault in a form that this test does not know"
    return text


def compiling(command: Command, source: Path, output: Path) -> Command:
    changed = list(command)
    changed[changed.index("-o") + 1] = str(output)
    changed[changed.index("-c") + 1] = str(source)
    return changed


def ptx_command(command: Command) -> Command:
    """The same up to PTX, for an architecture that knows every instruction, without lines."""
    kept = [word for word in command if "generate-code" not in word and word != "-lineinfo"]
    kept.insert(kept.index("-c"), "-ptx")
    return [*kept, "-arch=compute_90a"]


def output_of(command: Command, source: Path, directory: Path) -> bytes:
    directory.mkdir()
    output = directory / "output"
    subprocess.run(compiling(command, source, output), cwd=directory, check=True)
    return output.read_bytes()


def code_differs(entry: dict[str, str], scratch: Path) -> bool:
    source = Path(entry["file"])
    command = [word for word in shlex.split(entry["command"]) if word != "-g"]
    if source.suffix == ".cu":
        command = ptx_command(command)
    cut = scratch / source.name
    cut.write_text(without_faults(source.read_text()))
    return output_of(command, cut, scratch / "cut") != output_of(command, source, scratch / "whole")


def rungs_with_faults(compile_commands: Path) -> list[dict[str, str]]:
    """The compilations of the normal build, of those files that can host a fault."""
    entries = json.loads(compile_commands.read_text())
    return [
        entry
        for entry in entries
        if "/gemmwatch_rungs_" in entry["command"] and SITE.search(Path(entry["file"]).read_text())
    ]


def main() -> int:
    entries = rungs_with_faults(Path(sys.argv[1]))
    assert entries, "the build has no rung that hosts a fault"
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(cpu_count()) as pool:
        places = [Path(scratch, str(index)) for index in range(len(entries))]
        for place in places:
            place.mkdir()
        differs = list(pool.map(code_differs, entries, places))
    for entry, different in zip(entries, differs, strict=True):
        print("a fault is in the code of" if different else "no fault in", entry["file"])
    return int(any(differs))


if __name__ == "__main__":
    sys.exit(main())
