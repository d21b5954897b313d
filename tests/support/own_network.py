# SPDX-License-Identifier: MIT
"""Namespaces for a network of one's own: public addresses on `lo`, and nothing leaves.

enter() puts this process into a network and a mount namespace, in which public addresses,
a private one and that of a cloud's metadata are local. An ordinary user gets them with a
user namespace; `enter.keywords` is what makes subprocess start a program as himself again.

That namespace maps no user but this one, so root's files belong to nobody there, and Cordon
trusts no bwrap that could be anybody's. An ordinary user therefore gets a root directory of
their own as well, with a copy of bwrap that is theirs, first on PATH.
"""

import ctypes
import fcntl
import os
import shutil
import socket
import stat
import struct
import tempfile
from pathlib import Path

NEWNS, NEWUSER, NEWNET = 0x20000, 0x10000000, 0x40000000
MS_BIND, MS_REC, MS_UNBINDABLE, MS_PRIVATE = 0x1000, 0x4000, 0x20000, 0x40000
MNT_DETACH = 2
OWN_PROGRAMS = "own-programs"  # a directory in the root of an ordinary user
SIOCSIFFLAGS, SIOCSIFADDR, SIOCSIFNETMASK, SIOCGIFINDEX = 0x8914, 0x8916, 0x891C, 0x8933

WEB, OTHER, SSH, NAMES = "93.184.216.10", "93.184.216.20", "93.184.216.22", "93.184.216.53"
WEB6, OTHER6 = "2606:2800:220:1::10", "2606:2800:220:1::20"
PRIVATE, PRIVATE6, METADATA = "10.99.0.1", "fd12:3456:789a::1", "169.254.169.254"
NAT64, MAPPED = "64:ff9b::a63:1", "::ffff:10.99.0.1"

libc = ctypes.CDLL(None, use_errno=True)


def check(result):
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def mount(source, target, flags):
    check(libc.mount(os.fsencode(source), os.fsencode(target), None, ctypes.c_ulong(flags), None))


def cover(target, source):
    """The file `target` reads as `source`; where it is a link, what it leads to does."""
    target = os.path.realpath(target)
    if not os.path.exists(target):
        add_empty(target, os.path.dirname(source))
    mount(source, target, MS_BIND)


def add_empty(path, scratch):
    """Leaves no trace on the host: a bare system may lack even /etc/hosts."""
    directory, name = os.path.split(path)
    layer = Path(tempfile.mkdtemp(dir=scratch))
    layer.chmod(0o755)
    (layer / name).touch(mode=0o644)
    data = os.fsencode(f"lowerdir={layer}:{directory}")
    check(libc.mount(b"overlay", os.fsencode(directory), b"overlay", ctypes.c_ulong(0), data))


def map_self(inside):
    """Only one identity each, which needs no rights."""
    uid, gid = map_self.outer
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{inside[0]} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{inside[1]} {gid} 1")
    map_self.outer = inside


map_self.outer = os.getuid(), os.getgid()


def add_address(control, name, address, mask):
    def request(number, value):
        fcntl.ioctl(control, number, struct.pack("16sHH4s8x", name.encode(), socket.AF_INET, 0, socket.inet_aton(value)))

    request(SIOCSIFADDR, address)
    request(SIOCSIFNETMASK, mask)


def set_up_addresses():
    """All of a network on `lo` is local, so that the one address stands for its neighbours."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", 0x1 | 0x40))
        add_address(control, "lo:1", "93.184.216.1", "255.255.255.0")
        add_address(control, "lo:2", PRIVATE, "255.255.255.0")
        add_address(control, "lo:3", METADATA, "255.255.255.255")
        index = struct.unpack("16sI20x", fcntl.ioctl(control, SIOCGIFINDEX, struct.pack("16s24x", b"lo")))[1]
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as control:
        for address in (WEB6, OTHER6, PRIVATE6, NAT64):
            fcntl.ioctl(control, SIOCSIFADDR, struct.pack("16sIi", socket.inet_pton(socket.AF_INET6, address), 128, index))


def bind(source, target):
    """What lies at `source` lies at `target` as well; what can't be bound is left out."""
    kind = source.lstat().st_mode
    if stat.S_ISLNK(kind):
        target.symlink_to(os.readlink(source))
    elif stat.S_ISDIR(kind):
        target.mkdir()
        mount(source, target, MS_BIND | MS_REC)
    elif stat.S_ISREG(kind):
        target.touch()
        mount(source, target, MS_BIND)


def move_to_own_root():
    """The same files below a root directory that belongs to this user, and a bwrap that does, too."""
    program, here = shutil.which("bwrap"), os.getcwd()
    root = Path(tempfile.mkdtemp())
    check(libc.mount(b"tmpfs", os.fsencode(root), b"tmpfs", ctypes.c_ulong(0), b"mode=755"))
    # Or the directory around it could not be bound into it.
    mount("none", root, MS_UNBINDABLE)
    for source in Path("/").iterdir():
        bind(source, root / source.name)
    if program:
        (root / OWN_PROGRAMS).mkdir(mode=0o755)
        shutil.copy(program, root / OWN_PROGRAMS)
        os.environ["PATH"] = f"/{OWN_PROGRAMS}:" + os.environ["PATH"]
    os.chdir(root)
    # The old root lies on the new one then, and is taken away from there.
    check(libc.pivot_root(b".", b"."))
    check(libc.umount2(b".", MNT_DETACH))
    mount("none", "/", MS_PRIVATE)
    os.chdir(here)
    root.rmdir()


def enter():
    """None, or why it can't be done here."""
    is_root = os.geteuid() == 0
    who = os.getuid(), os.getgid()
    try:
        check(libc.unshare(NEWNET | NEWNS | (0 if is_root else NEWUSER)))
        if not is_root:
            map_self((0, 0))
        mount("none", "/", MS_REC | MS_PRIVATE)
        if not is_root:
            move_to_own_root()
        set_up_addresses()
    except OSError as reason:
        return f"no namespaces for a network of one's own here: {reason}"

    def be_oneself():
        check(libc.unshare(NEWUSER))
        map_self(who)

    enter.keywords = {} if is_root else {"preexec_fn": be_oneself}
    return None
