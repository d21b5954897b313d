#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cordon doctor: on this host, and on worse ones that are made for it.

A worse host is this one inside namespaces of the test's own, with a switch of the
kernel's set to what it would be there, a file of /proc covered by another, or a
seccomp filter that answers as that kernel or container would.
"""

import ctypes
import errno
import fcntl
import json
import os
import platform
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import cli
from cli import PROGRAM, Result, Skip, World, case, run_cases
from sanitizer import without_noise

ORDINARY = 61234
GUARANTEES = ["fs_write", "fs_read", "fs_carve", "fs_reopen", "protect_missing", "deny_future",
              "net_off", "net_managed", "ipc", "proc", "kernel", "limits", "tree_death"]
# What no backend of this version gives.
NEVER = {"deny_future", "limits"}
# A directory of PATH without a bwrap in it, or a git.
NO_PROGRAMS = "/proc"
# linux/placeholder/placeholder.h: the mark of a placeholder.
MARK_NS = 0x434F5244 * 10**9 + 420000000

CALLS = {
    "x86_64": {"open_tree": 428, "landlock_create_ruleset": 444},
    "aarch64": {"open_tree": 428, "landlock_create_ruleset": 444},
}.get(platform.machine())
libc = ctypes.CDLL(None, use_errno=True)


def answer(call, error):
    """From now on `call` fails with `error`, for this process and all that it starts."""
    program = [(0x20, 0, 0, 0), (0x15, 0, 1, CALLS[call]), (0x06, 0, 0, 0x00050000 | error),
               (0x06, 0, 0, 0x7FFF0000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
    header = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    if libc.prctl(22, 2, ctypes.c_char_p(header), 0, 0) != 0:  # PR_SET_SECCOMP
        os._exit(99)


def give(w: World, uid):
    """The made-up home becomes that user's."""
    for top, names, files in os.walk(w.top):
        for name in [top, *(os.path.join(top, n) for n in names + files)]:
            os.chown(name, uid, uid, follow_symlinks=False)


def doctor(w: World, *args, before=None, spaces="-Urmpf --mount-proc", prepare=None, uid=None,
           status=0, env=None, path=None, program=PROGRAM):
    """`before`: lines of a shell in namespaces of its own, `spaces`; `prepare`: called in the
    process that becomes cordon; `path`: its PATH."""
    command = [str(program), "doctor", *args]
    if path is not None:
        command = ["/usr/bin/env", f"PATH={path}", *command]
    if before is not None:
        command = ["unshare", *spaces.split(), "sh", "-ec", before + '\nexec "$@"', "sh",
                   *command]
    who = {}
    if uid is not None and os.geteuid() == 0:
        give(w, uid)
        who = {"user": uid, "group": uid, "extra_groups": []}
    done = subprocess.run(command, cwd=w.repo, env={**w.env, **(env or {})},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                          preexec_fn=prepare, **who)
    result = Result(done.returncode, done.stdout, without_noise(done.stderr))
    assert "Sanitizer" not in result.err and "runtime error" not in result.err, repr(result)
    assert result.status == status, f"expected {status}: {result!r}"
    return result


def diagnose(w: World, *args, **kwargs):
    return doctor(w, "--json", *args, **kwargs).json


def need_namespaces():
    done = subprocess.run(["unshare", "-Urmpf", "--mount-proc", "true"], capture_output=True,
                          check=False)
    if done.returncode != 0:
        raise Skip("no namespaces for the test itself")


def need_calls():
    if not CALLS:
        raise Skip("the numbers of the system calls are not known here")


def backend(found, name):
    return next(b for b in found["backends"] if b["name"] == name)


def advice(found):
    return {a["id"]: a for a in found["advice"]}


def states(found, name):
    return {g["name"]: g["state"] for g in backend(found, name)["guarantees"]}


# ---- This host --------------------------------------------------------------------------


def check_good(w, found):
    assert found["ok"] is True and found["default"]["enforced"] is True, found
    assert found["default"]["profile"] == ":read-only" and found["default"]["lost"] == []
    assert found["default"]["backend"] == "native" and found["default"]["reason"] is None
    native = backend(found, "native")
    assert native["works"] is True and native["reason"] is None
    for one in native["guarantees"]:
        if one["name"] in NEVER:
            assert one["state"] == "lacking" and one["reason"] and one["probe"] is None, one
        else:
            assert one["state"] == "held" and not one["reason"] and one["probe"], one
    assert set(native["held"]) == set(GUARANTEES) - NEVER
    inner = backend(found, "bwrap")
    assert not inner["works"] or "net_managed" in inner["held"], inner
    assert list((w.top / "tmp").iterdir()) == []


@case
def each_guarantee_is_tried_and_held_as_root_or_whoever_runs_the_tests(w: World):
    check_good(w, diagnose(w))


@case
def each_guarantee_is_tried_and_held_for_an_ordinary_user(w: World):
    if os.geteuid() != 0:
        raise Skip("the tests run as an ordinary user: see the case before")
    found = diagnose(w, uid=ORDINARY)
    assert found["host"]["root"] is False
    check_good(w, found)


@case
def every_backend_names_every_guarantee_and_nothing_is_broken(w: World):
    found = diagnose(w)
    for one in found["backends"]:
        assert [g["name"] for g in one["guarantees"]] == GUARANTEES
        for g in one["guarantees"]:
            assert g["state"] in ("held", "lacking", "untested"), (one["name"], g)
            assert bool(g["reason"]) == bool(g["cause"]) == (g["state"] != "held"), (one["name"], g)
        assert bool(one["reason"]) == bool(one["cause"]) == (not one["works"]), one


@case
def the_keys_are_those_of_the_man_page(w: World):
    found = diagnose(w)
    assert set(found) == {"schema", "version", "ok", "default", "host", "backends", "agents",
                          "advice", "cleaned"}
    assert set(found["default"]) == {"profile", "enforced", "backend", "cause", "reason", "needed",
                                     "lost"}
    assert set(found["host"]) == {"kernel", "machine", "wsl", "root", "nested", "around", "proc",
                                  "open_files", "namespaces", "landlock", "seccomp", "lists_unix_sockets", "cgroup", "git"}
    assert found["cleaned"] is None
    assert found["host"]["landlock"]["abi"] > 0 and found["host"]["landlock"]["error"] is None
    assert found["host"]["seccomp"]["filter"] is True and found["host"]["seccomp"]["notify"] is True
    page = (cli.SOURCE / "man/cordon.1").read_text()
    section = page[page.index("identifiers of advice are"):]
    for key in [*found, *found["host"], *found["default"], *found["backends"][0]]:
        assert key == "version" or f"Ql {key}" in page, key
    for one in found["advice"]:
        assert f"Ql {one['id']}" in section, one


@case
def it_takes_well_under_a_second(w: World):
    # Where others use this machine, each of their processes takes its share of the time.
    crowd = max(1.0, os.getloadavg()[0] / os.cpu_count())
    limit = (5 if "asan" in PROGRAM else 0.8) * crowd
    best = 60
    for _ in range(8):
        started = time.monotonic()
        doctor(w)
        best = min(best, time.monotonic() - started)
        if best < limit:
            break
    assert best < limit, (best, limit)


@case
def people_get_a_page_and_scripts_one_word(w: World):
    said = doctor(w)
    assert said.err == ""
    assert "\nbackend native  works" in said.out
    assert "can be enforced here, by native." in said.out.splitlines()[-1]
    assert max(len(line) for line in said.out.splitlines()) <= 110, said.out
    assert doctor(w, "-q").out == "native\n"


@case
def it_tries_itself_whatever_its_file_is_called(w: World):
    other = w.top / "cordon-nightly"
    shutil.copy(PROGRAM, other)
    env = {"CORDON_PROGRAM": "/nonexistent/cordon"}
    found = diagnose(w, program=other, env=env)
    assert backend(found, "native")["works"] and backend(found, "landlock")["works"], found
    assert "no_probe" not in advice(found), found["advice"]


@case
def what_was_not_tried_is_not_said_to_fail(w: World):
    need_namespaces()
    if "asan" in PROGRAM:
        raise Skip("the address sanitizer itself needs /proc")
    said = doctor(w, before="mount -t tmpfs none /proc", status=1).out
    assert "\nbackend native  was not tried\n" in said and "does not work" not in said, said
    said = doctor(w, path=NO_PROGRAMS).out
    assert "\nbackend bwrap  does not work here\n" in said and "was not tried" not in said, said


def on_a_terminal(w, *args):
    """What stderr shows there, stdout being none."""
    main, side = os.openpty()
    with subprocess.Popen([PROGRAM, "doctor", *args], cwd=w.repo, env=w.env, stderr=side,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        os.close(side)
        shown = b""
        while True:
            try:
                part = os.read(main, 65536)
            except OSError:
                break
            if not part:
                break
            shown += part
    os.close(main)
    assert process.returncode == 0, shown
    return without_noise(shown.decode().replace("\r\n", "\n"))


@case
def what_takes_long_is_said_on_a_terminal(w: World):
    for a in range(150):
        for b in range(100):
            os.makedirs(w.repo / str(a) / str(b))
    started = time.monotonic()
    shown = on_a_terminal(w, "--clean")
    if time.monotonic() - started < 0.4:
        assert shown == "", shown
        raise Skip("this machine is too fast for it")
    for line in shown.splitlines():
        assert line.startswith("cordon: ") and line.endswith(" ..."), shown
    assert on_a_terminal(w, "-q") == ""


# ---- The profile ----------------------------------------------------------------------------


@case
def the_profile_that_is_asked_for_decides_the_status(w: World):
    w.write_config("[permissions.dev]\nextends = ':workspace'\n"
                   "[permissions.dev.limits]\nmemory = '1G'\n")
    assert diagnose(w)["default"]["profile"] == ":read-only"
    found = diagnose(w, "-P", "dev", status=1)
    assert found["ok"] is False and found["default"]["backend"] is None
    assert found["default"]["cause"] == "guarantee_missing" and "limits" in found["default"]["reason"]
    # An accepted loss is one that is said.
    w.write_config("accept_missing = ['limits']\n" + w.config.read_text())
    found = diagnose(w, "-P", "dev")
    assert found["default"]["lost"] == ["limits"]
    assert "without limits (accepted)" in doctor(w, "-P", "dev").out


@case
def a_profile_without_a_sandbox_is_not_enforced(w: World):
    found = diagnose(w, "--mode", "danger-full-access", status=1)
    assert found["default"]["cause"] == "no_sandbox"
    assert doctor(w, "-q", "--mode", "danger-full-access", status=1).out == "none\n"
    # What a backend can do does not depend on it.
    assert backend(found, "bwrap")["works"] == backend(diagnose(w), "bwrap")["works"]


@case
def a_broken_configuration_is_told_beside_all_the_rest(w: World):
    w.write_config("what = ")
    found = diagnose(w, status=1)
    assert found["default"]["profile"] is None and "config.toml:1" in found["default"]["reason"]
    assert backend(found, "native")["works"] is True


# ---- Worse hosts ------------------------------------------------------------------------------


def worse(w, *args, **kwargs):
    """A host where the default profile can't be enforced, not even by a bwrap."""
    return diagnose(w, *args, status=1, path=NO_PROGRAMS, **kwargs)


def check_bad(found, name, cause):
    assert found["ok"] is False and found["default"]["enforced"] is False
    assert not any(b["works"] and set(found["default"]["needed"]) <= set(b["held"])
                   for b in found["backends"]), found["backends"]
    native = backend(found, "native")
    assert native["works"] is False and native["cause"] == cause and native["reason"], native
    assert found["default"]["cause"] == cause, found["default"]
    assert set(states(found, "native").values()) == {"lacking"}
    assert found["default"]["backend"] is None
    assert "tried native: " in found["default"]["reason"], found["default"]
    assert advice(found)[name]["needed"] is True and advice(found)[name]["suggestions"][0]["text"]


@case
def no_user_namespaces(w: World):
    need_namespaces()
    found = worse(w, before="echo 0 > /proc/sys/user/max_user_namespaces")
    check_bad(found, "userns_max", "namespaces_off")
    assert found["host"]["namespaces"]["max_user"] == 0
    assert "sysctl -w user.max_user_namespaces=" in advice(found)["userns_max"]["suggestions"][0]["text"]
    # The same place without it.
    assert diagnose(w, before=":")["ok"] is True


def become_alone():
    """In a user and a mount namespace of its own, as the same user. (In a new process.)"""
    uid, gid = os.getuid(), os.getgid()
    libc.prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: /proc/self is this user's again
    if libc.unshare(0x10000000 | 0x00020000) != 0:  # CLONE_NEWUSER, CLONE_NEWNS
        os._exit(98)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"),
                       ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w", encoding="utf-8") as file:
            file.write(text)


def set_switch(name, value):
    """Another /proc/sys/kernel, with this in it; and as it is where that is the kernel's own:
    namespaces can be made, and are of no use."""
    become_alone()
    with open("/proc/sys/kernel/osrelease", encoding="utf-8") as file:
        release = file.read()
    if libc.mount(b"none", b"/proc/sys/kernel", b"tmpfs", 0, None) != 0:
        os._exit(97)
    for file, text in (("osrelease", release), (name, f"{value}\n")):
        with open(f"/proc/sys/kernel/{file}", "w", encoding="utf-8") as out:
            out.write(text)
    answer("open_tree", errno.EPERM)


@case
def apparmor_and_debian_forbid_ordinary_users_namespaces(w: World):
    need_namespaces()
    need_calls()
    for name, value, identifier, cause, fix in (
            ("apparmor_restrict_unprivileged_userns", 1, "apparmor_userns", "apparmor_userns",
             "/etc/apparmor.d/cordon"),
            ("unprivileged_userns_clone", 0, "userns_clone", "namespaces_off",
             "kernel.unprivileged_userns_clone=1")):
        found = worse(w, uid=ORDINARY,
                      prepare=lambda n=name, v=value: set_switch(n, v))
        check_bad(found, identifier, cause)
        assert fix in backend(found, "native")["reason"], found
        assert fix in advice(found)[identifier]["suggestions"][0]["text"], found
        # The same with the switch as it should be is for another cause.
        found = worse(w, uid=ORDINARY,
                      prepare=lambda n=name, v=value: set_switch(n, 1 - v))
        check_bad(found, "namespaces", "namespace_rights")
    assert (cli.SOURCE / "packaging/apparmor/cordon").exists()


@case
def a_covered_proc(w: World):
    need_namespaces()
    found = worse(w, before="mount --bind /dev/null /proc/kallsyms", spaces="-Urm")
    check_bad(found, "proc_masked", "proc_mount_refused")
    assert found["host"]["namespaces"]["proc_covered"] is True
    assert "systempaths=unconfined" in advice(found)["proc_masked"]["suggestions"][0]["text"]


@case
def a_shortage_is_not_taken_for_a_container(w: World):
    found = worse(w, prepare=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12)))
    assert found["host"]["open_files"] == 12
    assert "ulimit -n" in advice(found)["open_files"]["suggestions"][0]["text"] and advice(found)["open_files"]["needed"]
    assert not {"namespaces", "no_probe", "no_directory"} & set(advice(found)), found["advice"]


# Everything there is, below another root.
CHROOT = """
mkdir root
for one in /*; do
    if [ -L "$one" ]; then cp -P "$one" "root$one"
    elif [ -d "$one" ]; then mkdir "root$one"; mount --rbind "$one" "root$one"
    fi
done
PATH=$PATH:/usr/sbin:/sbin exec chroot root "$@"
"""


@case
def a_chroot_is_not_taken_for_a_container(w: World):
    need_namespaces()
    found = worse(w, before=CHROOT)
    assert "chroot" in advice(found) and advice(found)["chroot"]["needed"], found["advice"]
    assert "namespaces" not in advice(found), found["advice"]


@case
def no_proc_at_all(w: World):
    need_namespaces()
    if "asan" in PROGRAM:
        raise Skip("the address sanitizer itself needs /proc")
    found = worse(w, before="mount -t tmpfs none /proc")
    assert found["host"]["proc"] is False and list(advice(found)) == ["no_proc"], found["advice"]
    assert "mount -t proc" in advice(found)["no_proc"]["suggestions"][0]["text"]


@case
def a_container_that_refuses_mounts(w: World):
    need_calls()
    found = worse(w, prepare=lambda: answer("open_tree", errno.EPERM))
    check_bad(found, "namespaces", "namespace_rights")
    assert "--security-opt" in advice(found)["namespaces"]["suggestions"][0]["text"]


@case
def bubblewrap_is_used_where_only_it_may(w: World):
    need_calls()
    if not backend(diagnose(w), "bwrap")["works"]:
        raise Skip("no bwrap that works here")
    found = diagnose(w, prepare=lambda: answer("open_tree", errno.EPERM))
    assert backend(found, "native")["works"] is False and backend(found, "bwrap")["works"] is True
    assert found["default"]["enforced"] is True and found["default"]["backend"] == "bwrap"
    # What helps is still said, but nobody needs it.
    assert advice(found)["namespaces"]["needed"] is False
    # And so does a run: with one warning that names the reason.
    done = subprocess.run([PROGRAM, "run", "--", "sh", "-c", "echo $CORDON_SANDBOX"], cwd=w.repo,
                          env=w.env, capture_output=True, text=True, timeout=60, check=False,
                          preexec_fn=lambda: answer("open_tree", errno.EPERM))
    assert done.returncode == 0 and done.stdout == "bwrap\n", done
    said = without_noise(done.stderr)
    assert said.count("\n") == 1, done
    assert said.startswith("cordon: warning: using bwrap; earlier backends failed: "), done
    assert "native: the native backend can't " in said, done


@case
def a_bwrap_that_is_missing_is_named_only_where_it_would_help(w: World):
    need_calls()
    assert "bwrap_missing" not in advice(diagnose(w, path=NO_PROGRAMS))
    found = worse(w, prepare=lambda: answer("open_tree", errno.EPERM))
    assert "install bubblewrap" in advice(found)["bwrap_missing"]["suggestions"][0]["text"], found["advice"]


@case
def no_landlock_and_landlock_off_are_told_apart(w: World):
    need_calls()
    for error, name, word in ((errno.ENOSYS, "landlock_missing", "ENOSYS"),
                              (errno.EOPNOTSUPP, "landlock_off", "EOPNOTSUPP")):
        found = worse(w, prepare=lambda e=error: answer("landlock_create_ruleset", e))
        check_bad(found, name, name)
        assert found["host"]["landlock"]["abi"] == 0
        assert found["host"]["landlock"]["error"] == word
        assert len({"landlock_missing", "landlock_off"} & set(advice(found))) == 1


@case
def the_first_wsl_is_refused_by_name_and_the_second_is_linux(w: World):
    need_namespaces()
    # A personality makes uname() tell nothing; then the file is asked, which can be covered.
    over = ("mount --bind release /proc/sys/kernel/osrelease\n"
            'set -- setarch "$(uname -m)" --uname-2.6 "$@"')
    w.write("repo/release", "4.4.0-19041-Microsoft\n")
    found = diagnose(w, before=over, status=1)
    assert found["host"]["wsl"] == 1 and found["default"]["cause"] == "wsl1"
    assert "wsl1" in advice(found)
    w.write("repo/release", "5.15.90.1-microsoft-standard-WSL2\n")
    # Whether it works then is another matter: the file that says so covers a part of /proc.
    found = json.loads(subprocess.run(
        ["unshare", "-Urmpf", "--mount-proc", "sh", "-ec", over + '\nexec "$@"', "sh", PROGRAM,
         "doctor", "--json"], cwd=w.repo, env=w.env, capture_output=True, timeout=60,
        check=False).stdout)
    assert found["host"]["wsl"] == 2 and "wsl1" not in advice(found)
    assert found["default"]["cause"] != "wsl1"


@case
def inside_a_sandbox_it_says_so(w: World):
    done = subprocess.run([PROGRAM, "run", "--", PROGRAM, "doctor", "--json"], cwd=w.repo,
                          env=w.env, capture_output=True, timeout=60, check=False)
    assert done.returncode == 1, done
    found = json.loads(done.stdout)
    assert found["host"]["nested"] is True and list(advice(found)) == ["nested"]


@case
def nowhere_to_try_it(w: World):
    need_namespaces()
    w.env["TMPDIR"] = "/nonexistent"
    w.env["XDG_RUNTIME_DIR"] = "/proc"
    top = str(w.top)
    before = (f"mkdir {top}/keep; mount --bind {top} {top}/keep\n"
              "mount -t tmpfs -o ro none /tmp; mount -t tmpfs -o ro none /var/tmp; cd /")
    if not top.startswith("/var/tmp/"):
        raise Skip("the made-up home is elsewhere")
    place = tempfile.mkdtemp(prefix="cordon-doctor-test-", dir="/dev/shm")
    os.chmod(place, 0o755)
    keep = shutil.copy(PROGRAM, f"{place}/cordon")
    try:
        done = subprocess.run(["unshare", "-Urmpf", "--mount-proc", "sh", "-ec",
                               before + '\nexec "$@"', "sh", keep, "doctor", "--json"],
                              env={**w.env, "HOME": "/nonexistent"}, cwd=w.repo,
                              capture_output=True, timeout=60, check=False)
    finally:
        shutil.rmtree(place)
    found = json.loads(done.stdout)
    assert "no_directory" in advice(found), found
    assert set(states(found, "native").values()) == {"untested"}
    # What it is about can be said all the same.
    assert found["default"]["enforced"] is True and done.returncode == 0


# ---- Git --------------------------------------------------------------------------------------


@case
def git_is_asked_about_bare_repositories(w: World):
    if not shutil.which("git"):
        raise Skip("no git")
    found = diagnose(w)
    assert found["host"]["git"] == {"found": True, "bare_repository": None}, found["host"]
    assert advice(found)["git_bare_repository"]["needed"] is False
    w.write("home/.gitconfig", "[safe]\n\tbareRepository = explicit\n")
    found = diagnose(w)
    assert found["host"]["git"]["bare_repository"] == "explicit"
    assert "git_bare_repository" not in advice(found)


# ---- Cleaning ----------------------------------------------------------------------------------


def mark(path):
    path.mkdir(parents=True, exist_ok=True)
    os.utime(path, ns=(MARK_NS, MARK_NS))
    return path


@case
def what_dead_runs_left_is_removed_and_nothing_else(w: World):
    left = mark(w.repo / "a/b/.git")
    also = mark(w.repo / ".agents")
    held = mark(w.repo / "held")
    own = w.repo / "own"
    own.mkdir()
    full = w.repo / "full"
    w.write("repo/full/file", "x")
    os.utime(full, ns=(MARK_NS, MARK_NS))
    stale = w.top / "tmp/cordon-doctor.AbCdEf"
    (stale / "work").mkdir(parents=True)
    foreign = w.top / "tmp/cordon-doctor.foreign"
    (foreign / "mine").mkdir(parents=True)

    # Without being told so it removes nothing.
    assert diagnose(w)["cleaned"] is None and left.exists() and stale.exists()
    lock = os.open(held, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(lock, fcntl.LOCK_SH)
    found = diagnose(w, "--clean")["cleaned"]
    assert set(found["removed"]) == {str(left), str(also), str(stale)}, found
    assert set(found["in_use"]) == {str(held), str(full)}, found
    assert not left.exists() and not also.exists() and not stale.exists()
    assert held.exists() and own.exists() and (full / "file").exists() and foreign.exists()
    os.close(lock)
    said = doctor(w, "--clean").out
    assert f"removed  {held}" in said and not held.exists()
    assert "nothing was left behind" in doctor(w, "--clean").out


@case
def a_link_that_a_command_left_in_a_room_is_not_followed(w: World):
    own = w.write("home/own/carved", "x")
    also = w.write("home/own/made", "x")
    room = w.top / "tmp/cordon-doctor.AbCdEf"
    room.mkdir()
    (room / "work").symlink_to(own.parent)
    assert diagnose(w, "--clean")["cleaned"]["removed"] == []
    assert own.exists() and also.exists()


@case
def a_cache_about_a_bwrap_that_is_another_now_is_removed(w: World):
    cache = w.write("home/.cache/cordon/bwrap",
                    "cordon bwrap features 1\n1 2 3 4 5\n/usr/bin/bwrap\n")
    for directory in (cache.parent, cache.parent.parent):
        directory.chmod(0o700)
    assert diagnose(w, "--clean")["cleaned"]["removed"] == [str(cache)]
    # What is right stays; it was made by the doctor itself, where there is a bwrap.
    if cache.exists():
        assert diagnose(w, "--clean")["cleaned"]["removed"] == [] and cache.exists()


@case
def a_cache_that_the_command_could_write_is_not_used(w: World):
    cache = w.top / "home/.cache/cordon/bwrap"
    cache.parent.mkdir(parents=True, mode=0o700)
    cache.parent.parent.chmod(0o700)
    if not backend(diagnose(w, "--mode", "read-only"), "bwrap")["works"]:
        raise Skip("no bwrap that works here")
    assert cache.exists()
    cache.unlink()
    w.write_config(f'[permissions.p]\nextends = ":workspace"\n[permissions.p.filesystem]\n"{w.top}/home" = "write"\n')
    diagnose(w, "-P", "p")
    assert not cache.exists()


@case
def a_cache_that_is_a_link_to_elsewhere_is_left_alone(w: World):
    other = w.write("home/bin/bwrap", "a program")
    (w.top / "home/.cache").mkdir(mode=0o700, exist_ok=True)
    (w.top / "home/.cache/cordon").symlink_to(other.parent)
    assert str(other) not in str(diagnose(w, "--clean")["cleaned"]["removed"])
    assert diagnose(w, "--clean")["cleaned"]["removed"] == []
    assert other.read_text() == "a program"


@case
def a_link_that_a_command_puts_in_the_way_of_the_probe_is_not_followed(w: World):
    """As the control it runs without a sandbox, in a place that other runs may write to."""
    def probe(room):
        facts = [str(room), "1", "1", "no-such-socket", "0", "0", "0"]
        done = subprocess.run(["cordon-doctor-probe", "cordon-doctor-probe", *facts, "protect_missing",
                               "tree_death"], executable=PROGRAM,
                              env=w.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
        return dict(line.split() for line in done.stdout.splitlines())

    elsewhere = w.top / "elsewhere"
    rooms = {name: w.top / name for name in ("plain", "file", "left", "all")}
    for room in (elsewhere, *rooms.values()):
        room.mkdir()
    (elsewhere / "made").touch()
    for name in ("plain", "file", "left"):
        (rooms[name] / "work").mkdir()
    (rooms["file"] / "work/made").symlink_to(elsewhere / "new")
    (rooms["left"] / "work/alive").symlink_to(elsewhere / "new")
    (rooms["all"] / "work").symlink_to(elsewhere)
    said = probe(rooms["plain"])
    assert said["work"] == said["protect_missing"] == said["tree_death"] == "0", said
    (rooms["plain"] / "work/alive").unlink()
    assert probe(rooms["file"])["work"] != "0"
    assert probe(rooms["left"])["tree_death"] != "0"
    assert "0" not in {probe(rooms["all"])[what] for what in ("work", "protect_missing", "tree_death")}
    assert os.listdir(elsewhere) == ["made"], os.listdir(elsewhere)


def names_in(directory):
    """All of them, whatever goes meanwhile."""
    return [name for _, names, files in os.walk(directory) for name in names + files]


@case
def what_a_killed_run_left_is_removed(w: World):
    (w.repo / ".git").mkdir()
    run = subprocess.Popen([PROGRAM, "run", "--full-auto", "--", "sh", "-c",
                            "echo yes; exec sleep 60"], cwd=w.repo, env=w.env,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, start_new_session=True)
    assert run.stdout.readline() == b"yes\n"
    assert (w.repo / ".agents").exists(), "this run makes a placeholder"
    busy = diagnose(w, "--clean")["cleaned"]
    assert str(w.repo / ".agents") in busy["in_use"] and busy["removed"] == [], busy
    assert len(busy["in_use"]) == len(set(busy["in_use"])), busy
    run.kill()
    run.wait()
    run.stdout.close()
    deadline = time.monotonic() + 20
    while names_in(w.repo) != [".git"] and time.monotonic() < deadline:
        time.sleep(0.01)
    assert names_in(w.repo) == [".git"]


if __name__ == "__main__":
    sys.exit(run_cases())
