/* SPDX-License-Identifier: MIT */
/*
 * A real sandbox with a shell in it whose calls are held, for the tests of live grants: `decide` of each
 * test is who is asked. What is tested with it is tested again with bwrap, and as an ordinary user.
 */
#pragma once

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
TEST_MAY_BE_UNUSED static cordon_policy *load(const char *entries)
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
TEST_MAY_BE_UNUSED static const struct plan *also(struct run *r, const char *entries)
{
	cordon_policy *policy = load(entries);

	if (!policy || r->policy_count >= COUNT_OF(r->policies))
		return NULL;
	r->policies[r->policy_count++] = policy;
	return policy->plan;
}

TEST_MAY_BE_UNUSED static bool on_hold(void *user, const struct held_call *call)
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

TEST_MAY_BE_UNUSED static void on_unhold(void *user, uint64_t id)
{
	struct run *r = user;

	r->unholds += id == r->last_id;
}

TEST_MAY_BE_UNUSED static void on_ended(void *user, const struct command_end *end)
{
	struct run *r = user;

	r->has_ended = true;
	r->status = end->signal ? 128 + end->signal : end->status;
}

TEST_MAY_BE_UNUSED static void on_gone(void *user)
{
	struct run *r = user;

	r->is_gone = true;
}

TEST_MAY_BE_UNUSED static void on_text(void *user, const char *text)
{
	(void)user;
	printf("# %s\n", text);
}

TEST_MAY_BE_UNUSED static void on_failure(void *user, const struct command_failure *why)
{
	(void)user;
	printf("# not executed: %s\n", strerror(why->os_error));
}

TEST_MAY_BE_UNUSED static bool on_tell_proxy(void *user, const struct proxy_order *order)
{
	(void)user, (void)order;
	return false;
}

TEST_MAY_BE_UNUSED static int on_later(void *user, struct err *e)
{
	struct run *r = user;

	(void)e;
	supervisor_release(r->s, r->last_id, RELEASE_GO_ON);
	return 0;
}

TEST_MAY_BE_UNUSED static bool fail(const struct err *e)
{
	printf("# %s\n", e->text);
	return false;
}

/* Starts `script` with that policy; nothing of it can be had: false. */
TEST_MAY_BE_UNUSED static bool start_with(struct run *r, const char *backend, const char *entries,
					  const char *script)
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
TEST_MAY_BE_UNUSED static int wait_for(struct run *r)
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

TEST_MAY_BE_UNUSED static void done(struct run *r)
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
TEST_MAY_BE_UNUSED static const char *own_backend(void)
{
	const char *name = getenv("CORDON_TEST_BACKEND");

	return name ? name : "native";
}

TEST_MAY_BE_UNUSED static int run_with(struct run *r, const char *entries, const char *script)
{
	return start_with(r, own_backend(), entries, script) ? wait_for(r) : -1;
}

/* That name below the scratch directory, until the next call. */
TEST_MAY_BE_UNUSED static const char *at(const char *name)
{
	static char path[300];

	(void)snprintf(path, sizeof(path), "%s/%s", scratch_top, name);
	return path;
}

TEST_MAY_BE_UNUSED static bool is_there(const char *name)
{
	struct stat st;

	return lstat(name, &st) == 0;
}

TEST_MAY_BE_UNUSED static bool refuse_at_once(struct run *r, const struct held_call *call)
{
	(void)r, (void)call;
	return false;
}

TEST_MAY_BE_UNUSED static bool open_now(struct run *r)
{
	struct err e = ERR_INIT;

	r->plan = also(r, r->wide);
	if (!r->plan || supervisor_open_path(r->s, r->plan, str_of(at(r->grants)), &e) < 0)
		return fail(&e);
	r->is_granted = true;
	return true;
}

/* Opens r->grants for the first call that is held, and refuses all that is not below it. */
TEST_MAY_BE_UNUSED static bool allow(struct run *r, const struct held_call *call)
{
	const struct str subject = call->attempt->subject;

	if (!path_is_under(subject, str_of(at(r->grants))) || (!r->is_granted && !open_now(r)))
		return false;
	supervisor_release(r->s, call->id, RELEASE_GO_ON);
	return true;
}

TEST_MAY_BE_UNUSED static bool has_text(const char *name, const char *want)
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

TEST_MAY_BE_UNUSED static struct str close_now(struct run *r, const char *name,
					       const struct plan *plan, struct buf *writers)
{
	struct err e = ERR_INIT;

	buf_clear(writers);
	if (!CHECK(supervisor_close_path(r->s, plan, str_of(at(name)), writers, &e) == 0))
		(void)fail(&e);
	return buf_str(writers);
}

/* Steps until the file is there: what the script inside has reached. */
TEST_MAY_BE_UNUSED static bool reached(struct run *r, const char *name)
{
	uint64_t until = loop_now() + PATIENCE_MS;
	struct err e = ERR_INIT;

	while (!is_there(name) && loop_now() < until && !r->is_gone)
		if (loop_step(&r->loop, 10, &e) < 0)
			return fail(&e);
	return is_there(name);
}

/* ---- All of it once more, otherwise ------------------------------------------------------------ */

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
		execl("/proc/self/exe", "test", NULL);
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
