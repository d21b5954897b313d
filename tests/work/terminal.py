#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""On a terminal everything behaves as without Cordon: keys, job control, size, editors.

Each session is held twice, word for word: without Cordon and with it.
"""

import os
import signal

from work import SECONDS, case, run_cases

CTRL_C, CTRL_D, CTRL_Z, QUIT, ESCAPE = "\x03", "\x04", "\x1a", "\x1c", "\x1b"


@case
def ctrl_c_reaches_the_command(w):
    with w.open_terminal("/bin/sh", "-c", "trap 'echo caught; exit 7' INT; echo ready; while :; do sleep 0.05; done") as t:
        t.expect("ready")
        t.send(CTRL_C)
        t.expect("caught")
        assert t.wait() == 7


@case
def ctrl_c_is_seen_once(w):
    with w.open_terminal("/bin/sh", "-c", "n=0; trap 'n=$((n+1)); echo n=$n' INT; echo ready; "
                         "i=0; while [ $i -lt 12 ]; do sleep 0.05; [ $n = 0 ] || i=$((i+1)); done; echo total=$n") as t:
        t.expect("ready")
        t.send(CTRL_C)
        t.expect("total=1")
        t.wait()


@case
def ctrl_c_ends_a_command_of_a_shell(w):
    w.need("bash")
    with w.open_shell() as t:
        t.send(w.typed("/bin/sh", "-c", "echo ready; exec sleep 20"))
        t.expect("\nready")
        t.send(CTRL_C)
        t.expect("prompt> ")
        t.send("echo status=$?\n")
        t.expect("status=130")


@case
def ctrl_backslash_quits(w):
    w.need("bash")
    with w.open_shell() as t:
        t.send("ulimit -c 0\n")
        t.expect("prompt> ")
        t.send(w.typed("/bin/sh", "-c", "echo ready; exec sleep 20"))
        t.expect("\nready")
        t.send(QUIT)
        t.expect("prompt> ")
        t.send("echo status=$?\n")
        t.expect("status=131")


@case
def ctrl_z_stops_the_run_and_fg_goes_on(w):
    w.need("bash")
    with w.open_shell() as t:
        t.send(w.typed("/bin/sh", "-c", "echo ready; exec cat"))
        t.expect("\nready")
        t.send("one\n")
        t.expect("one\r\n(?s:.*)one\r\n")
        t.send(CTRL_Z)
        t.expect(r"\[1\]\+ +Stopped")
        t.expect("prompt> ")
        t.send("echo status=$?\n")
        t.expect("status=148")
        t.start_job("fg\n")
        t.expect("fg\r\n.*cat'\r\n")
        t.send("two\n")
        t.expect("two\r\n(?s:.*)two\r\n")
        t.send(CTRL_D)
        t.expect("prompt> ")
        t.send("echo status=$?\n")
        t.expect("status=0")


# Not a shell that sleeps: stopped between vfork and exec, it would not look stopped. And no
# pause(), which does not hear what came just before it.
PATIENT = """import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
print("ready", flush=True)
signal.sigwait({signal.SIGTERM})
print("asked", flush=True)
sys.exit(5)
"""


@case
def ctrl_z_twice_and_a_kill_in_between(w):
    w.need("bash")
    w.write_all({"patient.py": PATIENT})
    with w.open_shell() as t:
        t.send(w.typed(w.python(), "patient.py"))
        t.expect("\nready")
        for _ in range(2):
            t.send(CTRL_Z)
            t.expect(r"\[1\]\+ +Stopped")
            t.expect("prompt> ")
            t.start_job("fg\n")
            t.expect("fg\r\n.*patient.py\r\n")
        t.send(CTRL_Z)
        t.expect(r"\[1\]\+ +Stopped")
        t.expect("prompt> ")
        # Not %1: bash would let that go on at once, and it may have ended before `fg`.
        t.send("kill $(jobs -p); fg; echo status=$?\n")
        t.expect("asked")
        t.expect("status=5")


# A shell sends the signal first and then lets the job go on. The first that is waited
# for is the one with the lower number, if both are there.
LISTENER = """import signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGCONT})
print("ready", flush=True)
print("first", signal.sigwait({signal.SIGTERM, signal.SIGCONT}).name, flush=True)
"""


@case
def what_was_sent_to_a_stopped_job_is_there_when_it_goes_on(w):
    w.need("bash")
    w.write_all({"listener.py": LISTENER})
    with w.open_shell() as t:
        t.send(w.typed(w.python(), "listener.py"))
        t.expect("\nready")
        t.send(CTRL_Z)
        t.expect(r"\[1\]\+ +Stopped")
        t.expect("prompt> ")
        t.send("kill %1; fg; echo status=$?\n")
        t.expect("first SIGTERM")
        t.expect("prompt> ")


@case
def in_the_background_a_reader_is_stopped(w):
    w.need("bash")
    with w.open_shell() as t:
        t.send(w.typed("cat").rstrip() + " &\n")
        t.expect(r"\[1\] \d+")
        t.expect("prompt> ")
        t.send("until [[ $(jobs) == *Stopped* ]]; do sleep 0.1; done; jobs; echo listed\n")
        t.expect(r"\[1\]\+ +Stopped")
        t.expect("\nlisted\r\nprompt> ")
        t.start_job("fg\n")
        t.expect("fg\r\n.*cat\r\n")
        t.send("now\n")
        t.expect("now\r\n(?s:.*)now\r\n")
        t.send(CTRL_D)
        t.expect("prompt> ")
        t.send("echo status=$?\n")
        t.expect("status=0")


@case
def in_the_background_a_command_runs_to_its_end(w):
    w.need("bash")
    with w.open_shell() as t:
        t.send(w.typed("/bin/sh", "-c", "sleep 0.2; echo from behind; exit 4").rstrip() + " &\n")
        t.expect("from behind\r\n")
        t.send("wait %1; echo status=$?\n")
        t.expect("status=4")


@case
def a_shell_inside_has_job_control(w):
    w.need("bash")
    with w.open_terminal("bash", "--norc", "--noprofile", "-i") as t:
        t.expect("prompt> ")
        assert "job control" not in t.seen and "cannot set" not in t.seen, t.seen
        t.start_job("sleep 20\n")
        t.expect("sleep 20\r\n")
        t.send(CTRL_Z)
        t.expect(r"\[1\]\+ +Stopped +sleep 20")
        t.expect("prompt> ")
        t.start_job("fg\n")
        t.expect("fg\r\nsleep 20\r\n")
        t.send(CTRL_C)
        t.expect("prompt> ")
        t.send("echo status=$?\n")
        t.expect("status=130")
        t.send("sleep 0.1 & wait; echo waited=$?\n")
        t.expect("waited=0")
        t.send("exit 3\n")
        assert t.wait() == 3


@case
def the_size_of_the_window_is_seen_and_followed(w):
    w.need("stty")
    script = "trap 'stty size; exit 0' WINCH; stty size; echo ready; while :; do sleep 0.05; done"
    with w.open_terminal("/bin/sh", "-c", script, rows=33, columns=101) as t:
        t.expect("33 101")
        t.expect("ready")
        t.resize(44, 122)
        t.expect("44 122")
        assert t.wait() == 0


@case
def dev_tty_is_the_terminal(w):
    """Asked and answered there while stdin and stdout are files."""
    w.write_all({"in": "", "run": 'echo question >/dev/tty; read x </dev/tty; echo "got $x"\n'})
    command = w.typed("/bin/sh", "run").rstrip() + " <in >out"
    with w.open_terminal("/bin/sh", "-c", command, is_plain=True) as t:
        t.expect("question")
        t.send("answer\n")
        assert t.wait() == 0
    return (w.workspace / "out").read_text()


@case
def the_terminal_has_a_name_and_settings(w):
    script = ("import os, sys, termios; print([os.isatty(i) for i in range(3)], os.path.exists(os.ttyname(0)),"
              " os.tcgetpgrp(0) == os.getpgrp());"
              " a = termios.tcgetattr(0); a[3] &= ~termios.ECHO; termios.tcsetattr(0, termios.TCSADRAIN, a);"
              " open(os.ttyname(0), 'w').write('by name\\n'); print('end of it')")
    with w.open_terminal(w.python(), "-c", script) as t:
        found = t.expect(r"(\[True.*)\r\nby name\r\nend of it")
        assert t.wait() == 0
        return found[1]


@case
def vim_edits_a_file(w):
    w.need("vim")
    w.write_all({"note": "first\n"})
    with w.open_terminal("vim", "-u", "NONE", "-N", "-n", "note") as t:
        t.expect("first")
        t.send("osecond" + ESCAPE)
        t.expect("second")
        t.send(":w\r")
        t.expect("written")
        t.send(":!echo from a shell\r")
        t.expect("\nfrom a shell")
        t.send("\r:q\r")
        assert t.wait() == 0
    return (w.workspace / "note").read_text()


@case
def less_shows_pages(w):
    w.need("less")
    w.write_all({"long": "".join(f"line {i:03}\n" for i in range(200))})
    with w.open_terminal("less", "long", rows=24) as t:
        t.expect("line 022")
        t.send(" ")
        t.expect("line 045")
        t.send("/line 150\r")
        t.expect("line 150")
        t.send("q")
        assert t.wait() == 0


@case
def less_reads_keys_while_it_reads_a_pipe(w):
    """It reads the keys from /dev/tty."""
    w.need("less")
    command = "seq 1000 | " + w.typed("less").rstrip()
    with w.open_terminal("/bin/sh", "-c", command, is_plain=True) as t:
        t.expect("\n?23\r\n")
        t.send("q")
        assert t.wait() == 0


@case
def tmux_has_a_session(w):
    w.need("tmux")
    w.env["TMUX_TMPDIR"] = str(w.tmp)
    w.env["SHELL"] = "/bin/sh"  # not that of one who may not log in
    inner = "echo in-tmux; read x; echo \"$x\" >said"
    with w.open_terminal("tmux", "-L", "work", "-f", "/dev/null", "new-session", inner) as t:
        t.expect("in-tmux")
        t.send("hello\r")
        t.expect("exited")
        assert t.wait() == 0
    return (w.workspace / "said").read_text()


@case
def a_terminal_made_inside_works(w):
    script = ("import os, pty, sys\n"
              "pty.spawn(['/bin/sh', '-c', 'tty >/dev/null && echo is a terminal'])\n")
    return w.run(w.python(), "-c", script).text


@case
def a_terminal_that_goes_away_ends_the_run(w):
    with w.open_terminal("/bin/sh", "-c", "echo ready; exec sleep 20") as t:
        t.expect("ready")
        t.hang_up()
        assert t.process.wait(SECONDS) in (-signal.SIGHUP, 128 + signal.SIGHUP)


@case
def the_terminal_is_left_as_it_was(w):
    """Settings and the foreground are the shell's again, whatever ended the run."""
    w.need("bash", "stty")
    with w.open_shell() as t:
        t.send(w.typed("/bin/sh", "-c", "kill -9 $$"))
        t.expect(r"kill -9 .*\r\n(Killed.*\r\n)?prompt> ")
        t.send("stty -a | tr ';' '\\n' | grep -c 'isig'; echo status=$?\n")
        t.expect("\n1\r\nstatus=0")
        t.expect("prompt> ")
        t.start_job("sleep 20\n")
        t.expect("sleep 20\r\n")
        t.send(CTRL_C)
        t.expect("prompt> ")


@case
def output_of_both_streams_keeps_its_order(w):
    with w.open_terminal("/bin/sh", "-c", "for i in 1 2 3 4 5; do echo out$i; echo err$i >&2; done") as t:
        assert t.wait() == 0
        return os.linesep.join(t.read.decode().split())


if __name__ == "__main__":
    run_cases()
