#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`cordon escalate`: a command in a sandbox has another one run outside of it (P18, docs/approvals.md)."""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from cli import PROGRAM, World, case, run, run_cases, wait_for
from decider import ask
from outside import ALLOW, DENY, FULL, WORK, audited, escalate, git, has_commit, out_of_reach, repository_with_remote, rule, touch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import schema  # noqa: E402


@case
def a_push_reaches_the_remote_by_a_rule_alone(w: World):
    bare = repository_with_remote(w)
    push = ["git", "push", "-q", "origin", "main"]
    assert run(w, *WORK, "--", *push).status != 0 and not has_commit(bare)
    result = run(w, *WORK, "--", *escalate(*push))
    assert result.status == 1 and "[[exec]]" in result.err and not has_commit(bare), result
    w.write_config(rule(push, profile="push")
                   + f'[permissions.push]\nextends = ":workspace"\ngit = "write"\n[permissions.push.filesystem]\n"{bare}" = "write"\n')
    more = [*push[:2], f"--receive-pack=touch {w.top}/pwned; git-receive-pack", *push[2:]]
    assert run(w, *WORK, "--", *escalate(*more)).status == 1 and not has_commit(bare)
    result = run(w, *WORK, "--report", str(w.top / "report"), "--", *escalate(*push))
    assert result.status == 0 and has_commit(bare) and not (w.top / "pwned").exists(), result
    report = json.loads((w.top / "report").read_text())
    schema.check(report)
    [one] = report["escalations"]
    assert (one["decision"], one["by"], one["profile"], one["status"]) == ("allow", "rule", "push", 0), one


@case
def a_push_is_asked_about_and_a_deny_is_told_as_json(w: World):
    bare = repository_with_remote(w)
    push = ["git", "push", "-q", "origin", "main"]
    result, _ = ask(w, DENY, *WORK, "-q", "--", *escalate(*push, options=["--json"]))
    told = result.json
    assert result.status == 1 and not has_commit(bare), result
    assert (told["granted"], told["by"], told["message"]) == (False, "fd", DENY["message"]), told
    w.write_config(rule(push, "ask"))
    result, decider = ask(w, ALLOW, *WORK, "-q", "--", *escalate(*push))
    assert result.status == 0 and has_commit(bare) and decider.requests[0]["argv"] == push, result


@case
def a_person_decides_where_no_rule_does(w: World):
    out = out_of_reach(w)
    result, decider = ask(w, DENY, *WORK, "--", *escalate(*touch(out / "a"), options=["--reason", "for fun"]))
    assert result.status == 1 and DENY["message"] in result.err and not (out / "a").exists(), result
    [one] = decider.requests
    assert (one["kind"], one["argv"], one["cwd"], one["reason"]) == ("escalate", touch(out / "a"), str(w.repo), "for fun"), one
    assert one["offers"][0]["grant"] == {"kind": "escalate"} and one["subject"] == os.path.realpath("/usr/bin/touch"), one
    assert not {"session", "always"} & set(one["offers"][0]["scopes"]), one
    result, decider = ask(w, ALLOW, *WORK, "--", "sh", "-c", shlex.join(escalate(*touch(out / "a"))) + "; "
                          + shlex.join(escalate(*touch(out / "b"))))
    assert result.status == 0 and {p.name for p in out.iterdir()} == {"a", "b"} and len(decider.requests) == 2, result
    assert [x["by"] for x in audited(w)][-2:] == ["fd", "fd"], audited(w)


@case
def a_rule_that_asks_needs_somebody_and_one_that_denies_wins(w: World):
    out = out_of_reach(w)
    w.write_config(rule(["touch", "..."], "ask") + rule(touch(out / "no"), "deny"))
    assert run(w, *WORK, "--", *escalate(*touch(out / "a"))).status == 1
    result, decider = ask(w, ALLOW, *WORK, "--", *escalate(*touch(out / "a")))
    assert result.status == 0 and (out / "a").exists() and decider.requests[0]["rule"]["line"], result
    result, decider = ask(w, ALLOW, *WORK, "--", *escalate(*touch(out / "no")))
    assert result.status == 1 and not decider.requests and not (out / "no").exists(), result


@case
def it_gets_the_streams_the_directory_and_the_status(w: World):
    script = "cat; pwd; echo err >&2; exit 7"
    w.write_config(rule(["sh", "-c", script]))
    result = run(w, *WORK, "--", "sh", "-c", f"echo in | {shlex.join(escalate('sh', '-c', script))} 2>&1 | cat; true")
    assert result.out.split() == ["in", str(w.repo), "err"], result
    result = run(w, *WORK, "-q", "--", *escalate("sh", "-c", script))
    assert result.status == 7, result
    # The directory is the host's, not the one that the sandbox shows.
    w.write_config(rule(["touch", "made"]))
    assert run(w, "--mode", "read-only", "-q", "--", "touch", "made").status != 0
    result = run(w, "--mode", "read-only", "-q", "--", *escalate("touch", "made"))
    assert result.status == 0 and (w.repo / "made").exists(), result
    w.write_config(rule(["sh", "-c", "kill -TERM $$"]))
    assert run(w, *WORK, "-q", "--", *escalate("sh", "-c", "kill -TERM $$")).status == 128 + signal.SIGTERM


@case
def its_environment_is_that_of_the_run_and_not_the_callers(w: World):
    script = "echo ${EVIL-none} ${LD_PRELOAD-none} ${GIT_SSH_COMMAND-none} ${KEPT-none}; case $PATH in *repo*) echo bad;; esac"
    w.write_config(rule(["sh", "-c", script]))
    (w.repo / "bin").mkdir()
    (w.repo / "bin/sh").write_text("#!/bin/sh\necho hijacked\n")
    (w.repo / "bin/sh").chmod(0o755)
    command = ["env", "EVIL=1", "LD_PRELOAD=/x.so", "GIT_SSH_COMMAND=x", f"PATH={w.repo}/bin:/usr/bin:/bin",
               "/bin/sh", "-c", f"unset LD_PRELOAD; LD_PRELOAD= exec {shlex.join(escalate('sh', '-c', script))}"]
    result = run(w, *WORK, "-q", "--env", "KEPT=kept", "--env", f"PATH={w.repo}/bin:/usr/bin:/bin", "--", *command)
    assert result.out == "none none none kept\n", result


@case
def a_program_that_the_command_may_change_is_not_run(w: World):
    out = out_of_reach(w)
    tool, link = w.repo / "tool", w.repo / "link"
    tool.write_text(f"#!/bin/sh\ntouch {out}/pwned\n")
    tool.chmod(0o755)
    link.symlink_to("/usr/bin/touch")
    w.write_config("".join(rule([str(p), "x"]) for p in (tool, link)) + rule(["tool"]))
    for words in ([str(tool), "x"], [str(link), "x"], ["./tool"], ["tool"]):
        result = run(w, *WORK, "-q", "--env", f"PATH={w.repo}:/usr/bin", "--", *escalate(*words))
        assert result.status == 1, (words, result)
    script = out / "script"
    script.write_text(f"#!{w.repo}/tool\n")
    script.chmod(0o755)
    w.write_config(rule([str(script)]))
    assert run(w, *WORK, "-q", "--", *escalate(str(script))).status == 1
    assert not (out / "pwned").exists()


@case
def a_directory_that_the_command_may_write_is_no_place_for_it(w: World):
    w.write_config(rule(["pwd"]) + rule(["pwd"], cwd="/") + rule(["pwd"], cwd=str(w.repo / "sub")))
    (w.repo / "sub").mkdir()
    (w.top / "link").symlink_to(w.repo)
    here = shlex.join(escalate("pwd"))
    for place, status in ((".", 0), ("/", 0), ("sub", 1), (str(w.top), 1), (str(w.top / "link"), 0)):
        result = run(w, *WORK, "-q", "--", "sh", "-c", f"cd {place} && exec {here}")
        assert result.status == status, (place, result)
    # A directory under the name of the workspace that is another one, and one that is gone.
    result = run(w, *WORK, "-q", "--", "sh", "-c", f"mkdir gone && cd gone && rmdir ../gone && exec {here}")
    assert result.status == 1, result


@case
def a_directory_that_the_command_has_closed_is_no_place_for_it(w: World):
    w.write_config(rule(["pwd"], cwd=str(w.repo / "sub")) + rule(["tool"]))
    (w.repo / "sub").mkdir()
    plant = f"printf '#!/bin/sh\necho ran\n' >sub/tool; chmod 755 sub/tool; chmod 555 sub ."
    for words in ("pwd",), ("tool",):
        result = run(w, *WORK, "-q", "--env", f"PATH={w.repo}/sub:/usr/bin:/bin", "--", "sh", "-c",
                     f"{plant}; cd sub; {shlex.join(escalate(*words))}")
        for path in (w.repo, w.repo / "sub"):
            path.chmod(0o755)
        assert result.status == 1 and "ran" not in result.out, (words, result)


@case
def a_repository_that_the_command_makes_runs_nothing(w: World):
    push = ["git", "fetch", "-q", "origin"]
    w.write_config(rule(push))
    plant = (f"mkdir -p {{0}}/objects {{0}}/refs; echo 'ref: refs/heads/main' >{{0}}/HEAD; "
             f"printf '[core]\\n\\tsshCommand = \"touch {w.top}/pwned; false\"\\n[remote \"origin\"]\\n\\turl = ssh://x/y\\n' >{{0}}/config; ")
    for place in (".", "sub", "sub/.git"):
        result = run(w, *WORK, "-q", "--", "sh", "-c", plant.format(place) + f"cd {place.split('/')[0]}; "
                     + shlex.join(escalate(*push)))
        assert result.status != 0 and not (w.top / "pwned").exists(), (place, result)
    # What would have run without all that:
    subprocess.run(["sh", "-c", f"cd {w.repo}/sub && " + shlex.join(push)], check=False, capture_output=True)
    assert (w.top / "pwned").exists()


@case
def where_the_command_may_write_hooks_nothing_is_run(w: World):
    git("init", "-q", cwd=w.repo)
    w.write_config('[permissions.open]\nextends = ":workspace"\ngit = "write"\n' + rule(["pwd"]))
    assert run(w, "-q", "-P", "open", "--", *escalate("pwd")).status == 1
    assert run(w, "-q", *WORK, "--", *escalate("pwd")).status == 0


# Passes a descriptor as standard input: what it is, is argv[1].
STREAM = """
import os, socket, subprocess, sys
kind = sys.argv[1]
if kind == "directory": fd = os.open("/", os.O_RDONLY)
elif kind == "path": fd = os.open("/etc/passwd", os.O_PATH)
elif kind == "listener":
    s = socket.socket(socket.AF_UNIX); s.bind("listener"); s.listen(); fd = s.fileno()
elif kind == "datagram": fd = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].detach()
elif kind == "inet": s = socket.socket(); fd = s.fileno()
elif kind == "pidfd": fd = os.pidfd_open(os.getpid())
elif kind == "memory": fd = os.open("/proc/self/mem", os.O_RDWR)
elif kind == "maps": fd = os.open("/proc/self/uid_map", os.O_RDONLY)
elif kind == "epoll": import select; fd = select.epoll().fileno()
elif kind == "file": fd = os.open("/etc/passwd", os.O_RDONLY)
elif kind == "own": fd = os.open("own", os.O_RDWR | os.O_CREAT)
elif kind == "pipe": fd = os.pipe()[0]
elif kind == "stream": fd = socket.socketpair()[0].detach()
elif kind == "closed": fd = None
def close(): os.close(0)
done = subprocess.run(sys.argv[2:], stdin=fd, preexec_fn=close if fd is None else None)
sys.exit(done.returncode)
"""


@case
def only_streams_are_passed_out(w: World):
    w.write_config(rule(["true"]))
    for kind, status in (("directory", 1), ("path", 1), ("listener", 1), ("datagram", 1), ("inet", 1), ("pidfd", 1), ("memory", 1),
                         ("maps", 1), ("epoll", 1), ("closed", 0), ("file", 0), ("own", 0), ("pipe", 0), ("stream", 0)):
        result = run(w, *WORK, "-q", "--", sys.executable, "-c", STREAM, kind, *escalate("true"))
        assert result.status == status, (kind, result)


@case
def a_file_that_may_only_be_read_is_not_written_through_a_stream(w: World):
    target = w.top / "target"
    target.write_text("before\n")
    script = "echo evil >>/dev/stdin"
    w.write_config(rule(["sh", "-c", script]))
    run(w, *WORK, "-q", "--", "sh", "-c", f"{shlex.join(escalate('sh', '-c', script))} <{target}")
    assert target.read_text() == "before\n"
    subprocess.run(["sh", "-c", f"exec <{target}; {script}"], check=True)
    assert target.read_text() != "before\n"


@case
def it_ends_with_its_client_and_with_the_run(w: World):
    out = out_of_reach(w)
    script = f"echo $$ >{out}/pid; (setsid sleep 1000 & echo $! >{out}/child; wait)"
    w.write_config(rule(["sh", "-c", script]))
    command = shlex.join(escalate("sh", "-c", script))

    def alive(name):
        path = out / name
        try:
            return Path(f"/proc/{path.read_text().strip()}/stat").read_text().split()[2] != "Z"
        except (OSError, ValueError, IndexError):
            return False

    waits = f"{command} & while [ ! -s {out}/child ]; do sleep 0.1; done; "
    for end, kill in ((waits + "kill -9 $!; sleep 30", None), (waits + "sleep 30", signal.SIGTERM),
                      (waits + "sleep 30", signal.SIGKILL)):
        for name in ("pid", "child"):
            (out / name).unlink(missing_ok=True)
        process = subprocess.Popen([PROGRAM, "run", "-q", *WORK, "--", "sh", "-c", end], cwd=w.repo, env=w.env,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        assert wait_for(lambda: alive("child")), "it does not run"
        if kill:
            process.send_signal(kill)
        assert wait_for(lambda: not alive("pid") and not alive("child")), end
        process.kill()
        process.wait()
        assert wait_for(lambda: not any(w.repo.iterdir())), "placeholders are left"


@case
def signals_are_passed_on(w: World):
    out = out_of_reach(w)
    script = f"trap 'echo got >{out}/got; exit 3' USR1; touch {out}/ready; while :; do sleep 0.1; done"
    w.write_config(rule(["sh", "-c", script]))
    result = run(w, *WORK, "-q", "--", "sh", "-c", f"{shlex.join(escalate('sh', '-c', script))} & while [ ! -e {out}/ready ]; do "
                 "sleep 0.1; done; kill -USR1 $!; wait $!")
    assert result.status == 3 and (out / "got").exists(), result


@case
def a_deny_of_the_command_line_is_not_lost(w: World):
    secret = w.top / "secret"
    secret.write_text("secret\n")
    w.write_config(rule(["cat", str(secret)], profile=":read-only") + rule(["cat", "..."], "ask"))
    assert run(w, *WORK, "-q", "--", *escalate("cat", str(secret))).status == 1  # the ask wins
    w.write_config(rule(["cat", str(secret)], profile=":read-only"))
    assert run(w, *WORK, "-q", "--", *escalate("cat", str(secret))).out == "secret\n"
    result = run(w, *WORK, "-q", "--deny", str(secret), "--", *escalate("cat", str(secret)))
    assert result.status != 0 and "secret\n" not in result.out, result


@case
def what_runs_outside_has_nothing_run_outside(w: World):
    out = out_of_reach(w)
    inner = shlex.join(escalate(*touch(out / "a")))
    w.write_config(rule(touch(out / "a")) + rule(["sh", "-c", inner], profile=":workspace"))
    assert run(w, *WORK, "-q", "--", *escalate("sh", "-c", inner)).status == 1 and not (out / "a").exists()


# Speaks the protocol by itself: each argument is a frame; prints the answers, or "ended".
CLIENT = """
import os, socket, struct, sys
for words in sys.argv[1:]:
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.environ["CORDON_SOCKET"])
    for text in words.split("|"):
        if text == "FD":
            socket.send_fds(s, [b"x"], [0])
            continue
        try:
            s.sendall(struct.pack("<I", len(text)) + text.encode())
        except BrokenPipeError:
            pass
    answers = []
    while True:
        try:
            head = s.recv(4, socket.MSG_WAITALL)
        except ConnectionResetError:
            head = b""
        if len(head) < 4:
            answers.append("ended")
            break
        answers.append(s.recv(struct.unpack("<I", head)[0], socket.MSG_WAITALL).decode().strip())
        if '"escalate"' not in answers[-1]:
            break
    print("\\t".join(answers))
"""


@case
def hostile_frames_run_nothing(w: World):
    w.write_config(rule(["true"]))
    good = '{"type": "escalate", "argv": ["true"]}'
    frames = ['{"type": "escalate"}', '{"type": "escalate", "argv": []}', '{"type": "escalate", "argv": [1]}',
              '{"type": "escalate", "argv": [""]}', '{"type": "escalate", "argv": ["a\\u0000b"]}',
              '{"type": "escalate", "argv": ["true"], "env": {"A": "b"}}', '{"type": "escalate", "argv": ["true"], "cwd": "/"}',
              '{"type": "escalate", "argv": ["true"], "argv": ["false"]}', '{"type": "signal", "signal": 9}',
              '{"type": "escalate", "argv": ["true"], "fds": [0, 1, 2]}', '{"type": "signal"}', "FD|" + good,
              '{"type": "escalate", "argv": ["true"], "optional": 1}']
    result = run(w, *WORK, "-q", "--", sys.executable, "-c", CLIENT, *frames)
    assert result.out.splitlines() == ["ended"] * len(frames), result
    result = run(w, *WORK, "-q", "--", sys.executable, "-c", CLIENT, good[:-1] + ', "run": "0123456789abcdef"}',
                 good[:-1] + ', "file": "/usr/bin/id"}', good, good + "|" + good)
    lines = [[json.loads(part) if part != "ended" else part for part in line.split("\t")] for line in result.out.splitlines()]
    assert lines[0][0]["type"] == "error" and lines[1][0]["action"] == "deny", lines
    assert [x["type"] for x in lines[2]] == ["action", "exit"] and lines[2][1]["status"] == 0, lines
    # While the first runs, only signals may come: a replayed frame ends both.
    assert lines[3][-1] == "ended" or lines[3][-1]["type"] == "exit", lines


@case
def too_many_are_denied_and_the_rest_goes_on(w: World):
    w.write_config(rule(["sleep", "2"]))
    one = shlex.join(escalate("sleep", "2"))
    result = run(w, *WORK, "-q", "--", "sh", "-c", f"for i in 1 2 3 4 5 6 7 8 9 10 11 12; do ({one} 2>/dev/null; echo $?) & done; wait")
    answers = result.out.split()
    assert answers.count("0") == 8 and answers.count("1") == 4, result


@case
def a_wrapper_runs_what_nobody_speaks_of_inside(w: World):
    out = out_of_reach(w)
    wrapper = w.top / "cordon-execve-wrapper"
    wrapper.symlink_to(PROGRAM)
    w.write_config(rule(touch(out / "a")) + rule(["id"], "deny"))

    def wrapped(*words, file=None):
        return run(w, *WORK, "-q", "--", str(wrapper), file or f"/usr/bin/{words[0]}", *words)

    assert wrapped(*touch(out / "a")).status == 0 and (out / "a").exists()
    result = wrapped(*touch(out / "b"))
    assert result.status == 1 and "Read-only" in result.err and not (out / "b").exists(), result
    result = wrapped("id")
    assert result.status == 1 and result.err.startswith("Execution denied"), result
    assert wrapped("printenv", "CORDON_SOCKET").out == "/proc/cordon/ask\n"
    assert wrapped("gone", file="/gone").status == 127
    assert wrapped("other-name", str(out / "c"), file="/usr/bin/touch").status == 1 and not (out / "c").exists()


@case
def where_nobody_listens_it_says_so(w: World):
    assert w.cause("escalate", "true") == "nobody_asked"
    assert w.run("escalate", check=125).err


if __name__ == "__main__":
    run_cases()
