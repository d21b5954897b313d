#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The landlock backend for real: what it refuses by name, what it ends, what it judges.

That all of the conformance table holds there is shown by conformance.py; here is what
only this backend does. As root everything is tried a second time as an ordinary user.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cli
from cli import SECONDS, Skip, World, case, is_alive, run_cases

USER = 61183
# The ordinary user may not be able to read the one that runs this.
PYTHON = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
LESS = [w for name in ("fs_carve", "protect_missing", "proc", "tree_death") for w in ("--accept-missing", name)]
RUN = ["run", "--quiet", "--backend", "landlock", *LESS]
WORK = [*RUN, "--mode", "workspace-write"]
SOON = 10  # a second is P11's; what is killed dies only when it gets a processor


def runs(world: World, *command, options=(), **more):
    return world.ok(*WORK, *options, "--", *command, **more)


def script(world: World, text, options=()):
    return runs(world, "/bin/sh", "-c", text, options=options).out


def children(pid):
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8")
    except OSError:
        return []
    return [int(word) for word in text.split()]


def await_that(condition, what, seconds=SECONDS):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.005)


def start(world: World, text):
    """A run that has begun, with the numbers that its script has written to ./pids."""
    process = subprocess.Popen([cli.PROGRAM, *WORK, "--", "/bin/sh", "-c", text], cwd=world.repo,
                               env=world.env, stdin=subprocess.DEVNULL)
    pids = world.repo / "pids"
    await_that(lambda: pids.exists() and pids.read_text().endswith("end\n"), "it did not begin")
    return process, [int(word) for word in pids.read_text().split()[:-1]]


# One in a session of its own whose parent has ended, one in the background, and the shell.
FAMILY = ("setsid sh -c 'sleep 100 & echo $! >>pids' & wait; sleep 100 & echo $! >>pids; echo $$ >>pids; "
          "echo end >>pids; ")


# ---- What is refused by name -------------------------------------------------------------


@case
def a_policy_that_is_no_mode(world: World):
    (world.repo / "docs").mkdir()
    world.write_config(f'[permissions.p.filesystem]\n":root" = "read"\n"{world.repo}" = "write"\n'
                       f'"{world.repo}/docs" = "read"\n')
    said = world.fails(*RUN, "-P", "p", "--", "true").err
    assert "docs" in said and "landlock" in said, said
    assert world.cause(*RUN, "-P", "p", "--", "true") == "backend_unsuited", said
    world.write_config(f'[permissions.p.filesystem]\n":root" = "read"\n"{world.repo}" = "write"\n')
    world.ok(*RUN, "-P", "p", "--", "true")


@case
def cordons_own_files_inside_what_is_writable(world: World):
    world.write_config("")
    said = world.fails(*WORK, "--add-write", world.home, "--", "true", cwd=world.home).err
    assert str(world.home) in said, said
    assert world.cause(*WORK, "--add-write", world.home, "--", "true", cwd=world.home) == "backend_unsuited", said
    world.ok(*WORK, "--", "true")
    world.ok(*RUN, "--mode", "read-only", "--", "true", cwd=world.home)


@case
def what_is_the_kernels_and_not_the_sandboxs(world: World):
    """A backend with namespaces has its own."""
    for directory in ("/proc", "/sys", "/dev", "/proc/sys"):
        if not os.path.isdir(directory):
            continue
        for options, env in ((("--add-write", directory), {}), ((), {"TMPDIR": directory})):
            said = world.fails(*WORK, *options, "--", "true", env=env).err
            assert f"'{directory}'" in said, said
            assert world.cause(*WORK, *options, "--", "true", env=env) == "backend_unsuited", said
    world.ok(*WORK, "--add-write", "/dev/null", "--", "true")
    world.ok(*RUN, "--mode", "read-only", "--", "true", env={"TMPDIR": "/proc"})


@case
def losses_that_nobody_accepted(world: World):
    said = world.fails("run", "--backend", "landlock", "--mode", "workspace-write", "--", "true").err
    for name in ("fs_carve", "protect_missing", "proc", "tree_death"):
        assert f"--accept-missing {name}" in said, said
    assert "--accept-missing fs_write" not in said and "--accept-missing kernel" not in said, said


@case
def user_namespaces(world: World):
    text = '[permissions.p]\nextends = ":workspace"\n[permissions.p.isolation]\nuserns = true\n'
    world.write_config(text)
    assert "isolation.userns" in world.fails(*RUN, "-P", "p", "--", "true").err
    world.write_config(text.replace("true", "false"))
    world.ok(*RUN, "-P", "p", "--", "true")


LAYERS = """
import ctypes, os, sys
call = ctypes.CDLL(None, use_errno=True).syscall
assert ctypes.CDLL(None).prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
makes_blocks = ctypes.c_uint64(1 << 11)
for _ in range(int(sys.argv[1])):
    ruleset = call(444, ctypes.byref(makes_blocks), ctypes.c_size_t(8), 0)
    assert ruleset >= 0 and call(446, ruleset, 0) == 0, ctypes.get_errno()
    os.close(ruleset)
os.execv(sys.argv[2], sys.argv[2:])
"""


@case
def more_layers_of_landlock_than_there_can_be(world: World):
    for layers in (14, 16):
        done = subprocess.run([PYTHON, "-c", LAYERS, str(layers), cli.PROGRAM, *WORK, "--json", "--", "echo", "ran"], cwd=world.repo,
                              env=world.env, capture_output=True, text=True, check=False, timeout=30)
        if layers == 14:
            assert (done.returncode, done.stdout) == (0, "ran\n"), done
        else:
            assert done.returncode == 125, done
            assert json.loads(done.stdout or done.stderr.splitlines()[-1])["error"]["cause"] == "landlock_depth", done


@case
def a_proc_inside_what_is_writable(world: World):
    if os.getuid() != 0:
        raise Skip("only root can mount one")
    (world.repo / "proc").mkdir()
    line = 'mount -t proc proc proc; exec "$@"'
    run = ["unshare", "-m", "sh", "-c", line, "sh", cli.PROGRAM, *WORK, "--", "true"]
    done = subprocess.run(run, cwd=world.repo, env=world.env, capture_output=True, text=True)
    assert done.returncode == 125 and f"{world.repo}/proc" in done.stderr, done
    world.ok(*WORK, "--", "true")


@case
def a_kernel_that_has_none_or_has_it_off(world: World):
    forbid = os.environ.get("FORBID")
    if not forbid:
        raise Skip("there is no helper to hide it")
    for what, word in (("landlock", "has no Landlock"), ("landlock-at-boot", "turned off at boot")):
        run = [forbid, what, "--", cli.PROGRAM, *WORK, "--", "true"]
        done = subprocess.run(run, cwd=world.repo, env=world.env, capture_output=True, text=True)
        assert done.returncode == 125 and word in done.stderr, (what, done)


@case
def what_it_does_is_shown(world: World):
    said = world.ok(*WORK, "--dry-run", "--", "true").out
    assert f"write {world.repo}" in said and "read  /usr" in said and "Landlock, ABI" in said, said
    assert "/dev/shm" not in said and "write /\n" not in said, said


# ---- What it ends ---------------------------------------------------------------------------


@case
def all_that_a_command_started_ends_with_it(world: World):
    process, pids = start(world, FAMILY + "exit 3")
    assert len(pids) == 3 and process.wait(cli.SECONDS) == 3
    assert not any(map(is_alive, pids)), pids


@case
def all_ends_when_cordon_is_killed(world: World):
    process, pids = start(world, FAMILY + "sleep 100")
    assert all(map(is_alive, pids)), pids
    process.kill()
    process.wait()
    await_that(lambda: not any(map(is_alive, pids)), "it lives on", SOON)


@case
def all_ends_with_a_timeout(world: World):
    began = time.monotonic()
    done = subprocess.run([cli.PROGRAM, *WORK, "--timeout", "2s", "--", "/bin/sh", "-c", FAMILY + "sleep 100"],
                          cwd=world.repo, env=world.env, stdin=subprocess.DEVNULL)
    pids = [int(word) for word in (world.repo / "pids").read_text().split()[:-1]]
    assert done.returncode == 124 and time.monotonic() - began < 20, done
    assert not any(map(is_alive, pids)), pids


@case
def the_command_ends_with_its_monitor(world: World):
    process, pids = start(world, "echo $$ >>pids; echo end >>pids; exec sleep 100")
    monitor = children(process.pid)
    assert len(monitor) == 1, monitor
    os.kill(monitor[0], signal.SIGKILL)
    assert process.wait(cli.SECONDS) == 137
    await_that(lambda: not any(map(is_alive, pids)), "it lives on", SOON)


@case
def the_monitor_can_not_be_signalled_or_looked_into(world: World):
    # It wipes its arguments once the command has been executed, which may take it a moment.
    out = script(world, "kill -9 $PPID; echo $?; cat /proc/$PPID/environ; echo $?; i=0; "
                        "while grep -q accept-missing /proc/$PPID/cmdline && [ $i -lt 100 ]; "
                        "do sleep 0.05; i=$((i + 1)); done; tr '\\0' ' ' </proc/$PPID/cmdline")
    assert out.split()[:2] == ["1", "1"] and "accept-missing" not in out, out


# ---- What it judges ---------------------------------------------------------------------------


@case
def a_file_that_is_swapped_for_a_link_is_not_changed(world: World):
    """Another process exchanges a file and a link to one outside, again and again."""
    outside = world.write("outside", "text")
    outside.chmod(0o640)
    world.write("repo/file", "text")
    (world.repo / "link").symlink_to(outside)
    swap = ("import ctypes, os\nlibc = ctypes.CDLL(None)\n"
            "while os.getppid() != 1 and not os.path.exists('stop'):\n"
            "    libc.renameat2(-100, b'file', -100, b'link', 2)\n")
    # From when the other has begun; inside until both have happened, in any case not for ever.
    change = ("import os, time\nhit = missed = 0\nlast = time.monotonic() + 20\n"
              "while not os.path.islink('file') and time.monotonic() < last: pass\n"
              "inside, end = 'CORDON_SANDBOX' in os.environ, time.monotonic() + 1.5\n"
              "while time.monotonic() < (last if inside and not (hit and missed) else end):\n"
              "    try:\n        os.chmod('file', 0o600 + hit % 2)\n        hit += 1\n"
              "    except PermissionError:\n        missed += 1\n"
              "open('stop', 'w').close()\nprint(hit, missed)\n")
    world.write("repo/swap.py", swap)
    world.write("repo/change.py", change)
    tries = script(world, f"{PYTHON} swap.py & {PYTHON} change.py; wait").split()
    assert "0" not in tries, f"nothing was swapped in time: {tries}"
    assert outside.stat().st_mode & 0o777 == 0o640, "it was changed"
    (world.repo / "stop").unlink()
    subprocess.run(["sh", "-c", f"{PYTHON} swap.py & {PYTHON} change.py; wait"], cwd=world.repo,
                   stdout=subprocess.DEVNULL, check=True)
    assert outside.stat().st_mode & 0o777 != 0o640, "the control shows nothing"


@case
def metadata_by_every_kind_of_path(world: World):
    world.write("repo/dir/file", "text")
    (world.repo / "link").symlink_to("dir/file")
    world.write("outside", "text").chmod(0o640)
    text = """
import os
def mode(): return oct(os.stat('dir/file').st_mode & 0o777)
top = os.open('.', os.O_RDONLY)
fd = os.open('dir/file', os.O_RDONLY)
path = os.open('dir/file', os.O_PATH)
os.chmod('dir/../dir/file', 0o601); print(mode())
os.chmod(os.path.abspath('dir/file'), 0o602); print(mode())
os.chmod('dir/file', 0o603, dir_fd=top); print(mode())
os.chmod('link', 0o604); print(mode())
os.chmod(fd, 0o605); print(mode())
os.chmod(f'/proc/self/fd/{path}', 0o606); print(mode())
os.chdir('dir'); os.chmod('../link', 0o607); os.chdir('..'); print(mode())
os.utime('link', (1, 2), follow_symlinks=False); print(int(os.lstat('link').st_mtime))
os.utime(fd, (3, 4)); print(int(os.stat(fd).st_mtime))
os.chown('link', -1, os.getgid(), follow_symlinks=False)
for bad in ('missing', 'dir/file/below', ''):
    try: os.chmod(bad, 0o600)
    except OSError as e: print(e.errno)
for out in ('../outside', '/proc/self/cwd/../outside'):
    try: os.chmod(out, 0o600)
    except PermissionError: print('no')
"""
    world.write("repo/try.py", text)
    out = runs(world, PYTHON, "try.py").out.split()
    assert out[:7] == [f"0o60{n}" for n in range(1, 8)], out
    assert out[7:] == ["2", "4", "2", "20", "2", "no", "no"], out
    assert (world.top / "outside").stat().st_mode & 0o777 == 0o640


@case
def nothing_is_changed_where_nothing_is_writable(world: World):
    world.write("repo/file", "text").chmod(0o640)
    out = world.ok(*RUN, "--mode", "read-only", "--", "/bin/sh", "-c", "chmod 600 file 2>&1; touch file 2>&1; true").out
    assert out.count("not permitted") + out.count("denied") == 2, out
    assert (world.repo / "file").stat().st_mode & 0o777 == 0o640


@case
def root_makes_no_set_id_file(world: World):
    if os.getuid() != 0:
        raise Skip("only root's would be of use")
    world.write("repo/file", "text")
    out = script(world, "chmod 4755 file 2>&1; chmod 755 file && echo fine")
    assert "not permitted" in out and out.endswith("fine\n"), out


@case
def its_own_sockets_are_reached_and_others_are_not(world: World):
    world.write("repo/try.py", """
import os, socket, sys
def connect(path):
    try: socket.socket(socket.AF_UNIX).connect(path); print('OK')
    except OSError as e: print(e.errno)
server = socket.socket(socket.AF_UNIX); server.bind('own'); server.listen(1)
connect('own'); connect('host')
""")
    host = socket.socket(socket.AF_UNIX)
    host.bind(str(world.repo / "host"))
    host.listen(1)
    assert runs(world, PYTHON, "try.py").out.split() == ["OK", "13"]
    (world.repo / "own").unlink()
    done = subprocess.run([PYTHON, "try.py"], cwd=world.repo, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["OK", "OK"], "the control shows nothing"
    host.close()


@case
def what_is_put_in_the_place_of_the_workspace_is_not_changed(world: World):
    script_text = ("chmod 600 file || exit 1; echo ready; read go; "
                   f"for c in 'chmod 777' 'truncate -s 1' 'touch -d @9'; do $c {world.repo}/file && echo $c; done; exit 0")
    for swaps in (False, True):
        file = world.write("repo/file", "text")
        run = subprocess.Popen([cli.PROGRAM, *WORK, "--", "/bin/sh", "-c", script_text], cwd=world.repo,
                               env=world.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
        assert run.stdout.readline() == "ready\n"
        if swaps:
            world.repo.rename(world.top / "old")
            world.write("repo/file", "text").chmod(0o600)
        out = run.communicate("go\n", timeout=30)[0]
        assert out == ("" if swaps else "chmod 777\ntruncate -s 1\ntouch -d @9\n"), (swaps, out)
        st = file.stat()
        assert (st.st_mode & 0o777 == 0o600, st.st_mtime > 9, st.st_size == 4) == (swaps, swaps, swaps), st


@case
def a_crowd_does_not_keep_cordon_from_its_time_limit(world: World):
    world.write("repo/crowd.py", cli.CROWD)
    host = socket.socket(socket.AF_UNIX)
    host.bind(str(world.repo / "host"))
    host.listen(9)
    for path in ([str(world.repo / "host")], []):
        report = world.top / "report.json"
        run = [cli.PROGRAM, *WORK, "--timeout", "4s", "--report", report, "--", PYTHON, "crowd.py", "130", "900", *path]
        began = time.monotonic()
        done = subprocess.run(run, cwd=world.repo, env=world.env, capture_output=True, text=True, check=False)
        cli.check_crowd(done, report, time.monotonic() - began)
        (world.repo / "own").unlink(missing_ok=True)
    # The control: without the crowd it is found.
    done = subprocess.run([cli.PROGRAM, *WORK, "--", PYTHON, "crowd.py", "0", "900"], cwd=world.repo,
                          env=world.env, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("OK "), done
    host.close()


def as_user():
    """The same once more for an ordinary user, in a process of its own."""
    pid = os.fork()
    if pid == 0:
        os.setgroups([])
        os.setresgid(USER, USER, USER)
        os.setresuid(USER, USER, USER)
        try:
            run_cases()
        except SystemExit as end:
            sys.stdout.flush()
            os._exit(int(end.code))  # what is to be removed is the parent's
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main():
    # Not in /tmp, which is writable in the mode: P25. And for everyone to execute.
    with tempfile.TemporaryDirectory(prefix="cordon-landlock-", dir="/var/tmp") as binaries:
        os.chmod(binaries, 0o755)
        cli.PROGRAM = shutil.copy(cli.PROGRAM, f"{binaries}/cordon")
        if os.environ.get("FORBID"):
            os.environ["FORBID"] = shutil.copy(os.environ["FORBID"], f"{binaries}/forbid")
        if len(sys.argv) > 1 and os.getuid() == 0:
            sys.exit(as_user())
        run_cases()


main()
