# SPDX-License-Identifier: MIT
"""AppArmor in a guest: what it forbids is named, and packaging/apparmor/cordon lets cordon work.

The profile is read and loaded by Debian's apparmor_parser, in the guest. The switch that Ubuntu's
kernels have is missing in Debian's; a profile for the user's session stands for it.
"""

import json
import shlex

from image import HERE, TOP

VARIANT = "apparmor"
SUITE = "trixie"  # the first whose parser has rules for user namespaces
LIBRARIES = ("libc.so.6", "ld-linux-x86-64.so.2")
SWITCH = "kernel/apparmor_restrict_unprivileged_userns"
FIX = "/etc/apparmor.d/cordon"
BACKENDS = ("native", "bwrap")
# What AppArmor takes the command for, and what it may do.
ASK = ["sh", "-c", "cat /proc/self/attr/current; probe unshare user ';' clone-userns low ';' clone3-userns "
                   "';' write /box/work/file ';' write /box/out/file"]
FREE = ["OK"] * 5
WALLED = ["EPERM", "EPERM", "ENOSYS", "OK", "EROFS"]


def add_parser(archive, store, arch):
    """The parser with a C library of its own, what profiles include, and the profiles."""
    files = store.unpack("^apparmor$", SUITE, arch)
    libc = store.unpack("^libc6$", SUITE, arch)
    archive.file("check/apparmor/parser", files / "usr/sbin/apparmor_parser")
    for name in LIBRARIES:
        archive.file(f"check/apparmor/{name}", next(p for p in libc.rglob(name) if not p.is_symlink()))
    for directory in ("abi", "tunables"):
        for path in sorted((files / "etc/apparmor.d" / directory).rglob("*")):
            if path.is_file():
                archive.file(str(path.relative_to(files)), path, 0o644)
    archive.file("etc/apparmor/parser.conf", b"", 0o644)
    archive.file("etc/apparmor.d/cordon", TOP / "packaging" / "apparmor" / "cordon", 0o644)
    archive.file("check/apparmor/session", HERE / "session.apparmor", 0o644)


# ---- What the guest is to do ---------------------------------------------------------------


def run(*options):
    return ["cordon", "run", "--quiet", *options, "--", *ASK]


def looks(name, label, who):
    """What cordon does from there: each backend, and what doctor says of them."""
    lines = [f"label={label}"]
    for backend in BACKENDS:
        words = shlex.join(run("--backend", backend, "--mode", "workspace-write"))
        lines.append(f"step {name}/{backend} {who} {words}")
    return [*lines, f"step {name}/doctor {who} cordon doctor --json", "label="]


def steps():
    ask = shlex.join(ASK)
    lines = [
        "mount -t securityfs security /sys/kernel/security",
        "echo @facts lsm $(cat /sys/kernel/security/lsm)",
        "echo @facts mediates $(cat /sys/kernel/security/apparmor/features/namespaces/mask)",
        f"echo @facts switch $(ls /proc/sys/{SWITCH} 2>/dev/null)",
        f"step unconfined/control 1000 {ask}",
        *looks("unconfined", "", 1000),
        "load /check/apparmor/session",
        f"label=session; step session/control 1000 {ask}",
        *looks("session", "session", 1000),
        *looks("session-root", "session", 0),
        *looks("container", "container", 1000),
        f"load {FIX}",
        # The label alone, without Cordon: that it is inherited is what the filter makes up for.
        f"label=cordon; step profile/control 1000 {ask}",
        *looks("profile", "session", 1000),
        *looks("profile-root", "session", 0),
        # No sandbox was asked for: then what the profile gives cordon is the command's, too.
        f"label=session; step profile/none 1000 {shlex.join(run('--mode', 'danger-full-access'))}",
        f"label=session; step profile/beside 1000 {ask}",
        "label=",
    ]
    return "\n".join(lines) + "\n"


# ---- What is made of it ----------------------------------------------------------------------


class Judge:
    def __init__(self, tap, kernel, answers):
        self.tap, self.kernel, self.answers = tap, kernel, answers

    def says(self, name, lines, title):
        got = self.answers.get(name)
        self.tap(got is not None and got.out == lines, f"{self.kernel} AppArmor: {title}", f"expected {lines}: {got}")

    def refused(self, name, words, title):
        got = self.answers.get(name)
        is_right = got is not None and got.status == "125" and all(word in got.text for word in words)
        self.tap(is_right, f"{self.kernel} AppArmor: {title}", f"expected {words}: {got}")

    def doctor(self, name, works, identifier, label, title):
        """Which of BACKENDS work, and with which advice that names the profile."""
        got = self.answers.get(f"{name}/doctor")
        try:
            told = json.loads("\n".join(got.out))
            found = {b["name"] for b in told["backends"] if b["works"]} & set(BACKENDS)
            advice = {a["id"]: a for a in told["advice"] if "apparmor" in a["id"]}
            is_right = (found == set(works) and told["ok"] == bool(works)
                        and told["host"]["namespaces"]["apparmor_profile"] == label
                        and set(advice) == ({identifier} if identifier else set())
                        and all(FIX in a["suggestions"][0]["text"] and a["needed"] for a in advice.values()))
        except (ValueError, KeyError, TypeError, AttributeError) as wrong:
            is_right, found, advice = False, repr(wrong), got
        self.tap(is_right, f"{self.kernel} AppArmor: {title}", f"{found}, {advice}")


def judge(tap, kernel, facts, answers):
    j = Judge(tap, kernel, answers)
    tap("apparmor" in facts.get("lsm", "") and "userns_create" in facts.get("mediates", ""),
        f"{kernel} AppArmor: is on, and knows user namespaces", f"{facts}")
    tap(facts.get("switch") == "", f"{kernel} AppArmor: has no switch for them, else it would be tried here", f"{facts}")
    for path in ("/check/apparmor/session", FIX):
        tap(facts.get(f"loaded-{path}") == "0", f"{kernel} AppArmor: {path} is read and loaded", f"{facts}")

    j.says("unconfined/control", ["unconfined", *FREE], "without a profile all is allowed")
    j.says("session/control", ["session (enforce)", "EACCES", "EACCES", "EACCES", "OK", "OK"],
           "a session without the right to user namespaces gets none")
    for backend in BACKENDS:
        j.says(f"unconfined/{backend}", ["unconfined", *WALLED], f"{backend} works unconfined")
        for who in ("session", "session-root"):
            j.refused(f"{who}/{backend}", ["AppArmor's profile 'session (enforce)'", FIX],
                      f"{backend} is refused in the {who}, and says why")
        for who in ("profile", "profile-root"):
            j.says(f"{who}/{backend}", ["cordon (unconfined)", *WALLED],
                   f"{who}: {backend} works, and the command makes no user namespace")
    j.refused("container/native", ["AppArmor's profile 'container (enforce)'", "apparmor=unconfined"],
              "where nothing may be mounted, native is refused and says why")
    j.refused("container/bwrap", ["Permission denied"], "and so is bwrap")
    j.doctor("unconfined", BACKENDS, None, "unconfined", "doctor has nothing to say unconfined")
    for who in ("session", "session-root"):
        j.doctor(who, (), "apparmor_profile", "session (enforce)", f"doctor names the cause in the {who}, and the fix")
        j.doctor(who.replace("session", "profile"), BACKENDS, None, "cordon (unconfined)",
                 f"doctor sees that it was the fix for the {who}")
    j.doctor("container", (), "apparmor_profile", "container (enforce)", "doctor names the cause in a container")
    j.says("profile/control", ["cordon (unconfined)", *FREE], "the label alone would let the command make them")
    j.says("profile/none", ["cordon (unconfined)", *FREE], "a run without a sandbox has what cordon has")
    j.says("profile/beside", ["session (enforce)", "EACCES", "EACCES", "EACCES", "OK", "OK"],
           "other programs of the session still get none")
