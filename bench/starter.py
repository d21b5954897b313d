# SPDX-License-Identifier: MIT
"""The start that people have: with the configuration that `cordon init` writes, where git may commit, in
repositories of some size. Its globs have every directory looked at and watched.

And two programs beside each other: what one release costs against another.
"""

import contextlib
import copy
import os
import shutil
import subprocess

import run_time

SIZES = (300, 30_000)
ROUNDS = {300: 100, 30_000: 10}
BUSY_ROUNDS = 40
LOAD_SECONDS = 300  # it ends by itself, whatever becomes of the bench
WORSE = 1.03


def make_tree(place, directories):
    """A repository of that many directories, a file in each; of metadata it has .git alone."""
    tree = place.top / f"tree{directories}"
    for i in range(directories):
        directory = tree / f"d{i // 50}" / f"e{i % 50}"
        directory.mkdir(parents=True)
        (directory / "file.c").touch()
    place.give()
    place.run(["git", "init", "-q", tree])
    return tree


def write_config(place, program):
    """As that program writes it, with commits allowed."""
    home = place.top / "starter"
    home.mkdir(exist_ok=True)
    place.give()
    environment = {**place.environment, "XDG_CONFIG_HOME": str(home)}
    subprocess.run([program, "init"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   stdin=subprocess.DEVNULL, cwd=place.work, env=environment, **place.who.keywords)
    text = (home / "cordon" / "config.toml").read_text()
    return place.write("starter.toml", text.replace("# git = ", "git = "))


@contextlib.contextmanager
def load():
    """All processors busy, with others of the same priority."""
    loops = [subprocess.Popen(["timeout", str(LOAD_SECONDS), "sh", "-c", "while :; do :; done"])
             for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for loop in loops:
            loop.terminate()
        for loop in loops:
            loop.wait()


def compare(place, cases, rounds, cwd, base):
    """Each case against `base`, round by round; its median in µs, the ratio and its 95 % interval."""
    rows = place.time(cases, rounds, "-a", cwd=cwd)
    found = {}
    for name, row in rows.items():
        ratio, low, high = run_time.interval(
            [mine / other for mine, other in zip(row["all_us"], rows[base]["all_us"])])
        found[name] = {"case": name, "median_us": run_time.interval(row["all_us"])[0], "ratio": ratio,
                       "low": low, "high": high}
    return found


def print_rows(title, found, base):
    for name, row in found.items():
        print(f"  {title + ': ' + name:<44} {row['median_us'] / 1000:>9.2f} ms   × {row['ratio']:.3f} of {base}"
              f" (95 %: {row['low']:.3f} to {row['high']:.3f})")


def measure(place):
    """Rows with `what`, `ratio`, `low` and `limit`, as run_time.judge() takes them."""
    if not shutil.which("bwrap"):
        print("  absent: needs bwrap")
        return []
    options = ["--config-file", write_config(place, place.cordon)]
    run = [place.cordon, "run", *options, "--", run_time.TRUE]
    here, _ = run_time.peers(place)
    judged, raw = [], None
    for size in SIZES:
        there = copy.copy(place)
        there.work = make_tree(place, size)
        if raw is None:  # what bwrap does has nothing to do with the size
            raw = [*run_time.bwrap_same(there, *options), run_time.TRUE]
        cases = {"cordon run": run, "bwrap, the same": raw}
        if size == SIZES[0]:
            cases.update({name: [*here[name], run_time.TRUE] for name in ("firejail", "codex", "srt")
                          if name in here})
        for state, limit, busy, rounds in (("idle", 0.8, contextlib.nullcontext, ROUNDS[size]),
                                           ("busy", 1.0, load, min(BUSY_ROUNDS, ROUNDS[size]))):
            with busy():
                found = compare(place, cases, rounds, there.work, "bwrap, the same")
            print_rows(f"{size:,} directories, {state}", found, "bwrap")
            judged.append({**found["cordon run"], "limit": limit if size == SIZES[0] else None,
                           "what": f"the starter configuration, {size:,} directories, {state}, against bwrap"})
    return judged


def against(program, cordon, spawn, floor):
    """This program against another one, each command in turns; True when one is worse by more than 3 %."""
    missed = []
    for who in run_time.identities():
        place = run_time.Place(who, cordon, spawn, floor)
        try:
            (place.top / "other").mkdir()
            other = shutil.copy2(program, place.top / "other" / "cordon")
            config = write_config(place, other)
            tree = make_tree(place, SIZES[0])
            quiet = ["run", "--quiet"]
            less = [word for name in ("proc", "tree_death", "fs_carve", "protect_missing")
                    for word in ("--accept-missing", name)]
            commands = {
                "run": (["run", "--", run_time.TRUE], place.work),
                "run --full-auto": (["run", "--full-auto", "--", run_time.TRUE], place.work),
                "run --backend bwrap": ([*quiet, "--backend", "bwrap", "--", run_time.TRUE], place.work),
                "run --backend landlock": ([*quiet, "--backend", "landlock", *less, "--", run_time.TRUE], place.work),
                "run --network managed": (["run", "--network", "managed", "--allow-host", "example.com", "--",
                                           run_time.TRUE], place.work),
                "run, starter, 300 directories": (["run", "--config-file", config, "--", run_time.TRUE], tree),
                "run --dry-run, starter": (["run", "--config-file", config, "--dry-run", "--", run_time.TRUE], tree),
            }
            print(f"== as {who.name}: this program against {program}", flush=True)
            for name, (words, cwd) in commands.items():
                try:
                    found = compare(place, {"this": [place.cordon, *words], "other": [other, *words]},
                                    3 * run_time.ROUNDS, cwd, "other")["this"]
                except run_time.Failed as reason:
                    print(f"  {name:<44} absent: {reason}")
                    continue
                is_worse = found["low"] > WORSE
                print(f"  {name:<44} {found['median_us'] / 1000:>9.2f} ms   × {found['ratio']:.3f}"
                      f" (95 %: {found['low']:.3f} to {found['high']:.3f}){' WORSE' * is_worse}", flush=True)
                missed += [name] * is_worse
        finally:
            place.remove()
    return bool(missed)
