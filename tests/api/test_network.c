/* SPDX-License-Identifier: MIT */
/*
 * A managed network through libcordon: who is asked, rules that are added meanwhile, threads.
 * The process goes into a network namespace of its own first, in which a public address lies on
 * the loopback: nothing leaves the machine.
 */
#include "host.h"

#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define SERVER "93.184.216.10"
#define URL    "http://" SERVER ":8080/"
#define CURL   "curl -sS --max-time 8 "

static bool has_network;

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		(void)!write(fd, text, strlen(text));
		close(fd);
	}
}

static bool set_address(const char *name, uint32_t address)
{
	struct ifreq request = { .ifr_flags = 0 };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(address) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool is_set;

	(void)snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	memcpy(&request.ifr_addr, &in, sizeof(in));
	is_set = fd >= 0 && ioctl(fd, SIOCSIFADDR, &request) == 0;
	request.ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING;
	is_set = is_set && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
	close(fd);
	return is_set;
}

static void *serve(void *arg)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n"
				     "Connection: close\r\n\r\nhello\n";
	int listener = *(int *)arg;

	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		char head[4096];

		if (fd < 0)
			continue;
		(void)!read(fd, head, sizeof(head));
		(void)!write(fd, answer, sizeof(answer) - 1);
		close(fd);
	}
	return NULL;
}

/* Before any thread is started: a user namespace is for processes that have one. */
__attribute__((constructor)) static void enter(void)
{
	static int listener;
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(8080),
				  .sin_addr.s_addr = htonl(0x5DB8D80A) };
	uid_t uid = geteuid();
	gid_t gid = getegid();
	pthread_t thread;
	char map[64];

	if (unshare(uid == 0 ? CLONE_NEWNET : CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return;
	if (uid != 0) {
		put("/proc/self/setgroups", "deny");
		(void)snprintf(map, sizeof(map), "%u %u 1", (unsigned)uid, (unsigned)uid);
		put("/proc/self/uid_map", map);
		(void)snprintf(map, sizeof(map), "%u %u 1", (unsigned)gid, (unsigned)gid);
		put("/proc/self/gid_map", map);
	}
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	has_network = set_address("lo", 0x7F000001) && set_address("lo:1", 0x5DB8D80A) &&
		      bind(listener, (struct sockaddr *)&at, sizeof(at)) == 0 &&
		      listen(listener, 64) == 0 &&
		      pthread_create(&thread, NULL, serve, &listener) == 0;
}

/* ---- Somebody to ask --------------------------------------------------------------------- */

struct asked {
	uint32_t answer;
	unsigned count;
	uint64_t id, port, pid;
	char host[64], program[64], protocol[64];
};

static uint32_t decide(void *user, const struct cordon_host_request *request)
{
	struct asked *asked = user;

	asked->count++;
	asked->id = request->id;
	asked->port = request->port;
	asked->pid = request->pid;
	(void)snprintf(asked->host, sizeof(asked->host), "%s", request->host);
	(void)snprintf(asked->program, sizeof(asked->program), "%s",
		       request->program ? request->program : "");
	(void)snprintf(asked->protocol, sizeof(asked->protocol), "%s", request->protocol);
	return asked->answer;
}

static void ask_managed(struct ask *ask, const char *script)
{
	static char audit[4096];

	if (!audit[0])
		(void)snprintf(audit, sizeof(audit), "%s/audit.log", scratch_top);
	ask_script(ask, "native", script);
	ask->load.mode = "read-only";
	ask->load.network = "managed";
	ask->run.audit_file = audit;
}

static cordon_result *ask_decider(struct asked *asked, const char *script)
{
	struct ask ask;

	ask_managed(&ask, script);
	ask.run.decide_host = decide;
	ask.run.run_user = asked;
	return run_it(&ask);
}

TEST(who_decides_is_told_what_it_is_about)
{
	struct asked asked = { .answer = CORDON_DECISION_ALLOW };
	cordon_result *result;

	REQUIRE(has_network);
	result = ask_decider(&asked, CURL URL);
	REQUIRE(result);
	CHECK_STR(cordon_result_output(result, 1, NULL), "hello\n");
	CHECK_INT(asked.count, 1);
	CHECK_STR(asked.host, SERVER);
	CHECK_INT(asked.port, 8080);
	CHECK_STR(asked.program, "curl");
	CHECK_STR(asked.protocol, "http");
	CHECK(asked.pid > 0);
	CHECK_INT(cordon_result_denial_count(result), 0);
	cordon_result_free(result);
}

TEST(a_no_is_a_denial)
{
	struct asked asked = { .answer = CORDON_DECISION_DENY };
	cordon_result *result = ask_decider(&asked, CURL URL);

	REQUIRE(result);
	CHECK(strstr(cordon_result_output(result, 1, NULL), "was not approved") != NULL);
	CHECK_INT(asked.count, 1);
	CHECK_INT(cordon_result_denial_count(result), 1);
	cordon_result_free(result);
}

TEST(nobody_is_asked_about_private_addresses_or_denied_hosts)
{
	static const char *const denied[] = { SERVER };
	struct asked asked = { .answer = CORDON_DECISION_ALLOW };
	cordon_result *result = ask_decider(&asked, CURL "--noproxy '' http://10.1.2.3/");
	struct ask ask;

	REQUIRE(result);
	CHECK_INT(asked.count, 0);
	CHECK_INT(cordon_result_denial_count(result), 1);
	cordon_result_free(result);
	ask_managed(&ask, CURL URL);
	ask.load.deny_hosts = denied;
	ask.load.deny_host_count = 1;
	ask.run.decide_host = decide;
	ask.run.run_user = &asked;
	result = run_it(&ask);
	REQUIRE(result);
	CHECK_INT(asked.count, 0);
	CHECK_INT(cordon_result_denial_count(result), 1);
	cordon_result_free(result);
}

TEST(an_answer_may_come_later)
{
	for (uint32_t answer = CORDON_DECISION_DENY; answer <= CORDON_DECISION_ALLOW; answer += 2) {
		struct asked asked = { .answer = CORDON_DECISION_ASK };
		cordon_run_handle *run = NULL;
		cordon_result *result = NULL;
		cordon_error *error = NULL;
		struct ask ask;

		ask_managed(&ask, CURL URL);
		ask.run.decide_host = decide;
		ask.run.run_user = &asked;
		REQUIRE(cordon_start(NULL, &ask.run, &run, NULL) == 0);
		while (asked.count == 0 && cordon_poll(run, 5000, NULL) == 0)
			continue;
		REQUIRE(asked.count == 1);
		CHECK_INT(cordon_poll(run, 50, NULL), 0);
		CHECK_INT(cordon_decide(run, asked.id, CORDON_DECISION_ASK, &error),
			  -CORDON_E_ARGUMENT);
		cordon_error_free(error);
		CHECK_INT(cordon_decide(run, asked.id + 1000, answer, NULL), 0);
		CHECK_INT(cordon_decide(run, asked.id, answer, NULL), 0);
		REQUIRE(cordon_wait(run, &result, NULL) == 0);
		CHECK_INT(strcmp(cordon_result_output(result, 1, NULL), "hello\n") == 0,
			  answer == CORDON_DECISION_ALLOW);
		cordon_result_free(result);
	}
}

/* ---- Rules that are added ------------------------------------------------------------------- */

/* What the command has said so far. */
struct said {
	char text[256];
	size_t length;
};

static void listen_to(void *user, uint32_t stream, const char *bytes, size_t length)
{
	struct said *said = user;

	if (stream != CORDON_STREAM_STDOUT || length >= sizeof(said->text) - said->length)
		return;
	memcpy(said->text + said->length, bytes, length);
	said->length += length;
	said->text[said->length] = '\0';
}

static bool hears(cordon_run_handle *run, const struct said *said, const char *word)
{
	while (!strstr(said->text, word))
		if (cordon_poll(run, 5000, NULL) != 0)
			return false;
	return true;
}

TEST(rules_may_be_added_while_it_runs)
{
	cordon_run_handle *run = NULL;
	cordon_result *result = NULL;
	cordon_error *error = NULL;
	struct said said = { .length = 0 };
	struct ask ask;

	ask_managed(&ask, CURL
		    "-f " URL " 2>/dev/null || echo no;"
		    "until " CURL "-f " URL " 2>/dev/null; do sleep 0.02; done; echo open;"
		    "while " CURL "-f " URL " >/dev/null 2>&1; do sleep 0.02; done; echo shut");
	ask.run.on_output = listen_to;
	ask.run.run_user = &said;
	REQUIRE(cordon_start(NULL, &ask.run, &run, NULL) == 0);
	REQUIRE(hears(run, &said, "no\n"));
	CHECK_INT(cordon_allow_host(run, "a b", &error), -CORDON_E_SYNTAX);
	cordon_error_free(error);
	CHECK_INT(cordon_deny_host(run, "*", NULL), -CORDON_E_SYNTAX);
	CHECK_INT(cordon_allow_host(run, SERVER ":8080", NULL), 0);
	REQUIRE(hears(run, &said, "open\n"));
	CHECK_INT(cordon_deny_host(run, "93.184.216.0/24", NULL), 0);
	REQUIRE(cordon_wait(run, &result, NULL) == 0);
	CHECK_STR(cordon_result_output(result, 1, NULL), "no\nhello\nopen\nshut\n");
	CHECK(cordon_result_denial_count(result) >= 2);
	cordon_result_free(result);
}

static void take_warning(void *user, const char *text)
{
	*(bool *)user |= strstr(text, "a rule was not added") != NULL;
}

/* Adds hosts until one finds no room; false when the run ends with that, else a warning has come. */
static bool outlasts_too_many(int (*add)(cordon_run_handle *, const char *, cordon_error **),
			      char *why, size_t why_bytes)
{
	cordon_run_handle *run = NULL;
	cordon_result *result = NULL;
	cordon_error *error = NULL;
	bool is_warned = false;
	struct ask ask;
	int status = 0;

	ask_managed(&ask, "exec sleep 100");
	ask.load.on_warning = take_warning;
	ask.load.user = &is_warned;
	if (cordon_start(NULL, &ask.run, &run, NULL) != 0)
		return false;
	for (unsigned i = 0; i < 1025; i++) {
		char pattern[32];

		(void)snprintf(pattern, sizeof(pattern), "host%u.test", i);
		/* What the proxy has not read yet leaves no room for more. */
		while (add(run, pattern, NULL) == -CORDON_E_SYS && status == 0)
			status = cordon_poll(run, 10, NULL);
	}
	while (!is_warned && status == 0)
		status = cordon_poll(run, 1000, NULL);
	(void)cordon_signal(run, SIGTERM, NULL);
	status = cordon_wait(run, &result, &error);
	why[0] = '\0';
	if (error)
		(void)snprintf(why, why_bytes, "%s", cordon_error_text(error));
	cordon_error_free(error);
	cordon_result_free(result);
	return status == 0 && is_warned;
}

TEST(a_deny_that_finds_no_room_ends_the_run)
{
	char why[512];

	CHECK(outlasts_too_many(cordon_allow_host, why, sizeof(why)));
	CHECK(!outlasts_too_many(cordon_deny_host, why, sizeof(why)));
	CHECK(strstr(why, "1024") != NULL);
}

TEST(a_run_without_a_proxy_takes_no_rules)
{
	cordon_run_handle *run = NULL;
	cordon_error *error = NULL;
	struct ask ask;

	ask_script(&ask, "native", "true");
	REQUIRE(cordon_start(NULL, &ask.run, &run, NULL) == 0);
	CHECK_INT(cordon_allow_host(run, "a.com", &error), -CORDON_E_ARGUMENT);
	CHECK(strstr(cordon_error_text(error), "not managed") != NULL);
	cordon_error_free(error);
	CHECK_INT(cordon_decide(run, 1, CORDON_DECISION_ALLOW, NULL), -CORDON_E_ARGUMENT);
	CHECK_INT(cordon_wait(run, NULL, NULL), 0);
}

/* ---- The request ----------------------------------------------------------------------------- */

TEST(the_request_is_a_command_line)
{
	static const char *const allow[] = { "a.com", "*.b.com:443" };
	static const char *const deny[] = { "c.com" };
	static const char *const publish[] = { "8080:80", NULL };
	static const char *const ports[] = { "5432", NULL };
	static const char expected[] = "cordon run --mode read-only --network managed --allow-host "
				       "a.com --allow-host *.b.com:443 --deny-host c.com --publish "
				       "8080:80 --host-port 5432 --audit /log -- true";
	char said[512] = "";
	struct ask ask;
	char **argv;

	ask_managed(&ask, "");
	ask.words[0] = "true";
	ask.words[1] = NULL;
	ask.run.backend = NULL;
	ask.load.system_directory = NULL;
	ask.load.allow_hosts = allow;
	ask.load.allow_host_count = 2;
	ask.load.deny_hosts = deny;
	ask.load.deny_host_count = 1;
	ask.run.publish = publish;
	ask.run.host_ports = ports;
	ask.run.audit_file = "/log";
	REQUIRE(cordon_request_argv(NULL, &ask.run, &argv, NULL) == 0);
	for (size_t i = 0; argv[i]; i++)
		(void)snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s%s",
			       i ? " " : "", argv[i]);
	CHECK_STR(said, expected);
	cordon_argv_free(argv);
}

TEST(defaults_of_a_handle_count)
{
	static const char *const allow[] = { SERVER };
	cordon_result *result = NULL;
	cordon *handle = NULL;
	struct ask defaults;
	struct ask ask;

	ask_managed(&defaults, "");
	defaults.load.allow_hosts = allow;
	defaults.load.allow_host_count = 1;
	REQUIRE(cordon_new(&defaults.run, &handle, NULL) == 0);
	ask_script(&ask, "native", CURL URL);
	ask.load.mode = NULL;
	REQUIRE(cordon_run(handle, &ask.run, &result, NULL) == 0);
	CHECK_STR(cordon_result_output(result, 1, NULL), "hello\n");
	cordon_result_free(result);
	cordon_free(handle);
}

/* ---- Threads and what is left --------------------------------------------------------------------- */

struct worker {
	pthread_t thread;
	bool is_allowed;
	bool is_right;
};

static void *work(void *arg)
{
	static const char *const allow[] = { SERVER };
	struct worker *worker = arg;
	struct ask ask;

	worker->is_right = true;
	for (int i = 0; i < 3; i++) {
		cordon_result *result;

		ask_managed(&ask, CURL URL);
		ask.load.allow_hosts = allow;
		ask.load.allow_host_count = worker->is_allowed;
		result = run_it(&ask);
		if (!result ||
		    (strcmp(cordon_result_output(result, 1, NULL), "hello\n") == 0) !=
			    worker->is_allowed ||
		    cordon_result_denial_count(result) != !worker->is_allowed)
			worker->is_right = false;
		cordon_result_free(result);
	}
	return NULL;
}

TEST(threads_of_one_host_have_networks_of_their_own)
{
	struct worker workers[4];
	int before;

	{ /* whatever the first call opens for good */
		struct ask ask;

		ask_managed(&ask, "true");
		cordon_result_free(run_it(&ask));
	}
	before = count_descriptors();
	for (size_t i = 0; i < 4; i++) {
		workers[i] = (struct worker){ .is_allowed = i % 2 };
		REQUIRE(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
	}
	for (size_t i = 0; i < 4; i++) {
		REQUIRE(pthread_join(workers[i].thread, NULL) == 0);
		CHECK(workers[i].is_right);
	}
	CHECK_INT(count_descriptors(), before);
	CHECK_INT(waitpid(-1, NULL, WNOHANG | __WALL), -1);
}
