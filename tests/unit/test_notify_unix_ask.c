/* SPDX-License-Identifier: MIT */
/*
 * Tests of what linux/notify/unix_connect.c asks about: connections to the host's sockets that no
 * rule allows and none denies are held until somebody answers.
 */
#include "linux/notify/unix_connect.h"

#include "host_socket.h"

enum { MAX_OFFERED = 64, ANSWER_AFTER_MS = 50 };

/* Somebody who is asked. */
struct person {
	struct judged j;
	struct connect_asker asker;
	struct timer timer;
	bool refuses_to_ask, answers_at_once, never_answers;
	enum connect_release how;
	const char *opens; /* made a rule before the answer */
	uint64_t ids[MAX_OFFERED];
	char subject[256], named[256], program[32];
	size_t offered, unheld, waiting;
};

static void answer(struct person *p, uint64_t id)
{
	struct err e = ERR_INIT;

	if (p->opens && unix_sockets_open(&p->j.a, &p->j.sockets, str_of(p->opens), &e) < 0)
		printf("# %s\n", e.text);
	CHECK(unix_connect_release(p->j.connects, id, p->how));
	CHECK(!unix_connect_release(p->j.connects, id, CONNECT_ONCE));
}

static int is_due(void *user, struct err *e)
{
	struct person *p = user;
	size_t from = p->offered - p->waiting;

	(void)e;
	p->waiting = 0;
	for (size_t i = from; i < p->offered; i++)
		answer(p, p->ids[i]);
	return 0;
}

static bool hold(void *user, const struct engine_call *call, const struct denial *attempt)
{
	struct person *p = user;

	if (p->offered == MAX_OFFERED)
		return false;
	p->ids[p->offered++] = call->id;
	(void)snprintf(p->subject, sizeof(p->subject), "%.*s", STR_ARG(attempt->subject));
	(void)snprintf(p->named, sizeof(p->named), "%.*s", STR_ARG(attempt->named));
	(void)snprintf(p->program, sizeof(p->program), "%.*s", STR_ARG(attempt->program));
	CHECK_INT(attempt->kind, DENIAL_UNIX_SOCKET);
	CHECK_INT(attempt->os_error, EACCES);
	shared->step = 1;
	if (p->refuses_to_ask)
		return false;
	if (p->answers_at_once) {
		answer(p, call->id);
		return true;
	}
	p->waiting++;
	if (!p->never_answers)
		loop_set_timer(&p->j.loop, &p->timer, loop_now() + ANSWER_AFTER_MS);
	return true;
}

static void unhold(void *user, uint64_t id)
{
	struct person *p = user;

	(void)id;
	p->unheld++;
	p->waiting--;
}

static bool start(struct person *p, const char *network, int (*inside)(void))
{
	struct err e = ERR_INIT;

	p->asker = (struct connect_asker){ .hold = hold, .unhold = unhold, .user = p };
	p->timer = (struct timer){ .due = is_due, .user = p };
	if (!judged_start(&p->j, network, &(struct cage_options){ .inside = inside }) ||
	    loop_prepare_timers(&p->j.loop, &e) < 0)
		return false;
	unix_connect_ask(p->j.connects, &p->asker);
	return true;
}

static void stop(struct person *p)
{
	loop_drop_timer(&p->j.loop, &p->timer);
	judged_done(&p->j);
}

/* ---- Answers --------------------------------------------------------------------------------- */

static int reaches_host(void)
{
	INSIDE(connect_to("host.sock") == 0);
	return 0;
}

static int does_not_reach_host(void)
{
	INSIDE(connect_to("host.sock") == -EACCES);
	return 0;
}

TEST(a_refused_connection_is_held_and_made_when_it_was_granted)
{
	struct person p = { .how = CONNECT_GO_ON };

	REQUIRE(open_host("host.sock"));
	p.opens = host_path;
	REQUIRE(start(&p, NETWORK_MANAGED, reaches_host));
	CHECK_INT(judged_run(&p.j), 0);
	CHECK_INT(p.offered, 1);
	CHECK_STR(p.subject, host_path);
	CHECK_STR(p.named, "host.sock");
	CHECK_STR(p.program, "test_notify_uni");
	CHECK_INT(p.j.denials.total, 0);
	CHECK_INT(count_waiting(host_listener), 1);
	stop(&p);
	close_host();
}

TEST(an_answer_may_come_while_it_is_asked)
{
	struct person p = { .how = CONNECT_GO_ON, .answers_at_once = true };

	REQUIRE(open_host("host.sock"));
	p.opens = host_path;
	REQUIRE(start(&p, NETWORK_MANAGED, reaches_host));
	CHECK_INT(judged_run(&p.j), 0);
	CHECK_INT(count_waiting(host_listener), 1);
	CHECK_INT(p.j.denials.total, 0);
	stop(&p);
	close_host();
}

TEST(a_refusal_is_a_refusal)
{
	for (int i = 0; i < 3; i++) {
		struct person p = { .how = CONNECT_REFUSE,
				    .answers_at_once = i == 1,
				    .refuses_to_ask = i == 2 };

		REQUIRE(open_host("host.sock"));
		REQUIRE(start(&p, NETWORK_MANAGED, does_not_reach_host));
		CHECK_INT(judged_run(&p.j), 0);
		CHECK_INT(p.offered, 1);
		CHECK_INT(count_waiting(host_listener), 0);
		/* An answer is recorded by who was asked. */
		CHECK_INT(p.j.denials.total, i == 2);
		if (p.j.denials.items.count) {
			CHECK_STR(p.j.denials.items.items[0].subject.p, host_path);
			CHECK_STR(p.j.denials.items.items[0].program.p, "test_notify_uni");
		}
		stop(&p);
		close_host();
	}
}

TEST(to_go_on_without_a_grant_is_a_refusal)
{
	struct person p = { .how = CONNECT_GO_ON };

	REQUIRE(open_host("host.sock"));
	REQUIRE(start(&p, NETWORK_MANAGED, does_not_reach_host));
	CHECK_INT(judged_run(&p.j), 0);
	CHECK_INT(count_waiting(host_listener), 0);
	CHECK_INT(p.j.denials.total, 1);
	stop(&p);
	close_host();
}

static int reaches_host_once(void)
{
	INSIDE(connect_to("host.sock") == 0);
	INSIDE(connect_to("host.sock") == 0);
	return 0;
}

TEST(once_is_one_call_and_the_next_is_asked_about_again)
{
	struct person p = { .how = CONNECT_ONCE };

	REQUIRE(open_host("host.sock"));
	REQUIRE(start(&p, NETWORK_MANAGED, reaches_host_once));
	CHECK_INT(judged_run(&p.j), 0);
	CHECK_INT(p.offered, 2);
	CHECK_INT(count_waiting(host_listener), 2);
	stop(&p);
	close_host();
}

/* ---- What is asked --------------------------------------------------------------------------- */

static int tries_what_nobody_asks(void)
{
	INSIDE(connect_to("ro/denied.sock") == -EACCES);
	INSIDE(connect_to("ro/left.sock") == -ECONNREFUSED);
	INSIDE(connect_to("ro/missing.sock") == -ENOENT);
	INSIDE(connect_to("ro/allowed.sock") == 0);
	INSIDE(listen_at("w/own.sock") >= 0 && connect_to("w/own.sock") == 0);
	return 0;
}

TEST(what_a_rule_denies_is_never_asked)
{
	struct person p = { .how = CONNECT_ONCE };
	int denied, allowed, left;
	char network[1024];

	(void)(mkdir("ro", 0755) | mkdir("w", 0755));
	denied = listen_at("ro/denied.sock");
	allowed = listen_at("ro/allowed.sock");
	left = listen_at("ro/left.sock");
	close(left);
	(void)snprintf(network, sizeof(network),
		       "enabled = true\n[permissions.dev.network.unix_sockets]\n"
		       "'%s/ro/denied.sock' = 'deny'\n'%s/ro/allowed.sock' = 'allow'\n",
		       scratch_top, scratch_top);
	REQUIRE(start(&p, network, tries_what_nobody_asks));
	CHECK_INT(judged_run(&p.j), 0);
	CHECK_INT(p.offered, 0);
	CHECK_INT(count_waiting(denied), 0);
	CHECK_INT(count_waiting(allowed), 1);
	stop(&p);
	close(denied);
	close(allowed);
}

TEST(nor_where_the_network_is_off)
{
	struct person p = { .how = CONNECT_ONCE };

	REQUIRE(open_host("host.sock"));
	REQUIRE(start(&p, NETWORK_OFF, does_not_reach_host));
	CHECK_INT(judged_run(&p.j), 0);
	CHECK_INT(p.offered, 0);
	stop(&p);
	close_host();
}

static int tries_denied_by_another_name(void)
{
	INSIDE(link("w/denied.sock", "w/hard") == 0);
	INSIDE(connect_to("w/hard") == -EACCES);
	INSIDE(connect_to("w/denied.sock") == -EACCES);
	return 0;
}

TEST(nor_by_another_name)
{
	struct person p = { .how = CONNECT_ONCE };
	char network[512];
	int denied;

	(void)mkdir("w", 0755);
	denied = listen_at("w/denied.sock");
	(void)snprintf(network, sizeof(network),
		       "enabled = true\nunix_sockets = { '%s/w/denied.sock' = 'deny' }\n",
		       scratch_top);
	REQUIRE(start(&p, network, tries_denied_by_another_name));
	CHECK_INT(judged_run(&p.j), 0);
	CHECK_INT(p.offered, 0);
	CHECK_INT(count_waiting(denied), 0);
	stop(&p);
	close(denied);
	(void)unlink("w/hard");
}

/* ---- While it waits --------------------------------------------------------------------------- */

static int swaps_while_it_waits(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		int r = connect_to("w/host.sock");

		/* What was asked about is what is connected, or nothing. */
		_exit(r == 0 ? 0 : 1);
	}
	while (shared->step == 0) /* until it is asked about */
		(void)usleep(500);
	INSIDE(rename("w/other.sock", "w/host.sock") == 0);
	INSIDE(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	INSIDE(WEXITSTATUS(status) == 0);
	return 0;
}

TEST(a_path_that_is_swapped_meanwhile_leads_nowhere_else)
{
	struct person p = { .how = CONNECT_ONCE };
	int other;

	REQUIRE(open_host("w/host.sock"));
	other = listen_at("w/other.sock");
	REQUIRE(start(&p, NETWORK_MANAGED, swaps_while_it_waits));
	CHECK_INT(judged_run(&p.j), 0);
	CHECK_INT(count_waiting(other), 0);
	CHECK_INT(count_waiting(host_listener), 1);
	stop(&p);
	close(other);
	close_host();
}

static int dies_while_it_waits(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(connect_to("host.sock") == 0);
	while (shared->step == 0)
		(void)usleep(500);
	INSIDE(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
	(void)usleep(400000);
	return 0;
}

TEST(the_end_of_a_caller_that_waits_is_told)
{
	struct person p = { .never_answers = true };

	REQUIRE(open_host("host.sock"));
	REQUIRE(start(&p, NETWORK_MANAGED, dies_while_it_waits));
	CHECK_INT(judged_run(&p.j), 0);
	CHECK_INT(p.offered, 1);
	CHECK_INT(p.unheld, 1);
	CHECK(!unix_connect_release(p.j.connects, p.ids[0], CONNECT_ONCE));
	CHECK_INT(count_waiting(host_listener), 0);
	stop(&p);
	close_host();
}

static void on_signal(int number)
{
	(void)number;
}

static int is_interrupted(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct timespec started, ended;

	INSIDE(sigaction(SIGTERM, &action, NULL) == 0);
	INSIDE(clock_gettime(CLOCK_MONOTONIC, &started) == 0);
	if (fork() == 0) {
		(void)sleep(1);
		(void)kill(getppid(), SIGTERM);
		_exit(0);
	}
	INSIDE(connect_to("host.sock") == -EINTR);
	INSIDE(clock_gettime(CLOCK_MONOTONIC, &ended) == 0);
	INSIDE(ended.tv_sec - started.tv_sec <= 2);
	return 0;
}

/* Others, as those of a clock, do not: test_notify_connectors.c. */
TEST(a_signal_that_asks_to_end_ends_the_wait)
{
	struct person p = { .never_answers = true };

	REQUIRE(open_host("host.sock"));
	REQUIRE(start(&p, NETWORK_MANAGED, is_interrupted));
	CHECK_INT(judged_run(&p.j), 0);
	CHECK_INT(p.unheld, 1);
	stop(&p);
	close_host();
}

enum { MANY = 40 };

static int many_wait(void)
{
	int failed = 0;

	for (int i = 0; i < MANY; i++)
		if (fork() == 0)
			_exit(connect_to("host.sock") != 0);
	for (int i = 0; i < MANY; i++) {
		int status = 1;

		(void)wait(&status);
		failed += status != 0;
	}
	INSIDE(failed == 0);
	return 0;
}

TEST(many_wait_at_the_same_time)
{
	struct person p = { .how = CONNECT_GO_ON };

	REQUIRE(open_host("host.sock"));
	p.opens = host_path;
	REQUIRE(start(&p, NETWORK_MANAGED, many_wait));
	CHECK_INT(judged_run(&p.j), 0);
	CHECK(p.offered >= 1);
	CHECK_INT(count_waiting(host_listener), MANY);
	stop(&p);
	close_host();
}

/* ---- Rules that come and go ------------------------------------------------------------------- */

TEST(a_live_rule_ends_when_it_is_taken_back)
{
	struct person p = { .how = CONNECT_GO_ON };
	struct stat st;

	REQUIRE(open_host("host.sock"));
	REQUIRE(start(&p, NETWORK_MANAGED, reaches_host));
	REQUIRE(stat(host_path, &st) == 0);
	for (int i = 0; i < 3; i++) {
		struct err e = ERR_INIT;

		CHECK_INT(unix_sockets_decide(&p.j.sockets, &st, str_of(host_path)).reason,
			  SOCKET_UNNAMED);
		CHECK_INT(unix_sockets_open(&p.j.a, &p.j.sockets, str_of(host_path), &e), 0);
		CHECK_INT(unix_sockets_decide(&p.j.sockets, &st, str_of(host_path)).reason,
			  SOCKET_ALLOWED);
		unix_sockets_close(&p.j.sockets, str_of(host_path));
	}
	CHECK_INT(p.j.sockets.items.count, 1);
	p.opens = host_path;
	CHECK_INT(judged_run(&p.j), 0);
	stop(&p);
	close_host();
}

TEST(only_a_socket_at_a_canonical_path_can_be_granted)
{
	static const char *const bad[] = { "w/missing", "w", "w/link.sock", "w/../host.sock" };
	struct person p = { .how = CONNECT_GO_ON };

	REQUIRE(open_host("host.sock"));
	REQUIRE(symlink("../host.sock", "w/link.sock") == 0);
	REQUIRE(start(&p, NETWORK_MANAGED, reaches_host));
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct err e = ERR_INIT;
		char path[256];

		make_path(path, bad[i]);
		CHECK_INT(unix_sockets_open(&p.j.a, &p.j.sockets, str_of(path), &e), -ERR_POLICY);
	}
	p.opens = host_path;
	CHECK_INT(judged_run(&p.j), 0);
	stop(&p);
	close_host();
	(void)unlink("w/link.sock");
}
