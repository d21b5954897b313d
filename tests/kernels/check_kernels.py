#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_kernels.py [--kernel NAME]... [--variant NAME]... [--smoke] [--again]: TAP.

Boots Debian's stock kernels under qemu, without KVM, with a small initramfs, and there
tries rows.toml with every backend, as root and as an ordinary user: what `run` does not
refuse has to hold. kernels.toml says which kernels, in which states, and what is refused
there. --smoke boots one kernel that was got before, and skips when there is none; --again
boots nothing and judges what the guests told the last time.
"""

import argparse
import json
import re
import shlex
import shutil
import sys
import tomllib
from dataclasses import dataclass, field

sys.dont_write_bytecode = True
import apparmor  # pylint: disable=wrong-import-position
from image import HERE, MODULES, SUITE, TOP, base_archive, boot, build_programs, module_bytes, read_serial  # pylint: disable=wrong-import-position
from packages import NotToBeHad, Store  # pylint: disable=wrong-import-position

CACHE = TOP / "build" / "kernels"
BOOT_SECONDS = 600
SMOKE = "6.1"
USERS = {"root": 0, "user": 1000}
BACKENDS = ("native", "bwrap", "landlock", "any")
# Landlock alone has none of these on some kernels (P19): what is accepted is not shown.
ACCEPTED = {"landlock": ("fs_carve", "protect_missing", "ipc", "proc", "tree_death")}
NAMES = {"work": "/box/work", "out": "/box/out", "tmp": "/box/tmp", "home": "/box/home"}


@dataclass
class Answer:
    """What a step told."""

    status: str = "none"
    out: list = field(default_factory=list)
    err: list = field(default_factory=list)

    @property
    def text(self):
        return "\n".join(self.err) or "\n".join(self.out)


@dataclass
class Table:
    rows: list
    errors: dict
    policies: dict

    def of(self, policy):
        return [row for row in self.rows if policy in row["policies"]]

    def expected(self, row):
        inside = row["inside"]
        return inside if isinstance(inside, list) else ["OK"] if inside == "works" else self.errors[inside]


class Tap:
    def __init__(self):
        self.count = {"ok": 0, "not ok": 0, "skip": 0}

    def __call__(self, is_right, name, text=""):
        self.count["ok" if is_right else "not ok"] += 1
        print(f"{'ok' if is_right else 'not ok'} {sum(self.count.values())} - {name}", flush=True)
        for line in [] if is_right else text.splitlines():
            print(f"# {line}")

    def skip(self, name, reason):
        self.count["skip"] += 1
        print(f"ok {sum(self.count.values())} - {name} # SKIP {reason}", flush=True)

    def end(self, is_tap_alone):
        print(f"1..{sum(self.count.values())}")
        told = f"{self.count['ok']} passed, {self.count['not ok']} failed, {self.count['skip']} skipped"
        print(f"# {told}" if is_tap_alone else told, flush=True)
        return self.count["not ok"] > 0 or self.count["ok"] == 0


# ---- What the guest is to do -----------------------------------------------------------


def words_of(attempt, who):
    """The attempt as words of the guest's shell."""
    uid = USERS[who]
    names = {**NAMES, "pid": f"$neighbour_{uid}", "socket": f"/run/{uid}/socket",
             "abstract": f"@neighbour-{uid}", "port": str(7000 + uid)}
    words = []
    for word in attempt.split():
        for name, value in names.items():
            word = word.replace("{" + name + "}", value)
        words.append(word if word.startswith("$") else shlex.quote(word))
    return " ".join(words)


def probe(rows, who):
    return "probe " + " ';' ".join(words_of(row["try"], who) for row in rows)


def cordon(backend, options):
    words = [] if backend == "any" else ["--backend", backend]
    for name in ACCEPTED.get(backend, ()):
        words += ["--accept-missing", name]
    return shlex.join(["cordon", "run", "--quiet", *words, *options, "--"])


def steps_of(table, variants):
    """The guest's script: per variant, user, backend and policy one run with all attempts."""
    lines = []
    for who, uid in USERS.items():
        for policy in table.policies:
            lines.append(f"step control/{who}/{policy} {uid} {probe(table.of(policy), who)}")
        lines.append(f"death control/{who}/death {uid} sh -c 'probe hold /box/work/ready; true'")
    for name, variant in variants.items():
        if "sysctl" in variant:
            lines.append(f"with_setting {variant['sysctl'].replace('=', ' ')}")
        for who, uid in USERS.items():
            lines.append(f"step {name}/{who}/doctor {uid} cordon doctor --json")
            for backend in BACKENDS:
                at = f"{name}/{who}/{backend}"
                for policy, options in table.policies.items():
                    lines.append(f"step {at}/{policy} {uid} {cordon(backend, options)} {probe(table.of(policy), who)}")
                options = table.policies["workspace"]
                lines.append(f"death {at}/death {uid} {cordon(backend, options)} probe hold /box/work/ready")
        if "sysctl" in variant:
            lines.append("without_setting")
    return "\n".join(lines) + "\n"


def read_answers(lines):
    facts, answers = {}, {}
    for line in lines:
        if line.startswith("@facts "):
            _, name, *value = line.split(" ")
            facts[name] = " ".join(value)
        elif found := re.match(r"@([^ =!]+)([=!]?) ?(.*)", line):
            answer = answers.setdefault(found[1], Answer())
            if found[2] == "=":
                answer.status = found[3]
            else:
                (answer.err if found[2] else answer.out).append(found[3])
    return facts, answers


# ---- What is made of it ------------------------------------------------------------------


class Judge:
    def __init__(self, tap, table, kernel, answers, landlock):
        self.tap, self.table, self.kernel, self.answers = tap, table, kernel, answers
        self.landlock = landlock if landlock.isdigit() else "0"
        self.refusals, self.held = [], {}  # of the variant, and what doctor claims there

    def control(self, who):
        for policy in self.table.policies:
            rows = self.table.of(policy)
            got = self.answers.get(f"control/{who}/{policy}", Answer())
            name = f"{self.kernel} control {who}: {policy}"
            if len(got.out) != len(rows):
                self.tap(False, name, f"{len(rows)} attempts, {len(got.out)} outcomes\n{got.text}")
                continue
            wrong = []
            for row, one in zip(rows, got.out):
                accepted = row.get("control", ["OK"])
                if row.get("control_who", who) == who and one not in accepted and one.split()[0] not in accepted:
                    wrong.append(f"{one}, shows nothing: {row['try']}")
            self.tap(not wrong, f"{name}: all of it works without a sandbox", "\n".join(wrong))
        got = self.answers.get(f"control/{who}/death", Answer())
        lives = "left 0" not in got.out and any(line.startswith("left ") for line in got.out)
        self.tap(lives, f"{self.kernel} control {who}: what a killed shell started lives on", f"{got}")

    def bare(self):
        """Before the modules were loaded."""
        told = "\n".join(self.answers.get("bare/root/doctor", Answer()).out)
        is_right = '"lists_unix_sockets": false' in told and '"id": "unix_diag"' in told
        self.tap(is_right, f"{self.kernel}: doctor misses the module unix_diag", told)

    def refusal(self, who, backend):
        """What a refusal has to say here, or None where there must be none."""
        for one in self.refusals:
            if one["who"] in ("*", who) and {"*", backend} & set(one["backends"]):
                return one["says"]
        return None

    def backend(self, variant, who, backend):
        at, name = f"{variant}/{who}/{backend}", f"{self.kernel} {variant} {backend} {who}"
        first = self.answers.get(f"{at}/read-only", Answer())
        if f"the backend '{backend}' is not in this version" in first.text:
            self.tap.skip(name, first.text)
            return
        says = self.refusal(who, backend)
        for policy in self.table.policies:
            got = self.answers.get(f"{at}/{policy}", Answer())
            if says is not None:
                self.refused(f"{name}: {policy}", got, says)
            elif self.cant_be(backend, policy):
                self.refused(f"{name}: {policy}", got, "fs_read")
            else:
                self.rows(f"{name}: {policy}", backend, policy, got)
        if says is None:
            self.death(name, backend, self.answers.get(f"{at}/death", Answer()))

    @staticmethod
    def cant_be(backend, policy):
        """Landlock knows modes, and no profile with denies."""
        return backend == "landlock" and policy == "denies"

    def is_missing(self, backend, guarantee):
        """Accepted as missing, and not claimed nevertheless."""
        return guarantee in ACCEPTED.get(backend, ()) and guarantee not in self.held.get(backend, ())

    def refused(self, name, got, says):
        is_right = got.status == "125" and got.text.startswith("cordon: error: ") and says in got.text
        self.tap(is_right, f"{name}: is refused, and says why", f"expected '{says}', got {got.status}: {got.text}")

    def rows(self, name, backend, policy, got):
        rows = self.table.of(policy)
        if got.status != "0" or len(got.out) != len(rows):
            self.tap(False, f"{name}: runs", f"status {got.status}: {got.text}\n{got.out}")
            return
        for row, one in zip(rows, got.out):
            title = f"{name}: {row['name']}"
            if self.is_missing(backend, row["guarantee"]):
                self.tap.skip(title, f"{row['guarantee']} is accepted as missing")
                continue
            expected = self.table.expected(row)
            self.tap(one in expected or one.split()[0] in expected, title, f"{one}, expected {expected}: {row['try']}")

    def death(self, name, backend, got):
        if self.is_missing(backend, "tree_death"):
            self.tap.skip(f"{name}: nothing outlives it", "tree_death is accepted as missing")
            return
        started = any(re.match(r"started [1-9]", line) for line in got.out)
        self.tap(started and "left 0" in got.out, f"{name}: nothing outlives it when it is killed", f"{got}")
        rest = [line for line in got.out if line.startswith("lies about")]
        self.tap(rest == ["lies about .git deep file movable secret "], f"{name}: nothing of it lies about", f"{rest}")

    def doctor(self, variant, who):
        """What doctor says is what runs do: which backends work, and whether a usual run does."""
        self.held = {}
        name = f"{self.kernel} {variant} {who}: doctor"
        got = self.answers.get(f"{variant}/{who}/doctor", Answer())
        try:
            told = json.loads("\n".join(got.out))
            self.held = {b["name"]: set(b["held"]) for b in told["backends"] if b["works"]}
            broken = [f"{b['name']}: {g}" for b in told["backends"] for g in b["guarantees"] if g["state"] == "broken"]
            abi, is_usual = told["host"]["landlock"]["abi"], told["ok"]
            lists_sockets = told["host"]["lists_unix_sockets"]
        except (ValueError, KeyError, TypeError) as wrong:
            self.tap(False, f"{name}: can be read", f"{wrong!r}: {got}")
            return
        runs = self.answers.get(f"{variant}/{who}/any/read-only", Answer()).status == "0"
        text = json.dumps(told, indent=1)
        self.tap(is_usual == runs and got.status == str(int(not runs)), f"{name}: says whether a usual run works", text)
        self.tap(str(abi) == self.landlock, f"{name}: knows Landlock", text)
        self.tap(lists_sockets, f"{name}: knows that the kernel lists sockets", text)
        self.tap(not broken, f"{name}: nothing that is claimed is broken", f"{broken}\n{text}")
        for backend in BACKENDS[:-1]:
            is_refused = self.refusal(who, backend) is not None
            claimed = backend in self.held
            if all(b["name"] != backend for b in told["backends"]):
                continue
            self.tap(claimed != is_refused, f"{name}: says whether {backend} works", text)


# ---- One guest --------------------------------------------------------------------------


def find_kernel(store, kernel):
    files = store.unpack(kernel["package"], kernel["suite"], kernel["arch"])
    images = sorted([*files.rglob("vmlinuz-*"), *files.rglob("vmlinuz")])
    if not images:
        raise NotToBeHad(f"no vmlinuz in what fits {kernel['package']}")
    modules = files
    if "modules" in kernel:
        modules = store.unpack(kernel["modules"], kernel["suite"], kernel["arch"])
    return images[0], modules


def boot_guest(store, name, kernel, steps, place, words="", add=None):
    """What `boot` returns; `add` puts more into the guest."""
    image, modules = find_kernel(store, kernel)
    programs = build_programs(store, kernel["arch"], CACHE / "programs" / kernel["arch"])
    archive = base_archive(store, kernel["arch"], programs)
    for module in MODULES:
        data = module_bytes(modules, module)
        if data is None:
            raise NotToBeHad(f"no module {module} for {name}")
        archive.file(f"check/modules/{module}.ko", data)
    if add:
        add(archive, store, kernel["arch"])
    archive.file("check/steps", steps.encode())
    place.mkdir(parents=True, exist_ok=True)
    (place / "image").write_bytes(archive.bytes())
    try:
        return boot(kernel["arch"], image, place / "image", words, place / "serial", BOOT_SECONDS)
    finally:
        (place / "image").unlink()


def check_guest(tap, store, table, name, kernel, variants, options):
    """Boots the kernel once, and judges all the variants that share the boot."""
    place = CACHE / "guests" / f"{name}-{'-'.join(variants)}"
    if options.again:
        lines, took, is_whole = read_serial(place / "serial")
    else:
        words = " ".join(v["boot"] for v in variants.values() if "boot" in v)
        lines, took, is_whole = boot_guest(store, name, kernel, steps_of(table, variants), place, words)
    facts, answers = read_answers(lines)
    print(f"# {name} ({facts.get('release', 'not booted')}), {', '.join(variants)}: {took:.0f} s", flush=True)
    tap(is_whole, f"{name} {' '.join(variants)}: the guest boots and ends", "\n".join(lines[-20:]))
    expected = [v.get("landlock", kernel["landlock"]) for v in variants.values()][0]
    if kernel["landlock"] == "ENOSYS":
        expected = "ENOSYS"
    tap(facts.get("landlock") == expected, f"{name}: Landlock is {expected}", f"{facts}")
    judge = Judge(tap, table, name, answers, expected)
    judge.bare()
    for who in USERS:
        judge.control(who)
    for variant, what in variants.items():
        if "sysctl" in what and facts.get(what["sysctl"].split("=")[0], "") == "":
            tap.skip(f"{name} {variant}", f"this kernel has no {what['sysctl'].split('=')[0]}")
            continue
        judge.refusals = options.without_landlock if expected == "ENOSYS" else what["refused"]
        for who in USERS:
            judge.doctor(variant, who)
            for backend in BACKENDS:
                judge.backend(variant, who, backend)


def check_apparmor(tap, store, name, kernel, options):
    place = CACHE / "guests" / f"{name}-{apparmor.VARIANT}"
    if options.again:
        lines, took, is_whole = read_serial(place / "serial")
    else:
        lines, took, is_whole = boot_guest(store, name, kernel, apparmor.steps(), place, add=apparmor.add_parser)
    facts, answers = read_answers(lines)
    print(f"# {name} ({facts.get('release', 'not booted')}), {apparmor.VARIANT}: {took:.0f} s", flush=True)
    tap(is_whole, f"{name} {apparmor.VARIANT}: the guest boots and ends", "\n".join(lines[-20:]))
    apparmor.judge(tap, name, facts, answers)


def guests_of(variants):
    """The variants by boot: those that differ in settings alone share one."""
    shared = {n: v for n, v in variants.items() if "boot" not in v}
    return [shared] * bool(shared) + [{n: v} for n, v in variants.items() if "boot" in v]


def lacks(kernel):
    """What a guest of this kernel needs and the host does not have."""
    tools = {"amd64": ["qemu-system-x86_64", "musl-gcc"], "arm64": ["qemu-system-aarch64", "aarch64-linux-gnu-gcc"]}
    return [tool for tool in tools[kernel["arch"]] if not shutil.which(tool)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernel", action="append")
    parser.add_argument("--variant", action="append")
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    told = tomllib.loads((HERE / "kernels.toml").read_text())
    rows = tomllib.loads((HERE / "rows.toml").read_text())
    table = Table(rows["row"], rows["errors"], rows["policy"])
    options.without_landlock = told["without_landlock"]
    kernels, variants = told["kernel"], told["variant"]
    store = Store(CACHE, {SUITE, apparmor.SUITE, *(k["suite"] for k in kernels.values())})
    if options.smoke:
        kernel = kernels[SMOKE]
        if lacks(kernel) or not store.has(kernel["package"], kernel["suite"], kernel["arch"]):
            print("1..0 # SKIP no qemu, or no kernel yet: 'make check-kernels' gets them")
            return
        options.kernel, options.variant = [SMOKE], ["plain"]
    for wanted, known in ((options.kernel, kernels), (options.variant, {**variants, apparmor.VARIANT: None})):
        for name in wanted or []:
            if name not in known:
                parser.error(f"there is no '{name}'; there are {', '.join(known)}")
    CACHE.mkdir(parents=True, exist_ok=True)
    tap = Tap()
    chosen = {n: v for n, v in variants.items() if n in (options.variant or variants)}
    for name in options.kernel or kernels:
        kernel = kernels[name]
        guests = [(list(g), lambda g=g: check_guest(tap, store, table, name, kernel, g, options)) for g in guests_of(chosen)]
        if kernel.get("apparmor") and apparmor.VARIANT in (options.variant or [apparmor.VARIANT]):
            guests.append(([apparmor.VARIANT], lambda: check_apparmor(tap, store, name, kernel, options)))
        for names, check in guests:
            try:
                if missing := lacks(kernel):
                    raise NotToBeHad(f"not installed: {', '.join(missing)}")
                check()
            except NotToBeHad as reason:
                tap(False, f"{name} {' '.join(names)}: can be booted", str(reason))
    sys.exit(tap.end(options.smoke))


if __name__ == "__main__":
    main()
