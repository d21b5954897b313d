#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A command under cordon has the terminal as it would have without: a shell with job
control on a terminal of its own, typed at, with and without a sandbox."""

import os
import struct
import subprocess
import sys
import termios
import fcntl
import time

from cli import PROGRAM, SECONDS, Sleeper, World, case, run_cases
from terminal import READY, Shell

BACKENDS = ["none", "native"]


class RunningShell(Shell):
    def __init__(self, world, backend):
        self.backend = backend
        self.run = f"{PROGRAM} -q run --mode workspace-write --backend {backend} --"
        super().__init__(world, 33, 99, TERM="dumb", CORDON=PROGRAM, CORDON_PROGRAM=PROGRAM)

    def start(self, text, sign):
        self.enter(text)
        self.expect(sign)


def on_terminal(function):
    """One case for each backend."""

    for backend in BACKENDS:
        def one(world, backend=backend):
            terminal = RunningShell(world, backend)
            try:
                function(terminal)
            finally:
                terminal.close()

        one.__name__ = f"{function.__name__}_{backend}"
        case(one)
    return function


@on_terminal
def control_c_ends_the_command_and_the_shell_goes_on(t):
    t.start(f"{t.run} sh -c 'echo go; exec sleep 60'", "go")
    t.type("\x03")
    t.expect(READY)
    assert "<130>" in t.line("echo \"<$?>\"")


@on_terminal
def control_c_ends_a_loop_of_the_shell(t):
    t.start(f"for i in 1 2 3; do {t.run} sh -c \"echo go$i; exec sleep 60\"; done", "go1")
    t.type("\x03")
    shown = t.expect(READY)
    assert "go2" not in shown, shown


@on_terminal
def a_command_that_catches_control_c_goes_on(t):
    sleeper = Sleeper()
    t.start(f"{t.run} sh -c 'trap \"echo caught\" INT; echo go; {sleeper.words}; echo after; exit 5'", "go")
    sleeper.wait()
    t.type("\x03")
    shown = t.expect(READY)
    assert "caught" in shown and "after" in shown, shown
    assert "<5>" in t.line("echo \"<$?>\"")


@on_terminal
def control_z_stops_and_fg_goes_on(t):
    t.start(f"{t.run} sh -c 'echo go; read x; echo got:$x; exit 3'", "go")
    time.sleep(0.2)
    t.type("\x1a")
    t.expect("Stopped")
    t.expect(READY)
    assert "Stopped" in t.line("jobs")
    t.start("fg", "read x")
    t.type("hello\n")
    t.expect("got:hello")
    t.expect(READY)
    assert "<3>" in t.line("echo \"<$?>\"")


@on_terminal
def what_stops_it_before_it_has_gone_on_is_not_forgotten(t):
    t.start(f"{os.environ['STOPPING_HOST']} {t.backend}", r"up\r?\n")
    t.type("\x1a")
    for _ in range(2):
        t.expect("Stopped")
        t.expect(READY)
        t.start("fg", "stopping_host")
    t.expect(READY)
    assert "<143>" in t.line("echo \"<$?>\"")


@on_terminal
def it_is_told_once_that_it_goes_on(t):
    """A second time would be one too many for a Ctrl-Z in between."""
    count = "n=0; trap 'n=$((n+1))' CONT; echo go; read x; sleep 0.3; echo told:$n"
    t.start(f"{t.run} bash -c '{count}'".replace("'n=$((n+1))'", '"n=\\$((n+1))"'), "go")
    t.type("\x1a")
    t.expect("Stopped")
    t.expect(READY)
    t.start("fg", "told:")
    time.sleep(0.3)
    t.type("\n")
    t.expect("told:1")
    t.expect(READY)


@on_terminal
def what_lets_it_go_on_after_that_counts(t):
    t.start(f"{os.environ['STOPPING_HOST']} {t.backend} regrets", r"up\r?\n")
    t.type("\x1a")
    t.expect("Stopped")
    t.expect(READY)
    t.start("fg", "stopping_host")
    shown = t.expect(READY)
    assert "Stopped" not in shown and "<143>" in t.line("echo \"<$?>\""), shown


@on_terminal
def control_z_and_bg_lets_it_run_behind(t):
    sleeper = Sleeper()
    t.start(f"{t.run} sh -c 'echo go; {sleeper.words}; echo over >file'", "go")
    sleeper.wait()
    t.type("\x1a")
    t.expect("Stopped")
    t.expect(READY)
    t.line("bg")
    sleeper.end()
    t.line("wait")
    assert "over" in t.line("cat file")


@on_terminal
def a_command_in_the_background_stops_when_it_wants_the_terminal(t):
    t.line(f"{t.run} sh -c 'read x; echo got:$x' &")
    for _ in range(300):
        if "Stopped" in t.line("jobs"):
            break
        time.sleep(0.1)
    else:
        raise AssertionError("it was not stopped")
    t.start("fg", "read x")
    t.type("hello\n")
    t.expect("got:hello")
    t.expect(READY)


@on_terminal
def a_running_job_that_comes_to_the_foreground_gets_the_terminal(t):
    t.line(f"{t.run} sh -c 'sleep 1; read x; echo got:$x' &")
    t.start("fg", "read x")
    time.sleep(1.5)
    t.type("hello\n")
    t.expect("got:hello")
    t.expect(READY)


@on_terminal
def a_pipeline_of_two_runs_shares_the_terminal(t):
    t.start(f"{t.run} sh -c 'echo go >/dev/tty; sleep 0.5; head -n 1' | {t.run} sed s/a/b/", "go")
    time.sleep(0.7)
    t.type("tata\n")
    t.expect("tbta")
    t.expect(READY)


@on_terminal
def the_terminal_is_as_it_was_after_a_kill(t):
    before = t.line("stty -a")
    t.line(f"{t.run} sh -c 'stty raw -echo; kill -9 $$'")
    assert "<137>" in t.line("echo \"<$?>\"")
    assert t.line("stty -a") == before


@on_terminal
def what_a_command_sets_on_the_terminal_stays_when_it_ends_well(t):
    t.line(f"{t.run} stty -tostop -ixon")
    assert "-ixon" in t.line("stty -a")


@on_terminal
def the_size_of_the_window_is_known(t):
    assert "33 99" in t.line(f"{t.run} stty size")
    t.start(f"{t.run} sh -c 'trap \"stty size; exit\" WINCH; echo go; while :; do sleep 0.05; done'", "go")
    fcntl.ioctl(t.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 44, 88, 0, 0))
    t.expect("44 88")
    t.expect(READY)


@on_terminal
def an_interactive_shell_works_inside(t):
    t.start(f"PS1='inner> ' {t.run} bash --norc --noprofile --noediting -i", "inner> ")
    sleeper = Sleeper()
    t.type(f"{sleeper.words}\n")
    sleeper.wait()
    t.type("\x1a")
    t.expect("Stopped")
    t.expect("inner> ")
    # wait does not wait for what the shell still takes for stopped.
    t.type("kill -9 %1; while [[ $(jobs) == *Stopped* ]]; do sleep 0.1; done; wait; echo n$((40 + 2))d\n")
    t.expect("n42d")
    t.expect("inner> ")
    t.type("exit 4\n")
    t.expect(READY)
    assert "<4>" in t.line("echo \"<$?>\"")


@on_terminal
def a_signal_sent_to_cordon_stops_and_continues_the_command(t):
    # Not a sh: stopped between vfork and exec, it would not look stopped.
    t.line(f"{t.run} bash -c 'while :; do echo x >>ticks; sleep 0.05; done' &")
    t.line("until [ -s ticks ]; do sleep 0.05; done; kill -TSTP %1")
    t.line("until [[ $(jobs) == *Stopped* ]]; do sleep 0.1; done; sleep 0.3; wc -c <ticks >a; sleep 0.3; wc -c <ticks >b")
    assert "same" in t.line("cmp a b && echo sa''me")
    t.line("kill -CONT %1; for i in {1..300}; do sleep 0.1; wc -c <ticks >c; cmp -s b c || break; done")
    assert "grew" in t.line("cmp -s b c || echo gr''ew")
    t.line("kill %1; wait; true")


@on_terminal
def the_terminals_own_name_leads_to_it(t):
    assert "by-name" in t.line(f"{t.run} sh -c 'echo by-name >/dev/tty'")


@case
def without_a_terminal_nothing_is_missing(world: World):
    for backend in BACKENDS:
        done = subprocess.run(
            [PROGRAM, "-q", "run", "--backend", backend, "--", "sh", "-c", "echo fine; exit 2"],
            cwd=world.repo, env=world.env, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=SECONDS, start_new_session=True, check=False)
        assert (done.returncode, done.stdout) == (2, b"fine\n"), done


if __name__ == "__main__":
    sys.exit(run_cases())
