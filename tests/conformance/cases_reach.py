# SPDX-License-Identifier: MIT
"""What a command could reach of others: processes, shared memory, sockets, the network."""

import errno
import os
import signal
import socket
import threading
import time

from conform import FORBIDDEN, HIDDEN, SECONDS, Skip, becomes_true, case, check, check_same, these_need

NOBODY = HIDDEN | {"ESRCH", "ENOSYS"}

# ---- Signals and tracing ------------------------------------------------------------------

these_need("proc")


@case
def host_processes_can_not_be_signalled_traced_or_opened(arena):
    box = arena.box()
    pid = arena.victim().pid
    attempts = [
        f"kill {pid} 0",
        f"kill {pid} 19",
        f"ptrace {pid}",
        f"mem {pid}",
        f"pidfd-open {pid}",
        f"pidfd-getfd {pid} 0",
        f"priority {pid}",
        f"prlimit {pid}",
        f"read /proc/{pid}/environ",
        f"read /proc/{pid}/cmdline",
        f"list /proc/{pid}/fd",
    ]
    got = box.run("ptrace-child", *attempts)
    check(got[0] == "OK", f"{got}")
    for attempt, one in zip(attempts, got[1:]):
        check(one in NOBODY, f"{one}: {attempt}")
    got = box.bare(f"kill {pid} 0", f"pidfd-open {pid}", f"pidfd-getfd {pid} 0", f"priority {pid}",
                   f"prlimit {pid}", f"list /proc/{pid}/fd", f"ptrace {pid}", f"mem {pid}")
    check(all(one.startswith("OK") for one in got), f"the control shows nothing: {got}")


@case
def signals_to_everybody_stay_inside(arena):
    for target in ("-1", "0", f"-{os.getpid()}"):
        box = arena.box()
        victim = arena.victim(process_group=0)
        argv = box.argv(f"kill {target} {int(signal.SIGKILL)}", "pid")
        # The same process group as the victim: a shell's job, say.
        box.finish(argv, status=None, process_group=victim.pid)
        time.sleep(0.02)
        check(victim.poll() is None, f"kill({target}) reached the caller's process group")
    if arena.uid != 0:
        # As root -1 would be everybody indeed.
        victim = arena.victim(process_group=0)
        box.finish([arena.probe, "kill", "0", "9"], status=None, process_group=victim.pid)
        check(victim.wait(SECONDS) == -9, "the control shows nothing")


@case
def who_holds_the_other_end_of_stdin_is_not_signalled(arena):
    """Programs give their children unix sockets as streams; the kernel tells whose they are."""
    box = arena.box()
    one, other = socket.socketpair()
    with one, other:
        got = box.run("peer-kill 0 0", "pair", stdin=other)
        check(got[0] not in ("OK", "EDOM") and got[1] == "OK", f"{got}")
        got = box.bare("peer-kill 0 0", stdin=other)
    if got[0] in ("ENOPROTOOPT", "ENODATA"):
        raise Skip(f"the control is {got[0]}")
    check(got == ["OK"], f"the control shows nothing: {got}")


@case
def priorities_of_the_users_other_processes_stay(arena):
    box = arena.box()
    victim = arena.victim()
    got = box.run("priority-user", "io-priority-user", "priority 0")
    check(got == ["EPERM", "EPERM", "OK"], f"{got}")
    check(os.getpriority(os.PRIO_PROCESS, victim.pid) == os.getpriority(os.PRIO_PROCESS, 0), f"{got}")
    # No control: it would make everything else of this user's slow.


@case
def pid_1_shows_nothing_and_can_not_be_touched(arena):
    box = arena.box()
    got = box.run("mem 1", "ptrace 1", "pidfd-getfd 1 0", "readlink /proc/1/fd/0", "readlink /proc/1/root",
                  "readlink /proc/1/cwd", "readlink /proc/1/exe", "read /proc/1/environ",
                  "read /proc/1/maps", "read /proc/1/auxv", "kill 1 0", "kill 1 9", "pid")
    for one in got[:6]:
        check(one in NOBODY, f"{got}")
    check(got[7] in NOBODY or got[7] == "OK", f"the environment of PID 1: {got[7]}")
    check(got[8] in NOBODY or got[8] == "OK", f"maps of PID 1: {got[8]}")
    check(got[12].startswith("OK"), f"PID 1 was killed: {got}")
    got = box.bare(f"list /proc/{os.getppid()}/fd") if arena.uid == 0 else ["OK"]
    check(got[0].startswith("OK"), "the control shows nothing")


# ---- Shared memory, queues, keys ---------------------------------------------------------

these_need("ipc")


@case
def ipc_objects_of_the_host_are_not_there(arena):
    box = arena.box()
    key = 0x0C0D0000 | (os.getpid() & 0xFFFF)
    made = box.bare(f"ipc-make {key}")[0]
    check(made.startswith("OK"), made)
    try:
        names = [f"shm {key}", f"msg {key}", f"sem {key}"]
        got = box.run(*names, f"shm-id {made.split()[1]}", "pid")
        check(set(got[:3]) <= {"ENOENT", "ENOSYS"} and got[4].startswith("OK"), f"{got}")
        check(got[3] in {"EINVAL", "EACCES", "EIDRM", "ENOSYS"}, f"{got}")
        got = box.bare(*names, f"shm-id {made.split()[1]}")
        check(got == ["OK"] * 4, f"the control shows nothing: {got}")
    finally:
        box.bare(f"ipc-remove {key}")


@case(needs=())
def ipc_objects_of_its_own_can_be_made(arena):
    key = 0x0C0E0000 | (os.getpid() & 0xFFFF)
    got = arena.box().run(*[f"{n}-new {key}" for n in ("shm", "msg", "sem")])
    check(got == ["OK"] * 3, f"{got}")


@case
def message_queues_of_the_host_are_not_there(arena):
    box = arena.box()
    name = f"/cordon-conf-{os.getpid()}"
    check(box.bare(f"mq-make {name}") == ["OK"], "control")
    try:
        got = box.run(f"mq {name}", f"mq-make {name}", f"mq {name}")
        # Queues of its own, or none at all.
        check(got in (["ENOENT", "OK", "OK"], ["ENOSYS"] * 3, ["EACCES"] * 3), f"{got}")
        check(box.bare(f"mq {name}") == ["OK"], "the control shows nothing")
    finally:
        box.bare(f"mq-remove {name}")


# ---- Unix sockets --------------------------------------------------------------------------

these_need("net_off")


class Server:
    """A unix socket of the host's; `got` is what it received."""

    def __init__(self, address, kind=socket.SOCK_STREAM):
        self.kind, self.got = kind, b""
        self.socket = socket.socket(socket.AF_UNIX, kind)
        self.socket.bind(address)
        if kind != socket.SOCK_DGRAM:
            self.socket.listen(8)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                if self.kind == socket.SOCK_DGRAM:
                    data = self.socket.recv(64)
                    if not data:
                        return
                    self.got += data
                else:
                    peer = self.socket.accept()[0]
                    self.got += b"connected"
                    peer.recv(64)
                    peer.close()
            except OSError:
                return

    def has_got(self):
        """Once its thread has had its turn."""
        return becomes_true(lambda: self.got)

    def close(self):
        # Else the thread might go on with whoever gets the number of the descriptor next.
        self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.socket.close()


@case
def unix_sockets_of_the_host_can_not_be_reached_by_path(arena):
    for place in ("{work}", "{tmp}", "{out}"):
        box = arena.box()
        path = str(box.path(f"{place}/host"))
        servers = [Server(f"{path}.s"), Server(f"{path}.q", socket.SOCK_SEQPACKET)]
        box.path("{work}/link").symlink_to(f"{path}.s")
        attempts = [f"unix-stream {path}.s", f"unix-seqpacket {path}.q", "unix-stream {work}/link",
                    f"unix-stream /proc/self/root{path}.s"]
        got = box.run("unix-self {tmp}/own", "unix-self-seqpacket {tmp}/own2", *attempts)
        check(got[:2] == ["OK", "OK"], f"its own sockets: {got}")
        check(set(got[2:]) <= FORBIDDEN | {"ECONNREFUSED", "ENOENT"}, f"{place}: {got}")
        check(not any(server.got for server in servers), "something arrived")
        check(box.bare(*attempts[:2]) == ["OK", "OK"], "the control shows nothing")
        for server in servers:
            server.close()


@case
def its_own_unix_sockets_are_reached_where_numbers_of_inodes_are_not_exact(arena):
    """On a tmpfs the socket itself has to be asked for its file; on ext4 it need not."""
    name = f"/dev/shm/cordon-conf-{os.getpid()}-{time.monotonic_ns()}"
    box = arena.box(options=("--mode", "workspace-write", "--add-write", "/dev/shm"))
    server = Server(f"{name}.host")
    try:
        got = box.run(f"unix-self {name}", f"unix-stream {name}.host")
        check(got[0] == "OK" and got[1] in FORBIDDEN | {"ECONNREFUSED"}, f"{got}")
        check(not server.got, "something arrived")
        check(box.bare(f"unix-stream {name}.host") == ["OK"], "the control shows nothing")
    finally:
        server.close()
        for path in (name, f"{name}.host"):
            if os.path.lexists(path):
                os.unlink(path)


@case
def unix_datagrams_do_not_reach_the_host(arena):
    """sendto and sendmsg need no connect(); a socketpair can be aimed anew."""
    box = arena.box()
    path = str(box.path("{work}/host.d"))
    server = Server(path, socket.SOCK_DGRAM)
    attempts = [
        f"unix-sendto {path}",
        f"unix-raw-sendto {path}",
        f"unix-dgram-connect {path}",
        f"pair-sendto {path}",
        f"pair-raw-sendto {path}",
        f"unix-pass {path} {{work}}/file",
        f"pair-pass {path} {{work}}/file",
    ]
    got = box.run("pair", "pass-self {work}/file", *attempts, f"pair-stream-sendto {path}")
    check(got[:2] == ["OK", "OK"], f"{got}")
    check(set(got[2:-1]) <= FORBIDDEN | {"EPROTONOSUPPORT", "ESOCKTNOSUPPORT", "EAFNOSUPPORT"}, f"{got}")
    check(got[-1] != "OK", f"a stream pair was aimed anew: {got}")
    time.sleep(0.05)
    check(server.got == b"", f"arrived: {server.got}")
    got = box.bare(*attempts)
    check(got == ["OK"] * len(attempts), f"the control shows nothing: {got}")
    server.close()


@case(needs={"net_off", "ipc"})
def abstract_sockets_of_the_host_can_not_be_reached(arena):
    box = arena.box()
    name = f"cordon-conf-{os.getpid()}-{time.monotonic_ns()}"
    server = Server("\0" + name)
    datagrams = Server("\0" + name + ".d", socket.SOCK_DGRAM)
    got = box.run("unix-self {tmp}/own", f"unix-stream @{name}", f"unix-sendto @{name}.d")
    check(got[0] == "OK", f"{got}")
    check(set(got[1:]) <= FORBIDDEN | {"ECONNREFUSED", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT"}, f"{got}")
    check(not server.got and not datagrams.got, "something arrived")
    got = box.bare(f"unix-stream @{name}", f"unix-sendto @{name}.d")
    check(got == ["OK", "OK"], f"the control shows nothing: {got}")
    server.close()
    datagrams.close()


@case(needs=())
def abstract_sockets_of_its_own_can_be_reached(arena):
    got = arena.box().run("unix-self @own")
    check(got == ["OK"], f"{got}")


NAMED = """
[permissions.box]
extends = ":workspace"
[permissions.box.network]
enabled = true
unix_sockets = { "{out}/yes.sock" = "allow" }
"""


@case(needs={"net_managed"})
def a_named_unix_socket_opens_that_one_and_no_other(arena):
    box = arena.box(policy=NAMED)
    yes, no = Server(str(box.path("{out}/yes.sock"))), Server(str(box.path("{out}/no.sock")))
    argv = box.argv("unix-stream {out}/yes.sock", "unix-stream {out}/no.sock")
    got = box.finish(argv)[0].splitlines()
    check(got[0] == "OK" and got[1] in FORBIDDEN, f"{got}")
    check(yes.has_got() and not no.got, "the wrong one was reached")
    check(box.bare("unix-stream {out}/no.sock") == ["OK"], "the control shows nothing")
    yes.close()
    no.close()


@case
def a_socket_swapped_in_during_the_check_is_not_reached(arena):
    """Another process renames the host's socket over the own one, again and again."""
    box = arena.box()
    server = Server(str(box.path("{work}/host.s")))
    race = "unix-race {work}/own.s {work}/host.s {work}/name"
    for _ in range(20):
        got = box.run(f"{race} 500")
        check(got[0].startswith("OK") and not server.got, f"the host's socket was reached: {got}")
        box.path("{work}/own.s").unlink()
        if "0" not in got[0].split():
            break
    check("0" not in got[0].split(), f"nothing was swapped in time: {got}")
    for _ in range(100):
        box.bare(f"{race} 100")
        box.path("{work}/own.s").unlink()
        if server.got:
            break
    check(server.got, "the control shows nothing")
    server.close()


# ---- Families ---------------------------------------------------------------------------------

these_need("kernel")

ALLOWED_FAMILIES = {"1/1", "1/5", "2/1", "2/2", "10/1", "10/2", "16/2", "16/3"}


@case(needs={"kernel", "net_off"})
def only_the_families_that_are_needed_exist(arena):
    box = arena.box()
    got = box.run("families low", "families high", "pairs", "netlinks")
    for one in got[:2]:
        found = set(one.split()[1:])
        check(found <= ALLOWED_FAMILIES, f"also: {sorted(found - ALLOWED_FAMILIES)}")
        check("1/1" in found, f"missing: {one}")
    check(set(got[2].split()[1:]) <= {"1/1", "1/5"}, f"pairs: {got[2]}")
    check(set(got[3].split()[1:]) <= {"0"}, f"netlink: {got[3]}")
    got = box.bare("families low", "pairs", "netlinks")
    check(len(set(got[0].split()[1:]) - ALLOWED_FAMILIES) >= 2, f"the control shows nothing: {got}")
    check("1/2" in got[1] and len(got[2].split()) > 3, f"the control shows nothing: {got}")


@case
def with_the_network_on_other_families_still_do_not_exist(arena):
    """Machines (vsock), packets, crypto and XDP sockets are not the network."""
    box = arena.box(options=("--mode", "workspace-write", "--network", "full"))
    got = box.run("families low", "families high", "netlinks", "tcp-self 127.0.0.1")
    for one in got[:2]:
        found = set(one.split()[1:]) - ALLOWED_FAMILIES - {"1/2", "1/3"}
        check(not found, f"also: {sorted(found)}")
    check(set(got[2].split()[1:]) <= {"0", "4"}, f"netlink: {got[2]}")
    check(got[3] == "OK", f"{got}")
    check("40/1" in box.bare("families low")[0] or not os.path.exists("/dev/vsock"), "control")


@case(needs={"ipc"})
def with_the_network_on_abstract_sockets_are_still_not_reached(arena):
    """P16: `ipc`, which a profile has unless it drops it, names them."""
    box = arena.box(options=("--mode", "workspace-write", "--network", "full"))
    name = f"cordon-conf-{os.getpid()}-{time.monotonic_ns()}"
    server, datagrams = Server("\0" + name), Server("\0" + name + ".d", socket.SOCK_DGRAM)
    attempts = [f"unix-stream @{name}", f"unix-sendto @{name}.d"]
    got = box.run("unix-self @own", *attempts)
    check(got[0] == "OK" and set(got[1:]) <= FORBIDDEN | {"ECONNREFUSED"}, f"{got}")
    check(not server.got and not datagrams.got, "something arrived")
    check(box.bare(*attempts) == ["OK", "OK"], "the control shows nothing")
    server.close()
    datagrams.close()


@case(needs={"ipc", "proc", "kernel"})
def with_the_network_on_processes_and_ipc_are_still_apart(arena):
    box = arena.box(options=("--mode", "workspace-write", "--network", "full"))
    pid = arena.victim().pid
    got = box.run(f"kill {pid} 0", f"pidfd-open {pid}", "unshare user", "process-vm", "keyctl", "bpf")
    check(set(got[:2]) <= NOBODY and set(got[2:]) <= FORBIDDEN, f"{got}")


# ---- The host's loopback ----------------------------------------------------------------------------

these_need("net_off")


class Echo:
    """TCP and UDP on the host's loopback; counts what arrives."""

    def __init__(self, family, host):
        self.count = 0
        self.tcp, self.udp = self.bind_both(family, host)
        self.tcp.listen(8)
        self.port = self.tcp.getsockname()[1]
        for target in (self.accept, self.answer):
            threading.Thread(target=target, daemon=True).start()

    @staticmethod
    def bind_both(family, host):
        """To one port; that of the first may be somebody else's for the second."""
        for attempt in range(20):
            tcp, udp = socket.socket(family, socket.SOCK_STREAM), socket.socket(family, socket.SOCK_DGRAM)
            try:
                tcp.bind((host, 0))
                udp.bind((host, tcp.getsockname()[1]))
                return tcp, udp
            except OSError as error:
                tcp.close()
                udp.close()
                if error.errno != errno.EADDRINUSE or attempt == 19:
                    raise
        raise AssertionError

    def accept(self):
        while True:
            try:
                peer = self.tcp.accept()[0]
            except OSError:
                return
            self.count += 1
            peer.close()

    def answer(self):
        while True:
            try:
                data, peer = self.udp.recvfrom(64)
                self.count += 1
                self.udp.sendto(data, peer)
            except OSError:
                return


def try_loopback(arena, host, family):
    try:
        echo = Echo(family, host)
    except OSError as error:
        raise Skip(f"no {host}: {error}") from error
    box = arena.box()
    attempts = [f"tcp {host} {echo.port} 0", f"tcp {host} {echo.port} 262", f"udp {host} {echo.port}",
                f"tcp-fastopen {host} {echo.port}"]
    got = box.run("pid", *attempts)
    check(got[0].startswith("OK"), f"{got}")
    refused = FORBIDDEN | {"ECONNREFUSED", "ENETUNREACH", "ETIMEDOUT", "EADDRNOTAVAIL", "EOPNOTSUPP"}
    refused |= {"EPROTONOSUPPORT", "EINPROGRESS"}
    check(echo.count == 0, f"something arrived at the host: {got}")
    check(set(got[1:]) <= refused, f"{got}")
    got = box.bare(attempts[0], attempts[2])
    check(got == ["OK", "OK"], f"the control shows nothing: {got}")
    got = box.run(attempts[0], attempts[2], options=(*box.options, "--network", "full"))
    check(got == ["OK", "OK"], f"with the network on: {got}")


@case(needs=())
def its_own_loopback_is_reached(arena):
    """P13: where there is a network namespace of its own."""
    got = arena.box().run("tcp-self 127.0.0.1", "tcp-self ::1")
    check(got == ["OK", "OK"], f"{got}")


@case
def the_hosts_ipv4_loopback_is_not_reached(arena):
    try_loopback(arena, "127.0.0.1", socket.AF_INET)


@case
def the_hosts_ipv6_loopback_is_not_reached(arena):
    try_loopback(arena, "::1", socket.AF_INET6)


@case
def no_address_outside_has_a_route(arena):
    box = arena.box()
    got = box.run("tcp 192.0.2.1 80 0", "tcp 2001:db8::1 80 0", "udp 192.0.2.1 53", "pid")
    check(set(got[:3]) <= {"ENETUNREACH", "EPERM", "EACCES", "EADDRNOTAVAIL", "EAFNOSUPPORT"}, f"{got}")
    check(got[3].startswith("OK"), f"{got}")


# ---- Inherited descriptors -----------------------------------------------------------------------------

these_need()


@case
def inherited_descriptors_do_not_reach_the_command(arena):
    box = arena.box()
    server = Server(str(box.path("{top}/s")), socket.SOCK_DGRAM)
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    peer.connect(str(box.path("{top}/s")))
    original = [
        os.open(box.path("{out}/file"), os.O_RDWR),
        os.open(box.path("{out}"), os.O_RDONLY | os.O_DIRECTORY),
        peer.fileno(),
    ]
    numbers = [(3, 0), (4, 1), (5, 2), (15, 0), (16, 0), (20, 1), (64, 2), (251, 0), (999, 1), (1000, 0)]
    fds = []
    try:
        for number, which in numbers:
            if number in original:
                continue
            os.dup2(original[which], number + 200 if number < 100 else number)
            fds.append((number + 200 if number < 100 else number, which))
        attempts = []
        for fd, which in fds:
            attempts.append([f"fd-write {fd}", f"fd-create-at {fd} new{fd}", f"fd-send {fd}"][which])
        before = box.snapshot()
        keep = [fd for fd, _ in fds]
        got = box.run("fds", "write {work}/file", *attempts, pass_fds=keep)
        check(got[0] == "OK" and got[1] == "OK", f"open inside: {got}")
        check(set(got[2:]) == {"EBADF"}, f"{got}")
        time.sleep(0.02)
        check_same(before, box.snapshot(), "was changed")
        check(server.got == b"", "something was sent")
        got = box.bare(*attempts, pass_fds=keep)
        check(set(got) == {"OK"}, f"the control shows nothing: {got}")
    finally:
        for fd, _ in fds:
            os.close(fd)
        os.close(original[0])
        os.close(original[1])
        peer.close()
        server.close()


@case
def closed_standard_streams_do_not_become_something_else(arena):
    """With 0, 1 or 2 closed, a descriptor of Cordon's own would take the number."""
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        box = arena.box()
        line = f'"$@" {closed}'
        argv = ["/bin/sh", "-c", line, "sh", *box.argv("stdio {work}/told")]
        box.finish(argv, status=None)
        arena.check_nothing_lives()
        told = box.path("{work}/told").read_text(encoding="utf-8").splitlines()
        for number, word in ((0, "<&-"), (1, ">&-"), (2, "2>&-")):
            if word in closed.split():
                check(told[number] in ("closed", "/dev/null"), f"{closed}: {number} is {told[number]}")
        equal = arena.box()
        equal.finish(["/bin/sh", "-c", line, "sh", arena.probe, *equal.words(["stdio {work}/told"])], status=None)
        check(equal.path("{work}/told").exists(), "control")


@case
def low_inherited_descriptors_do_not_reach_the_command(arena):
    """Descriptors 3 to 20 without a gap, as a shell's `3<file` gives them."""
    box = arena.box()
    shell = " ".join(f"{n}>>'{box.out}/file'" for n in range(3, 10))
    line = f"exec \"$@\" {shell}"
    before = box.snapshot()
    attempts = [f"fd-write {n}" for n in range(3, 10)]
    out, err, _ = box.finish(["/bin/sh", "-c", line, "sh", *box.argv("fds", *attempts)])
    got = out.splitlines()
    check(got == ["OK"] + ["EBADF"] * 7, f"{got} {err}")
    check_same(before, box.snapshot(), "was changed")
    out, _, _ = box.finish(["/bin/sh", "-c", line, "sh", arena.probe, *box.words(attempts)])
    check(out.splitlines() == ["OK"] * 7, "the control shows nothing")


@case(needs={"net_off"})
def a_socket_as_stdin_is_not_aimed_elsewhere(arena):
    """It belongs to the host's network, whatever the sandbox has of its own."""
    echo, other = Echo(socket.AF_INET, "127.0.0.1"), Echo(socket.AF_INET, "127.0.0.1")
    for attempt in (f"fd-reconnect 0 {other.port}", "fd-listen 0"):
        box = arena.box()
        with socket.create_connection(("127.0.0.1", echo.port)) as stdin:
            out, err, status = box.finish(box.argv(attempt, "pid"), status=None, stdin=stdin)
        got = out.splitlines()
        if status == 125:
            check("standard input is a socket" in err, f"not by name: {err}")
        else:
            check(got[0] not in ("OK", "EDOM") and got[1].startswith("OK"), f"{attempt}: {got} {err}")
        check(other.count == 0, "the other one was reached")
        with socket.create_connection(("127.0.0.1", echo.port)) as stdin:
            got = box.bare(attempt, stdin=stdin)
        check(got == ["OK"], f"the control shows nothing: {got}")
        if "reconnect" in attempt:
            check(becomes_true(lambda: other.count), "the control did not arrive")
        other.count = 0
