/* SPDX-License-Identifier: MIT */
/*
 * Tests of src/linux/placeholder/watch.c and masker.c on real files and namespaces. What
 * stands for the sandbox is a process in a user and a mount namespace of its own,
 * without capabilities, that tries what it is told to.
 */
#include "linux/placeholder/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/path.h"
#include "cordon.h"
#include "lib/lib.h"
#include "linux/placeholder/masker.h"
#include "scratch.h"
#include "test.h"

/* A round takes a millisecond, or longer where others use the machine as well. */
enum { PATIENCE_MS = 10000, SOON_ROUNDS = 200 };

/* ---- A sandbox ------------------------------------------------------------------ */

struct inside {
	pid_t pid;
	int channel;
	struct sandbox sandbox;
};

static bool write_text(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

static bool enter_namespaces(void)
{
	unsigned uid = geteuid(), gid = getegid();
	char map[60];

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return false;
	(void)snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	if (!write_text("/proc/self/setgroups", "deny") || !write_text("/proc/self/uid_map", map))
		return false;
	(void)snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	return write_text("/proc/self/gid_map", map) &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static bool drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { .effective = 0 } };

	return syscall(SYS_capset, &header, none) == 0;
}

/* 0 or the errno of opening it for reading; of a directory, of listing it. */
static int try_to_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

/* 'r' reads, 'w' writes a new file (its name is the text), 'q' ends. */
static int serve(char *order)
{
	int fd;

	switch (order[0]) {
	case 'r':
		return try_to_read(order + 1);
	case 'w':
		fd = open(order + 1, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0 || write(fd, order, 1) != 1)
			return errno;
		close(fd);
		return 0;
	case 'u':
		return unlink(order + 1) < 0 ? errno : 0;
	default:
		_exit(0);
	}
}

static void live_inside(int channel)
{
	char order[PATH_MAX_BYTES + 1];
	int answer = enter_namespaces() ? 0 : errno ? errno : EIO;

	if (write(channel, &answer, sizeof(answer)) < 0 || answer)
		_exit(1);
	for (bool first = true;; first = false) {
		ssize_t n = read(channel, order, sizeof(order) - 1);

		if (n <= 0)
			_exit(0);
		order[n] = '\0';
		/* The first order comes when the namespaces were opened from outside. */
		answer = first ? (drop_capabilities() ? 0 : errno) : serve(order);
		if (write(channel, &answer, sizeof(answer)) < 0)
			_exit(1);
	}
}

static int ask(const struct inside *in, char what, const char *path)
{
	char order[PATH_MAX_BYTES + 1];
	int answer = -1;

	(void)snprintf(order, sizeof(order), "%c%s", what, path);
	if (write(in->channel, order, strlen(order)) < 0 ||
	    read(in->channel, &answer, sizeof(answer)) != (ssize_t)sizeof(answer))
		return -1;
	return answer;
}

static int open_of(pid_t pid, const char *what, int flags)
{
	char name[60];

	(void)snprintf(name, sizeof(name), "/proc/%d/%s", (int)pid, what);
	return open(name, flags | O_CLOEXEC);
}

static bool inside_start(struct inside *in)
{
	int pair[2];
	int answer = -1;

	*in = (struct inside){ .channel = -1, .sandbox = SANDBOX_NONE };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return false;
	(void)fflush(stdout);
	in->pid = fork();
	if (in->pid == 0) {
		close(pair[0]);
		live_inside(pair[1]);
	}
	close(pair[1]);
	in->channel = pair[0];
	if (in->pid < 0 || read(in->channel, &answer, sizeof(answer)) != (ssize_t)sizeof(answer) ||
	    answer != 0) {
		printf("# no namespaces: %s\n", strerror(answer));
		return false;
	}
	in->sandbox.pid = in->pid;
	in->sandbox.root = open_of(in->pid, "root", O_PATH);
	in->sandbox.user_ns = open_of(in->pid, "ns/user", O_RDONLY);
	in->sandbox.mount_ns = open_of(in->pid, "ns/mnt", O_RDONLY);
	return in->sandbox.root >= 0 && in->sandbox.user_ns >= 0 && in->sandbox.mount_ns >= 0 &&
	       ask(in, '-', "") == 0;
}

static void inside_done(struct inside *in)
{
	close(in->channel);
	close(in->sandbox.root);
	close(in->sandbox.user_ns);
	close(in->sandbox.mount_ns);
	if (in->pid > 0)
		(void)waitpid(in->pid, NULL, 0);
}

/* ---- A run ------------------------------------------------------------------------ */

struct run {
	struct inside in;
	struct arena a;
	struct loop loop;
	cordon_policy *policy;
	struct watch *watch;
	char top[100];	 /* the directory of this run */
	char path[4300]; /* of the last call of at() */
};

/* `top`/NAME, until the next call. */
static const char *at(struct run *r, const char *name)
{
	(void)snprintf(r->path, sizeof(r->path), "%s/%s", r->top, name);
	return r->path;
}

static void put(struct run *r, const char *name)
{
	scratch_put(at(r, name), "text");
}

static void make_dir(struct run *r, const char *name)
{
	if (mkdir(at(r, name), 0700) < 0)
		perror(name);
}

static void move(struct run *r, const char *from, const char *to)
{
	char old[sizeof(r->path)];

	(void)snprintf(old, sizeof(old), "%s", at(r, from));
	if (rename(old, at(r, to)) < 0)
		perror(from);
}

static cordon_policy *load(const char *top, const char *entries)
{
	const char *const environment[] = { "HOME=/nonexistent", NULL };
	struct cordon_load_options o = { .size = sizeof(o),
					 .directory = top,
					 .config_file = "config.toml",
					 .system_directory = "nothing",
					 .profile = "t",
					 .environment = environment };
	cordon_policy *policy = NULL;
	cordon_error *error = NULL;
	FILE *f = fopen("config.toml", "w");

	if (!f)
		return NULL;
	(void)fprintf(f, "[permissions.t.filesystem]\n':root' = 'read'\n'%s' = 'write'\n", top);
	for (; *entries; entries++) /* '@' is the directory */
		(void)fprintf(f, *entries == '@' ? "%s" : "%.1s", *entries == '@' ? top : entries);
	(void)fclose(f);
	if (cordon_policy_load(&o, &policy, &error) < 0) {
		printf("# %s\n", cordon_error_text(error));
		cordon_error_free(error);
	}
	return policy;
}

/* Everything but the watch, which start_watch() starts when the files are there. */
static bool run_init(struct run *r, const char *name)
{
	struct err e = ERR_INIT;

	*r = (struct run){ .a = ARENA_INIT(1 << 24) };
	(void)snprintf(r->top, sizeof(r->top), "%s/%s", scratch_top, name);
	return mkdir(r->top, 0700) == 0 && loop_init(&r->loop, &e) == 0 && inside_start(&r->in);
}

static bool start_watch(struct run *r, const char *entries)
{
	struct err e = ERR_INIT;

	r->policy = load(r->top, entries);
	if (!r->policy)
		return false;
	if (watch_start(&r->a, &r->loop, &r->in.sandbox, r->policy->plan, NULL, &r->watch, &e) == 0)
		return true;
	printf("# %s\n", e.text);
	return false;
}

static struct watch_summary run_done(struct run *r)
{
	struct watch_summary sum = { .directories = 0 };

	if (r->watch)
		sum = watch_stop(r->watch);
	inside_done(&r->in);
	loop_done(&r->loop);
	arena_done(&r->a);
	cordon_policy_free(r->policy);
	return sum;
}

static void turn(struct run *r, int timeout_ms)
{
	struct err e = ERR_INIT;

	if (!CHECK(loop_step(&r->loop, timeout_ms, &e) == 0))
		printf("# %s\n", e.text);
}

/* How many rounds it takes until the sandbox can't read it; -1 when it still can. */
static int masked_after(struct run *r, const char *name)
{
	uint64_t start = loop_now();

	for (int rounds = 0; loop_now() - start < PATIENCE_MS; rounds++) {
		if (ask(&r->in, 'r', at(r, name)) == EACCES)
			return rounds;
		turn(r, 1);
	}
	return -1;
}

static bool is_masked(struct run *r, const char *name)
{
	return masked_after(r, name) >= 0;
}

static bool is_masked_soon(struct run *r, const char *name)
{
	int rounds = masked_after(r, name);

	return rounds >= 0 && rounds < SOON_ROUNDS;
}

static bool is_open_inside(struct run *r, const char *name)
{
	return ask(&r->in, 'r', at(r, name)) == 0;
}

static bool is_open_outside(struct run *r, const char *name)
{
	return try_to_read(at(r, name)) == 0;
}

/* ---- Tests ------------------------------------------------------------------------- */

TEST(a_name_that_appears_is_masked_inside_only)
{
	struct run r;
	struct watch_summary sum;

	REQUIRE(run_init(&r, "appears"));
	make_dir(&r, "sub");
	REQUIRE(start_watch(&r, "'@/**/.env' = 'deny'\n"));
	put(&r, ".env");
	put(&r, "sub/.env");
	put(&r, "sub/.env.md");
	CHECK_INT(ask(&r.in, 'w', at(&r, "sub/other")), 0);
	CHECK(is_open_inside(&r, "sub/.env.md"));
	CHECK(is_masked_soon(&r, ".env"));
	CHECK(is_masked_soon(&r, "sub/.env"));
	CHECK(is_open_outside(&r, ".env"));
	CHECK(is_open_outside(&r, "sub/.env"));
	CHECK(is_open_inside(&r, "sub/.env.md"));
	CHECK(is_open_inside(&r, "sub/other"));
	CHECK(ask(&r.in, 'u', at(&r, ".env")) != 0);
	sum = run_done(&r);
	CHECK_INT(sum.masked, 2);
	CHECK_INT(sum.missed, 0);
	CHECK(sum.directories >= 2);
}

TEST(what_the_sandbox_makes_is_masked_too)
{
	struct run r;

	REQUIRE(run_init(&r, "makes"));
	REQUIRE(start_watch(&r, "'@/**/*.key' = 'deny'\n"));
	CHECK_INT(ask(&r.in, 'w', at(&r, "my.key")), 0);
	CHECK_INT(ask(&r.in, 'w', at(&r, "my.kex")), 0);
	CHECK(is_masked_soon(&r, "my.key"));
	CHECK(is_open_inside(&r, "my.kex"));
	CHECK_INT(run_done(&r).masked, 1);
}

TEST(without_the_watch_it_would_be_open)
{
	struct run r;

	REQUIRE(run_init(&r, "control"));
	put(&r, ".env");
	CHECK(is_open_inside(&r, ".env"));
	(void)run_done(&r);
}

TEST(new_directories_are_looked_into)
{
	struct run r;
	struct watch_summary sum;

	REQUIRE(run_init(&r, "dirs"));
	REQUIRE(start_watch(&r, "'@/**/.env' = 'deny'\n"));
	make_dir(&r, "a");
	make_dir(&r, "a/b");
	make_dir(&r, "a/b/c");
	put(&r, "a/b/c/.env");
	put(&r, "a/b/c/x");
	CHECK(is_masked_soon(&r, "a/b/c/.env"));
	make_dir(&r, "a/b/d");
	put(&r, "a/b/d/.env");
	CHECK(is_masked_soon(&r, "a/b/d/.env"));
	CHECK(is_open_inside(&r, "a/b/c/x"));
	sum = run_done(&r);
	CHECK_INT(sum.masked, 2);
	CHECK_INT(sum.missed, 0);
}

TEST(a_directory_that_matches_is_masked_whole)
{
	struct run r;

	REQUIRE(run_init(&r, "whole"));
	REQUIRE(start_watch(&r, "'@/**/secrets' = 'deny'\n"));
	make_dir(&r, "secrets");
	put(&r, "secrets/x");
	CHECK(is_masked_soon(&r, "secrets"));
	CHECK_INT(ask(&r.in, 'r', at(&r, "secrets/x")), EACCES);
	CHECK(is_open_outside(&r, "secrets/x"));
	CHECK_INT(run_done(&r).masked, 1);
}

TEST(what_is_moved_in_is_masked_all_the_way_down)
{
	struct run r;
	struct watch_summary sum;

	REQUIRE(run_init(&r, "moved"));
	make_dir(&r, "tree");
	make_dir(&r, "other");
	make_dir(&r, "other/a");
	make_dir(&r, "other/a/b");
	put(&r, "other/a/b/secret");
	put(&r, "other/a/b/plain");
	put(&r, "other/x");
	REQUIRE(start_watch(&r, "'@/tree/**/secret' = 'deny'\n"));
	CHECK(is_open_inside(&r, "other/a/b/secret"));
	move(&r, "other/a", "tree/a");
	move(&r, "other/x", "tree/secret");
	CHECK(is_masked_soon(&r, "tree/a/b/secret"));
	CHECK(is_masked_soon(&r, "tree/secret"));
	CHECK(is_open_inside(&r, "tree/a/b/plain"));
	/* Watched under their new names, also after they were elsewhere for a time. */
	move(&r, "tree/a", "other/away");
	put(&r, "other/away/secret");
	turn(&r, 0);
	CHECK(is_open_inside(&r, "other/away/secret"));
	move(&r, "other/away", "tree/a");
	CHECK(is_masked_soon(&r, "tree/a/secret"));
	sum = run_done(&r);
	CHECK_INT(sum.masked, 3);
	CHECK_INT(sum.missed, 0);
}

TEST(what_is_replaced_from_outside_is_masked_again)
{
	struct run r;

	REQUIRE(run_init(&r, "replaced"));
	REQUIRE(start_watch(&r, "'@/**/.env' = 'deny'\n"));
	for (int i = 0; i < 5; i++) {
		put(&r, "new");
		CHECK(is_open_inside(&r, "new"));
		move(&r, "new", ".env");
		CHECK(is_masked_soon(&r, ".env"));
	}
	CHECK_INT(run_done(&r).masked, 5);
}

TEST(a_link_is_masked_as_a_link)
{
	struct run r;

	REQUIRE(run_init(&r, "link"));
	put(&r, "target");
	REQUIRE(start_watch(&r, "'@/**/.env' = 'deny'\n"));
	REQUIRE(symlink("target", at(&r, ".env")) == 0);
	CHECK(is_masked_soon(&r, ".env"));
	CHECK(is_open_outside(&r, ".env"));
	CHECK(is_open_inside(&r, "target"));
	CHECK_INT(run_done(&r).masked, 1);
}

TEST(a_link_that_the_plan_leaves_open_is_masked_only_when_it_is_a_link_no_more)
{
	struct run r;

	REQUIRE(run_init(&r, "lifted"));
	make_dir(&r, "a");
	put(&r, "target");
	REQUIRE(symlink("target", at(&r, ".env")) == 0);
	REQUIRE(symlink("../target", at(&r, "a/.env")) == 0);
	REQUIRE(start_watch(&r, "':secrets' = 'deny'\n'@/target' = 'read'\n"));
	/* An event for the one, and for another name, which shows when all of them were seen. */
	move(&r, ".env", "moved");
	move(&r, "moved", ".env");
	put(&r, "a/.envrc");
	CHECK(is_masked_soon(&r, "a/.envrc"));
	CHECK(is_open_inside(&r, ".env"));
	CHECK(is_open_inside(&r, "a/.env"));
	put(&r, "new");
	move(&r, "new", ".env");
	CHECK(is_masked_soon(&r, ".env"));
	CHECK(is_open_inside(&r, "a/.env"));
	CHECK_INT(run_done(&r).masked, 2);
}

TEST(a_link_leads_no_mask_astray)
{
	struct run r;

	REQUIRE(run_init(&r, "astray"));
	make_dir(&r, "tree");
	make_dir(&r, "else");
	put(&r, "else/.env");
	REQUIRE(start_watch(&r, "'@/tree/**/.env' = 'deny'\n"));
	REQUIRE(symlink("../else", at(&r, "tree/way")) == 0);
	put(&r, "else/more");
	put(&r, "tree/.env");
	CHECK(is_masked_soon(&r, "tree/.env"));
	CHECK(is_open_inside(&r, "else/.env"));
	CHECK_INT(run_done(&r).masked, 1);
}

TEST(where_a_glob_starts_may_come_later_or_be_replaced)
{
	struct run r;

	REQUIRE(run_init(&r, "later"));
	make_dir(&r, "there");
	REQUIRE(start_watch(&r, "'@/there/*.key' = 'deny'\n'@/up/later/*.key' = 'deny'\n"));
	make_dir(&r, "up");
	make_dir(&r, "up/later");
	put(&r, "up/later/a.key");
	CHECK(is_masked_soon(&r, "up/later/a.key"));
	move(&r, "there", "old");
	make_dir(&r, "there");
	put(&r, "there/b.key");
	put(&r, "old/c.key");
	CHECK(is_masked_soon(&r, "there/b.key"));
	CHECK(is_open_inside(&r, "old/c.key"));
	CHECK_INT(run_done(&r).masked, 2);
}

TEST(what_came_between_the_plan_and_the_watch_is_masked)
{
	struct run r;
	struct err e = ERR_INIT;

	REQUIRE(run_init(&r, "between"));
	make_dir(&r, "a");
	r.policy = load(r.top, "'@/**/.env' = 'deny'\n");
	REQUIRE(r.policy);
	put(&r, "a/.env");
	REQUIRE(watch_start(&r.a, &r.loop, &r.in.sandbox, r.policy->plan, NULL, &r.watch, &e) == 0);
	CHECK(is_masked_soon(&r, "a/.env"));
	CHECK_INT(run_done(&r).masked, 1);
}

/* ---- What the plan remembers ------------------------------------------------------------ */

/* Loads until the plan has seen `name` long enough after its last change to remember it. */
static bool load_known(struct run *r, const char *entries, const char *name)
{
	struct host_listing known;

	for (int i = 0; i < 2000; i++) {
		cordon_policy_free(r->policy);
		r->policy = load(r->top, entries);
		if (!r->policy)
			return false;
		if (host_recall(r->policy->plan->host, str_of(at(r, name)), &known))
			return true;
		usleep(10000);
	}
	return false;
}

static bool watch_it(struct run *r, const struct plan *plan)
{
	struct err e = ERR_INIT;

	return watch_start(&r->a, &r->loop, &r->in.sandbox, plan, NULL, &r->watch, &e) == 0;
}

TEST(what_the_plan_remembers_is_watched_as_well)
{
	struct run r;
	struct watch_summary sum;

	REQUIRE(run_init(&r, "known"));
	make_dir(&r, "a");
	make_dir(&r, "a/b");
	make_dir(&r, "a/b/c");
	make_dir(&r, "other");
	put(&r, "a/b/x");
	REQUIRE(load_known(&r, "'@/**/.env' = 'deny'\n", "a/b/c"));
	put(&r, "a/b/.env"); /* after the plan, before the watch */
	REQUIRE(watch_it(&r, r.policy->plan));
	put(&r, "a/b/c/.env");
	put(&r, "other/.env");
	CHECK(is_masked_soon(&r, "a/b/.env"));
	CHECK(is_masked_soon(&r, "a/b/c/.env"));
	CHECK(is_masked_soon(&r, "other/.env"));
	CHECK(is_open_inside(&r, "a/b/x"));
	sum = run_done(&r);
	CHECK_INT(sum.masked, 3);
	CHECK_INT(sum.missed, 0);
	CHECK(sum.directories >= 5);
}

TEST(what_was_exchanged_since_the_plan_is_looked_into)
{
	struct run r;

	REQUIRE(run_init(&r, "exchanged"));
	make_dir(&r, "a");
	make_dir(&r, "a/b");
	make_dir(&r, "a2");
	make_dir(&r, "a2/b");
	put(&r, "a2/b/.envx");
	REQUIRE(load_known(&r, "'@/a/**/.envx' = 'deny'\n", "a/b"));
	move(&r, "a", "a1");
	move(&r, "a2", "a");
	REQUIRE(watch_it(&r, r.policy->plan));
	CHECK(is_masked_soon(&r, "a/b/.envx"));
	put(&r, "a1/b/.envx");
	move(&r, "a", "a2");
	move(&r, "a1", "a");
	CHECK(is_masked_soon(&r, "a/b/.envx"));
	(void)run_done(&r);
}

/* Exchanges `a` and `b` until the channel is closed, and leaves them as they were. */
static pid_t start_exchanging(const char *a, const char *b, int *channel)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		struct pollfd end = { .fd = ends[0], .events = POLLIN };

		close(ends[1]);
		for (int i = 0; i % 2 || poll(&end, 1, 0) == 0; i++)
			if (syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, 2) < 0)
				_exit(1);
		_exit(0);
	}
	close(ends[0]);
	*channel = ends[1];
	return pid;
}

/* SECURITY: a mark that another directory has got in its place is made good. */
TEST(what_is_exchanged_while_it_is_marked_is_watched_all_the_same)
{
	for (int i = 0; i < 20; i++) {
		char top[20], a[sizeof(((struct run *)0)->path)];
		int channel, status = 1;
		struct run r;
		pid_t pid;

		(void)snprintf(top, sizeof(top), "swap%d", i);
		REQUIRE(run_init(&r, top));
		make_dir(&r, "a");
		make_dir(&r, "a/b");
		make_dir(&r, "a/b/c");
		make_dir(&r, "other");
		make_dir(&r, "other/b");
		make_dir(&r, "other/b/c");
		REQUIRE(load_known(&r, "'@/**/.env' = 'deny'\n", "a/b/c"));
		(void)snprintf(a, sizeof(a), "%s", at(&r, "a"));
		pid = start_exchanging(a, at(&r, "other"), &channel);
		REQUIRE(pid > 0 && watch_it(&r, r.policy->plan));
		close(channel);
		REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
		put(&r, "a/b/c/.env");
		put(&r, "a/b/.env");
		put(&r, "other/b/c/.env");
		CHECK(is_masked(&r, "a/b/c/.env") && is_masked(&r, "a/b/.env"));
		CHECK(is_masked(&r, "other/b/c/.env"));
		(void)run_done(&r);
	}
}

static const struct host *true_host;

/* Of "a" alone, as if there were nothing in it. */
static bool recall_nothing(void *user, struct str path, struct host_listing *out)
{
	if (!str_is(path_name(path), "a") || !true_host->recall(user, path, out))
		return false;
	out->count = 0;
	return true;
}

/* No directory is read twice: a memory that is wrong is believed. */
TEST(what_the_plan_remembers_is_not_read_again)
{
	struct run r;
	struct plan plan;
	struct host false_host;

	REQUIRE(run_init(&r, "believed"));
	make_dir(&r, "a");
	make_dir(&r, "a/b");
	REQUIRE(load_known(&r, "'@/**/.env' = 'deny'\n", "a"));
	true_host = r.policy->plan->host;
	false_host = *true_host;
	false_host.recall = recall_nothing;
	plan = *r.policy->plan;
	plan.host = &false_host;
	REQUIRE(watch_it(&r, &plan));
	put(&r, "a/.env");
	put(&r, "a/b/.env");
	CHECK(is_masked_soon(&r, "a/.env"));
	CHECK(is_open_inside(&r, "a/b/.env"));
	(void)run_done(&r);
}

TEST(other_denies_are_not_its_business)
{
	struct run r;

	REQUIRE(run_init(&r, "others"));
	make_dir(&r, "closed");
	REQUIRE(start_watch(&r, "'@/closed' = 'deny'\n'@/**/.env' = 'deny'\n"
				"'@/open' = 'write'\n"));
	put(&r, "closed/x");
	put(&r, ".env");
	CHECK(is_masked(&r, ".env"));
	CHECK(is_open_inside(&r, "closed/x"));
	CHECK_INT(run_done(&r).masked, 1);
}

/* As a backend makes it: the way to what is open is no mount of its own. */
TEST(the_way_to_what_is_open_inside_stays_open)
{
	struct run r;

	REQUIRE(run_init(&r, "way"));
	make_dir(&r, "closed");
	make_dir(&r, "closed/.git");
	make_dir(&r, "closed/.git/refs");
	put(&r, "closed/.git/refs/x");
	REQUIRE(start_watch(&r, "'@/closed' = 'deny'\n'@/**/.git' = 'deny'\n'@/**/.env' = 'deny'\n"
				"'@/closed/.git/refs' = 'write'\n"));
	put(&r, "closed/.git/refs/.env");
	CHECK(is_masked(&r, "closed/.git/refs/.env"));
	CHECK(is_open_inside(&r, "closed/.git/refs/x"));
	CHECK_INT(run_done(&r).masked, 1);
}

TEST(without_globs_there_is_no_watch)
{
	struct run r;

	REQUIRE(run_init(&r, "noglob"));
	REQUIRE(start_watch(&r, "'@/x' = 'deny'\n"));
	CHECK(r.watch == NULL);
	(void)run_done(&r);
}

TEST(thousands_of_names_are_masked)
{
	enum { DIRS = 20, EACH = 60 };
	struct run r;
	struct watch_summary sum;
	size_t open = 0;
	uint64_t start;
	char name[60];

	REQUIRE(run_init(&r, "many"));
	REQUIRE(start_watch(&r, "'@/**/.env*' = 'deny'\n"));
	start = loop_now();
	for (int i = 0; i < DIRS; i++) {
		(void)snprintf(name, sizeof(name), "d%d", i);
		make_dir(&r, name);
		for (int k = 0; k < EACH; k++) {
			(void)snprintf(name, sizeof(name), "d%d/%s%d", i, k % 5 ? "x" : ".env", k);
			put(&r, name);
			if (k % 5)
				continue;
			(void)snprintf(name, sizeof(name), "d%d/.env-%d", i, k);
			put(&r, name);
		}
		turn(&r, 0);
	}
	(void)snprintf(name, sizeof(name), "d%d/.env-%d", DIRS - 1, EACH - EACH / 5 * 5);
	CHECK(is_masked(&r, name));
	for (int i = 0; i < DIRS; i++) {
		for (int k = 0; k < EACH; k += 5) {
			(void)snprintf(name, sizeof(name), "d%d/.env%d", i, k);
			open += !is_masked(&r, name);
			(void)snprintf(name, sizeof(name), "d%d/x%d", i, k + 1);
			open += !is_open_inside(&r, name);
		}
	}
	CHECK_INT(open, 0);
	printf("# %d names in %d new directories, %d masked, in %d ms\n", DIRS * (EACH + EACH / 5),
	       DIRS, DIRS * EACH / 5 * 2, (int)(loop_now() - start));
	sum = run_done(&r);
	CHECK_INT(sum.masked, DIRS * EACH / 5 * 2);
	CHECK_INT(sum.missed, 0);
}

static size_t queue_length(void)
{
	FILE *f = fopen("/proc/sys/fs/inotify/max_queued_events", "r");
	char line[40] = "";

	if (!f || !fgets(line, sizeof(line), f))
		line[0] = '\0';
	if (f)
		(void)fclose(f);
	return strtoul(line, NULL, 10);
}

TEST(a_queue_that_overflows_is_made_good)
{
	struct run r;
	size_t length = queue_length();

	if (length == 0 || length > 100000)
		SKIP("the queue of events is too long to be filled");
	REQUIRE(run_init(&r, "overflow"));
	make_dir(&r, "a");
	make_dir(&r, "a/b");
	REQUIRE(start_watch(&r, "'@/**/.env' = 'deny'\n"));
	put(&r, "f");
	for (size_t i = 0; i < length / 2 + 100; i++) {
		move(&r, "f", "a/f");
		move(&r, "a/f", "f");
	}
	put(&r, "a/b/.env");
	make_dir(&r, "a/b/c");
	put(&r, "a/b/c/.env");
	CHECK(is_masked(&r, "a/b/.env"));
	CHECK(is_masked(&r, "a/b/c/.env"));
	CHECK(run_done(&r).missed > 0);
}

/* What is gone takes no room for ever: after enough of it everything starts anew. */
TEST(directories_that_come_and_go_are_forgotten)
{
	enum { LEVELS = 12, LEVEL_BYTES = 250, ROUNDS = 500 }; /* over a megabyte of paths */
	struct run r;
	struct watch_summary sum;
	char name[LEVELS * (LEVEL_BYTES + 1) + 1];

	REQUIRE(run_init(&r, "gone"));
	memset(name, 'd', sizeof(name));
	for (int i = 1; i <= LEVELS; i++) {
		name[i * (LEVEL_BYTES + 1) - 1] = '\0';
		make_dir(&r, name);
		name[i * (LEVEL_BYTES + 1) - 1] = '/';
	}
	memcpy(name + sizeof(name) - 2, "x", 2);
	REQUIRE(start_watch(&r, "'@/**/.env' = 'deny'\n"));
	for (int i = 0; i < ROUNDS; i++) {
		REQUIRE(mkdir(at(&r, name), 0700) == 0);
		turn(&r, 0);
		turn(&r, 0);
		REQUIRE(rmdir(at(&r, name)) == 0);
	}
	make_dir(&r, "kept");
	put(&r, "kept/.env");
	CHECK(is_masked(&r, "kept/.env"));
	sum = run_done(&r);
	CHECK_INT(sum.masked, 1);
	CHECK(sum.directories < 100);
}

static bool make_forest(struct run *r, int dirs, int each)
{
	char name[60];

	for (int i = 0; i < dirs; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		if (mkdir(at(r, name), 0700) < 0)
			return false;
		for (int k = 0; k < each; k++) {
			int fd;

			(void)snprintf(name, sizeof(name), "%d/%d.c", i, k);
			fd = open(at(r, name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
			if (fd < 0)
				return false;
			close(fd);
		}
	}
	return true;
}

/* CORDON_CASES=50000 for the figure that the bench speaks of. */
TEST(a_large_tree_is_watched)
{
	enum { EACH = 20 };
	int dirs = (int)test_cases(2000) / EACH + 1;
	struct run r;
	struct err e = ERR_INIT;
	struct watch_summary sum;
	struct timespec from, to;

	REQUIRE(run_init(&r, "forest"));
	REQUIRE(make_forest(&r, dirs, EACH));
	r.policy = load(r.top, "'@/**/.env' = 'deny'\n'@/**/*.pem' = 'deny'\n");
	REQUIRE(r.policy);
	clock_gettime(CLOCK_MONOTONIC, &from);
	REQUIRE(watch_start(&r.a, &r.loop, &r.in.sandbox, r.policy->plan, NULL, &r.watch, &e) == 0);
	clock_gettime(CLOCK_MONOTONIC, &to);
	printf("# %d files in %d directories: watched after %.1f ms\n", dirs * EACH, dirs,
	       (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6);
	put(&r, "12/.env");
	CHECK(is_masked_soon(&r, "12/.env"));
	sum = run_done(&r);
	CHECK(sum.directories >= (uint64_t)dirs);
	CHECK_INT(sum.masked, 1);
}

/* In a user namespace of its own, whose limit can be lowered. */
static int watch_with_few_watches(struct run *r)
{
	struct err e = ERR_INIT;

	if (!enter_namespaces() || !write_text("/proc/sys/user/max_inotify_watches", "3"))
		return 77;
	if (!inside_start(&r->in))
		return 77;
	if (watch_start(&r->a, &r->loop, &r->in.sandbox, r->policy->plan, NULL, &r->watch, &e) !=
	    -(int)ERR_SYS)
		return 1;
	printf("# %s\n", e.text);
	(void)fflush(stdout);
	return e.cause == CAUSE_WATCH_LIMIT ? 0 : 2;
}

TEST(too_few_watches_are_refused_and_named)
{
	struct run r;
	int status = 0;
	pid_t pid;

	REQUIRE(run_init(&r, "few"));
	for (char name[] = "a"; *name < 'h'; ++*name)
		make_dir(&r, name);
	r.policy = load(r.top, "'@/**/.env' = 'deny'\n");
	REQUIRE(r.policy);
	(void)fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(watch_with_few_watches(&r));
	REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	(void)run_done(&r);
	if (WEXITSTATUS(status) == 77)
		SKIP("the limit can't be lowered in a namespace here");
	CHECK_INT(WEXITSTATUS(status), 0);
}

TEST(when_the_masker_dies_the_run_has_to_end)
{
	struct run r;
	struct masker m = MASKER_NONE;
	struct err e = ERR_INIT;
	uint64_t masked, missed;
	int status = 0;

	REQUIRE(run_init(&r, "dies"));
	put(&r, "x");
	REQUIRE(masker_start(&m, &r.in.sandbox, &e) == 0);
	CHECK_INT(masker_order(&m, str_of(at(&r, "x")), &e), 1);
	CHECK_INT(masker_order(&m, str_of(at(&r, "nothing")), &e), 1);
	while (atomic_load(&m.counts->done) < 2)
		usleep(1000);
	CHECK_INT(ask(&r.in, 'r', at(&r, "x")), EACCES);
	REQUIRE(syscall(SYS_pidfd_send_signal, m.pidfd, SIGKILL, NULL, 0) == 0);
	for (int i = 0; i < PATIENCE_MS && status >= 0; i++) {
		status = masker_order(&m, str_of(at(&r, "x")), &e);
		usleep(1000);
	}
	CHECK_INT(status, -ERR_SYS);
	masker_stop(&m, &masked, &missed);
	CHECK_INT(masked, 1);
	CHECK_INT(missed, 0);
	(void)run_done(&r);
}

TEST(a_namespace_that_is_none_is_refused)
{
	struct run r;
	struct masker m = MASKER_NONE;
	struct err e = ERR_INIT;
	struct sandbox wrong;

	REQUIRE(run_init(&r, "wrong"));
	wrong = r.in.sandbox;
	wrong.mount_ns = r.in.sandbox.root;
	CHECK_INT(masker_start(&m, &wrong, &e), -ERR_SYS);
	CHECK(strstr(e.text, "join its mount namespace") != NULL);
	CHECK(m.pidfd == -1 && m.channel == -1);
	(void)run_done(&r);
}

static int count_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 1000; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

TEST(nothing_is_left_behind)
{
	struct run r;
	int before = count_descriptors();

	REQUIRE(run_init(&r, "left"));
	REQUIRE(start_watch(&r, "'@/**/.env' = 'deny'\n"));
	put(&r, ".env");
	CHECK(is_masked(&r, ".env"));
	(void)run_done(&r);
	CHECK_INT(count_descriptors(), before);
	CHECK(waitpid(-1, NULL, __WALL | WNOHANG) < 0 && errno == ECHILD);
	/* The masks ended with the sandbox: the tree can be removed. */
	CHECK(unlink(at(&r, ".env")) == 0);
}

/* All of it once more as somebody who is not root. */
TEST(an_ordinary_user_gets_the_same)
{
	int status = 0;
	pid_t pid;

	if (geteuid() != 0)
		SKIP("all of this ran as an ordinary user already");
	(void)fflush(stdout);
	pid = fork();
	if (pid == 0) {
		/* A user that nobody else is has limits that nobody else uses up. */
		uid_t user = 61000 + (uid_t)getpid() % 4000;
		int null = open("/dev/null", O_WRONLY);

		if (setgid(user) < 0 || setuid(user) < 0)
			_exit(77);
		dup2(getenv("CORDON_TEST_VERBOSE") ? 2 : null, 1);
		execl("/proc/self/exe", "test_placeholder_watch", NULL);
		_exit(77);
	}
	REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		SKIP("this root can't become another user, or that one can't run the test");
	CHECK_INT(WEXITSTATUS(status), 0);
}
