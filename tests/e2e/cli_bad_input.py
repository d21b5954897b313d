#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bad input: a clear error, in bounded time and memory; never a crash or a half-read policy."""

import os
import resource
import subprocess
import time

from cli import PROGRAM, Skip, World, case, run_cases

SECONDS = 10
MEBIBYTES = 1024


def is_sanitized():
    return "asan" in PROGRAM


def bounded(w, *args):
    """Runs under a limit of memory and of time; the sanitizers need more of both."""

    def limit():
        if not is_sanitized():
            resource.setrlimit(resource.RLIMIT_AS, (MEBIBYTES << 20, MEBIBYTES << 20))

    start = time.monotonic()
    done = subprocess.run([PROGRAM, *args], cwd=w.repo, env=w.env, preexec_fn=limit,
                          stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=SECONDS * 6, check=False)
    took = time.monotonic() - start
    assert is_sanitized() or took < SECONDS, f"{took:.1f} s for {args}"
    err = done.stderr.decode("utf-8", "surrogateescape")
    # The status of `why` is its answer.
    assert done.returncode in (0, 125) or (done.returncode == 1 and args[0] == "why"), (args, done.returncode, err)
    assert "Sanitizer" not in err and "runtime error" not in err, err
    return done.returncode, err


def refused(w, config, *said, name="bad.toml"):
    """`why`, `check` and `check --syntax-only` all refuse it, and say why."""
    path = w.write(name, config)
    for args in (["why", "./x", "--config-file", str(path)], ["check", "-q", str(path)]):
        status, err = bounded(w, *args)
        assert status == 125, args
        if args[0] == "why":
            assert err.startswith("cordon: error: ") and err.count("\n") == 1, err
            for part in said:
                assert part in err, (part, err)
            assert len(err) < 1600, err


@case
def malformed_toml(w: World):
    for text in ("=", "a = ", "[a", "a = 1 b = 2", 'a = "x', "[a]\n[a]\n", "a.b = 1\na = 2\n",
                 "a = [1,,2]", "\r", "a = 01", "[[a]]\n[a]\n"):
        refused(w, text, "bad.toml:")


@case
def huge_files(w: World):
    refused(w, "a = 1\n" * ((10 << 20) // 6), "bad.toml:2:1")
    refused(w, "#" * (17 << 20), "limit")
    refused(w, "a = '" + "x" * (10 << 20) + "'\n", "bad.toml:1:1")
    refused(w, "\n" * (10 << 20) + "x", "bad.toml:10485761:")
    refused(w, "[x]\n" + "".join(f"k{i} = 1\n" for i in range(500000)), "bad.toml:1:2")


@case
def a_large_valid_file_is_read(w: World):
    entries = "".join(f'"/data/{i % 100}/{i}" = "read"\n' for i in range(100000))
    path = w.write("large.toml", f'[permissions.x.filesystem]\n"/" = "read"\n{entries}')
    status, err = bounded(w, "why", "/data/1/1", "-P", "x", "--config-file", str(path), "-q")
    assert status == 0, err


@case
def many_warnings(w: World):
    entries = "".join(f'"/elsewhere/{i}" = "write"\n' for i in range(16000))
    w.write("repo/.cordon/config.toml", "[filesystem]\n" + entries)
    w.write_config('default_permissions = "p"\n[permissions.p]\nextends = ":workspace"\n')
    assert bounded(w, "check", "-q") == (0, "")
    assert len(w.ok("check", "--json").json["warnings"]) == 16000


@case
def deep_nesting(w: World):
    for opening, closing in (("[", "]"), ("{ a = ", " }")):
        refused(w, "a = " + opening * 10000 + "1" + closing * 10000, "bad.toml:1:")
        refused(w, "a = " + opening * 10000, "bad.toml:1:")
    refused(w, ".".join(["a"] * 10000) + " = 1\n", "bad.toml:1:")
    refused(w, "[" + ".".join(["a"] * 10000) + "]\n", "bad.toml:1:")


@case
def cyclic_extends(w: World):
    refused(w, '[permissions.a]\nextends = "b"\n[permissions.b]\nextends = "a"\n'
               '[permissions.c]\nextends = "a"\n', "a", "b")
    refused(w, '[permissions.a]\nextends = "a"\n')
    chain = "".join(f'[permissions.p{i}]\nextends = "p{i + 1}"\n' for i in range(3000))
    refused(w, chain + '[permissions.p3000]\nextends = "p0"\n')


@case
def not_utf8_and_nul(w: World):
    refused(w, b"a = '\xff'\n", "bad.toml:1:6")
    refused(w, b"# \xc3\x28\n", "bad.toml:1:3")
    refused(w, b"a = 1\n\x00", "bad.toml:2:1")
    refused(w, b"\xef\xbb\xbf\xef\xbb\xbfa = 1\n", "bad.toml:1:")
    refused(w, b"a = '\xed\xa0\x80'\n", "bad.toml:1:")
    refused(w, '[permissions.x.filesystem]\n"/a\\u0000b" = "deny"\n', "bad.toml:2:1")


@case
def files_that_are_none(w: World):
    os.mkfifo(w.top / "fifo")
    (w.top / "loop").symlink_to("loop")
    (w.top / "a").symlink_to("b")
    (w.top / "b").symlink_to("a")
    for name, said in (("fifo", "fifo"), ("loop", "ymbolic link"), ("a", "ymbolic link"),
                       ("repo", "a directory"), ("nothing", "no file"), ("home/x/y", "no file")):
        for args in (["why", "./x", "--config-file", str(w.top / name)],
                     ["check", "--syntax-only", str(w.top / name)]):
            assert said in w.fails(*args).err, (args, w.fails(*args))
        report = w.run("check", str(w.top / name), check=125)
        assert said in report.out and "cordon init' writes" not in report.out, report
        (error,) = w.run("check", "--json", str(w.top / name), check=125).json["errors"]
        assert said in error["message"], error
    assert "not a regular file" in w.fails("why", "./x", "--config-file", "/dev/zero").err
    w.ok("why", "./x", "--config-file", "/dev/null")


@case
def a_users_file_that_is_none_is_an_error_not_ignored(w: World):
    w.config.mkdir(parents=True)
    assert "a directory" in w.fails("why", "./x").err
    w.config.rmdir()
    w.config.symlink_to(w.config)
    w.fails("why", "./x")
    w.config.unlink()
    os.mkfifo(w.config)
    w.fails("why", "./x")


@case
def a_file_that_may_not_be_read_is_an_error(w: World):
    if os.getuid() == 0:
        raise Skip("root may read everything")
    w.write_config("")
    w.config.chmod(0)
    assert "Permission denied" in w.fails("why", "./x").err


@case
def project_files_that_are_none(w: World):
    (w.repo / ".cordon").mkdir()
    os.mkfifo(w.repo / ".cordon/config.toml")
    assert "fifo" in w.fails("why", "./x").err
    (w.repo / ".cordon/config.toml").unlink()
    (w.repo / ".cordon/config.toml").mkdir()
    assert "a directory" in w.fails("why", "./x").err
    (w.repo / ".cordon/config.toml").rmdir()
    (w.repo / ".cordon/config.toml").symlink_to("config.toml")
    assert "symbolic link" in w.fails("why", "./x").err
    (w.repo / ".cordon/config.toml").unlink()
    w.write("repo/.cordon/config.toml", b"\xff")
    assert ".cordon/config.toml:1:1" in w.fails("why", "./x").err
    (w.repo / ".cordon/config.toml").unlink()
    (w.repo / ".cordon").rmdir()
    w.write("repo/.cordon")
    assert "is not a directory" in w.fails("why", "./x").err
    (w.repo / ".cordon").unlink()
    (w.repo / ".cordon").symlink_to("gone")
    assert "leads nowhere" in w.fails("why", "./x").err
    (w.repo / ".cordon").unlink()
    w.ok("why", "./x")


@case
def long_paths(w: World):
    for path in ("/" + "a" * 5000, "/" + "a/" * 3000, "./" + "b" * 4096, "/" + "c" * 256):
        assert len(w.fails("why", path).err) < 1200
        path = path.replace("./", "/")
        refused(w, f'[permissions.x.filesystem]\n"{path}" = "deny"\n', "bad.toml:2:1")
    w.ok("why", "/" + "a/" * 2040)
    w.fails("why", "./x", "-C", "/" + "a" * 5000)
    w.fails("why", "./x", "--config-file", "/" + "a" * 5000)
    w.fails("why", "")
    w.fails("why", "--path", "")


@case
def loops_of_links_in_paths(w: World):
    (w.repo / "loop").symlink_to("loop")
    for path in ("./loop", "./loop/x"):
        w.fails("why", path)
    path = w.write("loop.toml", f'[permissions.x.filesystem]\n":root" = "write"\n'
                                f'"{w.repo}/loop/x" = "deny"\n')
    w.fails("why", "./y", "-P", "x", "--config-file", str(path))


@case
def long_hosts(w: World):
    for host in ("a" * 300, "a." * 200 + "b", "0x7f.1", "1.2.3", "a..b", "-", "a b", "[::1", "x:0",
                 "x:65536", "x:99999999999", "é" * 200, "*.x", ":443"):
        w.fails("why", "--host", host)


@case
def costly_globs(w: World):
    for glob in ("*" * 1000, "**/" * 1000 + "x", "*a" * 1000, "{a,b}" * 1000, "[a-z]" * 800,
                 "{" * 1000, "[" * 1000, "{a," * 500 + "}" * 500, "?" * 1000):
        path = w.write("glob.toml", f'[permissions.x.filesystem]\n":root" = "read"\n'
                                    f'":workspace_roots" = {{ "{glob}" = "deny" }}\n')
        for asked in ("a" * 255, "/".join(["a" * 100] * 30)):
            bounded(w, "why", f"./{asked}", "-P", "x", "--config-file", str(path))
    refused(w, '[permissions.x.filesystem]\n"/x/*\\\\" = "deny"\n', "bad.toml:2:1")


@case
def overrides_that_are_none(w: World):
    for text in ("", "=", "a", "a=", "=1", "a..b=1", "permissions=1", "nonsense=1",
                 "permissions.x.filesystem.y=1", "[a]=1"):
        w.fails("why", "./x", "--config", text)
    w.fails("why", "./x", *["--config", "features.a=true"] * 600)
    w.fails("why", "./x", "--enable", "x" * 5000)
    w.fails("why", "./x", "--enable", "a b = c")


@case
def wrong_environment(w: World):
    w.fails("why", "./x", env={"CORDON_PROFILE": "nothing"})
    w.fails("why", "./x", env={"CORDON_MODE": "nothing"})
    w.fails("why", "./x", env={"HOME": "/" + "a" * 5000})
    w.ok("why", "./x", env={"HOME": "/nonexistent", "TMPDIR": "/nonexistent", "TERM": ""})


@case
def a_working_directory_that_is_gone(w: World):
    gone = w.top / "gone"
    gone.mkdir()
    script = f'cd "{gone}" && rmdir "{gone}" && exec "{PROGRAM}" why ./x'
    done = subprocess.run(["sh", "-c", script], env=w.env, capture_output=True, check=False)
    assert done.returncode == 125 and b"working directory" in done.stderr, done


@case
def the_home_of_another_user_is_told(w: World):
    if os.geteuid() != 0:
        raise Skip("only root can become another user")
    w.write_config("")
    os.chmod(w.home, 0o700)
    done = subprocess.run([PROGRAM, "why", "./x"], cwd="/", env=w.env, user=61234, group=61234,
                          extra_groups=[], capture_output=True, text=True, check=False)
    assert done.returncode == 125 and "HOME or XDG_CONFIG_HOME may belong to another user" in done.stderr, done


run_cases()
