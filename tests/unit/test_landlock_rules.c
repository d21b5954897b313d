/* SPDX-License-Identifier: MIT */
/*
 * The Landlock rules of the landlock backend in this kernel, with the rights of every ABI up
 * to its own: what each leaves open the filter and the supervisor keep.
 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "backend/inner/inner.h"
#include "linux/notify/metadata.h"
#include "os/landlock.h"
#include "scratch.h"

/* ---- Attempts: 0 or -errno, on "PLACE/file" and beside it ----------------------------- */

static const char *at(const char *place, const char *name)
{
	static char path[2][128];
	static unsigned next;
	char *out = path[next++ % 2];

	(void)snprintf(out, sizeof(path[0]), "%s/%s", place, name);
	return out;
}

static int result(long r)
{
	return r < 0 ? -errno : 0;
}

static int try_open(const char *p, int flags)
{
	int fd = open(at(p, "file"), flags | O_CLOEXEC, 0600);
	int r = result(fd);

	if (fd >= 0)
		(void)close(fd);
	return r;
}

static int try_write(const char *p)
{
	return try_open(p, O_WRONLY);
}

static int try_open_truncate(const char *p)
{
	return try_open(p, O_WRONLY | O_TRUNC);
}

static int try_read_truncate(const char *p)
{
	return try_open(p, O_RDONLY | O_TRUNC);
}

static int try_neither_truncate(const char *p)
{
	return try_open(p, 3 | O_TRUNC);
}

static int try_openat2_truncate(const char *p)
{
	struct open_how how = { .flags = O_RDONLY | O_TRUNC };

	return result(syscall(SYS_openat2, AT_FDCWD, at(p, "file"), &how, sizeof(how)));
}

static int try_truncate(const char *p)
{
	return result(truncate(at(p, "file"), 1));
}

static int try_chmod(const char *p)
{
	return result(chmod(at(p, "file"), 0640));
}

static int try_fchmod(const char *p)
{
	int fd = open(at(p, "file"), O_RDONLY | O_CLOEXEC);
	int r = result(fchmod(fd, 0641));

	(void)close(fd);
	return r;
}

static int try_chown(const char *p)
{
	return result(lchown(at(p, "file"), (uid_t)-1, getegid()));
}

static int try_times(const char *p)
{
	static const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 2 } };

	return result(utimensat(AT_FDCWD, at(p, "file"), times, 0));
}

static int try_attribute(const char *p)
{
	return result(setxattr(at(p, "file"), "user.test", "x", 1, 0));
}

static int try_flags(const char *p)
{
	int fd = open(at(p, "file"), O_RDONLY | O_CLOEXEC);
	int flags = FS_NODUMP_FL;
	int r = result(syscall(SYS_ioctl, fd, FS_IOC_SETFLAGS, &flags));

	(void)close(fd);
	return r;
}

static int try_mkdir(const char *p)
{
	return result(mkdir(at(p, "new"), 0700));
}

static int try_rename(const char *p)
{
	return result(rename(at(p, "file"), at(p, "moved")));
}

static const struct attempt {
	const char *name;
	int (*run)(const char *place);
	uint32_t is_refused_below; /* also where it may be written: what only a newer ABI tells apart */
} attempts[] = {
	{ "write", try_write, 0 },
	{ "open for writing and truncate", try_open_truncate, 0 },
	{ "open for reading and truncate", try_read_truncate, 3 },
	{ "open for neither and truncate", try_neither_truncate, 3 },
	{ "truncate", try_truncate, 0 },
	{ "chmod", try_chmod, 0 },
	{ "fchmod", try_fchmod, 0 },
	{ "chown", try_chown, 0 },
	{ "times", try_times, 0 },
	{ "attribute", try_attribute, 0 },
	{ "flags", try_flags, 0 },
	{ "mkdir", try_mkdir, 0 },
	{ "rename", try_rename, 0 },
};

/* ---- A process behind the rules --------------------------------------------------------- */

struct outcomes {
	int outside[COUNT_OF(attempts)], inside[COUNT_OF(attempts)];
	int openat2_outside, too_long;
};

struct run {
	struct arena a;
	struct inner_job job;
	struct sandbox sandbox;
	struct outcomes *shared;
	const char *writable[2];
};

static _Noreturn void run_inside(struct run *r)
{
	struct inner_job *job = &r->job;
	const struct rlimit limit = { 4096, 4096 };

	job->root = open("/", O_PATH | O_CLOEXEC);
	inner_prepare_landlock(job);
	inner_drop_capabilities(job);
	inner_enter_landlock(job);
	inner_tell_ready(job, inner_lock_filter(job));
	r->shared->openat2_outside = try_openat2_truncate("out");
	for (size_t i = 0; i < COUNT_OF(attempts); i++) {
		r->shared->outside[i] = attempts[i].run("out");
		r->shared->inside[i] = attempts[i].run("work");
	}
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)setrlimit(RLIMIT_FSIZE, &limit);
	r->shared->too_long = result(truncate("work/moved", 1 << 20));
	_exit(0);
}

static int prepare(struct run *r, uint32_t abi, bool is_writable, struct err *e)
{
	const struct filter_options options = {
		.arch = filter_this_arch,
		.metadata = is_writable ? FILTER_METADATA_ASKED : FILTER_METADATA_REFUSED,
		.lacks_truncate = abi < 3,
	};
	struct landlock_rule *rules = arena_array(&r->a, 2, sizeof(*rules), e);
	char *work = arena_alloc(&r->a, 256, e);

	if (!rules || !work)
		return -1;
	(void)snprintf(work, 256, "%s/work", scratch_top);
	rules[0] = (struct landlock_rule){ .path = "/", .kind = LANDLOCK_MAY_LOOK };
	rules[1] = (struct landlock_rule){ .path = work, .kind = LANDLOCK_MAY_WRITE };
	r->job = (struct inner_job){ .root = -1,
				     .unix_diag = -1,
				     .ruleset = -1,
				     .stdio = { 0, 1, 2 },
				     .has_listener = is_writable };
	r->job.landlock.abi = abi;
	r->job.landlock.rules.items = rules;
	r->job.landlock.rules.count = is_writable ? 2 : 1;
	r->writable[0] = work;
	r->sandbox = (struct sandbox)SANDBOX_NONE;
	r->sandbox.writable = r->writable;
	r->sandbox.has_no_namespaces = true;
	return filter_build(&r->a, &options, &r->job.filter, e);
}

/* Answers until it has ended. */
static void look_after(struct run *r, pid_t pid)
{
	struct loop loop;
	struct engine engine;
	struct err e = ERR_INIT;
	int status = -1;

	REQUIRE(loop_init(&loop, &e) == 0);
	if (r->job.has_listener) {
		REQUIRE(engine_start(&engine, &loop, r->sandbox.listener, &e) == 0);
		r->sandbox.listener = -1;
		REQUIRE(metadata_start(&r->a, &engine, &r->sandbox, &e) == 0);
	}
	while (waitpid(pid, &status, WNOHANG) == 0)
		REQUIRE(loop_step(&loop, 5, &e) >= 0);
	CHECK_INT(status, 0);
	if (r->job.has_listener)
		engine_stop(&engine);
	loop_done(&loop);
}

static void run(uint32_t abi, bool is_writable, struct outcomes *out)
{
	struct run r = { .a = ARENA_INIT(1u << 20) };
	struct init_message first;
	struct err e = ERR_INIT;
	int pair[2];
	pid_t pid;

	r.shared = mmap(NULL, sizeof(*r.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	REQUIRE(r.shared != MAP_FAILED);
	REQUIRE(prepare(&r, abi, is_writable, &e) == 0);
	REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	r.sandbox.channel = pair[0];
	r.job.channel = pair[1];
	pid = fork();
	if (pid == 0)
		run_inside(&r);
	(void)close(pair[1]);
	REQUIRE(inner_wait_ready(&r.job, &r.sandbox, &first, &e) == 0);
	REQUIRE(first.kind == INIT_READY);
	look_after(&r, pid);
	*out = *r.shared;
	(void)munmap(r.shared, sizeof(*r.shared));
	sandbox_done(&r.sandbox);
	arena_done(&r.a);
}

/* ---- The tests ------------------------------------------------------------------------------ */

static void make_place(const char *place)
{
	(void)mkdir(place, 0755);
	(void)rmdir(at(place, "new"));
	(void)remove(at(place, "moved"));
	scratch_put(at(place, "file"), "some text\n");
	(void)chmod(at(place, "file"), 0644);
}

static bool is_untouched(const struct stat *before)
{
	struct stat now;

	return stat("out/file", &now) == 0 && now.st_ino == before->st_ino &&
	       now.st_size == before->st_size && now.st_mode == before->st_mode &&
	       now.st_ctim.tv_sec == before->st_ctim.tv_sec &&
	       now.st_ctim.tv_nsec == before->st_ctim.tv_nsec;
}

static uint32_t kernel_abi(void)
{
	return (uint32_t)MAX_OF(os_landlock_abi(), 0);
}

static void check_abi(uint32_t abi, bool is_writable)
{
	struct outcomes o = { .too_long = 0 };
	struct stat before;

	make_place("out");
	make_place("work");
	REQUIRE(stat("out/file", &before) == 0);
	run(abi, is_writable, &o);
	for (size_t i = 0; i < COUNT_OF(attempts); i++) {
		bool is_open = is_writable && abi >= attempts[i].is_refused_below;

		if (!CHECK(o.outside[i] == -EACCES || o.outside[i] == -EPERM))
			printf("#   ABI %u, outside: %s: %d\n", abi, attempts[i].name,
			       o.outside[i]);
		/* Not every file system has flags and attributes. */
		if (!CHECK(is_open ? o.inside[i] == 0 || o.inside[i] == -EOPNOTSUPP ||
					     o.inside[i] == -ENOTTY
				   : o.inside[i] < 0))
			printf("#   ABI %u, inside: %s: %d\n", abi, attempts[i].name, o.inside[i]);
	}
	CHECK(o.openat2_outside == -ENOSYS || o.openat2_outside == -EACCES);
	CHECK(is_untouched(&before));
	if (is_writable)
		CHECK_INT(o.too_long, -EFBIG);
}

TEST(nothing_outside_changes_whatever_the_abi_has)
{
	if (kernel_abi() == 0)
		SKIP("this kernel has no Landlock");
	for (uint32_t abi = 1; abi <= kernel_abi(); abi++)
		check_abi(abi, true);
}

TEST(nothing_at_all_changes_where_nothing_is_writable)
{
	if (kernel_abi() == 0)
		SKIP("this kernel has no Landlock");
	for (uint32_t abi = 1; abi <= kernel_abi(); abi++)
		check_abi(abi, false);
}

TEST(without_landlock_all_of_it_changes_something)
{
	for (size_t i = 0; i < COUNT_OF(attempts); i++) {
		int r;

		make_place("out");
		r = attempts[i].run("out");
		if (!CHECK(r == 0 || r == -EOPNOTSUPP || r == -ENOTTY))
			printf("#   %s: %d\n", attempts[i].name, r);
	}
	make_place("out");
	CHECK_INT(try_openat2_truncate("out"), 0);
}
