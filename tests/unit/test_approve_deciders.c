/* SPDX-License-Identifier: MIT */
/*
 * The deciders that are programs (approve/deciders.h), with real processes and sockets and the real
 * broker: what is right, and what hangs, dies, lies or floods.
 */
#include "approve/deciders.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "approve/broker.h"
#include "base/path.h"
#include "os/fd.h"
#include "os/program.h"
#include "scratch.h"
#include "test.h"
#include "world.h"

enum { MAX_IDS = 2000, SOON_MS = 60000, ALL_SCOPES = (1 << (SCOPE_ALWAYS + 1)) - 1 };

PRINTF_LIKE(3, 4) static void put(char *out, size_t size, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(out, size, fmt, args);
	va_end(args);
}

/* ---- A run without a sandbox ------------------------------------------------------------------ */

struct told {
	unsigned times;
	bool is_allow;
	enum grant_scope scope;
	char by[16], message[128], grant[128];
};

struct run {
	struct world w;
	struct loop loop;
	struct arena a;
	struct broker *b;
	struct decider d;
	struct err e;
	struct told told[MAX_IDS];
	unsigned answered, allowed, rejected, lost;
	char why[512]; /* of the last that was rejected */
};

static struct run run;
static const struct message_run run_names = { STR_INIT("run-1"), STR_INIT("") };

/*
 * Programs have to lie where nobody else may write, so not in /var/tmp: they are below the home
 * directory.
 */
static char top[2048];

static bool make_top(void)
{
	char where[256];

	if (top[0])
		return true;
	put(top, sizeof(top), "%s/.cordon-test-XXXXXX", getenv("HOME") ? getenv("HOME") : "");
	if (!mkdtemp(top)) {
		top[0] = '\0';
		return false;
	}
	return !os_distrust_path(top, where, sizeof(where));
}

__attribute__((destructor)) static void remove_top(void)
{
	if (top[0] && nftw(top, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0)
		perror(top);
}

static const char *in_top(const char *name)
{
	static char texts[4][4096];
	static size_t next;
	char *text = texts[next++ % 4];

	put(text, sizeof(texts[0]), "%s/%s", top, name);
	return text;
}

static void answered(void *user, uint64_t id, const struct answer *answer)
{
	struct told *t = &run.told[id];

	(void)user;
	t->times++;
	t->is_allow = answer->is_allow;
	t->scope = answer->scope;
	put(t->by, sizeof(t->by), "%s", answer->by);
	put(t->message, sizeof(t->message), "%.*s", STR_ARG(answer->message));
	if (answer->is_allow)
		put(t->grant, sizeof(t->grant), "%.*s", STR_ARG(answer->grant.subject));
	run.answered++;
	run.allowed += answer->is_allow;
}

static void rejected(void *user, uint64_t id, const char *why)
{
	(void)user;
	(void)id;
	run.rejected++;
	put(run.why, sizeof(run.why), "%s", why);
}

static void lost(void *user, const char *why)
{
	(void)user;
	(void)why;
	run.lost++;
}

/* `writable` is what the command may write, "" nothing. */
static bool begin(const char *writable, uint64_t deadline_ms)
{
	struct broker_options options = {
		.decider = &run.d,
		.scopes = ALL_SCOPES,
		.deadline_ms = deadline_ms,
		.events = { .answered = answered, .rejected = rejected, .lost = lost },
	};
	static char text[8192], host[8192];

	run = (struct run){ .loop = LOOP_NONE, .a = ARENA_INIT(64 << 20), .e = ERR_INIT };
	put(host, sizeof(host), "d /repo\nd /home/me\n%s%s%s", *writable ? "d " : "", writable,
	    *writable ? "\n" : "");
	world_init(&run.w, host, "/repo");
	put(text, sizeof(text), "[permissions.dev.filesystem]\n':root' = 'read'\n%s%s%s",
	    *writable ? "'" : "", writable, *writable ? "' = 'write'\n" : "");
	run.w.user = text;
	run.w.profile = "dev";
	return world_plan(&run.w) && loop_init(&run.loop, &run.e) == 0 &&
	       loop_prepare_timers(&run.loop, &run.e) == 0 &&
	       broker_new(&options, &run.b, &run.e) == 0;
}

static const char *environment[] = { "HOME=/nowhere", "LANG=C", "TERM=dumb", "SECRET=hunter2",
				     "USER=nobody",   NULL,	NULL };

/* Whether --ask TEXT can be used; run.e says why not. */
static bool use(const char *text)
{
	struct decider_setup setup = { .loop = &run.loop,
				       .broker = run.b,
				       .plan = run.w.plan,
				       .run = &run_names,
				       .environment = environment,
				       .errors = 2 };
	struct ask_option option;

	run.e = (struct err)ERR_INIT;
	return ask_parse(text, &option, &run.e) == 0 &&
	       ask_find(&run.a, &option, "/usr/bin:/bin", &run.e) == 0 &&
	       decider_open(&run.a, &option, &setup, &run.d, &run.e) == 0;
}

static void end(void)
{
	if (run.d.stop) {
		run.d.stop(run.d.self);
		run.d.stop(run.d.self);
	}
	broker_free(run.b);
	loop_done(&run.loop);
	arena_done(&run.a);
	world_done(&run.w);
}

/* A request of its own: to write /x/ID/f, in the file or in its directory. */
static int ask_with(uint64_t id, const char *reason)
{
	static char file[64], dir[64];
	struct answer out;
	struct ask ask = {
		.id = id,
		.kind = ASK_WRITE,
		.operation = OPERATION_CREATE,
		.named = STR_EMPTY,
		.program = STR("/usr/bin/tee"),
		.cwd = STR_EMPTY,
		.rule = STR_EMPTY,
		.reason = str_of(reason),
		.offers = { { .scopes = ALL_SCOPES & ~SCOPE_BIT(SCOPE_ALWAYS) } },
		.offer_count = 1,
	};
	int r;

	put(file, sizeof(file), "/x/%" PRIu64 "/f", id);
	put(dir, sizeof(dir), "/x/%" PRIu64, id);
	ask.subject = str_of(file);
	ask.offers[0].grant =
		(struct grant){ .kind = ASK_WRITE, .subject = str_of(dir), .is_dir = true };
	r = broker_ask(run.b, &ask, loop_now(), &out);
	if (r == 0)
		answered(NULL, id, &out);
	return r;
}

static int ask(uint64_t id)
{
	return ask_with(id, "");
}

/* One step of the loop; the broker's clock goes on. */
static bool step(int timeout_ms)
{
	bool ok = loop_step(&run.loop, timeout_ms, &run.e) == 0;

	broker_tick(run.b, loop_now());
	return ok;
}

/* Until that many requests have their answer. */
static bool wait_for(unsigned count)
{
	uint64_t end_ms = loop_now() + SOON_MS;

	while (run.answered < count && loop_now() < end_ms)
		if (!step(50))
			return false;
	return run.answered >= count;
}

static bool write_program(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	return f && fputs(text, f) >= 0 && fclose(f) == 0 && chmod(path, 0755) == 0;
}

/* "cmd:" and a new program that is that shell script. In it $id is the number of the request. */
static const char *script(const char *text)
{
	static char option[4200], whole[8192];
	static unsigned number;
	char name[32];

	put(name, sizeof(name), "decide%u", number++);
	put(option, sizeof(option), "cmd:%s", in_top(name));
	put(whole, sizeof(whole),
	    "#!/bin/sh\nread -r line\nid=${line##*\\\"id\\\":}; id=${id%%%%,*}\n%s\n", text);
	return write_program(option + 4, whole) ? option : "";
}

#define ALLOW "echo \"{\\\"id\\\": $id, \\\"decision\\\": \\\"allow\\\"}\"\n"

/* ---- --ask ---------------------------------------------------------------------------------- */

TEST(each_form_of_the_option_is_known_and_others_are_not)
{
	static const struct {
		const char *text;
		enum decider_kind kind;
		const char *rest;
		int fd;
	} good[] = {
		{ "tty", DECIDER_TTY, "", -1 },
		{ "off", DECIDER_NONE, "", -1 },
		{ "cmd:/usr/bin/x y", DECIDER_PROGRAM, "/usr/bin/x y", -1 },
		{ "cmd:decide", DECIDER_PROGRAM, "decide", -1 },
		{ "fd:3", DECIDER_DESCRIPTOR, "", 3 },
		{ "socket:/run/ui", DECIDER_SOCKET, "/run/ui", -1 },
	};
	static const char *const bad[] = {
		"",	   "TTY",	"tty:",	      "off ",	"cmd:",
		"cmd",	   "cmd:./x",	"cmd:a/b",    "fd:",	"fd:2",
		"fd:0",	   "fd:-1",	"fd:3x",      "fd: 3",	"fd:99999999999999999999",
		"socket:", "socket:ui", "socket:@ui", "socket", "/bin/true",
	};

	for (size_t i = 0; i < COUNT_OF(good); i++) {
		struct err e = ERR_INIT;
		struct ask_option option;

		CHECK_INT(ask_parse(good[i].text, &option, &e), 0);
		CHECK_INT(option.kind, good[i].kind);
		CHECK_INT(option.fd, good[i].fd);
		CHECK(str_is(option.text, good[i].rest));
	}
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct err e = ERR_INIT;
		struct ask_option option;

		if (!CHECK(ask_parse(bad[i], &option, &e) < 0 && e.code == ERR_ARGUMENT))
			printf("# %s\n", bad[i]);
	}
}

/* ---- A program ---------------------------------------------------------------------------- */

TEST(a_program_allows_and_denies)
{
	REQUIRE(make_top() && begin("", 0));
	REQUIRE(use(script(
		"case $id in\n"
		"1) " ALLOW ";;\n"
		"2) printf '{\"id\": 2, \"decision\": \"deny\", \"message\": \"no\"}';;\n"
		"3) echo '{\"id\": 3, \"decision\": \"allow\", \"scope\": \"session\", "
		"\"grant\": {\"kind\": \"write\", \"path\": \"/x/3/deep\", \"dir\": true}}';;\n"
		"esac")));
	for (uint64_t id = 1; id <= 3; id++)
		CHECK_INT(ask(id), 1);
	CHECK(wait_for(3));
	CHECK(run.told[1].is_allow && run.told[1].scope == SCOPE_RUN);
	CHECK_STR(run.told[1].grant, "/x/1");
	CHECK_STR(run.told[1].by, "cmd");
	CHECK(!run.told[2].is_allow);
	CHECK_STR(run.told[2].message, "no");
	CHECK(run.told[3].is_allow && run.told[3].scope == SCOPE_SESSION);
	CHECK_STR(run.told[3].grant, "/x/3/deep");
	CHECK_INT(run.rejected, 0);
	end();
}

TEST(what_is_no_answer_of_a_program_denies_at_once)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "exit 0", "ended without an answer" },
		{ "echo", "ended without an answer" },
		{ "echo yes", "" },
		{ ALLOW "exit 1", "it ended with status 1" },
		{ "kill -9 $$", "it was killed by signal 9" },
		{ "exec /nowhere/x 2>&-", "it ended with status 127" },
		{ ALLOW ALLOW, "more than one line" },
		{ ALLOW "echo", "more than one line" },
		{ "head -c 70000 /dev/zero | tr '\\0' ' '; echo", "more than 64 KiB" },
		{ "exec cat /dev/zero", "more than 64 KiB" },
		{ "echo '{\"id\": 2, \"decision\": \"allow\"}'", "another request" },
		{ "echo '{\"id\": 1, \"decision\": \"allow\", \"scope\": \"always\"}'", "" },
		{ "echo '{\"id\": 1, \"decision\": \"allow\", \"more\": 1}'", "" },
		{ "echo '{\"id\": 1, \"decision\": \"allow\", \"grant\": {\"kind\": \"write\", "
		  "\"path\": \"/x\", \"dir\": true}}'",
		  "" },
		{ "echo '{\"id\": 1, \"decision\": \"allow\", \"grant\": {\"kind\": \"write\", "
		  "\"path\": \"/x/11\", \"dir\": true}}'",
		  "" },
	};

	REQUIRE(make_top());
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		bool is_right;

		REQUIRE(begin("", 0) && use(script(cases[i].text)));
		CHECK_INT(ask(1), 1);
		is_right = wait_for(1) && !run.told[1].is_allow && run.rejected == 1 &&
			   strstr(run.why, cases[i].why);
		if (!CHECK(is_right))
			printf("# %s: %u rejected, %s\n", cases[i].text, run.rejected, run.why);
		CHECK_INT(run.told[1].times, 1);
		CHECK_STR(run.told[1].by, "cmd");
		/* Beside it: the next program is asked all the same. */
		CHECK_INT(run.lost, 0);
		end();
	}
}

/* The pid in a file that a program has written; 0: it is not there yet. */
static pid_t read_pid(const char *path)
{
	FILE *f = fopen(path, "r");
	int pid = 0;

	if (f && fscanf(f, "%d", &pid) != 1)
		pid = 0;
	if (f)
		(void)fclose(f);
	return pid;
}

static pid_t wait_for_pid(const char *path)
{
	pid_t pid = 0;

	for (int i = 0; i < 2000 && !pid; i++) {
		CHECK(step(10));
		pid = read_pid(path);
	}
	return pid;
}

static bool is_gone(pid_t pid)
{
	for (int i = 0; i < 2000 && kill(pid, 0) == 0; i++)
		(void)usleep(10000);
	return kill(pid, 0) < 0 && errno == ESRCH;
}

/* It ignores what asks it to end, and has a child that does the work. */
static const char *hanging(const char *pid_file)
{
	static char text[8192];

	(void)unlink(pid_file);
	put(text, sizeof(text),
	    "trap '' TERM HUP\nsh -c 'echo $$ >%s.new; mv %s.new %s; exec sleep 1000'", pid_file,
	    pid_file, pid_file);
	return text;
}

TEST(a_program_that_hangs_is_killed_at_the_deadline)
{
	char pid_file[4096];
	pid_t pid;

	REQUIRE(make_top() && begin("", 1500));
	put(pid_file, sizeof(pid_file), "%s", in_top("pid"));
	REQUIRE(use(script(hanging(pid_file))));
	CHECK_INT(ask(1), 1);
	CHECK(wait_for(1));
	CHECK(!run.told[1].is_allow);
	CHECK_STR(run.told[1].by, "deadline");
	pid = read_pid(pid_file);
	CHECK(pid == 0 || is_gone(pid));
	/* The slot is free again. */
	for (int i = 0; i < 20; i++)
		CHECK(step(10));
	end();
}

TEST(a_program_is_killed_when_nobody_waits_or_the_run_ends)
{
	char pid_file[4096];

	REQUIRE(make_top());
	put(pid_file, sizeof(pid_file), "%s", in_top("pid"));
	for (int by_end = 0; by_end < 2; by_end++) {
		pid_t pid;

		REQUIRE(begin("", 0) && use(script(hanging(pid_file))));
		CHECK_INT(ask(1), 1);
		pid = wait_for_pid(pid_file);
		REQUIRE(pid > 0 && kill(pid, 0) == 0);
		if (by_end) {
			end();
			CHECK(is_gone(pid));
			continue;
		}
		broker_withdraw(run.b, 1, loop_now());
		CHECK(is_gone(pid));
		/* The next is asked in its place, and nothing is told of the first. */
		CHECK_INT(ask(2), 1);
		CHECK(wait_for_pid(pid_file) > 0);
		CHECK_INT(run.told[1].times, 0);
		CHECK_INT(run.rejected, 0);
		end();
	}
}

TEST(what_a_program_leaves_behind_does_not_delay_its_answer)
{
	char text[8192], pid_file[4096];
	uint64_t began_ms = loop_now();

	REQUIRE(make_top() && begin("", 0));
	put(pid_file, sizeof(pid_file), "%s", in_top("left"));
	put(text, sizeof(text), "sleep 1000 & echo $! >%s\n" ALLOW, pid_file);
	REQUIRE(use(script(text)));
	CHECK_INT(ask(1), 1);
	CHECK(wait_for(1));
	CHECK(run.told[1].is_allow);
	CHECK(loop_now() - began_ms < SOON_MS);
	CHECK(is_gone(read_pid(pid_file)));
	end();
}

/* How many programs ran at once at most: each wrote "s" when it began and "e" when it ended. */
static int most_at_once(const char *log, int *all)
{
	FILE *f = fopen(log, "r");
	int c, now = 0, most = 0;

	*all = 0;
	while (f && (c = fgetc(f)) != EOF) {
		now += c == 's' ? 1 : c == 'e' ? -1 : 0;
		*all += c == 's';
		most = now > most ? now : most;
	}
	if (f)
		(void)fclose(f);
	return most;
}

TEST(a_thousand_requests_at_once_are_answered_by_a_few_programs)
{
	char text[8192], log[4096];
	int all, most;

	REQUIRE(make_top() && begin("", 0));
	put(log, sizeof(log), "%s", in_top("log"));
	/* The first waits for a second: starting one may take longer than it runs. */
	put(text, sizeof(text),
	    "echo s >>%s\ni=0\n"
	    "while [ $(wc -c <%s) -lt 4 ] && [ $i -lt 500 ]; do sleep 0.01; i=$((i + 1)); "
	    "done\n" ALLOW "echo e >>%s",
	    log, log, log);
	REQUIRE(use(script(text)));
	for (uint64_t id = 1; id <= 1000; id++)
		(void)ask(id);
	CHECK(wait_for(1000));
	CHECK_INT(run.answered, 1000);
	/* Beyond the rate nobody is asked. */
	CHECK_INT(run.allowed, BROKER_PER_MINUTE);
	CHECK_STR(run.told[1].by, "cmd");
	CHECK_STR(run.told[1000].by, "limit");
	most = most_at_once(log, &all);
	CHECK_INT(all, BROKER_PER_MINUTE);
	CHECK(most > 1 && most <= DECIDER_MAX_PROGRAMS);
	for (uint64_t id = 1; id <= 1000; id++)
		if (run.told[id].times != 1)
			CHECK_INT(run.told[id].times, 1);
	end();
}

static struct str read_whole(const char *path)
{
	static char text[65536];
	FILE *f = fopen(path, "r");
	size_t len = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	if (f)
		(void)fclose(f);
	text[len] = '\0';
	return (struct str){ text, len };
}

/* Whether no grant may be for it while the run goes on. */
static bool has_place(const char *path)
{
	for (size_t i = 0; i < run.d.place_count; i++)
		if (str_is(run.d.places[i], path))
			return true;
	return false;
}

TEST(a_program_gets_four_variables_and_a_path_that_the_command_can_t_write)
{
	const char **path = &environment[5];
	char list[8192], text[8192], seen[4096], workspace[4096], link[4200];
	struct str out;

	REQUIRE(make_top());
	put(workspace, sizeof(workspace), "%s", in_top("workspace"));
	REQUIRE(mkdir(workspace, 0755) == 0 && begin(workspace, 0));
	/* The command could turn the link, so what it leads to now is meant. */
	put(link, sizeof(link), "%s/bin", workspace);
	REQUIRE(symlink("/usr/bin", link) == 0);
	put(list, sizeof(list), "PATH=%s:.::%s:%s/missing:/usr/bin:/etc", workspace, link, top);
	put(seen, sizeof(seen), "%s", in_top("seen"));
	put(text, sizeof(text), "tr '\\0' '\\n' </proc/$$/environ >%s; pwd >>%s\n" ALLOW, seen,
	    seen);
	*path = list;
	REQUIRE(use(script(text)));
	*path = NULL;
	CHECK(has_place("/usr/bin") && has_place("/etc"));
	CHECK(!has_place(workspace) && !has_place(link));
	CHECK_INT(ask(1), 1);
	CHECK(wait_for(1));
	CHECK(run.told[1].is_allow);
	out = read_whole(seen);
	CHECK_STR(out.p, "PATH=/usr/bin:/etc\nHOME=/nowhere\nLANG=C\nTERM=dumb\n/\n");
	end();
}

/* ---- Which program ---------------------------------------------------------------------------- */

TEST(a_program_that_the_command_could_change_is_refused)
{
	char option[4200], dir[4096], file[4200];

	REQUIRE(make_top());
	put(dir, sizeof(dir), "%s", in_top("tools"));
	put(file, sizeof(file), "%s/decide", dir);
	REQUIRE(mkdir(dir, 0755) == 0 && write_program(file, "#!/bin/sh\n"));
	put(option, sizeof(option), "cmd:%s", file);
	for (int i = 0; i < 3; i++) {
		/* The file, its directory, and one above that. */
		REQUIRE(begin(i == 0 ? file : i == 1 ? dir : top, 0));
		CHECK(!use(option));
		CHECK_INT(run.e.cause, CAUSE_DECIDER_UNTRUSTED);
		end();
	}
	REQUIRE(begin(in_top("elsewhere"), 0));
	CHECK(use(option));
	end();
}

TEST(a_program_that_others_could_change_is_refused)
{
	char option[4200], dir[4096], file[4200];

	REQUIRE(make_top());
	put(dir, sizeof(dir), "%s", in_top("shared"));
	put(file, sizeof(file), "%s/decide", dir);
	REQUIRE(mkdir(dir, 0755) == 0 && write_program(file, "#!/bin/sh\n"));
	put(option, sizeof(option), "cmd:%s", file);
	REQUIRE(begin("", 0));
	CHECK(use(option));
	run.d.stop(run.d.self);
	CHECK(chmod(file, 0775) == 0 && !use(option) && run.e.cause == CAUSE_DECIDER_UNTRUSTED);
	CHECK(chmod(file, 0755) == 0 && chmod(dir, 01777) == 0 && !use(option) &&
	      run.e.cause == CAUSE_DECIDER_UNTRUSTED);
	CHECK(chmod(dir, 0755) == 0);
	if (geteuid() == 0)
		CHECK(chown(file, 65533, 65533) == 0 && !use(option) &&
		      run.e.cause == CAUSE_DECIDER_UNTRUSTED);
	end();
}

TEST(an_interpreter_is_trusted_no_more_than_the_program)
{
	char option[4200], shell[4096], text[8192];

	REQUIRE(make_top());
	put(shell, sizeof(shell), "%s", in_top("venv"));
	REQUIRE(mkdir(shell, 0755) == 0);
	strcat(shell, "/sh");
	put(text, sizeof(text), "cp /bin/sh %s", shell);
	REQUIRE(system(text) == 0);
	put(option, sizeof(option), "cmd:%s", in_top("decide-venv"));
	put(text, sizeof(text), "#! %s -u\n", shell);
	REQUIRE(write_program(option + 4, text));
	REQUIRE(begin(shell, 0));
	CHECK(!use(option));
	CHECK_INT(run.e.cause, CAUSE_DECIDER_UNTRUSTED);
	end();
	REQUIRE(begin("", 0));
	CHECK(use(option));
	run.d.stop(run.d.self);
	REQUIRE(write_program(option + 4, "#!sh\n"));
	CHECK(!use(option) && run.e.cause == CAUSE_DECIDER_UNUSABLE);
	REQUIRE(write_program(option + 4, "#!/there/is/no such\n"));
	CHECK(!use(option) && run.e.cause == CAUSE_DECIDER_UNUSABLE);
	REQUIRE(write_program(option + 4, "#!"));
	CHECK(!use(option) && run.e.cause == CAUSE_DECIDER_UNUSABLE);
	/* A script whose interpreter is itself. */
	put(text, sizeof(text), "#!%s\n", option + 4);
	REQUIRE(write_program(option + 4, text));
	CHECK(!use(option) && run.e.cause == CAUSE_DECIDER_UNUSABLE);
	end();
}

TEST(the_way_to_an_interpreter_is_trusted_no_more_than_itself)
{
	char option[4200], ws[4096], safe[4096], turned[4200], first[4200], text[8192];

	REQUIRE(make_top());
	put(ws, sizeof(ws), "%s", in_top("ws"));
	put(safe, sizeof(safe), "%s", in_top("safe"));
	REQUIRE(mkdir(ws, 0755) == 0 && mkdir(safe, 0755) == 0);
	/* safe/first -> ../ws/turned -> /bin/sh */
	put(turned, sizeof(turned), "%s/turned", ws);
	put(first, sizeof(first), "%s/first", safe);
	REQUIRE(symlink("/bin/sh", turned) == 0 && symlink("../ws/turned", first) == 0);
	put(option, sizeof(option), "cmd:%s/decide", safe);
	put(text, sizeof(text), "#!%s\n", first);
	REQUIRE(write_program(option + 4, text));
	REQUIRE(begin(ws, 0));
	CHECK(!use(option));
	CHECK_INT(run.e.cause, CAUSE_DECIDER_UNTRUSTED);
	end();
	REQUIRE(begin("", 0));
	CHECK(use(option));
	CHECK(has_place(option + 4) && has_place(first) && has_place(turned));
	CHECK(!has_place(safe) && !has_place(ws));
	end();
}

TEST(a_program_that_is_not_there_or_none_is_named)
{
	REQUIRE(make_top() && begin("", 0));
	CHECK(!use("cmd:/there/is/none") && run.e.cause == CAUSE_DECIDER_UNUSABLE);
	CHECK(!use("cmd:there-is-no-such-program") && run.e.cause == CAUSE_DECIDER_UNUSABLE);
	CHECK(!use("cmd:/usr/bin") && run.e.cause == CAUSE_DECIDER_UNUSABLE);
	CHECK(!use("cmd:/etc/passwd") && run.e.cause == CAUSE_DECIDER_UNUSABLE);
	CHECK(use("cmd:env"));
	end();
}

TEST(a_program_that_was_replaced_meanwhile_still_decides)
{
	char option[4200];

	REQUIRE(make_top() && begin("", 0));
	put(option, sizeof(option), "%s", script(ALLOW));
	REQUIRE(use(option));
	REQUIRE(rename(option + 4, in_top("old")) == 0 &&
		write_program(option + 4, "#!/bin/sh\nexit 1\n"));
	CHECK_INT(ask(1), 1);
	CHECK(wait_for(1));
	CHECK(run.told[1].is_allow);
	/* Even when it is nowhere any more. */
	REQUIRE(unlink(in_top("old")) == 0);
	CHECK_INT(ask(2), 1);
	CHECK(wait_for(2));
	CHECK(run.told[2].is_allow);
	end();
}

/* ---- A descriptor ----------------------------------------------------------------------------- */

static int peer; /* the other end */

static bool begin_fd(uint64_t deadline_ms)
{
	char option[32];
	int pair[2];

	if (!begin("", deadline_ms) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return false;
	peer = pair[0];
	put(option, sizeof(option), "fd:%d", pair[1]);
	if (!use(option))
		printf("# %s\n", run.e.text);
	(void)close(pair[1]);
	return run.d.ask != NULL;
}

static void end_fd(void)
{
	fd_close(&peer);
	end();
}

/* All of it, in as many steps as it takes. */
static bool say(const char *text, size_t bytes)
{
	while (bytes > 0) {
		ssize_t n = send(peer, text, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN)
			return false;
		text += n > 0 ? n : 0;
		bytes -= n > 0 ? (size_t)n : 0;
		if (!step(0))
			return false;
	}
	return true;
}

static bool answer(uint64_t id, const char *more)
{
	char text[512];
	int bytes =
		snprintf(text, sizeof(text), "{\"id\": %" PRIu64 ", \"decision\": %s}\n", id, more);

	return say(text, (size_t)bytes);
}

/* What it was sent, as far as it is there. */
static struct str hear(void)
{
	static char text[1 << 20];
	ssize_t n = recv(peer, text, sizeof(text) - 1, MSG_DONTWAIT);

	text[n > 0 ? n : 0] = '\0';
	return (struct str){ text, n > 0 ? (size_t)n : 0 };
}

TEST(many_requests_are_in_flight_and_answered_in_any_order)
{
	struct str heard;

	REQUIRE(begin_fd(0));
	for (uint64_t id = 1; id <= 100; id++)
		CHECK_INT(ask(id), 1);
	heard = hear();
	CHECK(strstr(heard.p, "\"type\":\"request\"") && strstr(heard.p, "/x/100/f"));
	CHECK(strstr(heard.p, "\"run\":\"run-1\""));
	for (uint64_t id = 100; id > 0; id--)
		CHECK(answer(id, id % 2 ? "\"allow\"" : "\"deny\""));
	CHECK(wait_for(100));
	CHECK_INT(run.allowed, 50);
	CHECK(run.told[99].is_allow && !run.told[98].is_allow);
	CHECK_STR(run.told[99].by, "fd");
	CHECK_STR(run.told[99].grant, "/x/99");
	CHECK_INT(run.rejected, 0);
	end_fd();
}

TEST(an_answer_may_come_in_pieces_and_several_at_once)
{
	static const char both[] =
		"{\"id\": 1, \"decision\": \"allow\"}\n{\"id\": 2, \"decision\": \"deny\"}\r\n";

	REQUIRE(begin_fd(0));
	for (uint64_t id = 1; id <= 4; id++)
		CHECK_INT(ask(id), 1);
	CHECK(say(both, sizeof(both) - 1));
	CHECK(wait_for(2));
	for (size_t i = 0; i + 1 < sizeof(both); i++) {
		char byte = both[i] == '1' ? '3' : both[i] == '2' ? '4' : both[i];

		CHECK_INT(run.answered, i < 31 ? 2 : 3);
		CHECK(say(&byte, 1));
	}
	CHECK(wait_for(4));
	CHECK(run.told[1].is_allow && !run.told[2].is_allow && run.told[3].is_allow &&
	      !run.told[4].is_allow);
	CHECK_INT(run.rejected, 0);
	end_fd();
}

TEST(what_does_not_fit_changes_nothing)
{
	static const char *const wrong[] = {
		"yes\n",
		"\n",
		"{\"id\": 9, \"decision\": \"allow\"}\n",
		"{\"id\": 1, \"decision\": \"perhaps\"}\n",
		"{\"id\": 1, \"decision\": \"allow\", \"scope\": \"always\"}\n",
		"{\"id\": 1, \"decision\": \"allow\", \"grant\": {\"kind\": \"write\", \"path\": "
		"\"/x\", "
		"\"dir\": true}}\n",
		"{\"id\": 1, \"decision\": \"allow\", \"grant\": {\"kind\": \"write\", \"path\": "
		"\"/x/1/../2\", \"dir\": true}}\n",
	};

	REQUIRE(begin_fd(0));
	CHECK_INT(ask(1), 1);
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		CHECK(say(wrong[i], strlen(wrong[i])));
		CHECK(step(10));
		if (!CHECK(run.rejected == i + 1 && run.answered == 0))
			printf("# %s", wrong[i]);
	}
	CHECK(answer(1, "\"allow\""));
	CHECK(wait_for(1));
	CHECK(run.told[1].is_allow);
	/* A second answer, too. */
	CHECK(answer(1, "\"deny\""));
	CHECK(step(10));
	CHECK_INT(run.told[1].times, 1);
	CHECK_INT(run.rejected, COUNT_OF(wrong) + 1);
	CHECK_INT(run.lost, 0);
	end_fd();
}

TEST(a_line_without_end_is_told_once_and_kept_nowhere)
{
	enum { PART = 1 << 20 };
	static char part[PART];
	unsigned parts = TEST_IS_SANITIZED ? 16 : 256;

	memset(part, '[', sizeof(part));
	REQUIRE(begin_fd(0));
	CHECK_INT(ask(1), 1);
	for (unsigned i = 0; i < parts; i++)
		CHECK(say(part, sizeof(part)));
	CHECK(step(10));
	CHECK_INT(run.rejected, 1);
	CHECK(run.a.used_bytes < PART);
	CHECK(say("\n", 1) && answer(1, "\"allow\""));
	CHECK(wait_for(1));
	CHECK(run.told[1].is_allow);
	CHECK_INT(run.rejected, 1);
	end_fd();
}

TEST(a_line_of_exactly_the_most_bytes_is_read)
{
	static char line[MESSAGE_MAX_ANSWER + 2];
	static const char text[] = "{\"id\": 1, \"decision\": \"allow\"}";

	for (size_t more = 0; more < 2; more++) {
		REQUIRE(begin_fd(0));
		memset(line, ' ', sizeof(line));
		memcpy(line, text, sizeof(text) - 1);
		line[MESSAGE_MAX_ANSWER + more] = '\n';
		CHECK_INT(ask(1), 1);
		CHECK(say(line, MESSAGE_MAX_ANSWER + more + 1));
		CHECK(step(10));
		CHECK_INT(run.allowed, more ? 0 : 1);
		CHECK_INT(run.rejected, more);
		end_fd();
	}
}

TEST(a_decider_that_talks_nonsense_is_not_asked_any_more)
{
	REQUIRE(begin_fd(0));
	CHECK_INT(ask(1), 1);
	for (int i = 0; i < BROKER_MAX_WRONG - 1; i++)
		CHECK(say("nonsense\n", 9));
	CHECK(step(10));
	CHECK_INT(run.lost, 0);
	CHECK_INT(run.answered, 0);
	CHECK(say("nonsense\n", 9));
	CHECK(wait_for(1));
	CHECK_INT(run.lost, 1);
	CHECK(!run.told[1].is_allow);
	/* Nobody listens to the rest of a flood. */
	CHECK(!say("{\"id\": 1, \"decision\": \"allow\"}\n", 32) || step(10));
	CHECK_INT(run.rejected, BROKER_MAX_WRONG);
	CHECK_INT(ask(2), 0);
	CHECK(!run.told[2].is_allow);
	end_fd();
}

TEST(a_decider_that_ends_denies_what_waits)
{
	for (int half_line = 0; half_line < 2; half_line++) {
		REQUIRE(begin_fd(0));
		CHECK_INT(ask(1), 1);
		CHECK_INT(ask(2), 1);
		CHECK(answer(1, "\"allow\""));
		CHECK(!half_line || say("{\"id\": 2, \"decision\": \"allow\"}", 31));
		fd_close(&peer);
		CHECK(wait_for(2));
		CHECK(run.told[1].is_allow && !run.told[2].is_allow);
		CHECK_INT(run.lost, 1);
		CHECK_INT(run.rejected, half_line);
		CHECK_INT(ask(3), 0);
		CHECK(!run.told[3].is_allow);
		end_fd();
	}
}

/* It has closed one direction only, so nothing it could say would be an answer. */
TEST(a_decider_that_can_t_be_told_denies_what_waits)
{
	REQUIRE(begin_fd(0));
	CHECK(shutdown(peer, SHUT_RD) == 0);
	CHECK_INT(ask(1), 1);
	CHECK(wait_for(1));
	CHECK(!run.told[1].is_allow);
	CHECK_INT(run.lost, 1);
	end_fd();
}

TEST(a_decider_that_does_not_read_gets_a_bounded_number_of_requests)
{
	static char reason[200 << 10];
	unsigned count = 0, lines = 0;
	uint64_t end_ms;

	/* It takes six times as many bytes in the message as the broker keeps. */
	memset(reason, 1, sizeof(reason) - 1);
	REQUIRE(begin_fd(0));
	while (count < 50 && !run.answered)
		(void)ask_with(++count, reason);
	CHECK(count > DECIDER_MAX_UNSENT / (6 * sizeof(reason)) && count < 50);
	CHECK(!run.told[count].is_allow);
	CHECK_STR(run.told[count].message, "too many requests wait for who decides");
	/* When it reads, all that was accepted is there, whole. */
	end_ms = loop_now() + SOON_MS;
	while (lines < count - 1 && loop_now() < end_ms) {
		struct str heard = hear(), line;

		CHECK(step(0));
		for (;
		     heard.len && (line = str_first(heard, str_find(heard, '\n'))).len < heard.len;
		     heard = str_from(heard, line.len + 1))
			lines++;
	}
	CHECK_INT(lines, count - 1);
	CHECK(answer(count - 1, "\"allow\""));
	CHECK(wait_for(2));
	CHECK(run.told[count - 1].is_allow);
	/* And the next is asked again. */
	CHECK_INT(ask(count + 1), 1);
	end_fd();
}

TEST(a_decider_is_told_when_nobody_waits)
{
	REQUIRE(begin_fd(500));
	CHECK_INT(ask(1), 1);
	CHECK_INT(ask(2), 1);
	(void)hear();
	broker_withdraw(run.b, 1, loop_now());
	CHECK_STR(hear().p, "{\"v\":1,\"type\":\"withdrawn\",\"id\":1}\n");
	/* Late: it changes nothing. */
	CHECK(answer(1, "\"allow\""));
	CHECK(step(10));
	CHECK_INT(run.rejected, 1);
	CHECK_INT(run.told[1].times, 0);
	/* The deadline is a withdrawal as well. */
	CHECK(wait_for(1));
	CHECK_STR(run.told[2].by, "deadline");
	CHECK_STR(hear().p, "{\"v\":1,\"type\":\"withdrawn\",\"id\":2}\n");
	end_fd();
}

TEST(a_descriptor_that_is_no_connection_is_refused)
{
	char option[32];
	int ends[2], closed;

	REQUIRE(pipe2(ends, O_CLOEXEC) == 0 && begin("", 0));
	put(option, sizeof(option), "fd:%d", ends[0]);
	CHECK(!use(option) && run.e.code == ERR_ARGUMENT);
	closed = ends[0];
	fd_close(&ends[0]);
	fd_close(&ends[1]);
	put(option, sizeof(option), "fd:%d", closed);
	CHECK(!use(option) && run.e.code == ERR_ARGUMENT);
	end();
}

/* ---- A socket --------------------------------------------------------------------------------- */

static int serve(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(at.sun_path))
		return -1;
	memcpy(at.sun_path, path, strlen(path));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(fd, 1) == 0)
		return fd;
	fd_done(&fd);
	return -1;
}

TEST(a_server_at_a_socket_decides)
{
	char option[4200];
	int server;

	REQUIRE(make_top() && begin("", 0));
	put(option, sizeof(option), "socket:%s", in_top("s1"));
	server = serve(option + 7);
	REQUIRE(server >= 0 && use(option));
	CHECK(has_place(option + 7));
	peer = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	CHECK_INT(ask(1), 1);
	CHECK(strstr(hear().p, "/x/1/f"));
	CHECK(answer(1, "\"allow\""));
	CHECK(wait_for(1));
	CHECK(run.told[1].is_allow);
	CHECK_STR(run.told[1].by, "socket");
	/* It is never connected to again. */
	CHECK(fcntl(server, F_SETFL, O_NONBLOCK) == 0);
	fd_close(&peer);
	CHECK_INT(ask(2), 1);
	CHECK(wait_for(2));
	CHECK_INT(run.lost, 1);
	CHECK(!run.told[2].is_allow);
	CHECK(accept4(server, NULL, NULL, SOCK_CLOEXEC) < 0 && errno == EAGAIN);
	fd_done(&server);
	end_fd();
}

TEST(a_socket_that_the_command_could_replace_is_refused)
{
	char option[4200], dir[4096];
	int server;

	REQUIRE(make_top());
	put(dir, sizeof(dir), "%s", in_top("sockets"));
	put(option, sizeof(option), "socket:%s/s", dir);
	REQUIRE(mkdir(dir, 0700) == 0);
	server = serve(option + 7);
	REQUIRE(server >= 0);
	REQUIRE(begin(dir, 0));
	CHECK(!use(option));
	CHECK_INT(run.e.cause, CAUSE_DECIDER_UNTRUSTED);
	end();
	REQUIRE(begin("", 0));
	CHECK(use(option));
	run.d.stop(run.d.self);
	fd_done(&server);
	CHECK(!use(option) && run.e.cause == CAUSE_DECIDER_UNUSABLE);
	CHECK(unlink(option + 7) == 0 && !use(option) && run.e.cause == CAUSE_DECIDER_UNUSABLE);
	scratch_put(option + 7, "");
	CHECK(!use(option) && run.e.cause == CAUSE_DECIDER_UNUSABLE);
	end();
}

TEST(the_socket_of_another_user_is_refused)
{
	char option[4200], byte = 'n';
	int ready[2];
	pid_t server;

	if (geteuid() != 0)
		SKIP("only root can be another user");
	REQUIRE(begin("", 0) && pipe2(ready, O_CLOEXEC) == 0);
	REQUIRE(mkdir("theirs", 0777) == 0 && chmod("theirs", 0777) == 0 && chmod(".", 0755) == 0);
	put(option, sizeof(option), "socket:%s/theirs/s", scratch_top);
	server = fork();
	if (server == 0) {
		bool ok = setgroups(0, NULL) == 0 && setgid(65533) == 0 && setuid(65533) == 0 &&
			  serve("theirs/s") >= 0;

		(void)!write(ready[1], ok ? "y" : "n", 1);
		(void)pause();
		_exit(0);
	}
	CHECK_INT(read(ready[0], &byte, 1), 1);
	CHECK_INT(byte, 'y');
	CHECK(!use(option));
	CHECK_INT(run.e.cause, CAUSE_DECIDER_UNTRUSTED);
	(void)kill(server, SIGKILL);
	(void)waitpid(server, NULL, 0);
	(void)close(ready[0]);
	(void)close(ready[1]);
	end();
}
