/* SPDX-License-Identifier: MIT */
/* See network.h. */
#include "session/network.h"

#include <errno.h>

#include "audit/audit.h"
#include "base/utf8.h"
#include "os/child.h"
#include "os/fd.h"
#include "os/socket.h"
#include "proxy/decide.h"
#include "session/run.h"

enum {
	READY_MS = 10000, /* a proxy that takes longer hangs */
	FINISH_MS = 5000, /* for servers that take slowly what was sent */
	END_MS = 3000,	  /* of silence: it may have thousands of connections to end */
	PUBLISHED_BACKLOG = 128,
	MESSAGES_AT_ONCE = 64, /* others are to have their turn */
	ASK_MORE_MS = 5000,    /* for an answer that comes at the last moment */
};

/* ---- What it says ---------------------------------------------------------------------- */

static int is_lost(struct err *e)
{
	return FAIL_SYS(e, ECHILD, "the proxy was killed, and with it the network of the run");
}

static void tell_failure(struct session *s, const struct proxy_record *record)
{
	char text[REFUSAL_TEXT_BYTES];
	struct buf words = BUF_OVER(text);

	traffic_fail(&s->outcome.traffic, record, &words);
	session_trace(&s->in, "network: %s by %s: %s", proxy_protocol_name(record->protocol),
		      record->program[0] ? record->program : "?", text);
}

static int take_record(struct session *s, const struct proxy_record *record, struct err *e)
{
	struct outcome *o = &s->outcome;

	/* What is open is counted when it has ended; until then there is its line. */
	if (!record->is_open)
		traffic_add(&o->traffic, record);
	if (proxy_is_denial(record->reason))
		traffic_deny(&o->denials, record);
	else if (record->reason != PROXY_ALLOWED)
		tell_failure(s, record);
	else
		session_trace(&s->in, "network: %s by %s: %s:%u is %s",
			      proxy_protocol_name(record->protocol),
			      record->program[0] ? record->program : "?", record->host,
			      (unsigned)record->port, record->is_open ? "open" : "allowed");
	if (s->network.audit && audit_add(s->network.audit, record, e) < 0)
		return err_wrap(e, "the audit log");
	return 0;
}

static int send_order(struct session *s, const struct proxy_order *order, struct err *e)
{
	int status = proxy_send(&s->network.proxy, order, NULL, 0);

	return status < 0 ? FAIL_SYS(e, -status, "can't speak to the proxy") : 0;
}

static int answer(struct session *s, uint64_t id, bool is_allow, struct err *e)
{
	const struct proxy_order order = { .kind = PROXY_DECIDE, .id = id, .is_allow = is_allow };

	return send_order(s, &order, e);
}

/* What can't be answered is denied when its time is over. */
static void ask(struct session *s, uint64_t id, const struct proxy_record *record)
{
	enum decision decision = DECISION_DENY;
	struct err ignored = ERR_INIT;

	if (s->in.decide)
		decision = s->in.decide(s->in.user, id, record);
	else
		decision = approvals_ask_host(s, id, record);
	if (decision != DECISION_ASK)
		(void)answer(s, id, decision == DECISION_ALLOW, &ignored);
}

/* P3: an allow that is lost is told of; without a deny the run does not go on. */
static int take_rule(const struct session *s, const struct proxy_message *m, struct err *e)
{
	if (!m->os_error)
		return 0;
	if (!m->is_allow)
		return FAIL(e, ERR_LIMIT, "a host could not be denied: %s", m->text);
	session_warn(&s->in, "a rule was not added: %s", m->text);
	return 0;
}

static int ask_for_sockets(struct session *s, struct err *e)
{
	for (size_t i = 0; i < COUNT_OF(s->network.stocks); i++) {
		struct socket_stock *stock = &s->network.stocks[i];
		int family = i ? 6 : 4;

		if (!stock->is_wanted || !s->network.has_start)
			continue;
		stock->is_wanted = false;
		stock->is_asked = true;
		if (!supervisor_ask_sockets(s->supervisor, family) &&
		    network_take_sockets(s, family, NULL, 0, e) < 0)
			return err_result(e);
	}
	return 0;
}

static int take_message(struct session *s, const struct proxy_message *m, struct err *e)
{
	switch ((enum proxy_message_kind)m->kind) {
	case PROXY_READY:
		s->network.is_ready = true;
		return 0;
	case PROXY_FAILED:
		return proxy_failure(m, e);
	case PROXY_MAY_CONNECT:
		supervisor_answer_connect(s->supervisor, m->id, m->os_error);
		return 0;
	case PROXY_WANTS_SOCKETS:
		s->network.stocks[m->role == PROXY_SOCKETS_6].is_wanted = true;
		return ask_for_sockets(s, e);
	case PROXY_ASKS:
		ask(s, m->id, &m->record);
		return 0;
	case PROXY_RECORD:
		return take_record(s, &m->record, e);
	case PROXY_RULE_ADDED:
		return take_rule(s, m, e);
	}
	return FAIL(e, ERR_INTERNAL, "the proxy says something that it can't say");
}

static int hear(struct session *s, struct err *e)
{
	struct proxy_message message;

	for (size_t i = 0; i < MESSAGES_AT_ONCE; i++) {
		int status = proxy_receive(&s->network.proxy, &message);

		if (status == 0)
			return 0;
		if (status == -ECONNRESET && s->network.is_finishing) {
			s->network.is_over = true;
			loop_remove(&s->loop, &s->network.channel);
			return 0;
		}
		if (status < 0)
			return is_lost(e);
		if (take_message(s, &message, e) < 0)
			return err_result(e);
	}
	return 0;
}

/* ---- What it is given ------------------------------------------------------------------- */

static void close_stock(struct socket_stock *stock)
{
	for (size_t i = 0; stock->is_here && i < stock->count; i++)
		fd_done(&stock->fds[i]);
	*stock = (struct socket_stock){ .is_wanted = stock->is_wanted };
}

/* When it does not read: as soon as it does. */
static int give_stocks(struct session *s, struct err *e)
{
	struct network *n = &s->network;
	bool waits = false;

	for (size_t i = 0; i < COUNT_OF(n->stocks); i++) {
		struct socket_stock *stock = &n->stocks[i];
		const struct proxy_order order = { .kind = PROXY_TAKE,
						   .role = i ? PROXY_SOCKETS_6 : PROXY_SOCKETS_4 };
		int status;

		if (!stock->is_here)
			continue;
		status = proxy_send(&n->proxy, &order, stock->fds, stock->count);
		if (status == -EAGAIN) {
			waits = true;
			continue;
		}
		if (status < 0)
			return is_lost(e);
		close_stock(stock);
	}
	if (waits == n->waits_for_room)
		return 0;
	n->waits_for_room = waits;
	return loop_change(&s->loop, &n->channel, waits ? LOOP_IN | LOOP_OUT : LOOP_IN, e);
}

int network_take_sockets(void *user, int family, const int *fds, size_t count, struct err *e)
{
	struct session *s = user;
	struct socket_stock *stock = &s->network.stocks[family == 6];

	if (!stock->is_asked || stock->is_here || count > COUNT_OF(stock->fds) ||
	    s->network.proxy.pid == 0) {
		for (size_t i = 0; i < count; i++)
			fd_done(&fds[i]);
		return FAIL(e, ERR_INTERNAL, "the sandbox gives sockets that it was not asked for");
	}
	stock->is_asked = false;
	stock->is_here = true;
	stock->count = count;
	for (size_t i = 0; i < count; i++)
		stock->fds[i] = fds[i];
	return give_stocks(s, e);
}

/* It has ended while it got ready, and may have said why. */
static int fail_to_give(const struct session *s, int code, struct err *e)
{
	struct proxy_message m;

	while (proxy_receive(&s->network.proxy, &m) > 0)
		if (m.kind == PROXY_FAILED)
			return proxy_failure(&m, e);
	if (code == EPIPE || code == ECONNRESET)
		return is_lost(e);
	return FAIL_SYS(e, code, "can't give the proxy its sockets");
}

/* One of the first sockets; the channel has room for all of them, or the proxy reads. */
static int give(void *user, enum proxy_role role, uint16_t port, int fd, struct err *e)
{
	const struct session *s = user;
	const struct proxy_order order = { .kind = PROXY_TAKE, .role = role, .port = port };
	int status = proxy_send(&s->network.proxy, &order, &fd, 1);

	while (status == -EAGAIN && socket_wait(s->network.proxy.channel, true, READY_MS))
		status = proxy_send(&s->network.proxy, &order, &fd, 1);
	return status < 0 ? fail_to_give(s, -status, e) : 0;
}

bool network_tell_proxy(void *user, const struct proxy_order *order)
{
	const struct session *s = user;

	return proxy_send(&s->network.proxy, order, NULL, 0) == 0;
}

/* ---- Published ports ---------------------------------------------------------------------- */

static void show_address(const struct publication *p, struct buf *out)
{
	if (!ip_is_v4(&p->address))
		buf_add_char(out, '[');
	ip_print(out, &p->address);
	if (!ip_is_v4(&p->address))
		buf_add_char(out, ']');
	buf_printf(out, ":%u", (unsigned)p->host_port);
}

static int publish(struct session *s, const struct publication *p, struct err *e)
{
	struct network *n = &s->network;
	const struct os_address address = { .ip = p->address, .port = p->host_port };
	int fd = socket_open_listener(&address, true, PUBLISHED_BACKLOG);
	char shown[80];
	struct buf text = BUF_OVER(shown);

	show_address(p, &text);
	if (fd < 0)
		return FAIL_SYS(e, -fd, "--publish: can't listen on %s", shown);
	if (!ip_is_loopback(&p->address))
		session_warn(&s->in,
			     "port %u of the sandbox is published on %s, which others may reach",
			     (unsigned)p->port, shown);
	n->published[n->published_count++] = fd;
	return 0;
}

static int publish_all(struct session *s, struct err *e)
{
	for (size_t i = 0; i < s->in.published_count; i++)
		if (publish(s, &s->in.published[i], e) < 0)
			return err_result(e);
	return 0;
}

static void close_published(struct network *n)
{
	while (n->published_count)
		fd_done(&n->published[--n->published_count]);
}

/* ---- Beginning ------------------------------------------------------------------------------ */

static int channel_is_ready(void *user, uint32_t events, struct err *e)
{
	struct session *s = user;

	if ((events & LOOP_OUT) && give_stocks(s, e) < 0)
		return err_result(e);
	return hear(s, e);
}

static int proxy_is_gone(void *user, uint32_t events, struct err *e)
{
	struct session *s = user;

	(void)events;
	loop_remove(&s->loop, &s->network.gone);
	/* It may have said why. */
	return hear(s, e) < 0 ? err_result(e) : is_lost(e);
}

void network_init(struct session *s)
{
	s->network = (struct network){
		.proxy = PROXY_NONE,
		.entrance = ENTRANCE_NONE,
		.channel = { .fd = -1, .ready = channel_is_ready, .user = s },
		.gone = { .fd = -1, .ready = proxy_is_gone, .user = s },
	};
	traffic_init(&s->outcome.traffic);
}

static int open_audit(struct session *s, struct err *e)
{
	if (!s->in.audit_file.len && !s->in.state_directory.len)
		return FAIL(e, ERR_ARGUMENT,
			    "there is no home directory for the audit log of the network%s",
			    s->in.needs_sandbox ? "" : "; --audit FILE names another place");
	if (audit_open(s->a, s->in.audit_file, s->in.state_directory, s->outcome.run_id,
		       &s->network.audit, e) < 0)
		return err_wrap(e, "the audit log of the network%s",
				s->in.needs_sandbox ? "" : " (--audit FILE names another)");
	s->outcome.run_id = audit_run(s->network.audit);
	return 0;
}

static int start(struct session *s, struct err *e)
{
	struct proxy_options options = { .plan = s->in.plan,
					 .has_decider = s->in.decide || s->approvals.is_on,
					 .environment = s->in.environment,
					 .limits = PROXY_LIMITS_DEFAULT };
	struct network *n = &s->network;

	/* The broker has the deadline; a client that waits must not give up first. */
	if (s->approvals.is_on && !s->in.decide)
		options.limits.ask_ms = (uint32_t)MIN_OF(approvals_most_extension(s) + ASK_MORE_MS,
							 (uint64_t)UINT32_MAX);

	if (n->entrance.port)
		options.token = n->entrance.token;
	n->launch.proxy_port = n->entrance.port ? n->entrance.port : LAUNCH_PROXY_PORT;
	n->launch.host_port_count = s->in.host_port_count;
	for (size_t i = 0; i < s->in.host_port_count; i++)
		n->launch.host_ports[i] = s->in.host_ports[i];
	/* First of all: it gets ready while all else is done. */
	if (proxy_start(&n->proxy, &options, e) < 0 || publish_all(s, e) < 0 ||
	    open_audit(s, e) < 0)
		return err_result(e);
	n->channel.fd = n->proxy.channel;
	n->gone.fd = n->proxy.pidfd;
	return 0;
}

int network_prepare(struct session *s, struct err *e)
{
	struct network *n = &s->network;

	n->is_wanted = choose_is_managed(&s->in, &s->outcome);
	s->outcome.network_is_managed = n->is_wanted;
	if (n->is_wanted && n->proxy.pid == 0)
		return start(s, e);
	return 0;
}

static int await_ready(struct session *s, struct err *e)
{
	struct network *n = &s->network;
	uint64_t until = loop_now() + READY_MS;

	for (;;) {
		uint64_t now = loop_now();

		if (hear(s, e) < 0)
			return err_result(e);
		if (n->is_ready)
			return 0;
		if (now >= until)
			return FAIL_SYS(e, ETIMEDOUT, "the proxy did not get ready");
		if (!os_await_child(n->proxy.channel, n->proxy.pidfd, (int)(until - now)))
			return is_lost(e);
	}
}

/* It stays open here, too: see entrance.h. */
static int give_entrance(struct session *s, struct err *e)
{
	const struct entrance *way = &s->network.entrance;

	for (size_t i = 0; i < COUNT_OF(way->fds); i++)
		if (way->fds[i] >= 0 && give(s, PROXY_MIXED, way->port, way->fds[i], e) < 0)
			return err_result(e);
	return 0;
}

int network_hand_over(struct session *s, struct err *e)
{
	struct network *n = &s->network;

	if (!n->is_wanted)
		return 0;
	if (give_entrance(s, e) < 0 || supervisor_give_sockets(s->supervisor, give, s, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < n->published_count; i++)
		if (give(s, PROXY_PUBLISHED, s->in.published[i].port, n->published[i], e) < 0)
			return err_result(e);
	/* They are the proxy's alone: what it closes is closed. */
	close_published(n);
	if (await_ready(s, e) < 0)
		return err_result(e);
	return loop_add(&s->loop, &n->channel, LOOP_IN, e) < 0 ||
			       loop_add(&s->loop, &n->gone, LOOP_IN, e) < 0
		       ? err_result(e)
		       : 0;
}

int network_begin(struct session *s, struct err *e)
{
	s->network.has_start = true;
	return ask_for_sockets(s, e);
}

/* ---- While it runs --------------------------------------------------------------------------- */

static int check_running(const struct session *s, struct err *e)
{
	if (!s->network.is_wanted)
		return FAIL(e, ERR_ARGUMENT, "the network of the run is not managed");
	if (!run_is_alive(s->state) || s->network.proxy.pid == 0)
		return FAIL_CAUSE(e, CAUSE_RUN_ENDED, "the command has ended");
	return 0;
}

int session_add_host(struct session *s, struct str pattern, bool is_allow, struct err *e)
{
	struct proxy_order order = { .kind = PROXY_ADD_RULE, .is_allow = is_allow };
	scoped_arena a = ARENA_INIT(64 << 10);
	struct domain parsed;

	if (check_running(s, e) < 0 || domain_parse(&a, pattern, &parsed, e) < 0)
		return err_result(e);
	if (parsed.kind == DOMAIN_ANY && !is_allow)
		return FAIL(e, ERR_SYNTAX, "'*' can only be allowed");
	if (parsed.text.len >= sizeof(order.text))
		return FAIL(e, ERR_LIMIT, "the pattern is too long");
	memcpy(order.text, parsed.text.p, parsed.text.len);
	order.id = ++s->network.last_rule;
	return send_order(s, &order, e);
}

int session_decide(struct session *s, uint64_t id, bool is_allow, struct err *e)
{
	return check_running(s, e) < 0 ? err_result(e) : answer(s, id, is_allow, e);
}

/* ---- Ending ---------------------------------------------------------------------------------- */

static void take_last(void *user, const struct proxy_record *record)
{
	struct session *s = user;
	struct err e = ERR_INIT;

	if (take_record(s, record, &e) < 0)
		session_warn(&s->in, "%s", e.text);
}

/* The loop goes on, and sees that it is over. */
static int patience_is_over(void *user, struct err *e)
{
	(void)user;
	(void)e;
	return 0;
}

void network_finish(struct session *s)
{
	const struct proxy_order order = { .kind = PROXY_FINISH };
	struct network *n = &s->network;
	struct err ignored = ERR_INIT;

	if (n->is_finishing || !n->is_ready || n->proxy.pid == 0)
		return;
	n->is_finishing = true;
	loop_remove(&s->loop, &n->gone);
	n->until_ms = loop_now() + FINISH_MS;
	n->patience = (struct timer){ .due = patience_is_over, .user = s };
	if (loop_prepare_timers(&s->loop, &ignored) < 0 ||
	    proxy_send(&n->proxy, &order, NULL, 0) < 0) {
		n->is_over = true;
		return;
	}
	loop_set_timer(&s->loop, &n->patience, n->until_ms);
}

bool network_is_over(const struct session *s)
{
	const struct network *n = &s->network;

	return !n->is_finishing || n->is_over || loop_now() >= n->until_ms;
}

void network_end(struct session *s)
{
	struct network *n = &s->network;
	bool is_whole = true;

	if (n->is_finishing)
		loop_drop_timer(&s->loop, &n->patience);

	loop_remove(&s->loop, &n->channel);
	loop_remove(&s->loop, &n->gone);
	if (n->proxy.pid)
		is_whole = proxy_stop(&n->proxy, END_MS, take_last, s);
	if (!is_whole && n->is_ready)
		session_warn(&s->in, "the proxy was ended before it had told of every connection: "
				     "the audit log and the report may lack some");
	n->proxy = (struct proxy)PROXY_NONE;
	entrance_close(&n->entrance);
	close_published(n);
	for (size_t i = 0; i < COUNT_OF(n->stocks); i++)
		close_stock(&n->stocks[i]);
	if (n->audit)
		audit_close(n->audit);
	n->audit = NULL;
}
