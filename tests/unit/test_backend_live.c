/* SPDX-License-Identifier: MIT */
/*
 * Tests of what src/backend/backend.h promises under "Live grants", with real sandboxes: a shell runs
 * inside, and `decide` of each test is who is asked.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "backend/backend.h"
#include "backend/denials.h"
#include "backend/linux/supervisor.h"
#include "base/path.h"
#include "cordon.h"
#include "lib/lib.h"
#include "scratch.h"
#include "test.h"

enum { PATIENCE_MS = 20000 };

struct run {
	struct arena a;
	struct loop loop;
	cordon_policy *policies[4]; /* the first is that of the run */
	size_t policy_count;
	struct supervisor *s;
	struct denials denials;
	bool (*decide)(struct run *r, const struct held_call *call);
	int holds, unholds;
	uint64_t last_id;
	char subject[4096], argv0[256], cwd[4096];
	enum operation operation;
	int os_error;
	bool can_once;
	bool has_ended, is_gone;
	int status;
	struct timer later; /* a test's own */
	/* What allow() opens: a name in the scratch directory, and the policy with it. */
	const char *grants, *wide;
	bool is_granted;
	const struct plan *base, *plan;
};

/* `entries` is TOML of [permissions.t.filesystem], '@' stands for the scratch directory. */
static cordon_policy *load(const char *entries)
{
	const char *const environment[] = { "HOME=/nonexistent", NULL };
	struct cordon_load_options o = { .size = sizeof(o),
					 .directory = scratch_top,
					 .config_file = "config.toml",
					 .system_directory = "nothing",
					 .profile = "t",
					 .environment = environment };
	cordon_policy *policy = NULL;
	cordon_error *error = NULL;
	FILE *f = fopen("config.toml", "w");

	if (!f)
		return NULL;
	(void)fprintf(f, "[permissions.t.filesystem]\n':root' = 'read'\n");
	for (; *entries; entries++)
		(void)fprintf(f, *entries == '@' ? "%s" : "%.1s",
			      *entries == '@' ? scratch_top : entries);
	(void)fclose(f);
	if (cordon_policy_load(&o, &policy, &error) < 0) {
		printf("# %s\n", cordon_error_text(error));
		cordon_error_free(error);
	}
	return policy;
}

/* The policy that stands once something was granted; NULL: it can't be had. */
static const struct plan *also(struct run *r, const char *entries)
{
	cordon_policy *policy = load(entries);

	if (!policy || r->policy_count >= COUNT_OF(r->policies))
		return NULL;
	r->policies[r->policy_count++] = policy;
	return policy->plan;
}

static bool on_hold(void *user, const struct held_call *call)
{
	struct run *r = user;

	r->holds++;
	r->last_id = call->id;
	r->operation = call->attempt->operation;
	r->os_error = call->attempt->os_error;
	r->can_once = call->can_once;
	(void)snprintf(r->subject, sizeof(r->subject), "%.*s", (int)call->attempt->subject.len,
		       call->attempt->subject.p);
	(void)snprintf(r->argv0, sizeof(r->argv0), "%.*s",
		       call->argv_count ? (int)call->argv[0].len : 0,
		       call->argv_count ? call->argv[0].p : "");
	(void)snprintf(r->cwd, sizeof(r->cwd), "%.*s", (int)call->cwd.len, call->cwd.p);
	return r->decide(r, call);
}

static void on_unhold(void *user, uint64_t id)
{
	struct run *r = user;

	r->unholds += id == r->last_id;
}

static void on_ended(void *user, const struct command_end *end)
{
	struct run *r = user;

	r->has_ended = true;
	r->status = end->signal ? 128 + end->signal : end->status;
}

static void on_gone(void *user)
{
	struct run *r = user;

	r->is_gone = true;
}

static void on_text(void *user, const char *text)
{
	(void)user;
	printf("# %s\n", text);
}

static void on_failure(void *user, const struct command_failure *why)
{
	(void)user;
	printf("# not executed: %s\n", strerror(why->os_error));
}

static bool on_tell_proxy(void *user, const struct proxy_order *order)
{
	(void)user, (void)order;
	return false;
}

static int on_later(void *user, struct err *e)
{
	struct run *r = user;

	(void)e;
	supervisor_release(r->s, r->last_id, RELEASE_GO_ON);
	return 0;
}

static bool fail(const struct err *e)
{
	printf("# %s\n", e->text);
	return false;
}

/* Starts `script` with that policy; nothing of it can be had: false. */
static bool start_with(struct run *r, const char *backend, const char *entries, const char *script)
{
	static const char *const programs[] = { "/bin/sh", NULL };
	static const char *const environment[] = { "PATH=/usr/bin:/bin", NULL };
	const char *const argv[] = { "sh", "-c", script, NULL };
	struct supervisor_attempt attempt = { .backend = backend_find(str_of(backend)) };
	struct supervisor_request request = { .loop = &r->loop,
					      .is_sandboxed = true,
					      .denials = &r->denials,
					      .holds = true,
					      .events = { .user = r,
							  .not_executed = on_failure,
							  .ended = on_ended,
							  .gone = on_gone,
							  .tell_proxy = on_tell_proxy,
							  .hold = on_hold,
							  .unhold = on_unhold,
							  .warn = on_text,
							  .trace = on_text } };
	struct launch launch = { .argv = argv,
				 .programs = programs,
				 .environment = environment,
				 .directory = scratch_top,
				 .stdio = { 0, 1, 2 },
				 .terminal = -1 };
	struct err e = ERR_INIT;
	guarantee_set lost;

	r->a = (struct arena)ARENA_INIT(64 << 20);
	r->loop = (struct loop)LOOP_NONE;
	r->later = (struct timer){ .due = on_later, .user = r };
	denials_init(&r->denials);
	(void)fflush(stdout);
	request.plan = launch.plan = also(r, entries);
	r->base = launch.plan;
	if (!launch.plan || loop_init(&r->loop, &e) < 0 || loop_prepare_timers(&r->loop, &e) < 0)
		return fail(&e);
	launch.host = launch.plan->host;
	if (supervisor_new(&r->a, &request, &r->s, &e) < 0 ||
	    supervisor_prepare(r->s, &attempt, &launch, &e) < 0 ||
	    supervisor_launch(r->s, attempt.backend, &launch, &lost, &e) < 0 ||
	    supervisor_attach(r->s, &e) < 0 || supervisor_start(r->s, -1, &e) < 0)
		return fail(&e);
	return true;
}

/* Steps until it has ended: its status, or -1. */
static int wait_for(struct run *r)
{
	uint64_t until = loop_now() + PATIENCE_MS;
	struct err e = ERR_INIT;

	while (!r->is_gone && loop_now() < until)
		if (loop_step(&r->loop, 100, &e) < 0) {
			(void)fail(&e);
			break;
		}
	return r->has_ended ? r->status : -1;
}

static void done(struct run *r)
{
	loop_drop_timer(&r->loop, &r->later);
	if (r->s) {
		(void)supervisor_kill(r->s);
		supervisor_let_go(r->s);
		supervisor_reap(r->s);
	}
	loop_done(&r->loop);
	denials_done(&r->denials);
	arena_done(&r->a);
	while (r->policy_count)
		cordon_policy_free(r->policies[--r->policy_count]);
}

/* All is tried with the other backend that mounts as well. */
static const char *own_backend(void)
{
	const char *name = getenv("CORDON_TEST_BACKEND");

	return name ? name : "native";
}

static int run_with(struct run *r, const char *entries, const char *script)
{
	return start_with(r, own_backend(), entries, script) ? wait_for(r) : -1;
}

/* That name below the scratch directory, until the next call. */
static const char *at(const char *name)
{
	static char path[300];

	(void)snprintf(path, sizeof(path), "%s/%s", scratch_top, name);
	return path;
}

static bool is_there(const char *name)
{
	struct stat st;

	return lstat(name, &st) == 0;
}

/* ---- Holding ------------------------------------------------------------------------------- */

static bool refuse_at_once(struct run *r, const struct held_call *call)
{
	(void)r, (void)call;
	return false;
}

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

static bool open_now(struct run *r)
{
	struct err e = ERR_INIT;

	r->plan = also(r, r->wide);
	if (!r->plan || supervisor_open_path(r->s, r->plan, str_of(at(r->grants)), &e) < 0)
		return fail(&e);
	r->is_granted = true;
	return true;
}

/* Opens r->grants for the first call that is held, and refuses all that is not below it. */
static bool allow(struct run *r, const struct held_call *call)
{
	const struct str subject = call->attempt->subject;

	if (!path_is_under(subject, str_of(at(r->grants))) || (!r->is_granted && !open_now(r)))
		return false;
	supervisor_release(r->s, call->id, RELEASE_GO_ON);
	return true;
}

static bool has_text(const char *name, const char *want)
{
	char text[200] = "";
	FILE *f = fopen(name, "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	if (f)
		(void)fclose(f);
	text[n] = '\0';
	if (strcmp(text, want) == 0)
		return true;
	printf("# %s: '%s', not '%s'\n", name, text, want);
	return false;
}

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

/* ---- Closing ------------------------------------------------------------------------------------ */

static struct str close_now(struct run *r, const char *name, const struct plan *plan,
			    struct buf *writers)
{
	struct err e = ERR_INIT;

	buf_clear(writers);
	if (!CHECK(supervisor_close_path(r->s, plan, str_of(at(name)), writers, &e) == 0))
		(void)fail(&e);
	return buf_str(writers);
}

/* Steps until the file is there: what the script inside has reached. */
static bool reached(struct run *r, const char *name)
{
	uint64_t until = loop_now() + PATIENCE_MS;
	struct err e = ERR_INIT;

	while (!is_there(name) && loop_now() < until && !r->is_gone)
		if (loop_step(&r->loop, 10, &e) < 0)
			return fail(&e);
	return is_there(name);
}

static bool allow_first(struct run *r, const struct held_call *call)
{
	return !r->is_granted && allow(r, call);
}

TEST(a_closed_path_is_read_only_at_once_and_for_writers_when_they_are_done)
{
	struct run r = { .decide = allow_first,
			 .grants = "shut",
			 .wide = "'@/shut' = 'write'\n'@/shut/kept' = 'read'\n" };
	scoped_buf writers = BUF_INIT(4096);

	mkdir("shut", 0755);
	mkdir("shut/kept", 0755);
	mkdir("signs", 0777);
	(void)chmod("signs", 0777);
	REQUIRE(start_with(
		&r, "native", "'@/signs' = 'write'\n",
		"exec 2>/dev/null; cd shut; exec 5>open || exit 1; cd ../shut || exit 2;"
		"mkdir dir; cd dir; touch ../../signs/1;"
		"while ! test -e ../../signs/2; do sleep 0.02; done;"
		"touch ../new && exit 3; echo late >&5 || exit 4; exec 5>&-; sleep 0.5;"
		"touch here && exit 5; mkdir sub && exit 6; touch ../../shut/new && exit 7;"
		"(echo x >>../open) && exit 8; rmdir ../dir && exit 9; exit 0"));
	REQUIRE(reached(&r, "signs/1"));
	CHECK_STR(strncmp(close_now(&r, "shut", r.base, &writers).p, "sh (", 4) == 0 ? "sh (" : "",
		  "sh (");
	scratch_put("signs/2", "");
	CHECK_INT(wait_for(&r), 0);
	CHECK(has_text("shut/open", "late\n"));
	CHECK(!is_there("shut/new") && !is_there("shut/dir/here") && !is_there("shut/dir/sub"));
	done(&r);
}

TEST(what_is_writable_on_a_mount_of_its_own_is_closed_as_well)
{
	struct run r = { .decide = allow_first,
			 .grants = "pinned",
			 .wide = "'@/pinned' = 'write'\n'@/pinned/sub/in/deep' = 'read'\n" };
	scoped_buf writers = BUF_INIT(4096);

	mkdir("pinned", 0755);
	mkdir("pinned/sub", 0755);
	mkdir("pinned/sub/in", 0755);
	mkdir("pinned/sub/in/deep", 0755);
	mkdir("marks", 0777);
	(void)chmod("marks", 0777);
	REQUIRE(start_with(
		&r, own_backend(), "'@/marks' = 'write'\n",
		"exec 2>/dev/null; touch pinned/x || exit 1; cd pinned/sub/in;"
		"mkdir ./a || exit 2; exec 5>f || exit 3; exec 6<.; touch ../../../marks/1;"
		"while ! test -e ../../../marks/2; do sleep 0.02; done;"
		"touch ../../y && exit 4; touch ../y && exit 5; mkdir ../../sub/in/y && exit 6;"
		"echo late >&5 || exit 7; exec 5>&-; sleep 0.5; mkdir b && exit 8;"
		"mkdir ../b && exit 9; mkdir /proc/self/fd/6/b && exit 10; rmdir a && exit 11;"
		"exit 0"));
	REQUIRE(reached(&r, "marks/1"));
	CHECK(close_now(&r, "pinned", r.base, &writers).len > 0);
	scratch_put("marks/2", "");
	CHECK_INT(wait_for(&r), 0);
	CHECK(has_text("pinned/sub/in/f", "late\n"));
	CHECK(!is_there("pinned/sub/in/b") && !is_there("pinned/sub/b") && !is_there("pinned/y"));
	done(&r);
}

TEST(grants_within_each_other_are_closed_in_any_order)
{
	static const char *const orders[] = { "12", "21" };

	for (size_t i = 0; i < COUNT_OF(orders); i++) {
		struct run r = { .decide = refuse_at_once };
		scoped_buf writers = BUF_INIT(4096);
		char script[600];
		struct err e = ERR_INIT;
		const struct plan *both, *outer, *inner;

		mkdir("nest", 0755);
		mkdir("nest/in", 0755);
		mkdir("nest/in/deep", 0755);
		mkdir("steps", 0777);
		(void)chmod("steps", 0777);
		(void)snprintf(
			script, sizeof(script),
			"exec 2>/dev/null; at() { while ! test -e steps/$1; do sleep 0.02; done; };"
			"at 0; touch nest/in/deep/a%zu && touch nest/b%zu || exit 1; touch steps/1;"
			"at 2; touch nest/in/c%zu && i=1 || i=0; touch nest/d%zu && o=1 || o=0;"
			"touch steps/3; at 4; touch nest/in/e && exit 2; touch nest/e && exit 3;"
			"exit $((10 + 2 * o + i))",
			i, i, i, i);
		REQUIRE(start_with(&r, own_backend(), "'@/steps' = 'write'\n", script));
		inner = also(&r, "'@/steps' = 'write'\n'@/nest/in' = 'write'\n");
		outer = also(&r, "'@/steps' = 'write'\n'@/nest' = 'write'\n");
		both = also(&r, "'@/steps' = 'write'\n'@/nest/in' = 'write'\n'@/nest' = 'write'\n");
		REQUIRE(inner && outer && both);
		CHECK_INT(supervisor_open_path(r.s, inner, str_of(at("nest/in")), &e), 0);
		CHECK_INT(supervisor_open_path(r.s, both, str_of(at("nest")), &e), 0);
		scratch_put("steps/0", "");
		REQUIRE(reached(&r, "steps/1"));
		if (orders[i][0] == '1')
			(void)close_now(&r, "nest/in", outer, &writers);
		else
			(void)close_now(&r, "nest", inner, &writers);
		scratch_put("steps/2", "");
		REQUIRE(reached(&r, "steps/3"));
		(void)close_now(&r, orders[i][0] == '1' ? "nest" : "nest/in", r.base, &writers);
		scratch_put("steps/4", "");
		/* The outer one covers the inner; the inner one stays by itself. */
		CHECK_INT(wait_for(&r), orders[i][0] == '1' ? 13 : 11);
		done(&r);
		for (int n = 0; n < 5; n++) {
			char name[20];

			(void)snprintf(name, sizeof(name), "steps/%d", n);
			(void)unlink(name);
		}
	}
}

TEST(a_path_can_be_opened_again_after_it_was_closed)
{
	struct run r = { .decide = refuse_at_once };
	scoped_buf writers = BUF_INIT(4096);
	const struct plan *wide;
	struct err e = ERR_INIT;

	mkdir("again", 0755);
	mkdir("turn", 0777);
	(void)chmod("turn", 0777);
	REQUIRE(start_with(
		&r, "native", "'@/turn' = 'write'\n",
		"exec 2>/dev/null; at() { while ! test -e turn/$1; do sleep 0.02; done; };"
		"at 0; touch again/x || exit 1; touch turn/1; at 2; touch again/y && exit 2;"
		"touch turn/3; at 4; touch again/z || exit 3; exit 0"));
	wide = also(&r, "'@/turn' = 'write'\n'@/again' = 'write'\n");
	REQUIRE(wide && supervisor_open_path(r.s, wide, str_of(at("again")), &e) == 0);
	scratch_put("turn/0", "");
	REQUIRE(reached(&r, "turn/1"));
	CHECK_INT((int)close_now(&r, "again", r.base, &writers).len, 0);
	scratch_put("turn/2", "");
	REQUIRE(reached(&r, "turn/3"));
	CHECK_INT(supervisor_open_path(r.s, wide, str_of(at("again")), &e), 0);
	scratch_put("turn/4", "");
	CHECK_INT(wait_for(&r), 0);
	CHECK(!is_there("again/y") && is_there("again/z"));
	done(&r);
}

enum { STEPS = 8 };

/* Steps of a script that waits with "at N", each time until the file is there. */
static const char wait_at[] = "exec 2>/dev/null; top=$PWD;"
			      "at() { while ! test -e $top/turns/$1; do sleep 0.02; done; };"
			      "did() { : >$top/turns/$1; };";

static void clear_turns(void)
{
	mkdir("turns", 0777);
	(void)chmod("turns", 0777);
	for (int n = 0; n < STEPS; n++) {
		char name[20];

		(void)snprintf(name, sizeof(name), "turns/%d", n);
		(void)unlink(name);
	}
}

static bool start_turns(struct run *r, const char *script)
{
	char text[3000];

	clear_turns();
	(void)snprintf(text, sizeof(text), "%s%s", wait_at, script);
	return start_with(r, own_backend(), "'@/turns' = 'write'\n", text);
}

static bool open_path(struct run *r, const char *entries, const char *name)
{
	struct err e = ERR_INIT;
	const struct plan *plan = also(r, entries);

	return plan && (supervisor_open_path(r->s, plan, str_of(at(name)), &e) == 0 || fail(&e));
}

TEST(a_closed_grant_is_closed_in_every_copy_that_somebody_is_in)
{
	struct run r = { .decide = refuse_at_once };
	scoped_buf writers = BUF_INIT(4096);

	mkdir("o", 0755);
	mkdir("o/y", 0755);
	mkdir("o/y/z", 0755);
	mkdir("o/y/z/d", 0755);
	/* Who is in /o/y between the second and the third grant is in a copy that nobody sees later. */
	REQUIRE(start_turns(
		&r,
		"at 0; cd o/y; mkdir z/one || exit 1; exec 5<z; did 1; at 2; mkdir z/two || exit 2;"
		"did 3; at 4; sleep 0.3; mkdir z/bad && exit 3; rmdir z/d && exit 4;"
		"mv z/one z/won && exit 5; mkdir /proc/self/fd/5/bad && exit 6;"
		"cd z; mkdir bad && exit 7; mkdir $top/o/y/z/bad && exit 8; exit 0"));
	REQUIRE(open_path(&r, "'@/turns' = 'write'\n'@/o/y/z' = 'write'\n", "o/y/z"));
	REQUIRE(open_path(&r, "'@/turns' = 'write'\n'@/o/y' = 'write'\n", "o/y"));
	scratch_put("turns/0", "");
	REQUIRE(reached(&r, "turns/1"));
	REQUIRE(open_path(&r, "'@/turns' = 'write'\n'@/o' = 'write'\n", "o"));
	(void)close_now(&r, "o/y/z", r.policies[3]->plan, &writers);
	(void)close_now(&r, "o/y", r.policies[3]->plan, &writers);
	scratch_put("turns/2", "");
	REQUIRE(reached(&r, "turns/3"));
	(void)close_now(&r, "o", r.base, &writers);
	CHECK_INT((int)writers.len, 0);
	scratch_put("turns/4", "");
	CHECK_INT(wait_for(&r), 0);
	CHECK(is_there("o/y/z/two") && is_there("o/y/z/d") && !is_there("o/y/z/bad"));
	done(&r);
}

TEST(a_copy_in_the_cover_of_another_grant_is_closed_as_well)
{
	struct run r = { .decide = refuse_at_once };
	scoped_buf writers = BUF_INIT(4096);

	mkdir("k", 0755);
	mkdir("k/y", 0755);
	mkdir("k/y/z", 0755);
	REQUIRE(start_turns(&r, "at 0; cd k/y; mkdir z/one || exit 1; mkdir bad && exit 2; did 1;"
				"at 2; mkdir z/two || exit 3; did 3; at 4; sleep 0.3;"
				"mkdir z/bad && exit 4; mv z/one z/won && exit 5;"
				"mkdir $top/k/y/z/bad && exit 6; exit 0"));
	REQUIRE(open_path(&r, "'@/turns' = 'write'\n'@/k/y/z' = 'write'\n", "k/y/z"));
	REQUIRE(open_path(&r, "'@/turns' = 'write'\n'@/k/y/z' = 'write'\n'@/k/y' = 'write'\n",
			  "k/y"));
	(void)close_now(&r, "k/y", r.policies[1]->plan, &writers);
	scratch_put("turns/0", "");
	REQUIRE(reached(&r, "turns/1"));
	REQUIRE(open_path(&r, "'@/turns' = 'write'\n'@/k' = 'write'\n", "k"));
	(void)close_now(&r, "k/y/z", r.policies[3]->plan, &writers);
	scratch_put("turns/2", "");
	REQUIRE(reached(&r, "turns/3"));
	(void)close_now(&r, "k", r.base, &writers);
	scratch_put("turns/4", "");
	CHECK_INT(wait_for(&r), 0);
	CHECK(is_there("k/y/z/two") && is_there("k/y/z/one") && !is_there("k/y/z/bad"));
	done(&r);
}

TEST(a_wider_grant_makes_writable_again_what_was_closed_below_it)
{
	struct run r = { .decide = refuse_at_once };
	scoped_buf writers = BUF_INIT(4096);

	mkdir("w", 0755);
	mkdir("w/in", 0755);
	mkdir("w/in/sub", 0755);
	mkdir("w/in/sub/ro", 0755);
	REQUIRE(start_turns(
		&r, "at 0; mkdir w/in/one || exit 1; did 1; at 2; mkdir w/in/bad && exit 2;"
		    "did 3; at 4; mkdir w/in/two || exit 3; echo x >w/in/sub/f || exit 4;"
		    "mkdir w/three || exit 5; mkdir w/in/sub/two || exit 6; did 5;"
		    "cd w/in; at 6; sleep 0.3; mkdir bad && exit 7; mkdir sub/bad && exit 8;"
		    "mkdir $top/w/in/bad && exit 9; exit 0"));
	REQUIRE(open_path(&r, "'@/turns' = 'write'\n'@/w/in' = 'write'\n'@/w/in/sub/ro' = 'read'\n",
			  "w/in"));
	scratch_put("turns/0", "");
	REQUIRE(reached(&r, "turns/1"));
	(void)close_now(&r, "w/in", r.base, &writers);
	scratch_put("turns/2", "");
	REQUIRE(reached(&r, "turns/3"));
	REQUIRE(open_path(&r, "'@/turns' = 'write'\n'@/w' = 'write'\n", "w"));
	scratch_put("turns/4", "");
	REQUIRE(reached(&r, "turns/5"));
	(void)close_now(&r, "w", r.base, &writers);
	scratch_put("turns/6", "");
	CHECK_INT(wait_for(&r), 0);
	CHECK(is_there("w/in/two") && is_there("w/three") && !is_there("w/in/bad"));
	done(&r);
}

static bool remove_tree(const char *name)
{
	char command[400];

	(void)snprintf(command, sizeof(command), "rm -rf '%s'", at(name));
	return system(command) == 0; /* NOLINT(cert-env33-c): a test */
}

TEST(what_the_host_removes_below_a_grant_does_not_keep_it_from_being_closed)
{
	static const char *const removed[] = { "host/y", "host" };

	for (size_t i = 0; i < COUNT_OF(removed); i++) {
		struct run r = { .decide = refuse_at_once };
		scoped_buf writers = BUF_INIT(4096);

		mkdir("host", 0755);
		mkdir("host/y", 0755);
		REQUIRE(start_turns(&r,
				    "at 0; mkdir host/y/a || exit 1; did 1; at 2;"
				    "mkdir host/bad && exit 2; mkdir host/y && exit 3; exit 0"));
		REQUIRE(open_path(&r, "'@/turns' = 'write'\n'@/host/y' = 'write'\n", "host/y"));
		REQUIRE(open_path(&r,
				  "'@/turns' = 'write'\n'@/host/y' = 'write'\n'@/host' = 'write'\n",
				  "host"));
		scratch_put("turns/0", "");
		REQUIRE(reached(&r, "turns/1"));
		CHECK(remove_tree(removed[i]));
		(void)close_now(&r, "host", r.base, &writers);
		scratch_put("turns/2", "");
		CHECK_INT(wait_for(&r), 0);
		done(&r);
	}
}

/* ---- Globs --------------------------------------------------------------------------------------- */

TEST(a_name_that_a_glob_denies_is_masked_below_a_grant)
{
	static const char globs[] = "'@/**/*.env' = 'deny'\n";
	char wide[200];
	struct run r = { .decide = allow, .grants = "globs", .wide = wide };

	(void)snprintf(wide, sizeof(wide), "%s'@/globs' = 'write'\n", globs);
	mkdir("globs", 0755);
	mkdir("globs/sub", 0755);
	scratch_put("globs/sub/a.env", "secret");
	CHECK_INT(run_with(&r, globs,
			   "exec 2>/dev/null; cat globs/sub/a.env && exit 1; touch globs/fine || "
			   "exit 2;"
			   "cat globs/sub/a.env && exit 3; (echo x >globs/sub/a.env) && exit 4;"
			   "rm -f globs/sub/a.env && exit 5; mv globs/sub/a.env globs/b && exit 6;"
			   "echo x >globs/new.env; for i in 1 2 3 4 5 6 7 8 9 10; do"
			   " cat globs/new.env >/dev/null || exit 0; sleep 0.1; done; exit 7"),
		  0);
	CHECK(has_text("globs/sub/a.env", "secret"));
	done(&r);
}

/* ---- Attacks -------------------------------------------------------------------------------------- */

TEST(a_path_that_is_exchanged_while_it_is_asked_for_opens_nothing_else)
{
	struct run r = { .decide = allow, .grants = "race/a", .wide = "'@/race/a' = 'write'\n" };

	mkdir("race", 0755);
	mkdir("race/a", 0755);
	mkdir("race/own", 0777);
	(void)chmod("race/own", 0777);
	mkdir("race/victim", 0755);
	mkdir("race/a/in", 0755);
	/* A link inside what is the command's own turns between the granted and another directory. */
	CHECK_INT(
		run_with(
			&r, "'@/race/own' = 'write'\n",
			"exec 2>/dev/null; cd race; touch a/x || exit 1;"
			"(while :; do ln -sfn ../a own/l; ln -sfn ../victim own/l; done) & p=$!;"
			"i=0; while test $i -lt 300; do i=$((i+1)); (: >own/l/f$i); done;"
			"cd own; mkdir ../a/in/d; "
			"i=0; while test $i -lt 100; do i=$((i+1)); mkdir l/d$i; rmdir l/d$i; done;"
			"kill $p; exit 0"),
		0);
	CHECK_INT(rmdir("race/victim"), 0);
	done(&r);
}

static int count_named(const char *name, bool kills)
{
	char command[200];

	(void)snprintf(command, sizeof(command), "%s -P %d -x %s >/dev/null 2>&1",
		       kills ? "pkill -KILL" : "pgrep", (int)getpid(), name);
	return system(command); /* NOLINT(cert-env33-c): a test */
}

TEST(a_helper_that_is_killed_ends_the_run)
{
	static const char *const entries[] = { "", "'@/**/*.env' = 'deny'\n" };

	for (size_t i = 0; i < COUNT_OF(entries); i++) {
		char wide[200];
		struct run r = { .decide = allow, .grants = "kill", .wide = wide };
		struct err e = ERR_INIT;
		uint64_t until;
		int status = 0;

		(void)snprintf(wide, sizeof(wide), "%s'@/kill' = 'write'\n", entries[i]);
		mkdir("kill", 0755);
		REQUIRE(start_with(&r, own_backend(), entries[i], "touch kill/x; sleep 10"));
		REQUIRE(reached(&r, "kill/x"));
		(void)count_named(i ? "cordon-masker" : "cordon-opener", true);
		until = loop_now() + 2000;
		while (status == 0 && loop_now() < until)
			status = loop_step(&r.loop, 100, &e);
		CHECK_INT(e.cause, CAUSE_SANDBOX_KILLED);
		done(&r);
		(void)unlink("kill/x");
	}
}

static void stop_named(const char *name)
{
	char command[200];

	(void)snprintf(command, sizeof(command), "pkill -STOP -P %d -x %s", (int)getpid(), name);
	(void)!system(command); /* NOLINT(cert-env33-c): a test */
}

TEST(a_run_that_has_to_end_keeps_its_placeholders_until_it_has_ended)
{
	struct run r = { .decide = allow, .grants = "stuck", .wide = "'@/stuck' = 'write'\n" };
	struct err e = ERR_INIT;
	const struct plan *both;
	int status = 0;

	mkdir("stuck", 0755);
	mkdir("other", 0755);
	REQUIRE(start_with(&r, own_backend(), "", "touch stuck/x; sleep 60"));
	REQUIRE(reached(&r, "stuck/x"));
	both = also(&r, "'@/stuck' = 'write'\n'@/other' = 'write'\n");
	stop_named("cordon-masker");
	REQUIRE(both);
	CHECK(supervisor_open_path(r.s, both, str_of(at("other")), &e) < 0);
	/* The masker may open it yet. */
	CHECK(is_there("other/.claude") && is_there("stuck/.claude"));
	CHECK(!supervisor_can_open(r.s));
	for (int i = 0; i < 20 && status == 0; i++)
		status = loop_step(&r.loop, 100, &e);
	CHECK(status < 0);
	done(&r);
	CHECK(!is_there("other/.claude") && !is_there("stuck/.claude"));
	(void)unlink("stuck/x");
}

static bool hold_second(struct run *r, const struct held_call *call)
{
	return r->is_granted || allow(r, call);
}

static bool appears(const char *name, bool is_wanted)
{
	uint64_t until = loop_now() + PATIENCE_MS;

	while (is_there(name) != is_wanted && loop_now() < until)
		(void)usleep(1000);
	return is_there(name) == is_wanted;
}

TEST(a_supervisor_that_is_killed_while_a_call_is_held_leaves_nothing)
{
	struct stat before, after;
	pid_t pid;

	mkdir("left", 0755);
	(void)fflush(stdout);
	pid = fork();
	if (pid == 0) {
		struct run r = { .decide = hold_second,
				 .grants = "left",
				 .wide = "'@/left' = 'write'\n" };

		(void)run_with(&r, "",
			       "touch left/x; (while :; do touch left/beat; sleep 0.02; done) & "
			       "mkdir asked; sleep 60");
		_exit(0);
	}
	REQUIRE(pid > 0);
	CHECK(appears("left/beat", true) && is_there("left/.claude"));
	(void)usleep(100000);
	CHECK_INT(kill(pid, SIGKILL), 0);
	CHECK_INT(waitpid(pid, NULL, 0), pid);
	/* The placeholders go when all inside is dead. */
	CHECK(appears("left/.claude", false));
	CHECK(stat("left/beat", &before) == 0);
	(void)usleep(200000);
	CHECK(stat("left/beat", &after) == 0);
	CHECK(before.st_mtim.tv_sec == after.st_mtim.tv_sec &&
	      before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
	CHECK(!is_there("asked"));
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

enum { SKIPPED = 77 };

/* Runs this program once more; 0, its status, or SKIPPED. */
static int run_again(bool (*prepare)(void))
{
	int status;
	pid_t pid;

	(void)fflush(stdout);
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		if (!prepare())
			_exit(SKIPPED);
		dup2(getenv("CORDON_TEST_VERBOSE") ? 2 : null, 1);
		execl("/proc/self/exe", "test_backend_live", NULL);
		_exit(SKIPPED);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static bool become_user(void)
{
	uid_t user = 61000 + (uid_t)getpid() % 4000;

	return setgid(user) == 0 && setuid(user) == 0;
}

static bool choose_bwrap(void)
{
	return setenv("CORDON_TEST_BACKEND", "bwrap", 1) == 0 &&
	       setenv("CORDON_PROGRAM", getenv("CORDON"), 1) == 0;
}

TEST(all_of_this_holds_with_bwrap)
{
	int status;

	if (getenv("CORDON_TEST_BACKEND") || geteuid() != 0)
		SKIP("with bwrap it runs once, as root");
	if (!getenv("CORDON") || access("/usr/bin/bwrap", X_OK) < 0)
		SKIP("there is no bwrap, or the program cordon is not known");
	status = run_again(choose_bwrap);
	CHECK_INT(status, 0);
}

TEST(all_of_this_holds_for_an_ordinary_user)
{
	int status;

	if (geteuid() != 0)
		SKIP("all of this ran as an ordinary user already");
	status = run_again(become_user);
	if (status == SKIPPED)
		SKIP("this root can't become another user, or that one can't run the test");
	CHECK_INT(status, 0);
}
