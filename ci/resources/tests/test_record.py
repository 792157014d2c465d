"""Code that is compiled here, so that what is read can be held to what was written."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ci.bench_program import ROOT
from ci.errors import BadInput
from ci.resources.listing import Cuobjdump
from ci.resources.record import Resources, kernel_of_source, load_resources, record
from ci.resources.tests.conftest import function, host_build, resources

SOURCE = """
template <class T>
static __global__ void __launch_bounds__(256) plain(T* out) {
  __shared__ T shared[300];
  shared[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = shared[255 - threadIdx.x] * T(FACTOR);
}
static __global__ void in_local_memory(float* out, int i) {
  float values[32];
  for (int j = 0; j < 32; ++j) values[j] = out[j];
  values[i] += 1;
  for (int j = 0; j < 32; ++j) out[j] = values[(j * i) % 32];
}
static __global__ void on_tensor_cores(float* c, unsigned a, unsigned b) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"
               " {%0, %1, %2, %3}, {%4, %4}, {%5}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a), "r"(b));
}
static void launch(float* out) {
  plain<float><<<GRID, 256>>>(out);
  in_local_memory<<<1, 1>>>(out, 3);
  on_tensor_cores<<<1, 32>>>(out, 1, 2);
}
void (*const registered)(float*) = launch;
struct AtLoad { AtLoad() { launch(nullptr); } } at_load;  // a constructor named after the file
"""


def nvcc() -> str:
    compiler = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if not compiler:
        pytest.skip("there is no nvcc here")
    try:
        Cuobjdump()
    except BadInput as error:
        pytest.skip(str(error))
    return compiler


def build(
    folder: Path, factor: int = 2, grid: int = 1, source: str = SOURCE, harness: str = ""
) -> Path:
    """A build folder as CMake leaves it, of one rung that is called toy, and of a harness."""
    flags = [f"-DFACTOR={factor}", f"-DGRID={grid}"]
    rung, measuring = "gemmwatch_rungs_portable.dir/toy.cu", "gemmwatch_bench_parts.dir/watch.cu"
    entries = [compiled(folder, f"kernels/CMakeFiles/{rung}.o", source, flags)]
    if harness:
        entries.append(compiled(folder, f"bench/CMakeFiles/{measuring}.o", harness, flags))
    (folder / "compile_commands.json").write_text(json.dumps(entries))
    compiler = folder / "CMakeFiles" / "3.25.1" / "CMakeCUDACompiler.cmake"
    compiler.parent.mkdir(parents=True)
    compiler.write_text('set(CMAKE_CUDA_COMPILER_VERSION "13.0.88")\n')
    return folder


def compiled(folder: Path, output: str, text: str, flags: list[str]) -> dict[str, str]:
    source = folder / Path(output).stem
    (folder / output).parent.mkdir(parents=True)
    source.write_text(text)
    command = [nvcc(), *flags, "-gencode=arch=compute_80,code=sm_80"]
    command += ["-c", str(source), "-o", output]
    subprocess.run(command, check=True, cwd=folder)
    return {"directory": str(folder), "file": str(source), "command": " ".join(command)}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("resources")


@pytest.fixture(scope="module")
def toy(folders: Path) -> Resources:
    return record(build(folders / "toy"))


def test_resources_are_those_of_the_source(toy: Resources) -> None:
    plain = toy.functions["sm_80 plain<float>"]
    assert (plain.kernel, plain.arch, plain.function) == ("toy", "sm_80", "plain<float>")
    assert plain.shared_bytes == 300 * 4
    assert plain.resident_warps == 64  # few registers, 256 threads: as many as there can be
    assert (plain.stack_bytes, plain.local_loads, plain.local_stores) == (0, 0, 0)
    assert plain.tensor_instructions == 0
    assert 0 < plain.registers < 32
    assert plain.code_bytes % 128 == 0  # ptxas pads code to a cache line
    assert toy.toolkit == "13.0.88"


def test_an_indexed_array_is_seen_in_local_memory(toy: Resources) -> None:
    function = toy.functions["sm_80 in_local_memory"]
    assert function.stack_bytes == 32 * 4
    assert function.local_loads > 0
    assert function.local_stores > 0
    assert function.resident_warps == 0  # its block has no bound


def test_tensor_instructions_are_counted(toy: Resources) -> None:
    assert toy.functions["sm_80 on_tensor_cores"].tensor_instructions == 1


def test_the_same_source_is_the_same_code_wherever_and_whenever_compiled(
    toy: Resources, folders: Path
) -> None:
    again = record(build(folders / "elsewhere"))
    assert again.code_of("toy") == toy.code_of("toy")


HARNESS = """
namespace {
__global__ void wait(long long* until) { while (*until < LIMIT) ++*until; }
}  // namespace
void start(long long* until) { wait<<<1, 1>>>(until); }
"""


def test_a_harness_is_told_by_its_code_and_not_by_where_it_lies(folders: Path) -> None:
    """Its device code may lie in an anonymous namespace, which is named after file and process."""
    limits = {"here": "7", "there": "7", "longer": "9"}
    here, there, longer = (
        record(build(folders / name, harness=HARNESS.replace("LIMIT", limit))).harness
        for name, limit in limits.items()
    )
    assert here == there != longer


def test_another_constant_is_other_device_code_of_that_function_only(
    toy: Resources, folders: Path
) -> None:
    other = record(build(folders / "factor", factor=3))
    key = "sm_80 plain<float>"
    assert other.functions[key].code != toy.functions[key].code
    assert other.host_code == toy.host_code
    assert other.functions["sm_80 in_local_memory"] == toy.functions["sm_80 in_local_memory"]
    assert other.code_of("toy") != toy.code_of("toy")


def test_another_grid_is_other_host_code_and_the_same_device_code(
    toy: Resources, folders: Path
) -> None:
    other = record(build(folders / "grid", grid=7))
    assert other.functions == toy.functions
    assert other.code_of("toy") != toy.code_of("toy")


def test_of_a_kernel_that_is_not_built_nothing_is_known(toy: Resources) -> None:
    assert toy.code_of("cublas") is None


HOST_SOURCE = """
int f(int x) { return x * 2; }
double g(double x) { return x * 0.3; }
const char* what() { return "a"; }
"""


def test_a_host_kernel_is_told_by_its_code_and_by_its_constants(tmp_path: Path) -> None:
    def code(name: str, was: str = "", now: str = "") -> str | None:
        source = HOST_SOURCE.replace(was, now) if was else HOST_SOURCE
        found = record(host_build(tmp_path / name, {"rung": source}))
        assert (found.toolkit, dict(found.functions)) == ("", {})
        return found.code_of("rung")

    assert code("one") == code("another")
    others = [code("step", "* 2", "* 5"), code("factor", "0.3", "0.7"), code("text", '"a"', '"b"')]
    assert len({code("again"), *others}) == 4


def test_a_copied_folder_is_read_itself_and_not_what_it_was_copied_of(tmp_path: Path) -> None:
    was = record(host_build(tmp_path / "build", {"rung": HOST_SOURCE}))
    shutil.copytree(tmp_path / "build", tmp_path / "pinned")
    host_build(tmp_path / "build", {"rung": HOST_SOURCE.replace("0.3", "0.7")})
    assert record(tmp_path / "pinned") == was
    assert record(tmp_path / "build") != was


def test_two_kernels_of_one_name_are_refused(tmp_path: Path) -> None:
    folder = host_build(tmp_path, {"rung": HOST_SOURCE})
    commands = folder / "compile_commands.json"
    commands.write_text(json.dumps(json.loads(commands.read_text()) * 2))
    with pytest.raises(BadInput, match="two files are called rung"):
        record(folder)


def test_the_pitfall_of_a_lesson_is_recorded_beside_its_rung(tmp_path: Path) -> None:
    folder = build(tmp_path)
    commands = folder / "compile_commands.json"
    pitfall = compiled(
        folder,
        "kernels/CMakeFiles/gemmwatch_lesson_slow.dir/toy.cu.o",
        SOURCE,
        ["-DFACTOR=3", "-DGRID=1"],
    )
    commands.write_text(json.dumps([*json.loads(commands.read_text()), pitfall]))
    found = record(folder)
    codes = {f.kernel: f.code for f in found.functions.values() if "plain" in f.function}
    assert set(codes) == {"toy", "toy+slow"}
    assert codes["toy"] != codes["toy+slow"]


def test_the_name_of_a_kernel_follows_from_its_file() -> None:
    """The kernels of this repository, by what each file registers: one, and tiles of it."""
    registered = re.compile(r'(?:\.name = |kernel<[\w, ]+>\()"(\w+)"')
    files = [f for f in (ROOT / "kernels").glob("*/*.c*") if "Register registered" in f.read_text()]
    assert files
    for file in files:
        names, kernel = registered.findall(file.read_text()), kernel_of_source(file)
        tiles = [re.fullmatch(rf"{kernel}(_\d+x\d+x\d+)?", name) for name in names]
        assert all(tiles), f"{file} registers {names}"
        assert [name for name in names if name == kernel] == [kernel]


def test_another_tile_of_a_kernel_is_the_code_of_its_file() -> None:
    built = resources([function("f")])
    assert built.code_of("tiled_128x192x2") == built.code_of("tiled") is not None
    assert built.code_of("tiled_128x192") is None
    assert built.code_of("other_128x192x2") is None


def test_dispatch_is_the_same_code_only_if_all_that_it_may_launch_is() -> None:
    def code(
        of: str = "dispatch", host: str = "hh", device: str = "dd", pitfall: str = "pp"
    ) -> str | None:
        rung = function("rung", kernel="wgmma_tma", code=device)
        lesson = function("rung", kernel="wgmma_tma+slow", code=pitfall)
        host_code = {"dispatch": "aa", "wgmma_tma": host, "cpu_tiled": "cc"}
        return Resources.of("13.0.88", [rung, lesson], host_code).code_of(of)

    assert code() == code() is not None
    assert code(pitfall="other") == code()
    assert len({code(), code(host="other"), code(device="other"), code("wgmma_tma")}) == 4


def test_a_file_holds_what_was_recorded(toy: Resources, tmp_path: Path) -> None:
    toy.write(tmp_path / "resources.json")
    assert load_resources(tmp_path / "resources.json") == toy


def test_a_name_that_changes_from_build_to_build_is_refused(folders: Path) -> None:
    source = "namespace { __global__ void f() {} }\nvoid g() { f<<<1, 1>>>(); }\n"
    with pytest.raises(BadInput, match="anonymous namespace"):
        record(build(folders / "anonymous", source=source))


def test_an_object_that_is_no_object_is_named(folders: Path) -> None:
    folder = build(folders / "broken", source="__global__ void f() {}\n")
    (broken,) = folder.glob("kernels/**/*.o")
    broken.write_bytes(b"\x7fELF and no more")
    with pytest.raises(BadInput, match=r"toy\.cu\.o.*build it again"):
        record(folder)
