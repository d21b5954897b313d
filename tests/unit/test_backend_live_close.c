/* SPDX-License-Identifier: MIT */
/*
 * Tests of what src/backend/backend.h promises under "Live grants", with real sandboxes: paths that are closed
 * again, what changes below them meanwhile, and helpers that are killed.
 */
#include "live_run.h"

/* ---- Closing ------------------------------------------------------------------------------------ */

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
