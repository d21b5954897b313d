/* SPDX-License-Identifier: MIT */
/*
 * Tests of what src/backend/backend.h promises under "Live grants", with real sandboxes: calls that are held, and
 * paths that are opened. test_backend_live_close.c has how they are closed.
 */
#include "live_run.h"

/* ---- Holding ------------------------------------------------------------------------------- */

static bool refuse_from_within(struct run *r, const struct held_call *call)
{
	supervisor_release(r->s, call->id, RELEASE_REFUSE);
	return true;
}

static bool go_on_later(struct run *r, const struct held_call *call)
{
	(void)call;
	loop_set_timer(&r->loop, &r->later, loop_now() + 50);
	return true;
}

static bool wait_for_ever(struct run *r, const struct held_call *call)
{
	(void)r, (void)call;
	return true;
}

TEST(a_refused_write_is_offered_with_who_tries_it)
{
	struct run r = { .decide = refuse_at_once };

	CHECK_INT(run_with(&r, "", "mkdir asked 2>/dev/null; test ! -d asked"), 0);
	CHECK_INT(r.holds, 1);
	CHECK(r.operation == OPERATION_MKDIR && r.os_error == EROFS);
	CHECK_STR(r.subject, at("asked"));
	CHECK_STR(r.argv0, "mkdir");
	CHECK_STR(r.cwd, scratch_top);
	CHECK_INT((int)r.denials.items.count, 1);
	CHECK(!is_there("asked"));
	done(&r);
}

TEST(a_call_that_is_refused_from_within_hold_is_recorded_once)
{
	struct run r = { .decide = refuse_from_within };

	CHECK_INT(run_with(&r, "", "exec 2>/dev/null; rm -f config.toml; touch new; exit 7"), 7);
	CHECK_INT(r.holds, 2);
	CHECK_INT((int)r.denials.total, 2);
	done(&r);
}

TEST(a_call_that_goes_on_without_a_grant_is_asked_for_again_and_then_refused)
{
	struct run r = { .decide = go_on_later };

	CHECK_INT(run_with(&r, "", "mkdir asked 2>/dev/null; test ! -d asked"), 0);
	CHECK(r.holds > 1 && r.holds <= 8);
	CHECK_INT((int)r.denials.total, 1);
	done(&r);
}

TEST(what_nobody_may_lift_is_not_offered)
{
	struct run r = { .decide = wait_for_ever };

	mkdir("hidden", 0700);
	mkdir("ours", 0700);
	mkdir("ours/.git", 0700);
	CHECK_INT(
		run_with(&r, "'@/hidden' = 'deny'\n'@/ours' = 'write'\n",
			 "exec 2>/dev/null; touch hidden/x && exit 1; mkdir ours/.git/x && exit 2;"
			 "mkdir ours/.claude/x && exit 3; : >ours/fine"),
		0);
	CHECK_INT(r.holds, 0);
	CHECK(is_there("ours/fine"));
	done(&r);
}

TEST(a_caller_that_is_killed_is_not_held_any_more)
{
	struct run r = { .decide = wait_for_ever };

	CHECK_INT(run_with(&r, "",
			   "mkdir asked & p=$!; sleep 0.3; kill -9 $p; wait $p; sleep 0.3; exit 5"),
		  5);
	CHECK_INT(r.holds, 1);
	CHECK_INT(r.unholds, 1);
	done(&r);
}

TEST(a_caller_that_handles_a_request_to_end_gets_it_while_it_is_held)
{
	struct run r = { .decide = wait_for_ever };

	CHECK_INT(run_with(&r, "",
			   "(trap 'exit 9' TERM; command : >asked; exit 8) 2>/dev/null & p=$!; "
			   "sleep 0.3;"
			   "kill -TERM $p; wait $p; exit $?"),
		  9);
	CHECK_INT(r.unholds, 1);
	done(&r);
}

TEST(a_run_that_ends_while_a_call_is_held_ends_at_once)
{
	struct run r = { .decide = wait_for_ever };
	uint64_t from;

	REQUIRE(start_with(&r, own_backend(), "", "mkdir asked"));
	for (int i = 0; i < 100 && !r.holds; i++) {
		struct err e = ERR_INIT;

		CHECK_INT(loop_step(&r.loop, 100, &e), 0);
	}
	CHECK_INT(r.holds, 1);
	from = loop_now();
	CHECK(supervisor_kill(r.s));
	supervisor_wait(r.s);
	CHECK(loop_now() - from < 1000);
	done(&r);
}

TEST(without_namespaces_a_refused_write_is_not_offered)
{
	struct run r = { .decide = wait_for_ever };

	REQUIRE(start_with(&r, "landlock", "", "mkdir asked 2>/dev/null; : >/dev/null"));
	CHECK(!supervisor_can_open(r.s));
	CHECK_INT(wait_for(&r), 0);
	CHECK_INT(r.holds, 0);
	CHECK(!is_there("asked"));
	done(&r);
}

TEST(a_command_that_may_have_namespaces_of_its_own_is_not_asked_for)
{
	struct run r = { .decide = wait_for_ever };

	REQUIRE(start_with(&r, own_backend(), "\n[permissions.t.isolation]\nuserns = true\n",
			   "mkdir asked 2>/dev/null; : >/dev/null"));
	CHECK(!supervisor_can_open(r.s));
	CHECK_INT(wait_for(&r), 0);
	CHECK_INT(r.holds, 0);
	CHECK_INT((int)r.denials.total, 1);
	done(&r);
}

/* ---- Opening paths ---------------------------------------------------------------------------- */

TEST(a_granted_directory_is_writable_at_once_and_nothing_else_is)
{
	struct run r = { .decide = allow, .grants = "a", .wide = "'@/a' = 'write'\n" };

	mkdir("a", 0755);
	mkdir("ab", 0755);
	scratch_put("a/old", "old");
	CHECK_INT(run_with(&r, "",
			   "exec 2>/dev/null; umask 027; echo hi >a/new || exit 1;"
			   "echo more >>a/old || exit 2; (set -C; echo no >a/new) && exit 3;"
			   "touch ab/x && exit 4; touch b && exit 5; mkdir a/d || exit 6;"
			   "mv a/old a/d/moved || exit 7; chmod 600 a/d/moved || exit 8;"
			   "cp a/new a/copy || exit 9; rm a/copy || exit 10; ln -s x a/link || "
			   "exit 11;"
			   "truncate -s 2 a/new || exit 12; touch -d 2001-01-01 a/new || exit 13; "
			   "exit 0"),
		  0);
	CHECK(r.is_granted);
	CHECK(has_text("a/new", "hi"));
	CHECK(has_text("a/d/moved", "oldmore\n"));
	CHECK(!is_there("ab/x") && !is_there("b") && !is_there("a/copy"));
	done(&r);
}

TEST(a_file_that_is_created_in_a_grant_has_the_mode_and_owner_of_the_caller)
{
	struct run r = { .decide = allow, .grants = "modes", .wide = "'@/modes' = 'write'\n" };
	struct stat st;

	mkdir("modes", 0755);
	(void)umask(022);
	CHECK_INT(run_with(&r, "", "umask 0037; : >modes/f; umask 0; : >modes/g"), 0);
	CHECK(stat("modes/f", &st) == 0 && (st.st_mode & 07777) == 0640 && st.st_uid == geteuid());
	CHECK(stat("modes/g", &st) == 0 && (st.st_mode & 07777) == 0666);
	done(&r);
}

TEST(protected_names_and_narrower_entries_stay_closed_below_a_grant)
{
	struct run r = {
		.decide = allow,
		.grants = "top",
		.wide = "'@/top' = 'write'\n'@/top/ro' = 'read'\n'@/top/no' = 'deny'\n"
			"'@/top/sub/deep' = 'read'\n",
	};

	mkdir("top", 0755);
	mkdir("top/.git", 0755);
	mkdir("top/.git/hooks", 0755);
	mkdir("top/ro", 0755);
	mkdir("top/no", 0755);
	mkdir("top/sub", 0755);
	mkdir("top/sub/deep", 0755);
	scratch_put("top/no/secret", "secret");
	CHECK_INT(
		run_with(&r, "'@/top/ro' = 'read'\n'@/top/no' = 'deny'\n",
			 "exec 2>/dev/null; touch top/fine || exit 1; touch top/sub/fine || exit 2;"
			 "touch top/.git/x && exit 3; touch top/.git/hooks/x && exit 4;"
			 "mkdir top/.claude && touch top/.claude/x && exit 5;"
			 "touch top/.claude/settings.json && exit 6; touch top/ro/x && exit 7;"
			 "cat top/no/secret && exit 8; mv top/.git top/git && exit 9;"
			 "rmdir top/.claude && exit 10; touch top/sub/deep/x && exit 11;"
			 "mv top/sub top/sup && exit 12; mv top/no top/yes && exit 13;"
			 "rm -rf top/.git && exit 14; cd top/sub; touch ./here || exit 15;"
			 "touch deep/x && exit 16; touch ../.git/x && exit 17; exit 0"),
		0);
	CHECK(is_there("top/fine") && is_there("top/sub/fine") && is_there("top/sub/here"));
	CHECK(!is_there("top/.git/x") && !is_there("top/.git/hooks/x") && !is_there("top/ro/x"));
	done(&r);
	/* The placeholders are gone with the run. */
	CHECK(!is_there("top/.claude"));
}

TEST(a_working_directory_from_before_the_grant_works)
{
	struct run r = { .decide = allow, .grants = "cwd", .wide = "'@/cwd' = 'write'\n" };

	mkdir("cwd", 0755);
	mkdir("cwd/in", 0755);
	CHECK_INT(
		run_with(&r, "",
			 "exec 2>/dev/null; cd cwd/in; mkdir d || exit 1; echo hi >f || exit 2;"
			 "mv f d/g || exit 3; ln -s g d/l || exit 4; rm d/l || exit 5;"
			 "chmod 700 d/g || exit 6; touch d/g || exit 7; mkdir e; rmdir e || exit 8;"
			 "echo more >>d/g || exit 9; echo x >../h || exit 10; ln d/g hard || exit "
			 "11;"
			 "ln ../../config.toml stolen && exit 12; mknod p p || exit 13; exit 0"),
		0);
	CHECK(has_text("cwd/in/d/g", "hi\nmore\n"));
	CHECK(has_text("cwd/h", "x\n"));
	CHECK(has_text("cwd/in/hard", "hi\nmore\n") && !is_there("cwd/in/stolen"));
	done(&r);
}

TEST(fifos_and_links_lead_out_of_no_grant)
{
	struct run r = { .decide = allow, .grants = "io", .wide = "'@/io' = 'write'\n" };
	int reader;

	mkdir("io", 0755);
	mkdir("out", 0755);
	CHECK_INT(mkfifo("io/fifo", 0666), 0);
	CHECK_INT(mkfifo("out/fifo", 0666), 0);
	CHECK_INT(symlink("../out", "io/link"), 0);
	CHECK_INT(symlink("../out/fifo", "io/pipe"), 0);
	reader = open("out/fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	CHECK_INT(run_with(&r, "",
			   "exec 2>/dev/null; touch io/fine || exit 1; (echo x >io/fifo) && exit 2;"
			   "(echo x >out/fifo) && exit 3; (echo x >io/pipe) && exit 4;"
			   "touch io/link/x && exit 5; (echo x >io/link/y) && exit 6;"
			   "ln -s ../out io/mine || exit 7; touch io/mine/x && exit 8; exit 0"),
		  0);
	CHECK(!is_there("out/x") && !is_there("out/y"));
	close(reader);
	done(&r);
}

TEST(a_link_that_was_just_changed_leads_to_its_new_target)
{
	struct run r = { .decide = allow, .grants = "links", .wide = "'@/links' = 'write'\n" };

	mkdir("links", 0755);
	CHECK_INT(run_with(&r, "",
			   "mkdir links/1 links/2; ln -s 1 links/l; echo one >links/l/f;"
			   "ln -sfn 2 links/l; echo two >links/l/f; cat links/1/f links/2/f "
			   ">links/all"),
		  0);
	CHECK(has_text("links/all", "one\ntwo\n"));
	done(&r);
}

TEST(a_single_file_can_be_granted)
{
	struct run r = { .decide = allow, .grants = "one", .wide = "'@/one' = 'write'\n" };

	scratch_put("one", "old");
	scratch_put("two", "old");
	CHECK_INT(run_with(&r, "",
			   "exec 2>/dev/null; echo new >one || exit 1; (echo new >two) && exit 2;"
			   "rm one && exit 3; exit 0"),
		  0);
	CHECK(has_text("one", "new\n"));
	CHECK(has_text("two", "old"));
	done(&r);
}

TEST(what_was_not_granted_is_not_open_after_a_failed_grant)
{
	struct run r = { .decide = allow, .grants = "gone", .wide = "'@/gone' = 'write'\n" };

	mkdir("gone2", 0755);
	CHECK_INT(symlink("gone2", "gone"), 0);
	/* The path is a link: nothing of it is opened, and the run goes on. */
	r.wide = "";
	CHECK_INT(start_with(&r, own_backend(), "", "sleep 0.2; touch gone2/x 2>/dev/null; exit 0"),
		  1);
	CHECK(!open_now(&r));
	CHECK_INT(wait_for(&r), 0);
	CHECK(!is_there("gone2/x"));
	done(&r);
}

/* ---- What the opener does for a call ------------------------------------------------------------ */

enum { CALL_FCHMODAT2 = 452 };

/* Inside: "call NAME PATH": makes that call; its errno is the status. */
__attribute__((constructor(101))) static void make_call(int argc, char **argv)
{
	const struct rlimit small = { 1000, 1000 };
	long r = -1;

	if (argc != 4 || strcmp(argv[1], "call") != 0)
		return;
	errno = EINVAL;
	if (strcmp(argv[2], "fchmodat2") == 0)
		r = syscall(CALL_FCHMODAT2, AT_FDCWD, argv[3], 0640, 0);
	else if (strcmp(argv[2], "fchmodat2-nofollow") == 0)
		r = syscall(CALL_FCHMODAT2, AT_FDCWD, argv[3], 0604, AT_SYMLINK_NOFOLLOW);
	else if (strcmp(argv[2], "unlinkat-flag") == 0)
		r = syscall(SYS_unlinkat, AT_FDCWD, argv[3], 0x4000);
	else if (strcmp(argv[2], "truncate-limited") == 0 && setrlimit(RLIMIT_FSIZE, &small) == 0 &&
		 signal(SIGXFSZ, SIG_IGN) != SIG_ERR)
		r = truncate(argv[3], 2000);
	_exit(r < 0 ? errno : 0);
}

static const char *own_program(void)
{
	static char self[200];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	return self;
}

TEST(modes_and_flags_of_newer_calls_are_those_of_the_caller)
{
	struct run r = { .decide = allow, .grants = "calls", .wide = "'@/calls' = 'write'\n" };
	char script[1200];
	struct stat st;

	mkdir("calls", 0755);
	scratch_put("calls/f", "");
	scratch_put("calls/g", "");
	scratch_put("calls/h", "");
	(void)chmod("calls/f", 0600);
	(void)snprintf(script, sizeof(script),
		       "cd calls; mkdir d || exit 1; p=%s; $p call fchmodat2 f; a=$?;"
		       "$p call fchmodat2-nofollow g; b=$?; test $a = %d || test $a = 0 || exit 2;"
		       "test $a = $b || exit 3; $p call unlinkat-flag h && exit 4;"
		       "$p call truncate-limited h; test $? = %d || exit 5; exit $a",
		       own_program(), ENOSYS, EFBIG);
	switch (run_with(&r, "", script)) {
	case 0:
		CHECK(stat("calls/f", &st) == 0 && (st.st_mode & 07777) == 0640);
		CHECK(stat("calls/g", &st) == 0 && (st.st_mode & 07777) == 0604);
		break;
	case ENOSYS:
		printf("# this kernel has no fchmodat2()\n");
		break;
	default:
		CHECK_INT(r.status, 0);
	}
	CHECK(stat("calls/h", &st) == 0 && st.st_size == 0);
	done(&r);
}

TEST(a_lease_of_another_program_holds_up_no_other_call)
{
	struct run r = { .decide = allow, .grants = "leased", .wide = "'@/leased' = 'write'\n" };
	int fd;

	mkdir("leased", 0755);
	scratch_put("leased/f", "old");
	fd = open("leased/f", O_RDWR | O_CLOEXEC);
	REQUIRE(fd >= 0 && signal(SIGIO, SIG_IGN) != SIG_ERR);
	if (fcntl(fd, F_SETLEASE, F_WRLCK) < 0) {
		close(fd);
		SKIP("this file system has no leases");
	}
	CHECK_INT(run_with(&r, "",
			   "exec 2>/dev/null; echo x >leased/new || exit 1; (echo x >>leased/f) && "
			   "exit "
			   "2; echo y >>leased/new || exit 3; exit 0"),
		  0);
	CHECK_INT(fcntl(fd, F_SETLEASE, F_UNLCK), 0);
	CHECK(has_text("leased/f", "old") && has_text("leased/new", "x\ny\n"));
	done(&r);
	close(fd);
}

struct opened {
	int result, fd;
	bool is_done;
};

static void note_opened(void *user, const struct opener_order *order, int result, int fd)
{
	struct opened *o = user;

	(void)order;
	*o = (struct opened){ result, fd, true };
}

/* The soft limit so that no descriptor is free; the one before. */
static struct rlimit take_descriptors(void)
{
	struct rlimit before, none;
	int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)getrlimit(RLIMIT_NOFILE, &before);
	none = (struct rlimit){ (rlim_t)lowest, before.rlim_max };
	close(lowest);
	(void)setrlimit(RLIMIT_NOFILE, &none);
	return before;
}

TEST(an_open_for_which_there_is_no_descriptor_fails)
{
	for (int is_full = 0; is_full < 2; is_full++) {
		struct run r = { .decide = allow,
				 .grants = "full",
				 .wide = "'@/full' = 'write'\n" };
		struct opened got = { .fd = -1 };
		struct opener opener = OPENER_NONE;
		static struct opener_order order;
		struct rlimit before;
		struct err e = ERR_INIT;

		mkdir("full", 0755);
		scratch_put("full/f", "");
		REQUIRE(start_with(&r, own_backend(), "", "sleep 60"));
		REQUIRE(open_now(&r));
		opener.done = note_opened;
		opener.user = &got;
		REQUIRE(opener_start(&opener, &r.loop, &r.s->sandbox, &e) == 0);
		order = (struct opener_order){ .call = 1, .act = OPENER_OPEN, .flags = O_WRONLY };
		REQUIRE(opener_set_paths(&order, str_of(at("full/f") + 1), STR_EMPTY));
		CHECK_INT(opener_ask(&opener, &order, -1), 0);
		(void)usleep(100000); /* it has answered */
		(void)getrlimit(RLIMIT_NOFILE, &before);
		if (is_full)
			before = take_descriptors();
		for (int i = 0; i < 20 && !got.is_done; i++)
			CHECK_INT(loop_step(&r.loop, 100, &e), 0);
		(void)setrlimit(RLIMIT_NOFILE, &before);
		CHECK(got.is_done && (got.fd >= 0) == !is_full);
		CHECK_INT(got.result, is_full ? -EMFILE : 0);
		opener_stop(&opener);
		done(&r);
	}
}

/* ---- Once -------------------------------------------------------------------------------------- */

static bool once(struct run *r, const struct held_call *call)
{
	if (!call->can_once)
		return false;
	supervisor_release(r->s, call->id, RELEASE_ONCE);
	return true;
}

TEST(a_call_that_is_allowed_once_is_performed_and_opens_nothing_else)
{
	struct run r = { .decide = once };

	mkdir("once", 0755);
	scratch_put("once/old", "old");
	CHECK_INT(run_with(&r, "",
			   "exec 2>/dev/null; echo new >once/new || exit 1; mkdir once/d && exit 2;"
			   "rm once/old && exit 3; echo more >>once/old || exit 4;"
			   "exec 5>>once/old || exit 5; chmod 700 once && exit 6; exit 0"),
		  0);
	CHECK_INT(r.holds, 6);
	CHECK_INT((int)r.denials.total, 3);
	CHECK(has_text("once/new", "new\n"));
	CHECK(has_text("once/old", "oldmore\n"));
	done(&r);
}

/* ---- What it costs --------------------------------------------------------------------------------- */

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int compare_times(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median_us(uint64_t *times, size_t count)
{
	qsort(times, count, sizeof(*times), compare_times);
	return (double)times[count / 2] / 1000;
}

enum { OPENS = 201 };

/* Inside: "inside LABEL PATH": opens PATH for writing, again and again. */
__attribute__((constructor(101))) static void run_inside(int argc, char **argv)
{
	static uint64_t times[OPENS];

	if (argc < 4 || strcmp(argv[1], "inside") != 0)
		return;
	for (size_t i = 0; i < OPENS; i++) {
		uint64_t from = now_ns();
		int fd = open(argv[3], O_WRONLY | O_CLOEXEC);

		times[i] = now_ns() - from;
		if (fd < 0)
			_exit(1);
		close(fd);
	}
	printf("# %s: %.1f us (median of %d)\n", argv[2], median_us(times, OPENS), OPENS);
	(void)fflush(stdout);
	_exit(0);
}

TEST(what_it_costs_to_open_a_file)
{
	struct run r = { .decide = once,
			 .grants = "fast",
			 .wide = "'@/own' = 'write'\n'@/fast' = 'write'\n" };
	char self[200], script[1200];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	uint64_t from;

	mkdir("own", 0777);
	mkdir("slow", 0777);
	mkdir("fast", 0777);
	scratch_put("own/f", "");
	scratch_put("slow/f", "");
	scratch_put("fast/f", "");
	REQUIRE(n > 0);
	self[n] = '\0';
	(void)snprintf(
		script, sizeof(script),
		"%s inside 'in a writable root' own/f && %s inside 'held and allowed once' slow/f "
		"&& "
		"touch own/go && while ! test -e own/on; do sleep 0.02; done;"
		"%s inside 'in a grant' fast/f && cd fast && %s inside 'relative, in a grant' f",
		self, self, self, self);
	REQUIRE(start_with(&r, own_backend(), "'@/own' = 'write'\n", script));
	REQUIRE(reached(&r, "own/go"));
	from = now_ns();
	CHECK(open_now(&r));
	printf("# a grant with its plan: %.0f us, the first\n", (double)(now_ns() - from) / 1000);
	scratch_put("own/on", "");
	CHECK_INT(wait_for(&r), 0);
	CHECK_INT(r.holds, OPENS);
	done(&r);
}

TEST(what_a_grant_costs)
{
	enum { GRANTS = 41 };
	struct run r = { .decide = refuse_at_once };
	static uint64_t opened[GRANTS], closed[GRANTS];
	scoped_buf writers = BUF_INIT(4096);
	struct err e = ERR_INIT;
	const struct plan *wide;
	size_t i;

	mkdir("cost", 0755);
	scratch_put("cost/file", "");
	REQUIRE(start_with(&r, own_backend(), "", "sleep 60"));
	for (int kind = 0; kind < 2; kind++) {
		const char *name = kind ? "cost" : "cost/file";

		wide = also(&r, kind ? "'@/cost' = 'write'\n" : "'@/cost/file' = 'write'\n");
		REQUIRE(wide);
		for (i = 0; i < GRANTS; i++) {
			uint64_t from = now_ns();

			CHECK_INT(supervisor_open_path(r.s, wide, str_of(at(name)), &e), 0);
			opened[i] = now_ns() - from;
			from = now_ns();
			(void)close_now(&r, name, r.base, &writers);
			closed[i] = now_ns() - from;
		}
		printf("# a grant of a %s: %.0f us to open, %.0f us to close (medians of %d)\n",
		       kind ? "directory with its protected names" : "file",
		       median_us(opened, GRANTS), median_us(closed, GRANTS), (int)GRANTS);
	}
	done(&r);
}
