#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What programs expect of the machine around them is there in a sandbox."""

import os
import shutil
import time

from work import case, run_cases

SERVER = """
import http.server, socket, sys, threading, urllib.request

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"served " + self.path.encode())
    def log_message(self, *_):
        pass

class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET

server = Server((sys.argv[1], 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
name = f"[{sys.argv[1]}]" if ":" in sys.argv[1] else sys.argv[1]
print(urllib.request.urlopen(f"http://{name}:{server.server_port}/x", timeout=5).read().decode())
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.bind(("127.0.0.1", 0))
u.sendto(b"datagram", u.getsockname())
print(u.recv(99).decode())
"""


@case
def the_sandbox_is_one(w):
    """Without this, all the others could pass for nothing."""
    outside = w.top / "home/outside"
    done = w.run("/bin/sh", "-c", 'echo "$CORDON_SANDBOX"; echo in >inside; echo out >"$1"', "sh", str(outside),
                 check=None, says=os.fsencode(outside))
    assert (w.workspace / "inside").read_text() == "in\n", done
    assert outside.exists() != w.is_boxed, done
    assert done.text.strip() == (w.backend or ""), done


@case(needs={"net_off"})
def a_server_is_reached_over_the_own_loopback(w):
    w.write_all({"server.py": SERVER})
    return w.run(w.python(), "server.py", "127.0.0.1").text + w.run(w.python(), "server.py", "::1").text


@case
def curl_reaches_a_server_in_the_background(w):
    w.need("curl")
    return w.shell(f"""
echo hello >page; : >log; "{w.python()}" -u -m http.server --bind 127.0.0.1 0 >log 2>&1 & server=$!
for i in $(seq 100); do port=$(sed -n 's/.*port \\([0-9]*\\).*/\\1/p' log); [ -n "$port" ] && break; sleep 0.05; done
curl -sS --noproxy '*' "http://localhost:$port/page"; kill $server
""").text


@case
def fifos_pass_data(w):
    return w.shell("mkfifo pipe; (echo through >pipe &) ; cat pipe; mkfifo -m 600 \"$TMPDIR/p\"; rm pipe \"$TMPDIR/p\"").text


@case
def dev_has_what_programs_open(w):
    w.shell("""
for f in null zero full random urandom tty ptmx; do [ -c /dev/$f ] || { echo "no /dev/$f"; exit 1; }; done
[ "$(head -c 8 /dev/urandom | wc -c)" = 8 ]; [ "$(head -c 4 /dev/zero | od -An -tx1)" = ' 00 00 00 00' ]
echo gone >/dev/null; ! echo x 2>/dev/null >/dev/full
echo through stdin | cat /dev/stdin >/dev/null; (echo x >/dev/stderr) 2>&1 | grep -q x; [ -d /dev/fd ]; [ -d /dev/pts ]
name=/dev/shm/cordon-work-$$; echo shared >$name; [ "$(cat $name)" = shared ]; rm $name
""")


@case
def shared_memory_has_names_and_locks(w):
    script = """
import ctypes, mmap, os, fcntl
fd = os.memfd_create("x"); os.write(fd, b"x" * 4096)
m = mmap.mmap(fd, 4096); m[0:2] = b"ok"; print(m[0:2])
a = mmap.mmap(-1, 1 << 20)
if os.fork() == 0:
    a[0:5] = b"child"; os._exit(0)
os.wait(); print(a[0:5])
with open("lock", "w") as f:
    fcntl.flock(f, fcntl.LOCK_EX); fcntl.lockf(f, fcntl.LOCK_EX); print("locked")
libc = ctypes.CDLL(None, use_errno=True)
i = libc.shmget(0, 4096, 0o1600); print(i >= 0); libc.shmctl(i, 0, None)
os.chmod("lock", 0o755); os.link("lock", "other"); os.rename("other", "third"); os.symlink("third", "fourth")
print(os.stat("fourth").st_nlink, oct(os.stat("third").st_mode))
"""
    return w.run(w.python(), "-c", script).text


@case(needs={"proc"})
def ps_shows_the_own_processes(w):
    w.need("ps")
    # The shell forks first: it takes a moment until that is sleep.
    out = w.shell("sleep 5 & while [ \"$(cat /proc/$!/comm)\" != sleep ]; do :; done; ps -e -o pid,comm; ps aux >/dev/null; ps -o ppid= -p $$; kill $!").text
    assert "sleep" in out and "ps" in out, out
    count = len(out.splitlines())
    # As many as a sandbox has: PID 1, the shell, sleep and ps.
    assert not w.is_boxed or count <= 7, out
    own = w.plain("sh", "-c", "ps -e | wc -l").text
    assert not w.is_boxed or int(own) > 4, own


@case
def proc_tells_about_oneself(w):
    return w.shell("readlink /proc/self/exe >/dev/null; [ -d /proc/self/fd ]; [ -r /proc/self/maps ]; cat /proc/self/comm;"
                   " [ -r /proc/meminfo ]; [ -r /proc/cpuinfo ]; [ -r /proc/sys/kernel/osrelease ];"
                   " nproc; uname -sm; id -u; id -g; hostname >/dev/null; umask").text


@case
def names_and_arguments_are_bytes(w):
    name = b"caf\xe9 \xff\n\x01'\"$(x)"
    w.run("/bin/sh", "-euc", 'cp -- "$1" "$2"; printf %s "$1" >said', "sh", *prepare_bytes(w, name))
    assert (w.workspace / "said").read_bytes() == name
    assert open(os.path.join(os.fsencode(w.workspace), name + b".copy"), "rb").read() == b"content"
    got = w.run("/usr/bin/env", "printenv", "BYTES", env={"BYTES": os.fsdecode(name)}).out
    assert got == name + b"\n", got


def prepare_bytes(w, name):
    with open(os.path.join(os.fsencode(w.workspace), name), "wb") as f:
        f.write(b"content")
    w.give(w.workspace)
    return name, name + b".copy"


@case
def a_directory_that_is_not_utf8_can_be_worked_in(w):
    directory = os.path.join(os.fsencode(w.workspace), b"d\xff\xe9")
    os.mkdir(directory)
    w.give(w.workspace)
    out = w.run("/bin/sh", "-c", "pwd; echo x >file", cwd=os.fsdecode(directory)).out
    assert out == directory + b"\n" and os.path.exists(directory + b"/file"), out


@case
def an_argument_may_have_100_kb(w):
    text = "x" * 100_000
    out = w.run("/bin/sh", "-c", 'printf %s "$1" | wc -c', "sh", text).text
    many = w.run("/bin/sh", "-c", 'echo $#', "sh", *(["word" * 20] * 10_000)).text
    large = w.run("/bin/sh", "-c", 'printf %s "$LARGE" | wc -c', env={"LARGE": text}).text
    assert (out.strip(), many.strip(), large.strip()) == ("100000", "10000", "100000"), (out, many, large)


@case
def empty_arguments_stay(w):
    return w.run("/bin/sh", "-c", 'echo $#; printf "<%s>" "$@"', "sh", "", "a b", "--", "-x", "").text


@case
def the_working_directory_may_have_spaces_and_newlines(w):
    directory = w.workspace / "my project\nwith 'all' of \"it\"; $HOME"
    directory.mkdir()
    w.give(w.workspace)
    out = w.run("/bin/sh", "-c", "pwd; echo x >file", cwd=directory).text
    assert (directory / "file").exists(), out
    return w.same_name(out)


@case
def a_workspace_behind_a_link_is_worked_in(w):
    link = w.top / "link"
    link.symlink_to(w.workspace)
    env = {"PWD": str(link)}
    out = w.run("/bin/sh", "-c", "pwd; pwd -P; echo x >file; echo y >\"$1/other\"", "sh", str(link), cwd=link, env=env).text
    assert (w.workspace / "file").exists() and (w.workspace / "other").exists(), out
    return w.same_name(out)


@case(below="/tmp", needs={"fs_carve", "protect_missing"})
def a_workspace_below_tmp_is_worked_in(w):
    w.write_all({"main.c": "int main(void) { return 0; }\n"})
    w.plain("git", "init", "-q")
    out = w.shell("mkdir -p d; echo x >d/file; mv d e; cat e/file; git status --porcelain; echo t >\"$TMPDIR/t\"; rm \"$TMPDIR/t\"").text
    assert (w.workspace / "e/file").exists()
    done = w.run("/bin/sh", "-c", "echo x >.git/hooks/post-checkout", check=None, says=b".git/hooks/post-checkout'")
    assert (done.status == 0) != w.is_boxed, done
    shutil.rmtree(w.workspace / ".git")
    return out


@case
def a_directory_below_the_root_is_the_whole_workspace(w):
    """`-C DIR` is where the command starts."""
    w.write_all({"deep/er/file": "x\n"})
    if not w.is_boxed:
        return w.run("/bin/sh", "-c", "pwd", cwd=w.workspace / "deep/er").text.replace(str(w.top), "TOP")
    return w.same_name(w.run("/bin/sh", "-c", "pwd", options=["-C", str(w.workspace / "deep/er")]).text)


@case
def a_sandbox_inside_a_sandbox_works_or_is_refused_by_name(w):
    if not w.is_boxed:
        w.run("true")
        return
    inner = [w.program, "run", *w.options, "--", "/bin/sh", "-c", "echo inner"]
    done = w.start([*w.prefix(), *inner], None, None, b"", None)
    if done.status == 0:
        assert done.text == "inner\n", done
        return
    assert done.status == 125 and done.text == "", done
    # By its cause, not only for want of something.
    assert "already runs in a Cordon sandbox" in done.err.decode(), done


@case
def large_data_goes_in_and_out(w):
    data = os.urandom(1 << 20) * 24
    assert w.run("cat", data=data).out == data
    return w.run("/bin/sh", "-c", "cat | wc -c; head -c 3000000 /dev/zero | tr '\\0' e >&2", data=data).text


@case
def a_reader_that_goes_away_ends_the_writer(w):
    command = " ".join(f"'{word}'" for word in (*w.prefix(), "seq", "1", "10000000"))
    return w.plain("/bin/bash", "-c", f"{command} | head -n 1; echo ${{PIPESTATUS[0]}}").text


@case(needs={"tree_death"})
def what_a_command_leaves_running_ends_with_it(w):
    """Unlike without a sandbox: nothing outlives the run."""
    marker = w.workspace / "late"
    out = w.shell("(sleep 1; echo late >late) >/dev/null 2>&1 & echo done")
    end = time.monotonic() + (1.3 if w.is_boxed else 30)
    while not marker.exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert marker.exists() != w.is_boxed
    marker.unlink(missing_ok=True)
    return out.text


@case
def status_and_signals_are_those_of_the_command(w):
    return [w.run("/bin/sh", "-c", script, check=None).status % 256 for script in
            ("exit 0", "exit 42", "exit 255")] + \
        [w.run("/bin/sh", "-c", "kill -9 $$", check=None).status in (-9, 137),
         w.run("/bin/sh", "-c", "kill $$", check=None).status in (-15, 143)]


@case
def the_environment_is_passed_on(w):
    # With the network off, trying again is in vain: what is set already stays.
    retries = {"npm_config_fetch_retries": "1", "PIP_RETRIES": "2", "CARGO_NET_RETRY": "3"}
    got = w.run("/usr/bin/env", "-0", env={"OWN": "a=b\nc", "EMPTY": "", **retries}).out.split(b"\0")
    marks = (b"CORDON_", b"CODEX_")
    return sorted(w.same_name(item.decode()) for item in got if not item.startswith(marks))


@case
def archives_keep_times_and_modes(w):
    w.need("tar")
    return w.shell("""
mkdir t; echo a >t/a; chmod 750 t/a; touch -d 2001-02-03T04:05:06Z t/a; ln -s a t/l; ln t/a t/h
tar cf x.tar t; rm -r t; tar xf x.tar; stat -c '%a %Y %h' t/a; readlink t/l; cp -a t u; stat -c '%a %Y' u/a
rsync --version >/dev/null 2>&1 && rsync -a t/ v/ || cp -a t v; ls v; find . -newermt 2000-01-01 -name a | sort
""").text


@case
def limits_and_priorities_can_be_lowered(w):
    return w.shell("ulimit -n; ulimit -c; nice -n 5 nice; (ulimit -n 50; ulimit -n); ulimit -s").text


if __name__ == "__main__":
    run_cases()
