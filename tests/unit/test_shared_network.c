/* SPDX-License-Identifier: MIT */
/*
 * A managed network where the command shares the network of the host, as on macOS: whole runs, with a
 * backend that confines nothing, since what is tested is the way to the proxy. The backends of this system
 * are replaced by it.
 */
#include "../api/host.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "backend/backend.h"
#include "backend/none/none.h"

/* ---- The backend ----------------------------------------------------------------------------------------- */

static guarantee_set gives(const struct plan *plan)
{
	(void)plan;
	return GUARANTEE_BIT(GUARANTEE_COUNT) - 1;
}

static const char *why_not(enum guarantee g)
{
	(void)g;
	return "?";
}

static uint16_t told_port; /* that a profile would open */

static int launch(struct arena *a, const struct launch *in, struct sandbox *out, struct err *e)
{
	told_port = in->network ? in->network->proxy_port : 0;
	return backend_none.launch(a, in, out, e);
}

static int describe(struct arena *a, const struct launch *in, struct buf *out, struct err *e)
{
	return backend_none.describe(a, in, out, e);
}

static const struct backend shared = { .name = "shared",
				       .gives = gives,
				       .why_not = why_not,
				       .describe = describe,
				       .launch = launch,
				       .shares_network = true };
const struct backend *const backends[] = { &shared, NULL };

const struct backend *backend_find(struct str name)
{
	return str_is(name, "shared") ? &shared : str_is(name, "none") ? &backend_none : NULL;
}

const names *backend_order(const struct settings *settings)
{
	static struct named first = { .name = STR_INIT("shared") };
	static const names order = { .items = &first, .count = 1 };

	(void)settings;
	return &order;
}

/* ---- A server of the host --------------------------------------------------------------------------------- */

static char allowed[64], url[128];
static pid_t serving;

static _Noreturn void serve(int listener)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n"
				     "Connection: close\r\n\r\nhello\n";

	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		char head[4096];

		if (fd < 0)
			continue;
		(void)!read(fd, head, sizeof(head));
		(void)!write(fd, answer, sizeof(answer) - 1);
		close(fd);
	}
}

/* Before the first run: the proxy is forked from a program without threads. */
static bool start_server(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t size = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (serving)
		return true;
	if (listener < 0 || bind(listener, (struct sockaddr *)&at, size) < 0 ||
	    listen(listener, 16) < 0 || getsockname(listener, (struct sockaddr *)&at, &size) < 0)
		return false;
	(void)snprintf(allowed, sizeof(allowed), "127.0.0.1:%u", ntohs(at.sin_port));
	(void)snprintf(url, sizeof(url), "http://%s/", allowed);
	serving = fork();
	if (serving == 0)
		serve(listener);
	close(listener);
	return serving > 0;
}

__attribute__((destructor)) static void end_server(void)
{
	if (serving > 0)
		(void)kill(serving, SIGKILL);
}

/* ---- Runs --------------------------------------------------------------------------------------------------- */

static const char *hosts[] = { allowed };

static void ask_managed(struct ask *ask, const char *script)
{
	static char audit[4096];

	if (!audit[0])
		(void)snprintf(audit, sizeof(audit), "%s/audit.log", scratch_top);
	ask_script(ask, NULL, script);
	ask->load.mode = "read-only";
	ask->load.network = "managed";
	ask->load.allow_hosts = hosts;
	ask->load.allow_host_count = 1;
	ask->run.audit_file = audit;
}

static bool says(const struct ask *ask, const char *words)
{
	cordon_result *result = run_it(ask);
	bool is_said = result && strstr(cordon_result_output(result, 1, NULL), words);

	if (result && !is_said)
		printf("# %s%s\n", cordon_result_output(result, 1, NULL),
		       cordon_result_output(result, 2, NULL));
	cordon_result_free(result);
	return is_said;
}

#define CURL "curl -sS --max-time 8 --noproxy '' "

/* The command, and the server's address behind it. */
static const char *script(const char *command)
{
	static char text[1024];

	(void)snprintf(text, sizeof(text), "%s %s", command, url);
	return text;
}

TEST(the_proxy_is_reached_by_the_variables)
{
	cordon_result *result;
	struct ask ask;

	REQUIRE(start_server());
	ask_managed(&ask, script(CURL "-x \"$http_proxy\""));
	CHECK(says(&ask, "hello"));
	ask_managed(&ask, script(CURL "-x \"$ALL_PROXY\""));
	CHECK(says(&ask, "hello"));
	/* The backend is told the port that the variables name. */
	ask_managed(&ask, "echo \"${http_proxy##*:}\"");
	result = run_it(&ask);
	REQUIRE(result);
	CHECK(told_port != 0 && told_port != LAUNCH_PROXY_PORT);
	CHECK_INT(atoi(cordon_result_output(result, 1, NULL)), told_port);
	cordon_result_free(result);
	/* Nothing here says that it may listen. */
	ask_managed(&ask,
		    "echo \"marks $CORDON_SANDBOX_NETWORK$CODEX_NETWORK_ALLOW_LOCAL_BINDING.\"");
	CHECK(says(&ask, "marks managed."));
}

TEST(without_the_token_nothing_passes)
{
	struct ask ask;

	REQUIRE(start_server());
	ask_managed(&ask, script(CURL "-w '%{http_code}' -o /dev/null "
				      "-x http://127.0.0.1:${http_proxy##*:}"));
	CHECK(says(&ask, "407"));
	ask_managed(&ask, script(CURL "-w '%{http_code}' -o /dev/null "
				      "-x http://cordon:guess@127.0.0.1:${http_proxy##*:}"));
	CHECK(says(&ask, "407"));
}

TEST(two_runs_have_ports_and_tokens_of_their_own)
{
	struct ask ask;
	char kept[2][256];

	REQUIRE(start_server());
	for (int i = 0; i < 2; i++) {
		cordon_result *result;

		ask_managed(&ask, "echo \"$http_proxy\"");
		result = run_it(&ask);
		REQUIRE(result);
		(void)snprintf(kept[i], sizeof(kept[i]), "%s",
			       cordon_result_output(result, 1, NULL));
		cordon_result_free(result);
	}
	CHECK(strncmp(kept[0], "http://cordon:", 14) == 0);
	CHECK(strncmp(kept[0] + 14, kept[1] + 14, 48) != 0);
}

TEST(a_refused_host_is_a_denial)
{
	struct ask ask;
	cordon_result *result;

	REQUIRE(start_server());
	ask_managed(&ask, CURL "-x \"$http_proxy\" http://10.1.2.3/");
	result = run_it(&ask);
	REQUIRE(result);
	CHECK_INT(cordon_result_denial_count(result), 1);
	cordon_result_free(result);
}

static uint32_t decide(void *user, const struct cordon_host_request *request)
{
	(void)request;
	++*(int *)user;
	return CORDON_DECISION_DENY; /* nothing leaves this machine */
}

TEST(somebody_is_asked_about_a_host)
{
	struct ask ask;
	int count = 0;

	REQUIRE(start_server());
	ask_managed(&ask, CURL "-x \"$http_proxy\" http://93.184.216.10:9/");
	ask.run.decide_host = decide;
	ask.run.run_user = &count;
	CHECK(says(&ask, "was not approved"));
	CHECK_INT(count, 1);
}

TEST(ports_of_the_host_are_refused)
{
	static const char *const ports[] = { "5432", NULL };
	struct ask ask;

	REQUIRE(start_server());
	ask_managed(&ask, "true");
	CHECK(says(&ask, "")); /* the control */
	ask.run.host_ports = ports;
	CHECK(refusal(&ask, "backend_unsuited") > 0);
}
