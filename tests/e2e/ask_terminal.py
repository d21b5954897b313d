#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""--ask tty on a real terminal: the question, its answer, and what the command can do about it.

The command has a terminal of its own, which Cordon relays. So it sees nothing of the answer, can't
write over the question, and what the terminal answers to its queries is no answer.
"""

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import termios
import time

from cli import PROGRAM, SECONDS, Skip, case, run_cases
from terminal import READY, Shell

ASKS = "cordon: may this be done\\?"
PROMPT = r"\x1b\[K> $"
SETTLE = 0.4  # a question counts what is typed 300 ms after it appeared


class AskingShell(Shell):
    def __init__(self, world, options="", rows=40, columns=120, **env):
        self.world = world
        self.out = world.top / "out"
        self.out.mkdir(exist_ok=True)
        self.run = f"{PROGRAM} -q run --mode workspace-write --ask tty {options} --"
        super().__init__(world, rows, columns, TERM="xterm", NO_COLOR="1", **env)

    def attributes(self):
        return termios.tcgetattr(self.fd)

    def gather(self, seconds):
        """All that is shown in that time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(max(0, end - time.monotonic()))
        shown, self.seen = self.seen, ""
        return shown

    def start(self, script):
        """A script of sh in the sandbox; it is in a file, so that nothing of it is echoed."""
        path = self.world.write("repo/script", script)
        self.type(f"{self.run} sh {path}\n")

    def asked(self):
        """Until a question can be answered; what it says."""
        return self.asked_after()[1]

    def asked_after(self):
        """Likewise, and what was shown before the question."""
        before = self.expect(ASKS)
        shown = self.expect(PROMPT)
        time.sleep(SETTLE)
        return before, shown

    def answer(self, text):
        self.type(text + "\r")


def on_terminal(function):
    def one(world):
        terminal = AskingShell(world)
        try:
            function(terminal)
        finally:
            terminal.close()

    one.__name__ = function.__name__
    case(one)
    return function


@on_terminal
def an_answer_lets_the_same_process_go_on(t):
    t.start(f"echo one >{t.out}/f; echo status:$?; echo two >{t.out}/g; echo status:$?")
    question = t.asked()
    assert f"{t.out}/f" in question and "built-in" in question and "script" in question, question
    t.answer("run")
    t.expect("allowed, until this command ends")
    shown = t.expect(READY)
    assert shown.count("status:0") == 2, shown
    assert (t.out / "f").read_text() == "one\n" and (t.out / "g").read_text() == "two\n"


@on_terminal
def once_is_asked_again_and_a_deny_is_an_errno(t):
    t.start(f"echo one >{t.out}/f; echo status:$?; (echo two >{t.out}/g) 2>&1; echo status:$?")
    t.asked()
    t.answer("once")
    t.expect("status:0")
    t.asked()
    t.answer("deny")
    shown = t.expect(READY)
    assert "status:0" not in shown and "status:" in shown, shown
    assert (t.out / "f").exists() and not (t.out / "g").exists()


@on_terminal
def control_c_denies_and_the_command_gets_nothing(t):
    t.start(f"trap 'echo caught' INT; echo one >{t.out}/f; echo status:$?; sleep 0.3; echo end")
    t.asked()
    t.type("\x03")
    shown = t.expect(READY)
    assert "denied" in shown and "end" in shown and "caught" not in shown, shown
    assert not (t.out / "f").exists()


@on_terminal
def what_was_typed_before_is_no_answer(t):
    t.start(f"echo go; sleep 1; echo one >{t.out}/f; echo status:$?; read x; echo got:$x")
    t.expect("go")
    time.sleep(0.3)
    t.type("run\rrun\r")
    t.expect(ASKS)
    t.expect(PROMPT)
    t.type("run\r")
    assert "allowed" not in t.gather(0.7) and not (t.out / "f").exists()
    t.answer("deny")
    shown = t.expect(READY)
    # It was typed to the command, which gets it.
    assert "denied" in shown and "got:run" in shown, shown


@on_terminal
def what_the_terminal_answers_to_a_query_is_no_answer(t):
    t.start(f"printf '\\033]11;?\\033\\\\\\033[c\\033[6n'; echo one >{t.out}/f; echo status:$?")
    t.asked()
    for reply in ("\x1b]11;rgb:0000/0000/0000\x1b\\", "\x1b[?1;2c", "\x1b]lrun\r", "\x1b[1;1R\r"):
        t.type(reply + "run\r")
        assert "allowed" not in t.gather(SETTLE) and not (t.out / "f").exists()
    t.answer("run")
    t.expect("status:0")
    t.expect(READY)


@on_terminal
def a_reader_inside_gets_nothing_of_the_answer(t):
    t.start(f"(exec 3</dev/tty; dd bs=1 count=3 <&3 >stolen 2>/dev/null) & "
            f"(exec cat <&0 >stolen2) & sleep 0.3; echo one >{t.out}/f; echo status:$?; sleep 0.5; kill %2")
    t.asked()
    t.answer("run")
    t.expect("status:0")
    t.type("abc\n")
    t.expect(READY)
    for name in ("stolen", "stolen2"):
        path = t.world.repo / name
        assert not path.exists() or "run" not in path.read_text(), path.read_text()


@on_terminal
def nothing_inside_can_paint_over_the_question(t):
    t.start(f"(while :; do printf '\\033[2J\\033[HFAKE '; done) & p=$!; sleep 0.3; "
            f"echo one >{t.out}/f; kill $p; echo status:$?")
    t.expect("FAKE")
    t.asked()
    shown = t.gather(1)
    assert "FAKE" not in shown, shown[:200]
    t.answer("run")
    assert "FAKE" in t.expect("status:0")
    t.expect(READY)


@on_terminal
def hostile_names_are_shown_as_what_they_are(t):
    name = "\\033[2Ja\\342\\200\\256b\\n> run"
    t.start(f"f=$(printf '{name}'); echo one >\"{t.out}/$f\"; echo status:$?")
    question = t.asked()
    assert "\\x1b[2Ja\\u{202e}b\\x0a> run" in question and "\u202e" not in question, question
    t.answer("deny")
    t.expect("status:")
    t.expect(READY)


@on_terminal
def what_a_full_screen_program_has_set_is_reset_and_comes_back(t):
    t.start(f"printf '\\033[?1049h\\033[?2004h\\033[5;9r'; trap 'stty size >>sizes' WINCH; "
            f"echo one >{t.out}/f; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.05; done; "
            f"printf '\\033[?1049l'; echo over")
    shown = t.expect(ASKS)
    assert "\x1b[?1049l" in shown and "\x1b[?2004l" in shown and "\x1b[r" in shown, shown
    t.expect(PROMPT)
    time.sleep(SETTLE)
    t.answer("run")
    shown = t.expect("over")
    assert re.search(r"allowed.*\x1b\[\?1049h.*\x1b\[5;9r.*\x1b\[\?2004h", shown, re.S), shown
    t.expect(READY)
    # It was told to paint again, and has the right size in the end.
    assert (t.world.repo / "sizes").read_text().split("\n")[-2] == "40 120"


@on_terminal
def what_could_hide_the_question_does_not_reach_the_terminal(t):
    t.start(r"printf 'one\033[5i\033[?38h\033[2h\033[1$}\033[8;2;10t\033]21;background=black\007"
            r"\033]8;;http://a\007two\033[1mthree'; "
            f"echo >{t.out}/f")
    shown = t.expect(ASKS)
    t.expect(PROMPT)
    time.sleep(SETTLE)
    assert "one\x1b]8;;http://a\x07two\x1b[1mthree" in shown, shown
    assert shown.index("\x1b]8;;\x1b\\") < shown.index("cordon: may"), shown
    t.answer("deny")
    t.expect(READY)


@on_terminal
def control_z_stops_it_and_fg_goes_on_with_the_question(t):
    t.start(f"echo go; read x; echo got:$x; echo one >{t.out}/f; echo status:$?")
    t.expect("go")
    time.sleep(0.3)
    t.type("\x1a")
    t.expect("Stopped")
    t.expect(READY)
    before = t.attributes()
    assert before[3] & termios.ECHO
    t.type("fg\n")
    time.sleep(0.5)
    assert not t.attributes()[3] & termios.ICANON
    t.type("hello\r")
    t.expect("got:hello")
    t.asked()
    t.answer("run")
    t.expect("status:0")
    t.expect(READY)
    assert t.attributes() == before


@on_terminal
def the_terminal_is_as_it_was_however_it_ends(t):
    before = t.attributes()
    for script, status in (("stty raw -echo; kill -9 $$", 137), ("exit 3", 3)):
        t.start(script)
        t.expect(READY)
        if status is not None:
            assert f"<{status}>" in t.line('echo "<$?>"')
        assert t.attributes() == before, script
    t.start("echo go; exec sleep 60")
    t.expect("go")
    children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(t.pid)], capture_output=True, check=True)
    os.kill(int(children.stdout.split()[0]), signal.SIGTERM)
    t.expect(READY)
    assert t.attributes() == before


@on_terminal
def in_the_background_and_without_a_terminal_it_is_refused(t):
    t.type(f"{t.run} true & wait\n")
    t.expect("foreground")
    t.expect(READY)
    done = subprocess.run([PROGRAM, "run", "--json", "--ask", "tty", "--", "true"], cwd=t.world.repo, env=t.world.env,
                          stdin=subprocess.DEVNULL, capture_output=True, start_new_session=True, timeout=SECONDS, check=False)
    assert done.returncode == 125 and b"no_terminal" in done.stdout + done.stderr, done


@on_terminal
def streams_that_are_no_terminal_stay_as_they_are(t):
    path = t.world.write("repo/script", f"cat >{t.out}/f; echo status:$?; test -t 0 || echo no; test -t 1 || echo no >&2")
    t.type(f"echo data | {t.run} sh {path} >log; cat log\n")
    t.asked()
    t.answer("run")
    shown = t.expect(READY)
    assert "status:0" in shown and len(re.findall(r"no\r*\n", shown)) == 2, shown
    assert (t.out / "f").read_text() == "data\n"


@on_terminal
def what_may_show_a_pipe_over_a_question_is_warned_of(t):
    run = t.run.replace(" -q ", " ")
    for target, name in (("| cat", "output"), ("2>&1 | cat", "output"), ("2> >(cat >&2)", "error")):
        shown = t.line(f"{run} true {target}")
        assert f"standard {name} is a pipe" in re.sub(r"\s+", " ", shown), shown
    for target in ("", ">log 2>log2; cat log log2", ">/dev/null"):
        assert "is a pipe" not in t.line(f"{run} true {target}")


@on_terminal
def a_pipeline_of_two_runs_shares_the_terminal(t):
    t.type(f"{t.run} sh -c 'echo go >/dev/tty; sleep 0.5; head -n 1' | {t.run} sed s/a/b/\n")
    t.expect(r"\ngo")
    time.sleep(0.7)
    t.type("tata\n")
    t.expect("tbta")
    t.expect(READY)


@on_terminal
def two_runs_of_a_pipeline_ask_one_after_the_other(t):
    for name in "ab":
        t.world.write(f"repo/{name}", f"echo {name} >{t.out}/{name}; echo {name}:$? >/dev/tty")
    t.type(f"{t.run} sh a | {t.run} sh b\n")
    shown = t.asked()
    first = "a" if f"{t.out}/a" in shown else "b"
    second = "b" if first == "a" else "a"
    shown += t.gather(1)
    assert f"{t.out}/{second}" not in shown and "(fg)" not in shown, shown
    t.answer("run")
    t.expect("allowed")
    before, shown = t.asked_after()  # the one that may go on writes before or after that
    assert f"{t.out}/{second}" in shown, shown
    t.answer("deny")
    shown += before + t.expect(READY)
    assert f"{first}:0" in shown and f"{second}:0" not in shown and f"{second}:" in shown, shown
    assert [path.name for path in t.out.iterdir()] == [first], shown


@on_terminal
def another_run_of_the_pipeline_does_not_write_over_the_question(t):
    """Nor when it ends meanwhile: what it has written is shown afterwards."""
    t.world.write("repo/a", f"until [ -e noisy ]; do sleep 0.05; done; echo a >{t.out}/a; echo a:$? >/dev/tty")
    t.world.write("repo/b", "i=0; while [ $i -lt 150 ]; do i=$((i+1)); echo noise$i; [ $i = 9 ] && touch noisy; "
                            "sleep 0.01; done; echo the last")
    t.type(f"{t.run} sh a | {t.run} sh b\n")
    t.expect("noise1")
    t.asked()
    assert "noise" not in t.gather(2.5)
    t.answer("run")
    shown = t.expect(READY)
    assert "a:0" in shown and "noise150" in shown and "the last" in shown, shown


@on_terminal
def the_size_of_the_window_is_passed_on(t):
    t.start("trap 'stty size; exit' WINCH; stty size; echo go; while :; do sleep 0.05; done")
    assert "40 120" in t.expect("go")
    t.resize(44, 88)
    t.expect("44 88")
    t.expect(READY)


@on_terminal
def who_types_through_the_question_answers_nothing(t):
    t.start(f"echo one >{t.out}/f; echo status:$?")
    t.expect(ASKS)
    t.expect(PROMPT)
    for _ in range(5):
        time.sleep(0.12)
        t.type("run\r")
    assert "allowed" not in t.gather(SETTLE) and not (t.out / "f").exists()
    t.answer("run")
    t.expect("status:0")
    t.expect(READY)


@on_terminal
def what_one_answer_ends_is_not_asked_one_by_one(t):
    for name in "abcdef":
        (t.out / name).mkdir()
    t.start(f"for d in a b c d e f; do echo >{t.out}/$d/new & done; wait; echo over")
    t.asked()
    t.answer("denyall")
    shown = t.expect("over")
    assert len(re.findall(ASKS, shown)) == 0 and not list(t.out.glob("*/new")), shown
    t.expect(READY)


@case
def a_terminal_that_hangs_up_in_the_midst_of_a_question(world):
    """Cordon finds out when it writes there that the time for an answer is over."""
    out = world.top / "out"
    for name in "ab":
        (out / name).mkdir(parents=True)
    script = world.write("repo/script", f"for d in a b; do echo >{out}/$d/new & done; wait; exit 3")
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(world.repo)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.execvpe(PROGRAM, [PROGRAM, "run", "--mode", "workspace-write", "--ask", "tty", "--ask-timeout", "1s",
                             "--", "sh", str(script)], {**world.env, "TERM": "xterm"})
    seen = b""
    while b"may this be done" not in seen:
        assert select.select([fd], [], [], SECONDS)[0], seen
        seen += os.read(fd, 65536)
    os.kill(pid, signal.SIGSTOP)
    time.sleep(1.5)
    os.close(fd)
    os.kill(pid, signal.SIGCONT)
    for _ in range(20 * SECONDS):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            break
        time.sleep(0.05)
    else:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise AssertionError("it did not end")
    assert os.WIFEXITED(status) or os.WTERMSIG(status) == signal.SIGHUP, status
    assert not list(out.glob("*/new"))


@case
def with_bwrap_as_well(world):
    if not shutil.which("bwrap"):
        raise Skip("no bwrap")
    t = AskingShell(world, "--backend bwrap")
    try:
        t.start(f"tty; echo one >{t.out}/f; echo status:$?")
        t.asked()
        t.answer("run")
        t.expect("status:0")
        t.expect(READY)
    finally:
        t.close()


@case
def vim_in_tmux_survives_the_question(world):
    """A full-screen program on a real terminal emulator: it asks, is answered, and vim paints again."""
    editor = shutil.which("vim") or shutil.which("vi")
    if not shutil.which("tmux") or not editor:
        raise Skip("no tmux, or no vim")
    out = world.top / "out"
    out.mkdir()
    socket = str(world.top / "tmux")
    env = {**world.env, "TERM": "xterm", "LC_ALL": "C.UTF-8", "SHELL": "/bin/sh"}

    def tmux(*words):
        return subprocess.run(["tmux", "-f", "/dev/null", "-S", socket, *words], env=env, cwd=world.repo,
                              capture_output=True, text=True, timeout=SECONDS, check=True).stdout

    def wait_for(text):
        for _ in range(400):
            shown = tmux("capture-pane", "-p")
            if text in shown:
                return shown
            time.sleep(0.1)
        raise AssertionError(f"no {text!r} in {shown!r}")

    world.write("repo/text", "\n".join(f"line {i} of the text" for i in range(60)) + "\n")
    tmux("new-session", "-d", "-x", "100", "-y", "40",
         f"{PROGRAM} run --mode workspace-write --ask tty -- {editor} -u NONE -n text; echo done:$?; sleep 60")
    try:
        wait_for("line 30 of the text")
        tmux("send-keys", f":w {out}/copy", "Enter")
        wait_for("may this be done?")
        time.sleep(SETTLE)
        tmux("send-keys", "run", "Enter")
        shown = wait_for("line 30 of the text")
        assert "may this be done?" not in shown, shown
        tmux("send-keys", ":q", "Enter")
        shown = wait_for("done:0")
        # The question stays on the main screen, as what was asked and answered.
        assert "allowed, until this command ends" in shown, shown
        assert (out / "copy").read_text().startswith("line 0 of the text\n")
    finally:
        tmux("kill-server")


if __name__ == "__main__":
    sys.exit(run_cases())
