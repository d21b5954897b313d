#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`cordon-sh`: the same program under another name, as programs call a shell."""

import os
import shutil
import signal
import subprocess

from cli import PROGRAM, SECONDS, World, case, run_cases, without_noise

BASH = shutil.which("bash", path="/bin:/usr/bin")
REAL = BASH or "/bin/sh"


def shell(w, *words, env=None, cwd=None, stdin=b"", argv0=None):
    link = w.top / "cordon-sh"
    if not link.is_symlink():
        link.symlink_to(PROGRAM)
    done = subprocess.run([argv0 or str(link), *words], executable=link, cwd=cwd or w.repo,
                          env={**w.env, **(env or {})}, input=stdin, capture_output=True,
                          timeout=SECONDS * 3, check=False)
    done.out, done.err = done.stdout.decode(), without_noise(done.stderr.decode())
    assert "Sanitizer" not in done.err and "runtime error" not in done.err, done
    return done


def check_refused(w, *words, says=(), **more):
    done = shell(w, *words, **more)
    assert done.returncode == 125 and done.err.startswith("cordon: error: "), done
    assert all(text in done.err for text in says), done


WRITE = {"CORDON_MODE": "workspace-write"}


@case
def it_is_called_as_shells_are(w: World):
    script = w.write("repo/script", "echo script $1; exit 6\n")
    for words, out, status in (
        (("-c", "echo $0 $1; exit 3", "zero", "one"), "zero one\n", 3),
        (("-c", 'echo "$1"; false', "zero", "-x y"), "-x y\n", 1),
        (("-lc", "echo login; exit 4"), "login\n", 4),
        (("-l", "-c", "echo login"), "login\n", 0),
        (("-ec", "false; echo not"), "", 1),
        (("+e", "-c", "false; echo so"), "so\n", 0),
        (("echo a line | tr a-z A-Z; exit 5",), "A LINE\n", 5),
        (("",), "", 0),
        ((str(script), "arg"), "script arg\n", 6),
        (("-", str(script)), "script\n", 6),
        (("-c", "no-such-program-here"), "", 127),
    ):
        done = shell(w, *words)
        assert (done.out, done.returncode) == (out, status), (words, done)
    done = shell(w, stdin=b"echo from stdin\nexit 7\n")
    assert (done.out, done.returncode) == ("from stdin\n", 7), done
    done = shell(w, "-s", "one", stdin=b"echo $1\n")
    assert (done.out, done.returncode) == ("one\n", 0), done
    if BASH:
        assert "on" in shell(w, "-c", "shopt login_shell", argv0="-cordon-sh").out


@case
def statuses_and_signals_are_the_shells(w: World):
    for number in (signal.SIGTERM, signal.SIGKILL):
        done = shell(w, "-c", f"kill -{int(number)} $$")
        assert done.returncode in (128 + number, -number), done
    for status in (0, 1, 2, 124, 125, 126, 127, 255):
        assert shell(w, "-c", f"exit {status}").returncode == status


@case
def the_policy_comes_from_environment_and_configuration(w: World):
    assert shell(w, "-c", "touch new").returncode == 1 and not (w.repo / "new").exists()
    assert shell(w, "-c", "touch new", env=WRITE).returncode == 0 and (w.repo / "new").exists()
    deep = w.repo / "deep"
    deep.mkdir()
    assert shell(w, "-c", "touch ../two", env=WRITE, cwd=deep).returncode == 1
    assert shell(w, "-c", "touch ../two", env={**WRITE, "CORDON_WORKSPACE": str(w.repo)}, cwd=deep).returncode == 0
    w.write_config('default_permissions = "p"\n[permissions.p]\nextends = ":workspace"\n')
    assert shell(w, "-c", "touch three").returncode == 0
    check_refused(w, "-c", "true", env=WRITE, cwd=w.home, says=["home"])


def told(done):
    return [line.removeprefix("cordon: warning: ") for line in done.err.splitlines() if line.startswith("cordon: ")]


@case
def what_is_refused_is_told_at_once_for_a_model(w: World):
    """Also in a command that succeeds, and before it goes on; names are JSON strings."""
    secret = w.top / "secret"
    secret.mkdir()
    other = w.top / "other"
    other.mkdir()
    profile = f'default_permissions = "p"\n[permissions.p]\nextends = ":workspace"\n%s[permissions.p.filesystem]\n"{secret}" = "deny"\n'
    w.write_config(profile % "")
    assert told(shell(w, "-c", "touch x")) == [], "the control"
    done = shell(w, "-c", f"touch {other}/a; echo $?")
    line = told(done)[0]
    assert done.out == "1\n" and done.returncode == 0 and len(told(done)) == 1, done
    assert line.startswith(f'"touch" was not allowed to create "{other}/a", because of "'), line
    assert line.endswith(f'; ask the user to allow writes to "{other}"'), line
    done = shell(w, "-c", "mkdir .vscode")
    assert "; that name is protected: ask the user" in told(done)[0], done
    # What is denied: only what the program wrote, and the same whether there is something or not.
    (secret / "there").touch()
    lines = []
    for name in ("there", "missing"):
        (w.repo / "link").unlink(missing_ok=True)
        (w.repo / "link").symlink_to(secret / name)
        lines.append(told(shell(w, "-c", "echo > link")))
    assert lines[0] == lines[1] and all(str(secret) not in line for line in lines[0]), lines
    # Names can say anything, and stay names.
    for name in ("a\nIgnore this", "\x1b[2J", "\u202edc", "\U000e0041", 'x"; rm -rf ~; "', "$(id)", "`id`", "y" * 250):
        done = subprocess.run([str(w.top / "cordon-sh"), "-c", 'echo > "$1/$2"', "sh", str(other), name], cwd=w.repo,
                              env=w.env, capture_output=True, check=False)
        lines = [line for line in done.stderr.decode().splitlines() if line.startswith("cordon: ")]
        assert len(lines) == 1 and "ask the user to allow writes" in lines[0], (name, done)
        assert not any(ord(c) < 32 or ord(c) in (0x7f, 0x202e, 0xe0041) for c in lines[0]), lines
        assert "y" * 201 not in lines[0] and len(lines[0]) < 800, lines
    # A flood is told in part, and counted.
    done = shell(w, "-c", f"for i in $(seq 40); do : > {other}/$i; done 2>/dev/null; true")
    assert len(told(done)) == 10, done
    done = shell(w, "-c", f"for i in $(seq 40); do : > {other}/$i; done 2>/dev/null; false")
    assert told(done)[10:] == ["30 more accesses were refused"], done
    # It can be switched off, and then is said as for everybody else.
    w.write_config(profile % 'tell_denials = "off"\n')
    assert told(shell(w, "-c", f"touch {other}/a; true")) == []
    assert "ask the user" not in shell(w, "-c", f"touch {other}/a").err
    assert "ask the user" not in w.run("run", "--", "touch", f"{other}/a", check=1).err
    done = w.run("run", "--tell-denials", "--", "sh", "-c", f"touch {other}/a; true")
    assert "ask the user to allow writes" in done.err, done
    assert "ask the user" not in w.run("run", "--tell-denials", "-q", "--", "touch", f"{other}/a", check=1).err
    w.write_config(profile % 'tell_denials = "on"\n')
    assert "ask the user" in w.run("run", "--", "touch", f"{other}/a", check=1).err
    with subprocess.Popen([PROGRAM, "run", "--", "sh", "-c", f"touch {other}/a; cat"], cwd=w.repo, env=w.env,
                          stdin=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert b"ask the user" in run.stderr.readline() + run.stderr.readline(), "while it runs"
        run.stdin.close()


@case
def without_a_sandbox_nothing_is_run(w: World):
    ran = w.repo / "ran"
    full = ":danger-full-access"
    run = ("-c", f"touch {ran}")
    assert subprocess.run([PROGRAM, "run", "--mode", "danger-full-access", "sh", *run], cwd=w.repo, env=w.env,
                          capture_output=True, check=False).returncode == 0, "the control"
    ran.unlink()
    check_refused(w, *run, env={"CORDON_MODE": "danger-full-access"}, says=["sandbox"])
    check_refused(w, *run, env={"CORDON_PROFILE": full}, says=["sandbox"])
    w.write_config(f'default_permissions = "{full}"\n')
    check_refused(w, *run, says=["sandbox"])
    check_refused(w, f"touch {ran}", says=["sandbox"])
    check_refused(w, says=["sandbox"], stdin=f"touch {ran}\n".encode())
    w.write_config('unavailable = "passthrough"\n')
    assert shell(w, "-c", "echo $CORDON_SANDBOX; touch $HOME/x").out.strip() not in ("", "none")
    w.write_config('[linux]\nbackends = ["none"]\n')
    check_refused(w, *run)
    w.write_config("not toml")
    check_refused(w, *run)
    assert not ran.exists() and not (w.home / "x").exists()


@case
def the_real_shell_is_configured_and_never_itself(w: World):
    lying = {"SHELL": str(w.top / "cordon-sh")}
    assert os.path.samefile(shell(w, "-c", "echo $SHELL", env=lying).out.strip(), REAL)
    w.write_config('shell = "/bin/sh"\n')
    assert shell(w, "-c", "echo $SHELL $0", env=lying).out == "/bin/sh /bin/sh\n"
    # For anything but cordon-sh it has no meaning.
    assert w.ok("run", "--env", "SHELL=/x", "--", "sh", "-c", "echo $SHELL").out == "/x\n"
    copy, hard, linked = (w.top / name for name in ("bin/cordon-sh", "bin/hard", "bin/linked"))
    copy.parent.mkdir()
    shutil.copy(PROGRAM, copy)
    linked.symlink_to(copy)
    for bad in (w.top / "cordon-sh", copy, linked, "cordon-sh", "", "sh", w.top / "gone", w.repo, w.config):
        w.write_config(f'shell = "{bad}"\n')
        check_refused(w, "-c", "true", says=["shell"])
    hard.hardlink_to(copy)
    w.write_config(f'shell = "{hard}"\n')
    done = subprocess.run([copy, "-c", "true"], cwd=w.repo, env=w.env, capture_output=True, check=False)
    assert done.returncode == 125 and b"itself" in done.stderr, done
    w.write("repo/.cordon/config.toml", 'shell = "/bin/sh"\n')
    w.write_config("")
    check_refused(w, "-c", "true", says=[".cordon/config.toml"])


@case
def every_backend_runs_it(w: World):
    for backend in ("native", "bwrap"):
        if backend == "bwrap" and not shutil.which("bwrap"):
            continue
        w.write_config(f'[linux]\nbackends = ["{backend}"]\n')
        done = shell(w, "-c", "echo $CORDON_SANDBOX; touch new")
        assert done.out == f"{backend}\n" and done.returncode == 1, done


@case
def a_terminal_is_the_shells(w: World):
    if not shutil.which("script"):
        return
    shell(w, "-c", "true")
    done = subprocess.run(["script", "-qec", f"{w.top}/cordon-sh -i -c 'tty && echo flags=$-'", "/dev/null"],
                          cwd=w.repo, env=w.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=SECONDS, check=False)
    flags = done.stdout.partition("flags=")[2].split()
    assert done.returncode == 0 and flags and "i" in flags[0], done


@case
def hints_name_no_options(w: World):
    """cordon-sh takes none of cordon's, so a hint that names one can't be followed."""
    connect = "import socket; socket.create_connection(('192.0.2.1', 80), 5)"
    program = ("-c", f'{shutil.which("python3")} -c "{connect}"')
    control = w.run("run", "sh", *program, check=1)
    assert "--allow-host" in control.err, control
    done = shell(w, *program)
    assert done.returncode == 1 and "the network is off" in done.err, done
    assert "ask the user to allow connections" in done.err and " --" not in done.err, done
    w.write_config('[linux]\nbackends = ["landlock"]\n')
    control = w.run("run", "true")
    assert control.status == 125, control
    done = shell(w, "-c", "true")
    assert done.returncode == 125 and "--accept-missing" not in done.err, done
    assert ("accept_missing = [" in done.err) == ("--accept-missing" in control.err), (done, control)


run_cases()
