#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""abi.py SOURCE BUILD: what the built library shows to the world, as TAP.

The list of exported symbols is part of the interface: a difference to
symbols.txt is a change of the ABI, which is made on purpose or not at all.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE, BUILD = Path(sys.argv[1]), Path(sys.argv[2])
HEADER = SOURCE / "include/cordon.h"
SYMBOLS = (SOURCE / "tests/abi/symbols.txt").read_text().split()
CC = os.environ.get("CC", "cc")


class Skip(Exception):
    pass


def run(*command, **kwargs):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False,
                          **kwargs)
    assert done.returncode == 0, f"{command}:\n{done.stdout}{done.stderr}"
    return done.stdout


def is_sanitized():
    return "__asan_init" in run("nm", "-D", BUILD / "src/libcordon.so.0")


def defined(*nm_options):
    lines = run("nm", "--defined-only", *nm_options).splitlines()
    return sorted(re.sub(r"@.*", "", line.split()[2]) for line in lines if len(line.split()) == 3)


def the_header_compiles_alone_as_c99():
    run(CC, "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c",
        HEADER)


def the_header_compiles_alone_as_cpp17():
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        raise Skip("no C++ compiler")
    run(compiler, "-std=c++17", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x",
        "c++", HEADER)


def the_header_includes_only_stddef_and_stdint():
    assert set(re.findall(r"#include (\S+)", HEADER.read_text())) == {"<stddef.h>", "<stdint.h>"}


def the_shared_library_exports_the_list():
    found = defined("-D", BUILD / "src/libcordon.so.0")
    assert found == SYMBOLS, f"exported: {sorted(set(found) ^ set(SYMBOLS))} differ"


def the_list_is_what_the_header_declares():
    declared = re.findall(r"^CORDON_API .*?(cordon_\w+)\(", HEADER.read_text(), re.MULTILINE)
    assert sorted(declared) == SYMBOLS, set(declared) ^ set(SYMBOLS)


def the_soname_is_zero():
    assert "[libcordon.so.0]" in run("readelf", "-d", BUILD / "src/libcordon.so.0")


def the_shared_library_needs_only_the_c_library():
    if is_sanitized():
        raise Skip("a sanitizer build needs its runtime")
    needed = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", BUILD / "src/libcordon.so.0"))
    assert all(name.startswith(("libc.so", "ld-linux")) for name in needed), needed


def the_archive_shows_only_the_list():
    archive = BUILD / "src/libcordon.a"
    if not archive.exists():
        raise Skip("this build has no archive")
    assert defined("-g", archive) == SYMBOLS


PROGRAM = """
#include <cordon.h>
#include <stdio.h>

int main(void)
{
	cordon_report *report = NULL;
	cordon_error *error = NULL;

	if (cordon_profiles(NULL, NULL, &report, &error) < 0) {
		fputs(cordon_error_text(error), stderr);
		return 1;
	}
	fputs(cordon_report_text(report, CORDON_TEXT_BRIEF), stdout);
	cordon_report_free(report);
	return 0;
}
"""


def a_program_builds_against_what_is_installed():
    if is_sanitized():
        raise Skip("nobody installs a sanitizer build")
    if not shutil.which("pkg-config") or not shutil.which("meson"):
        raise Skip("no pkg-config")
    with tempfile.TemporaryDirectory(prefix="cordon-abi-") as work:
        run("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", work)
        pc = next(Path(work).rglob("cordon.pc"))
        # What is below DESTDIR is found there although it is meant for elsewhere.
        env = {**os.environ, "PKG_CONFIG_LIBDIR": str(pc.parent), "PKG_CONFIG_SYSROOT_DIR": work}
        flags = run("pkg-config", "--cflags", "--libs", "cordon", env=env).split()
        lib = pc.parent.parent
        Path(work, "p.c").write_text(PROGRAM)
        run(CC, "-Wall", "-Werror", "-o", f"{work}/shared", f"{work}/p.c", *flags)
        run(CC, "-Wall", "-Werror", "-o", f"{work}/static", f"{work}/p.c",
            *[flag for flag in flags if flag.startswith("-I")], lib / "libcordon.a")
        home = {**os.environ, "HOME": work, "XDG_CONFIG_HOME": ""}
        for program in ("shared", "static"):
            said = run(f"{work}/{program}", env={**home, "LD_LIBRARY_PATH": str(lib)})
            assert ":read-only" in said.split(), said
        for name in ("cordon.1", "cordon-sh.1", "libcordon.3", "cordon-policy.5"):
            assert list(Path(work).rglob(name)), name


def the_installed_files_do_not_tell_where_they_were_built():
    if is_sanitized():
        raise Skip("nobody installs a sanitizer build")
    if not shutil.which("meson"):
        raise Skip("no meson")
    places = {bytes(place.resolve()) for place in (SOURCE, BUILD)}
    with tempfile.TemporaryDirectory(prefix="cordon-abi-") as work:
        run("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", work)
        files = [path for path in Path(work).rglob("*") if path.is_file()]
        assert any(path.name == "libcordon.a" for path in files), files
        for path in files:
            told = [place for place in places if place in path.read_bytes()]
            assert not told, f"{path.name} holds {told}"


def links_of(page):
    """The relative links of a page, without what is in code."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
    found = re.findall(r"\]\(([^)\s]+)\)", text)
    return [link.split("#")[0] for link in found
            if not re.match(r"[a-z]+:", link) and not link.startswith("#")]


def the_pages_link_to_what_is_there():
    pages = [*SOURCE.glob("*.md"), *SOURCE.glob("docs/*.md")]
    assert sum(len(links_of(page)) for page in pages) > 8
    for page in pages:
        for link in links_of(page):
            assert (page.parent / link).exists(), f"{page.name} links to {link}"


def the_installed_pages_link_to_what_is_installed():
    if is_sanitized():
        raise Skip("nobody installs a sanitizer build")
    if not shutil.which("meson"):
        raise Skip("no meson")
    with tempfile.TemporaryDirectory(prefix="cordon-abi-") as work:
        run("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", work)
        readme = next(Path(work).rglob("doc/cordon/README.md"))
        pages = list(readme.parent.rglob("*.md"))
        examples = [path for path in SOURCE.glob("examples/**/*") if path.is_file()]
        for page in [*SOURCE.glob("docs/*.md"), *examples]:
            assert (readme.parent / page.relative_to(SOURCE)).is_file(), page
        for page in pages:
            for link in links_of(page):
                # The header lies where compilers look for it.
                if link == "include/cordon.h":
                    assert list(Path(work).rglob(link)), link
                    continue
                assert (page.parent / link).exists(), f"{page.name} links to {link}"


def main():
    cases = [value for name, value in globals().items()
             if callable(value) and name.startswith(("the_", "a_"))]
    print(f"1..{len(cases)}")
    failed = 0
    for number, case in enumerate(cases, 1):
        try:
            case()
            print(f"ok {number} - {case.__name__}")
        except Skip as reason:
            print(f"ok {number} - {case.__name__} # SKIP {reason}")
        except Exception as problem:  # pylint: disable=broad-except
            failed += 1
            print(f"not ok {number} - {case.__name__}")
            print("\n".join(f"# {line}" for line in str(problem).splitlines()))
        sys.stdout.flush()
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
