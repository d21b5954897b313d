#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What people build and test with works in a workspace-write sandbox."""

import json
import os
from pathlib import Path

from work import Skip, case, run_cases

MAIN = """#include <stdio.h>
{declarations}
int main(void)
{{
	int sum = 0;
{calls}
	printf("%d\\n", sum);
	return 0;
}}
"""

MAKEFILE = """objects = $(patsubst %.c,%.o,$(wildcard *.c))
check: program
	test "$$(./program)" = 66
program: main.o libparts.a
	cc -o $@ main.o -L. -lparts
libparts.a: $(filter-out main.o,$(objects))
	ar rcs $@ $^
%.o: %.c
	cc -O1 -pipe -c -o $@ $<
"""


@case
def a_c_project_builds_with_make_j(w):
    w.need("make", "cc", "ar")
    parts = range(12)
    w.write_all({f"part{i}.c": f"int part{i}(void) {{ return {i}; }}\n" for i in parts})
    w.write_all({
        "main.c": MAIN.format(declarations="\n".join(f"int part{i}(void);" for i in parts),
                              calls="\n".join(f"\tsum += part{i}();" for i in parts)),
        "Makefile": MAKEFILE,
    })
    w.run("make", "-s", "-j4")
    again = w.run("make", "-j4", "program")
    assert "up to date" in again.text, again
    return w.run("./program").text


LEAK = """#include <stdlib.h>
#include <string.h>
#include <pthread.h>
static void *idle(void *p) { return p; }
int main(int argc, char **argv)
{
	pthread_t t;
	char *p = malloc(16);
	pthread_create(&t, 0, idle, 0);
	pthread_join(t, 0);
	memset(p, argc, argc == 3 ? 32 : 16);
	if (argc != 2)
		free(p);
	p = argv[0];
	return 0;
}
"""


@case
def programs_with_address_and_leak_sanitizer_run(w):
    """The leak sanitizer stops the program with ptrace, from a process that it clones."""
    w.need("gcc")
    w.write_all({"leak.c": LEAK})
    built = w.run("gcc", "-g", "-fsanitize=address,undefined", "-o", "leak", "leak.c", "-pthread", check=None)
    if built.status != 0 and not w.is_boxed:
        raise Skip("gcc has no sanitizers here")
    assert built.status == 0, built
    options = {"ASAN_OPTIONS": "detect_leaks=1"}
    w.run("./leak", env=options)
    leak = w.run("./leak", "leak", env=options, check=1)
    assert b"LeakSanitizer: detected memory leaks" in leak.err, leak
    overflow = w.run("./leak", "over", "flow", env=options, check=1)
    assert b"heap-buffer-overflow" in overflow.err and b"leak.c:11" in overflow.err, overflow


@case
def gdb_breaks_in_a_child(w):
    w.need("gdb", "cc")
    w.write_all({"main.c": "int twice(int x) { return 2 * x; }\nint main(void) { return twice(21); }\n"})
    w.run("cc", "-g", "-O0", "-o", "program", "main.c")
    out = w.run("gdb", "-q", "-nx", "-batch", "-ex", "break twice", "-ex", "run", "-ex", "bt", "-ex", "print x",
                "-ex", "continue", "./program").text
    assert "#0  twice (x=21)" in out and "#1  " in out and "$1 = 21" in out, out
    assert "exited with code 052" in out, out


@case
def gdb_attaches_to_a_process_of_the_same_run(w):
    w.need("gdb")
    out = w.shell('sleep 20 & gdb -q -nx -batch -p $! -ex bt 2>&1; kill $!').text
    assert "#0 " in out and "ptrace" not in out, out


@case
def strace_follows_children(w):
    w.need("strace")
    w.run("strace", "-f", "-o", "trace", "/bin/sh", "-c", "cat /dev/null; true")
    text = (w.workspace / "trace").read_text(errors="replace")
    assert '"/dev/null", O_RDONLY' in text and "+++ exited with 0 +++" in text, text


@case
def python_makes_and_uses_a_venv(w):
    python = w.python()
    w.run(python, "-m", "venv", "--without-pip", "env")
    w.write_all({"env/extra.py": ""})
    return w.same_name(w.run("env/bin/python", "-c", "import sys; print(sys.prefix, sys.prefix != sys.base_prefix)").text)


POOL = """
import asyncio, concurrent.futures, multiprocessing as mp, os, sqlite3, sys, tempfile
from multiprocessing import shared_memory

def square(x):
    return x * x

def fill(name):
    block = shared_memory.SharedMemory(name=name)
    block.buf[:5] = b"hello"
    block.close()

async def ask():
    p = await asyncio.create_subprocess_exec("echo", "asked", stdout=asyncio.subprocess.PIPE)
    return (await p.communicate())[0]

def main():
    mp.set_start_method(sys.argv[1])
    with mp.Pool(4) as pool:
        print(sum(pool.map(square, range(200))))
    with mp.Manager() as manager:
        shared = manager.dict()
        with concurrent.futures.ProcessPoolExecutor(2) as workers:
            list(workers.map(shared.__setitem__, "ab", (1, 2)))
        print(sorted(shared.items()))
    block = shared_memory.SharedMemory(create=True, size=4096)
    p = mp.Process(target=fill, args=(block.name,))
    p.start(); p.join()
    print(bytes(block.buf[:5]), p.exitcode)
    block.close(); block.unlink()
    queue, lock = mp.Queue(), mp.Lock()
    with lock:
        queue.put(os.getpid() > 0)
    print(queue.get(timeout=10))
    print(asyncio.run(ask()))
    with tempfile.TemporaryDirectory() as d:
        base = sqlite3.connect(os.path.join(d, "x.db"))
        print(base.execute("pragma journal_mode = wal").fetchone())
        base.execute("create table t(a)"); base.execute("insert into t values (1)"); base.commit()
        print(base.execute("select count(*) from t").fetchone())

if __name__ == "__main__":
    main()
"""


@case
def python_multiprocessing_works_with_fork(w):
    w.write_all({"pool.py": POOL})
    return w.run(w.python(), "pool.py", "fork").text


@case
def python_multiprocessing_works_with_a_fork_server(w):
    """The server is asked over a unix socket that was bound inside."""
    w.write_all({"pool.py": POOL})
    return w.run(w.python(), "pool.py", "forkserver").text


NODE = """
const { Worker, isMainThread, parentPort } = require('worker_threads');
const { execFileSync, fork } = require('child_process');
const fs = require('fs'), net = require('net'), os = require('os'), path = require('path');
if (!isMainThread) {
	parentPort.postMessage(6 * 7);
} else if (process.argv[2] === 'child') {
	process.send('from the child');
	process.disconnect();
} else {
	console.log(execFileSync('echo', ['run']).toString().trim());
	fs.writeFileSync(path.join(os.tmpdir(), 'note'), 'x');
	const watcher = fs.watch('.', () => {});
	watcher.close();
	const child = fork(__filename, ['child']);
	child.on('message', (m) => {
		console.log(m);
		new Worker(__filename).on('message', (n) => {
			console.log(n);
			const server = net.createServer((c) => c.end('over a socket'));
			const at = path.join(os.tmpdir(), 's');
			server.listen(at, () => {
				net.connect(at).on('data', (d) => { console.log(d.toString()); server.close(); });
			});
		});
	});
}
"""


@case
def node_has_workers_children_and_sockets(w):
    w.need("node")
    w.write_all({"main.js": NODE})
    return w.run("node", "main.js").text


@case
def npm_installs_offline_from_a_folder_and_a_tarball(w):
    w.need("npm", "node")
    w.write_all({
        "one/package.json": json.dumps({"name": "one", "version": "1.0.0", "main": "i.js"}),
        "one/i.js": "module.exports = 1;\n",
        "two/package.json": json.dumps({"name": "two", "version": "1.0.0", "main": "i.js",
                                        "scripts": {"postinstall": "node -e \"require('fs').writeFileSync('built', '')\""}}),
        "two/i.js": "module.exports = 2;\n",
        "app/package.json": json.dumps({"name": "app", "version": "1.0.0", "scripts": {"test": "node t.js"}}),
        "app/t.js": "console.log(require('one') + require('two'), require('fs').existsSync('node_modules/two/built'));\n",
    })
    env = {"npm_config_cache": str(w.workspace / "cache"), "npm_config_offline": "true",
           "npm_config_audit": "false", "npm_config_fund": "false", "npm_config_update_notifier": "false"}
    w.shell("cd two && npm pack --silent >/dev/null && cd ../app &&"
            " npm install --silent ../one ../two/two-1.0.0.tgz && npm test --silent", env=env)
    return w.run("npm", "test", "--silent", cwd=w.workspace / "app", env=env).text


@case
def cargo_builds_offline(w):
    # The tools of a user may lie in the home that the test does not use.
    real = Path(os.path.expanduser("~"))
    env = {name: os.environ.get(name, str(real / default)) for name, default in
           (("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup"))}
    w.env.update({name: path for name, path in env.items() if Path(path).is_dir()})
    w.need("cargo")
    if w.plain("cargo", "--version", check=None).status != 0:
        raise Skip(f"cargo does not run as {w.who.name}")
    w.write_all({
        "Cargo.toml": '[package]\nname = "hello"\nversion = "0.1.0"\nedition = "2021"\n',
        "src/main.rs": 'fn main() { println!("{}", hello::twice(21)); }\n',
        "src/lib.rs": "pub fn twice(x: i32) -> i32 { 2 * x }\n",
    })
    w.run("cargo", "build", "--offline", "--quiet")
    return w.run("target/debug/hello").text


if __name__ == "__main__":
    run_cases()
