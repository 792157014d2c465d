"""translate.py: what it replaces, and what it refuses."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "translate.py"


def run(tmp_path: Path, source: str, *prefix: str) -> subprocess.CompletedProcess[str]:
    given = tmp_path / "given.cu"
    given.write_text(source)
    return subprocess.run(
        [sys.executable, SCRIPT, given, tmp_path / "made.cpp", *prefix],
        capture_output=True,
        text=True,
    )


def translated(tmp_path: Path, source: str, *prefix: str) -> str:
    done = run(tmp_path, source, *prefix)
    assert done.returncode == 0, done.stderr
    line, text = (tmp_path / "made.cpp").read_text().split("\n", 1)
    assert line.startswith("#line 1 ")
    return text


def refused(tmp_path: Path, source: str) -> str:
    done = run(tmp_path, source)
    assert done.returncode == 1 and not (tmp_path / "made.cpp").exists()
    return done.stderr


def test_a_launch_of_a_function(tmp_path: Path) -> None:
    text = translated(tmp_path, "f<A, g()><<<grid, dim3(4, 8), bytes, stream>>>(x, y);")
    assert 'launch("f", ' in text
    assert "Configuration(grid, dim3(4, 8), bytes, stream), f<A, g()>)(x, y);" in text


def test_the_arguments_of_a_template_are_deduced_at_the_call(tmp_path: Path) -> None:
    text = translated(tmp_path, "f<<<grid, threads, 0, stream>>>(x, {1, 2});")
    assert "[&] { f(x, {1, 2}); })();" in text


def test_shared_variables(tmp_path: Path) -> None:
    source = "__shared__ alignas(16) float a[2][n], b[m\n + 1];\nextern __shared__ char memory[];\n"
    text = translated(tmp_path, source)
    assert 'auto& a = ::gemm::emulation::static_shared<float[2][n]>("a, line 1' in text
    assert ", 16); auto& b = ::gemm::emulation::static_shared<float[m + 1]>" in text
    assert "auto* const memory = ::gemm::emulation::dynamic_shared<char>(0);" in text
    assert text.count("\n") == source.count("\n"), "messages name the original's lines"


def test_a_cluster_is_declared_where_the_kernel_begins(tmp_path: Path) -> None:
    text = translated(tmp_path, "void __cluster_dims__(n, 1, 1) f(int a = g({1})) {\n  h();\n}")
    assert (
        text == "void  f(int a = g({1})) {::gemm::emulation::declare_cluster(n, 1, 1);\n  h();\n}"
    )


def test_comments_and_strings_are_no_code(tmp_path: Path) -> None:
    text = translated(tmp_path, 'f("a // b"); // asm, k<<<1, 2>>>()\n')
    assert text.rstrip() == 'f("a // b");'


def test_a_rung_becomes_one_of_the_host(tmp_path: Path) -> None:
    assert translated(tmp_path, ".arch = gemm::Arch::sm90a,") == ".arch = gemm::Arch::host,"


def test_named_definitions_alone(tmp_path: Path) -> None:
    source = (
        "#include <cstdint>\nnamespace a::b {\n__device__ inline void f() { asm(); }\n"
        "constexpr int step = 1;\n__device__ inline int step_of(int x) {\n  return x;\n}\n}\n"
    )
    text = translated(tmp_path, source, "step")
    assert "asm" not in text and "constexpr int step = 1;" in text
    assert text.count("step_of(int x) {\n  return x;\n}") == 1


def test_what_it_does_not_know_it_refuses(tmp_path: Path) -> None:
    assert "line 2: cudaMalloc is not emulated" in refused(tmp_path, "\ncudaMalloc(&p, 4);")
    assert "asm is not emulated" in refused(tmp_path, 'asm volatile("nop;");')
    assert "__constant__ is not emulated" in refused(tmp_path, "__constant__ int a;")
    assert "a launch is" in refused(tmp_path, "f<<<grid, threads>>>();")
    assert "dynamic shared memory is an array" in refused(
        tmp_path, "extern __shared__ char memory;"
    )
