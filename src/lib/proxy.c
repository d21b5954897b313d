/* SPDX-License-Identifier: MIT */
/* cordon_proxy_*(): the proxy of a managed network without a sandbox. */
#include "proxy/proxy.h"

#include <errno.h>

#include "audit/audit.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "lib/lib.h"
#include "os/fd.h"
#include "os/loop.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/socket.h"
#include "plan/net.h"

enum {
	KEPT_BYTES = 1 << 20,
	READY_MS = 10000, /* for the process to lock itself and say so */
	ENDING_MS = 3000, /* for the last records of one that ends */
	TOKEN_MIN = 16,	  /* characters: too many to be guessed */
	TOKEN_MAX = 127,
	BACKLOG = 1024,
};

struct cordon_proxy {
	struct arena arena;
	struct loop loop;
	bool has_loop;
	struct proxy process;
	struct watcher channel;
	struct audit *audit; /* NULL: none */
	/* Of connections that are told of twice: the last number, and that of the processes before this. */
	uint64_t last_connection, connections_before;
	char *token;
	char **environment; /* of it what names proxies, which may have passwords */
	int listener;
	uint16_t port;
	char address[64];
	struct err failure; /* of a record that came while nobody could be told, or of its end */
	bool failure_is_told;
};

/* ---- Where it listens ---------------------------------------------------------------- */

struct end_point {
	struct ip ip;
	uint16_t port;
};

static bool parse_end_point(struct str text, struct end_point *out)
{
	size_t colon = text.len;
	struct str host, port;

	while (colon > 0 && text.p[colon - 1] != ':')
		colon--;
	if (colon == 0)
		return false;
	host = str_first(text, colon - 1);
	port = str_from(text, colon);
	if (host.len > 2 && host.p[0] == '[' && host.p[host.len - 1] == ']')
		host = str_from(str_first(host, host.len - 1), 1);
	else if (str_is(host, "localhost"))
		host = STR("127.0.0.1");
	out->port = 0;
	return ip_parse(host, &out->ip) &&
	       (str_is(port, "0") || hostname_port_number(port, &out->port));
}

static int find_end_point(const struct cordon_proxy_options *options, struct end_point *out,
			  struct err *e)
{
	const char *text = options->listen ? options->listen : "127.0.0.1:0";
	char shown[128];

	(void)utf8_show(str_of(text), shown, sizeof(shown));
	if (!parse_end_point(str_of(text), out))
		return FAIL(e, ERR_SYNTAX,
			    "can't listen on '%s': write ADDRESS:PORT, like 127.0.0.1:3128 or "
			    "[::1]:3128; port 0 picks a free one",
			    shown);
	if (!ip_is_loopback(&out->ip) && !options->token)
		return FAIL(e, ERR_ARGUMENT,
			    "other hosts could use the proxy on %s: set a token (--token-file or "
			    "--token-env), or listen on 127.0.0.1",
			    shown);
	return 0;
}

static void name_address(cordon_proxy *p, const struct end_point *place)
{
	struct buf b = BUF_OVER(p->address);
	bool v4 = ip_is_v4(&place->ip);

	buf_add_text(&b, v4 ? "" : "[");
	ip_print(&b, &place->ip);
	buf_printf(&b, v4 ? ":%u" : "]:%u", (unsigned)p->port);
}

static int make_listener(cordon_proxy *p, const struct cordon_proxy_options *options, struct err *e)
{
	struct os_address address;
	struct end_point place;

	if (find_end_point(options, &place, e) < 0)
		return err_result(e);
	address = (struct os_address){ .ip = place.ip, .port = place.port };
	p->listener = socket_open_listener(&address, false, BACKLOG);
	if (p->listener < 0)
		return FAIL_SYS(e, -p->listener, "can't listen on %s",
				options->listen ? options->listen : "127.0.0.1");
	if (socket_get_address(p->listener, &address) < 0)
		return FAIL_SYS(e, errno, "can't find out which port the proxy listens on");
	p->port = address.port;
	name_address(p, &place);
	return 0;
}

/* ---- The process ----------------------------------------------------------------------- */

static int check_policy(const cordon_policy *policy, struct err *e)
{
	enum net_access mode = net_mode(policy->plan->net);
	struct str name = policy->policy->profile->name;

	if (mode == NET_OFF)
		return FAIL(e, ERR_POLICY,
			    "the network of profile %.*s is off: allow hosts with --allow-host, or "
			    "choose another profile with -P",
			    STR_ARG(name));
	if (mode == NET_FULL)
		return FAIL(e, ERR_POLICY,
			    "the network of profile %.*s is full: add --network managed and allow "
			    "hosts with --allow-host, or choose another profile with -P",
			    STR_ARG(name));
	return 0;
}

static int check_token(const char *token, struct err *e)
{
	size_t len = token ? strlen(token) : TOKEN_MIN;

	for (size_t i = 0; token && i < len; i++)
		if (token[i] <= ' ' || token[i] > '~')
			return FAIL(e, ERR_ARGUMENT,
				    "the token must consist of printable characters");
	if (len < TOKEN_MIN || len > TOKEN_MAX)
		return FAIL(e, ERR_ARGUMENT, "the token must have %d to %d characters, but has %zu",
			    TOKEN_MIN, TOKEN_MAX, len);
	return 0;
}

/* A record is written when it comes; a failure is told at the next chance. */
static void take_record(void *user, const struct proxy_record *record)
{
	cordon_proxy *p = user;
	struct proxy_record numbered = *record;

	if (record->connection) {
		numbered.connection += p->connections_before;
		p->last_connection = MAX_OF(p->last_connection, numbered.connection);
	}
	if (p->audit && p->failure.code == ERR_OK)
		(void)!audit_add(p->audit, &numbered, &p->failure);
}

static int fail_gone(int r, struct err *e)
{
	if (r == -ECONNRESET || r == -EPIPE)
		return FAIL_SYS_CAUSE(e, CAUSE_PROXY_ENDED, -r, "the proxy's process has ended");
	return FAIL_SYS(e, -r, "can't read from the proxy's process");
}

/* Waits until it is locked and serves. */
static int wait_ready(const struct proxy *process, struct err *e)
{
	uint64_t until = loop_now() + READY_MS;
	struct proxy_message m;

	for (;;) {
		uint64_t now = loop_now();
		int r = proxy_receive(process, &m);

		if (r < 0)
			return fail_gone(r, e);
		if (r > 0 && m.kind == PROXY_READY)
			return 0;
		if (r > 0 && m.kind == PROXY_FAILED)
			return proxy_failure(&m, e);
		if (r > 0)
			continue;
		if (now >= until)
			return FAIL_SYS(e, ETIMEDOUT, "the proxy did not start in time");
		socket_wait(process->channel, false, (int)(until - now));
	}
}

static int start_process(const cordon_proxy *p, const cordon_policy *policy, struct proxy *out,
			 struct err *e)
{
	const struct proxy_options options = {
		.plan = policy->plan,
		.token = p->token,
		.environment = p->environment ? (const char *const *)p->environment
					      : os_environment(),
		.limits = PROXY_LIMITS_DEFAULT,
		.may_be_unconfined = true,
	};
	struct proxy made = PROXY_NONE;

	if (check_policy(policy, e) < 0 || proxy_start(&made, &options, e) < 0)
		return err_result(e);
	if (wait_ready(&made, e) < 0) {
		(void)proxy_stop(&made, 0, NULL, NULL);
		return err_result(e);
	}
	*out = made;
	return 0;
}

static int take_message(cordon_proxy *p, const struct proxy_message *m, struct err *e)
{
	if (m->kind == PROXY_RECORD)
		take_record(p, &m->record);
	else if (m->kind == PROXY_FAILED)
		return proxy_failure(m, e);
	if (p->failure.code == ERR_OK)
		return 0;
	*e = p->failure;
	return err_result(e);
}

static int channel_ready(void *user, uint32_t events, struct err *e)
{
	cordon_proxy *p = user;
	struct proxy_message m;
	int r;

	(void)events;
	while ((r = proxy_receive(&p->process, &m)) > 0)
		if (take_message(p, &m, e) < 0)
			return err_result(e);
	return r < 0 ? fail_gone(r, e) : 0;
}

/* From now on it is the one that serves. */
static int begin(cordon_proxy *p, struct proxy process, struct err *e)
{
	struct proxy_order take = { .kind = PROXY_TAKE, .role = PROXY_MIXED, .port = p->port };
	int r;

	p->process = process;
	p->connections_before = p->last_connection;
	p->channel = (struct watcher){ .fd = process.channel, .ready = channel_ready, .user = p };
	if (loop_add(&p->loop, &p->channel, LOOP_IN, e) < 0)
		return err_result(e);
	r = proxy_send(&p->process, &take, &p->listener, 1);
	return r < 0 ? FAIL_SYS(e, -r, "can't send the proxy its socket") : 0;
}

static void end_process(cordon_proxy *p)
{
	loop_remove(&p->loop, &p->channel);
	if (!proxy_stop(&p->process, ENDING_MS, take_record, p) && p->audit &&
	    p->failure.code == ERR_OK)
		(void)!FAIL_SYS(&p->failure, ETIMEDOUT,
				"the proxy was killed before it reported every connection: the "
				"audit log is not complete");
}

/* ---- The calls -------------------------------------------------------------------------- */

static int keep_text(cordon_proxy *p, const char *text, char **out, struct err *e)
{
	size_t len;

	*out = NULL;
	if (!text)
		return 0;
	len = strlen(text) + 1;
	*out = arena_array(&p->arena, len, 1, e);
	if (!*out)
		return err_result(e);
	memcpy(*out, text, len);
	return 0;
}

static void wipe_text(char *text)
{
	if (text)
		os_wipe(text, strlen(text));
}

static bool names_proxy(const char *variable)
{
	struct str name = str_first(str_of(variable), str_find(str_of(variable), '='));

	return str_has_suffix(name, STR("_proxy")) || str_has_suffix(name, STR("_PROXY"));
}

/* Nothing else of it is asked for, and there are secrets in it. */
static int keep_environment(cordon_proxy *p, const char *const *from, struct err *e)
{
	size_t count = 0, kept = 0;

	if (!from)
		return 0;
	while (from[count])
		count++;
	p->environment = arena_array(&p->arena, count + 1, sizeof(*p->environment), e);
	if (!p->environment)
		return err_result(e);
	for (size_t i = 0; i < count; i++)
		if (names_proxy(from[i]) && keep_text(p, from[i], &p->environment[kept++], e) < 0)
			return err_result(e);
	return 0;
}

static void wipe_kept(cordon_proxy *p)
{
	wipe_text(p->token);
	for (char **variable = p->environment; variable && *variable; variable++)
		wipe_text(*variable);
}

static int start(cordon_proxy *p, const cordon_policy *policy,
		 const struct cordon_proxy_options *options, struct err *e)
{
	struct proxy process;

	if (check_token(options->token, e) < 0 || keep_text(p, options->token, &p->token, e) < 0 ||
	    keep_environment(p, options->environment, e) < 0 || loop_init(&p->loop, e) < 0)
		return err_result(e);
	p->has_loop = true;
	if (check_policy(policy, e) < 0 || make_listener(p, options, e) < 0)
		return err_result(e);
	if (options->audit &&
	    audit_open(&p->arena, str_of(options->audit), STR_EMPTY, STR_EMPTY, &p->audit, e) < 0)
		return err_result(e);
	if (start_process(p, policy, &process, e) < 0)
		return err_result(e);
	return begin(p, process, e);
}

static void give_up(cordon_proxy *p)
{
	if (p->process.pid > 0)
		end_process(p);
	if (p->audit)
		audit_close(p->audit);
	fd_close(&p->listener);
	if (p->has_loop)
		loop_done(&p->loop);
	wipe_kept(p);
	arena_done(&p->arena);
	mem_free(p);
}

int cordon_proxy_start(const cordon_policy *policy, const struct cordon_proxy_options *options,
		       cordon_proxy **proxy, cordon_error **error)
{
	struct cordon_proxy_options own;
	const struct proxy none = PROXY_NONE;
	struct err e = ERR_INIT;
	cordon_proxy *p = NULL;

	if (!policy || !proxy)
		(void)FAIL(&e, ERR_ARGUMENT, "cordon_proxy_start: policy or proxy is NULL");
	else if (options_read_proxy(options, &own, &e) == 0)
		p = mem_new(sizeof(*p), &e);
	if (!p)
		return error_give(&e, error);
	p->arena = (struct arena)ARENA_INIT(KEPT_BYTES);
	p->listener = -1;
	p->process = none;
	if (start(p, policy, &own, &e) < 0) {
		give_up(p);
		return error_give(&e, error);
	}
	*proxy = p;
	return 0;
}

const char *cordon_proxy_address(const cordon_proxy *proxy)
{
	return proxy->address;
}

int cordon_proxy_descriptor(const cordon_proxy *proxy)
{
	return loop_descriptor(&proxy->loop);
}

int cordon_proxy_poll(cordon_proxy *proxy, int timeout_ms, cordon_error **error)
{
	struct err e = ERR_INIT;

	if (proxy->failure.code != ERR_OK)
		e = proxy->failure;
	else if (loop_step(&proxy->loop, timeout_ms, &e) == 0)
		return 0;
	proxy->failure = e;
	proxy->failure_is_told = true;
	return error_give(&e, error);
}

/* Who connects meanwhile waits at the listener: nobody is judged by old rules. */
static int replace_process(cordon_proxy *p, struct proxy next, struct err *e)
{
	end_process(p);
	if (begin(p, next, e) == 0)
		return 0;
	(void)err_wrap(e, "nothing serves any more");
	p->failure = *e;
	return err_result(e);
}

int cordon_proxy_reload(cordon_proxy *proxy, const cordon_policy *policy, cordon_error **error)
{
	struct err e = ERR_INIT;
	struct proxy next;

	if (!policy)
		(void)FAIL(&e, ERR_ARGUMENT, "cordon_proxy_reload: policy is NULL");
	else if (proxy->failure.code != ERR_OK)
		e = proxy->failure;
	else if (start_process(proxy, policy, &next, &e) < 0)
		(void)err_wrap(&e, "keeping the old rules");
	else if (replace_process(proxy, next, &e) == 0)
		return 0;
	return error_give(&e, error);
}

int cordon_proxy_stop(cordon_proxy *proxy, cordon_error **error)
{
	struct err e = ERR_INIT;

	if (!proxy)
		return 0;
	if (proxy->process.pid > 0)
		end_process(proxy);
	if (!proxy->failure_is_told)
		e = proxy->failure;
	give_up(proxy);
	return e.code == ERR_OK ? 0 : error_give(&e, error);
}
