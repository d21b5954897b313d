#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`cordon run` between a command and who has started it: streams, time, signals, the terminal."""

import os
import signal
import socket
import subprocess
import sys
import time

import cli
from cli import (BOTH, NONE, PROGRAM, SECONDS, Sleeper, World, case, ok, processes_with, run,
                 run_cases, start, wait_for)
from terminal import Terminal


# ---- Streams -----------------------------------------------------------------------------------


@case
def the_streams_are_those_of_cordon(w: World):
    for how in BOTH:
        result = ok(w, *how, "sh", "-c", "cat; echo two >&2", stdin=b"one\n")
        assert result.out == "one\n" and result.err.endswith("two\n"), result
        data = os.urandom(3 << 20)
        done = run(w, *how, "cat", stdin=data, raw=True)
        assert done.stdout == data
        assert ok(w, *how, "sh", "-c", "head -c 2000000 /dev/zero | tr '\\0' e >&2").err.count(
            "e") >= 2000000


@case
def a_stream_that_is_closed_is_empty_and_nothing_of_cordons_own(w: World):
    show = ("import os\nwith open('found', 'w') as file:\n"
            "    for fd in range(3): print(os.readlink(f'/proc/self/fd/{fd}'), file=file)\n")
    for how in (["--full-auto"], NONE):
        for closed, numbers in (("<&-", [0]), (">&-", [1]), ("2>&-", [2]),
                                ("<&- >&- 2>&-", [0, 1, 2])):
            done = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", PROGRAM, "run", *how,
                                   "--report", f"{w.top}/report", sys.executable, "-c", show],
                                  cwd=w.repo, env=w.env, check=False, capture_output=True)
            assert done.returncode == 0, (how, closed, done)
            found = (w.repo / "found").read_text().splitlines()
            assert all(found[number] == "/dev/null" for number in numbers), (how, closed, found)


@case
def other_descriptors_do_not_reach_the_command(w: World):
    secret = w.write("home/secret", "not for you")
    script = 'for fd in /proc/self/fd/*; do [ "${fd##*/}" -gt 2 ] && readlink "$fd"; done; true'
    with open(secret, "rb") as file:
        found = ok(w, "sh", "-c", script, fds=(file.fileno(),)).out
    assert "secret" not in found, found


# ---- Time -------------------------------------------------------------------------------------


@case
def a_timeout_ends_everything_with_124(w: World):
    for how in BOTH:
        for words in (["--timeout", "250ms"], ["--config", "permissions.t.limits.timeout=250ms",
                                               "--config", "permissions.t.extends=:workspace",
                                               "-P", "t"]):
            mark = f"17.{os.getpid()}"
            begin = time.monotonic()
            result = run(w, *how, *words, "sh", "-c", f"sleep {mark} & sleep {mark}")
            took = time.monotonic() - begin
            assert result.status == 124, (how, words, result)
            assert 0.2 < took < 10, took
            assert "cordon: " in result.err and "time" in result.err, result
            wait_for(lambda: not processes_with(f"sleep\0{mark}"), 10)  # noqa: B023
    assert run(w, "--timeout", "20", "true").status == 0
    assert run(w, "--timeout", "1h", "true").status == 0


# ---- Signals -----------------------------------------------------------------------------------

TRAPS = ('for s in TERM INT HUP QUIT USR1 USR2; do trap "echo got $s; exit 9" $s; done; echo up; '
         "while :; do sleep 0.05; done")


@case
def signals_that_are_sent_to_cordon_reach_the_command(w: World):
    for how in BOTH:
        for name in ("TERM", "INT", "HUP", "QUIT", "USR1", "USR2"):
            with start(w, *how, "sh", "-c", TRAPS) as process:
                assert process.stdout.readline() == b"up\n"
                process.send_signal(getattr(signal, "SIG" + name))
                out, _ = process.communicate(timeout=SECONDS)
                assert (out, process.returncode) == (f"got {name}\n".encode(), 9), (how, name, out)


@case
def a_command_that_dies_of_a_signal_that_was_sent_gives_its_status(w: World):
    for how in BOTH:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
            with start(w, *how, "sh", "-c", "echo up; exec sleep 60") as process:
                assert process.stdout.readline() == b"up\n"
                process.send_signal(number)
                process.communicate(timeout=SECONDS)
                assert process.returncode == 128 + number, (how, process.returncode)


@case
def the_command_has_no_signal_blocked_and_those_ignored_that_cordon_had(w: World):
    show = ["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"]

    def ignore():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)

    plain = subprocess.run(show, preexec_fn=ignore, capture_output=True, check=True).stdout
    assert b"SigBlk:\t0000000000000000" in plain, plain
    for how in BOTH:
        done = subprocess.run([PROGRAM, "run", *how, *show], preexec_fn=ignore, env=w.env,
                              cwd=w.repo, capture_output=True, check=True)
        assert done.stdout == plain, (how, done.stdout, plain)


@case
def when_cordon_is_killed_everything_inside_ends(w: World):
    mark = f"18.{os.getpid()}"
    with start(w, "--full-auto", "sh", "-c", f"echo up; setsid sleep {mark} & sleep {mark}"
               ) as process:
        assert process.stdout.readline() == b"up\n"
        wait_for(lambda: len(processes_with(f"sleep\0{mark}")) == 2)
        process.kill()
        process.wait(timeout=SECONDS)
        wait_for(lambda: not processes_with(f"sleep\0{mark}"), 10)
    wait_for(lambda: os.listdir(w.repo) == [], 10)


# ---- The terminal ----------------------------------------------------------------------------


def on_terminal(w, *argv):
    return Terminal(w, *argv, TERM="dumb", PS1="$ ")


@case
def a_command_on_a_terminal_has_it(w: World):
    for how in BOTH:
        t = on_terminal(w, PROGRAM, "run", *how, "sh", "-c",
                     'test -t 0 && test -t 1 && tty && stty size </dev/tty && read x && '
                     'echo "<$x>"')
        t.expect("/dev/")
        t.type("hello\n")
        t.expect("<hello>")
        assert t.wait() == 0, how


@case
def control_c_ends_the_command_and_a_loop_around_cordon(w: World):
    for how in BOTH:
        t = on_terminal(w, PROGRAM, "run", *how, "sh", "-c", "echo up; exec sleep 60")
        t.expect("up")
        t.type("\x03")
        status = t.wait()
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGINT, (how, status)
    if os.path.exists("/bin/bash"):
        t = on_terminal(w, "/bin/bash", "--norc", "-i")
        t.type("for i in 1 2 3; do %s run sh -c 'echo u''p; exec sleep 60'; done; echo not ended\n" %
               PROGRAM)
        t.expect("\r\nup")
        t.type("\x03")
        t.type("echo in''between\n")
        t.expect("inbetween")
        assert "up" not in t.seen and "\r\nnot ended" not in t.seen, t.seen
        t.type("exit 0\n")
        assert t.wait() == 0


@case
def control_c_that_the_command_handles_does_not_end_cordon(w: World):
    for how in BOTH:
        t = on_terminal(w, PROGRAM, "run", *how, "sh", "-c",
                     'trap "echo caught; exit 4" INT; echo up; while :; do sleep 0.05; done')
        t.expect("up")
        t.type("\x03")
        t.expect("caught")
        assert os.waitstatus_to_exitcode(t.wait()) == 4, how


@case
def control_z_stops_it_and_fg_goes_on(w: World):
    if not os.path.exists("/bin/bash"):
        return
    for how in ("", " --backend none"):
        t, sleeper = on_terminal(w, "/bin/bash", "--norc", "-i"), Sleeper()
        t.type("%s run%s sh -c 'echo u''p; %s; read x; echo \"<$x>\"'\n" %
               (PROGRAM, how, sleeper.words))
        t.expect("up")
        sleeper.wait()  # a shell that is stopped between vfork and exec can't be, anywhere
        t.type("\x1a")
        t.expect("Stopped")
        t.type("jobs; echo in''between\n")
        t.expect("inbetween")
        t.type("fg\n")
        sleeper.end()
        t.type("word\n")
        t.expect("<word>")
        t.type("exit 0\n")
        assert t.wait() == 0


@case
def a_pipe_to_a_program_that_reads_the_terminal_works(w: World):
    if not os.path.exists("/bin/bash"):
        return
    t = on_terminal(w, "/bin/bash", "--norc", "-i")
    t.type("%s run sh -c 'echo from-inside; sleep 2' | "
           "sh -c 'read l; echo $l; read x </dev/tty; echo \"<$x>\"'\n" % PROGRAM)
    t.expect("\r\nfrom-inside")
    t.type("word\n")
    t.expect("<word>")
    t.type("exit 0\n")
    assert t.wait() == 0


@case
def a_command_whose_output_is_taken_gets_the_terminal_when_it_asks(w: World):
    if not os.path.exists("/bin/bash"):
        return
    t = on_terminal(w, "/bin/bash", "--norc", "-i")
    t.type("x=$(%s run sh -c 'read x </dev/tty; echo got $x'); echo \"<$x>\"\n" % PROGRAM)
    time.sleep(0.5)
    t.type("word\n")
    t.expect("<got word>")
    for stops in (False, True):
        sleeper = Sleeper()
        t.type("%s run sh -c 'echo u''p; %s; echo not en''ded' | cat\n" %
               (PROGRAM, sleeper.words))
        t.expect("\nup")
        sleeper.wait()
        if stops:
            t.type("\x1a")
            t.expect("Stopped")
            sleeper.wait("T")
            t.type("fg\n")
            sleeper.wait()  # by then it has the terminal
        t.type("\x03")
        t.type("echo in''between\n")
        t.expect("inbetween")
        assert "not ended" not in t.seen
    t.type("exit 0\n")
    assert t.wait() == 0


# ---- Callers and streams that are not as usual ----------------------------------------


@case
def a_caller_that_ignores_its_children_hears_of_the_end(w: World):
    done = subprocess.run(["/bin/sh", "-c", f"trap '' CHLD; exec '{PROGRAM}' run -- /bin/sh -c 'exit 7'"],
                          cwd=w.repo, env=w.env, capture_output=True, timeout=SECONDS * 3, check=False)
    assert done.returncode == 7, done


@case
def a_stream_that_leads_out_is_refused(w: World):
    def status(stdin, *options):
        done = subprocess.run([PROGRAM, "run", *options, "--", "/bin/true"], cwd=w.repo, env=w.env, stdin=stdin,
                              capture_output=True, timeout=SECONDS * 3, check=False)
        return done.returncode, b"standard input" in done.stderr

    ours, theirs = socket.socketpair()
    with ours, theirs, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        assert status(ours) == (0, False)
        assert status(datagrams) == (125, True)
        assert status(datagrams, "--network", "full") == (0, False)
    directory = os.open(w.repo, os.O_RDONLY)
    try:
        assert status(directory) == (125, True)
    finally:
        os.close(directory)


@case
def a_command_that_stops_itself_keeps_its_time_limit(w: World):
    began = time.monotonic()
    result = run(w, "--timeout", "1s", "--", "/bin/sh", "-c", "kill -STOP $$")
    assert result.status == 124 and time.monotonic() - began < 20, result


@case
def a_run_keeps_its_time_limit_while_cordon_is_stopped(w: World):
    for how in BOTH:
        mark = f"26.{os.getpid()}"
        with start(w, *how, "--timeout", "500ms", "--", "sh", "-c", f"echo up; sleep {mark}") as process:
            assert process.stdout.readline() == b"up\n"
            process.send_signal(signal.SIGSTOP)
            wait_for(lambda: not processes_with(f"sleep\0{mark}"), 15)  # noqa: B023
            process.send_signal(signal.SIGCONT)
            process.communicate(timeout=SECONDS)
        assert process.returncode == 124, (how, process.returncode)


@case
def a_monitor_that_is_stopped_and_has_many_orders_keeps_the_time_limit(w: World):
    """Its channel is full by then: it can't be told to kill the command."""
    mark = f"25.{os.getpid()}"
    began = time.monotonic()
    with start(w, *NONE, "--timeout", "2s", "--report", f"{w.top}/report", "--", "sh", "-c",
               f"kill -STOP $PPID; trap : USR1; echo up; sleep {mark}") as process:
        assert process.stdout.readline() == b"up\n"
        for _ in range(500):
            process.send_signal(signal.SIGUSR1)
            time.sleep(0.002)
        process.communicate(timeout=SECONDS * 3)
    took = time.monotonic() - began
    assert process.returncode == 124 and took < 15, (process.returncode, took)
    wait_for(lambda: not processes_with(f"sleep\0{mark}"), 10)


@case
def a_log_that_is_only_written_to_is_not_read(w: World):
    w.write_config('[permissions.p.filesystem]\n":minimal" = "read"\n":workspace_roots" = "write"\n')
    script = ["/bin/sh", "-c", "exec 3>&1; cat /proc/self/fd/3 >got 2>&1; echo again >>/proc/self/fd/3"]
    for argv, reads in ((script, True), ([PROGRAM, "run", "-q", "-P", "p", "--", *script], False)):
        log = w.write("log", "a token of before\n")
        with open(log, "ab") as output:
            done = subprocess.run(argv, cwd=w.repo, env=w.env, stdin=subprocess.DEVNULL, stdout=output,
                                  stderr=subprocess.PIPE, timeout=SECONDS * 3, check=False)
        assert done.returncode == 0, done
        assert ("token" in (w.repo / "got").read_text()) == reads, (argv, done)
        assert log.read_text() == "a token of before\nagain\n", log.read_text()


@case
def a_crowd_does_not_keep_cordon_from_its_time_limit(w: World):
    w.write("repo/crowd.py", cli.CROWD)
    report = w.top / "report.json"
    crowd = [PROGRAM, "run", "-q", "--mode", "workspace-write", "--timeout", "4s", "--report", report, "--",
             "python3", "crowd.py"]
    began = time.monotonic()
    done = subprocess.run([*crowd, "130", "900"], cwd=w.repo, env=w.env, capture_output=True, text=True,
                          timeout=SECONDS * 3, check=False)
    cli.check_crowd(done, report, time.monotonic() - began)
    # The control: without the crowd it is found.
    done = subprocess.run([*crowd, "0", "900"], cwd=w.repo, env=w.env, capture_output=True, text=True,
                          timeout=SECONDS * 3, check=False)
    assert done.stdout.startswith("OK "), done


run_cases()
