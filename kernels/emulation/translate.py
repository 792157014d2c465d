"""One CUDA source as C++ for the emulator: the few constructs that C++ has not are replaced.

usage: translate.py FROM TO [NAME]

Everything else stays, line by line, so that messages of the compiler name the original. What looks
like CUDA and is none of the known constructs is an error: nothing is passed over in silence.
With NAME, only the constants and functions of FROM whose name begins with it, in its namespace.
"""

import re
import sys
from pathlib import Path

# What runtime.hpp has.
FUNCTIONS_OF_THE_RUNTIME = {
    "cudaDeviceGetAttribute",
    "cudaFuncSetAttribute",
    "cudaGetDevice",
    "cudaGetDriverEntryPointByVersion",
    "cudaGetErrorString",
    "cudaGetLastError",
    "cudaLaunchKernelEx",
}
TOKENS = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"\w*\(.*?\)\w*"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL
)
CLOSING = {"(": ")", "[": "]", "{": "}"}


class Untranslatable(Exception):
    """A construct that this script does not know."""


def without_comments(text: str) -> str:
    """Comments become spaces; every line and every string stays where it is."""
    return TOKENS.sub(
        lambda found: re.sub(r"[^\n]", " ", found[0]) if found[0].startswith("/") else found[0],
        text,
    )


def line_of(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def close_of(text: str, at: int) -> int:
    """The index of the bracket that closes the one at `at`; of a round, square or curly kind."""
    depth = []
    for i in range(at, len(text)):
        if text[i] in CLOSING:
            depth.append(CLOSING[text[i]])
        elif depth and text[i] == depth[-1]:
            depth.pop()
            if not depth:
                return i
    raise Untranslatable(f"line {line_of(text, at)}: a bracket is not closed")


def split_at_commas(text: str) -> list[str]:
    """The parts between commas that stand in no bracket."""
    parts, begin, i = [], 0, 0
    while i < len(text):
        if text[i] in CLOSING:
            i = close_of(text, i)
        elif text[i] == ",":
            parts.append(text[begin:i].strip())
            begin = i + 1
        i += 1
    return [*parts, text[begin:].strip()]


def begin_of_callee(text: str, end: int) -> int:
    """Where a name begins that ends before `end`, template arguments included."""
    i = end
    while text[i - 1].isspace():
        i -= 1
    if text[i - 1] == ">":
        depth = 0
        while True:
            i -= 1
            depth += (text[i] == ">") - (text[i] == "<")
            if depth == 0:
                break
    while re.match(r"[\w:]", text[i - 1]):
        i -= 1
    return i


def translate_launches(text: str) -> str:
    """kernel<<<grid, threads, bytes, stream>>>(arguments)"""
    while (at := text.find("<<<")) >= 0:
        begin, end = begin_of_callee(text, at), text.find(">>>", at)
        callee, config = text[begin:at].strip(), split_at_commas(text[at + 3 : end])
        if len(config) != 4 or not callee or text[end + 3] != "(":
            raise Untranslatable(
                f"line {line_of(text, at)}: a launch is name<<<grid, threads, bytes, stream>>>(...)"
            )
        close = close_of(text, end + 3)
        arguments = text[end + 3 : close + 1]
        # The name of a template is no value: what its arguments are is deduced at the call.
        deduced = "<" not in callee and config[2] == "0"
        what, call = (f"[&] {{ {callee}{arguments}; }}", "()") if deduced else (callee, arguments)
        launch = (
            f'::gemm::emulation::launch("{callee.split("<")[0]}", '
            f"::gemm::emulation::Configuration({', '.join(config)}), {what}){call}"
        )
        lines = text.count("\n", begin, close) - launch.count("\n")
        text = text[:begin] + launch + "\n" * lines + text[close + 1 :]
    return text


def shared_declarations(text: str, match: re.Match[str], source: str) -> str:
    """[alignas(n)] type name[n]..., name...;"""
    declared = re.sub(r"\s+", " ", match["declared"]).strip()
    alignment = "0"
    if aligned := re.match(r"(?:alignas|__align__)\s*(?=\()", declared):
        end = close_of(declared, aligned.end())
        alignment = declared[aligned.end() + 1 : end]
        declared = declared[end + 1 :].strip()
    first, *more = split_at_commas(declared)
    variable = re.search(r"(\w+)\s*((?:\[.*)?)$", re.sub(r"\]\s+\[", "][", first))
    if not variable or not first[: variable.start()].strip():
        raise Untranslatable(f"line {line_of(text, match.start())}: what is shared here?")
    kind = first[: variable.start()].strip()
    references = []
    for declarator in [first[variable.start() :], *more]:
        parts = re.fullmatch(r"(\w+)\s*((?:\[[^\]]*\]\s*)*)", declarator)
        if not parts:
            raise Untranslatable(f"line {line_of(text, match.start())}: '{declarator}' is shared?")
        name, extents = parts[1], parts[2]
        if match["dynamic"]:
            if extents.strip() != "[]":
                raise Untranslatable(
                    f"line {line_of(text, match.start())}: dynamic shared memory is an array"
                )
            references.append(
                f"auto* const {name} = ::gemm::emulation::dynamic_shared<{kind}>({alignment});"
            )
        else:
            references.append(
                f"auto& {name} = ::gemm::emulation::static_shared<{kind}{extents}>"
                f'("{name}, line {line_of(text, match.start())} of {source}", {alignment});'
            )
    return " ".join(references) + "\n" * match[0].count("\n")


def translate_shared(text: str, source: str) -> str:
    pattern = r"(?P<dynamic>\bextern\s+)?__shared__\s(?P<declared>[^;]*);"
    return re.sub(pattern, lambda match: shared_declarations(text, match, source), text)


def translate_clusters(text: str) -> str:
    """__cluster_dims__(x, y, z) of a declaration becomes the first statement of the body."""
    while declared := re.search(r"__cluster_dims__\s*(?=\()", text):
        end = close_of(text, declared.end()) + 1
        body = end
        while text[body] != "{":
            if text[body] == ";":
                raise Untranslatable(f"line {line_of(text, end)}: a cluster needs a kernel's body")
            body = (close_of(text, body) if text[body] == "(" else body) + 1
        statement = f"::gemm::emulation::declare_cluster{text[declared.end() : end]};"
        text = text[: declared.start()] + text[end : body + 1] + statement + text[body + 1 :]
    return text


def translate_runtime(text: str) -> str:
    def emulated(match: re.Match[str]) -> str:
        if match[1] not in FUNCTIONS_OF_THE_RUNTIME:
            raise Untranslatable(
                f"line {line_of(text, match.start())}: {match[1]} is not emulated, see runtime.hpp"
            )
        return "::gemm::emulation::" + match[0]

    return re.sub(r"(?<![\w:])(cuda[A-Z]\w*)(?=\s*\()", emulated, text)


def check(text: str) -> None:
    for construct in ("<<<", "__shared__", "__constant__", "__cluster_dims__", "asm"):
        found = re.search(rf"(?<!\w){construct}(?!\w)", text)
        if found:
            raise Untranslatable(
                f"line {line_of(text, found.start())}: {construct} is not emulated"
            )


def translate(text: str, source: str) -> str:
    text = without_comments(text)
    text = translate_launches(text)
    text = translate_shared(text, source)
    text = translate_clusters(text)
    text = translate_runtime(text)
    # An emulated rung computes in host memory, on the host.
    text = re.sub(r"\bArch::(any|sm80|sm90a)\b", "Arch::host", text)
    check(text)
    return f'#line 1 "{source}"\n{text}'


def extract(text: str, prefix: str) -> str:
    """The definitions of these names, out of a header of one namespace."""
    text = without_comments(text)
    namespace = re.search(r"^namespace [\w:]+ {", text, re.MULTILINE)
    starts = rf"^(?:constexpr|__device__)[^\n(={{]*\b{prefix}\w*(?=[ (=])"
    found = []
    for start in re.finditer(starts, text, re.MULTILINE):
        end = start.end()
        while text[end] not in ";}":
            end = close_of(text, end) if text[end] in CLOSING else end + 1
        found.append(text[start.start() : end + 1])
    if not namespace or not found:
        raise Untranslatable(f"nothing is called {prefix}...")
    includes = "\n".join(re.findall(r"^#include <.*>", text, re.MULTILINE))
    definitions = "\n".join(found)
    return f"#pragma once\n{includes}\n{namespace[0]}\n{definitions}\n}}\n"


def main() -> int:
    source, target, *prefix = sys.argv[1:]
    try:
        text = Path(source).read_text()
        text = translate(extract(text, prefix[0]) if prefix else text, source)
    except Untranslatable as error:
        print(f"{source}: {error}", file=sys.stderr)
        return 1
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    Path(target).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
