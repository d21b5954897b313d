/* SPDX-License-Identifier: MIT */
/* See seatbelt.h: the sections of a profile, the network, and what can't be lowered. */
#include "backend/seatbelt/seatbelt.h"

#include <stdarg.h>

#include "base/path.h"
#include "plan/net.h"

/* ---- P16 ------------------------------------------------------------------------------------------ */

static const struct {
	bool is_held;
	const char *why;
} guarantees[GUARANTEE_COUNT] = {
	[G_FS_WRITE] = { true, "file-write* is allowed for what is writable alone" },
	[G_FS_READ] = { true,
			"file-read* and process-exec are allowed for what is readable alone" },
	[G_FS_CARVE] = { true,
			 "each allow leaves out what is narrower, and what is above that stays" },
	[G_FS_REOPEN] = { true, "what is wider again has an allow of its own" },
	[G_PROTECT_MISSING] = { true, "a path is left out whether or not it exists" },
	[G_DENY_FUTURE] = { true, "globs are regexes, which the kernel tries on every name" },
	[G_NET_OFF] = { true, "no network operation is allowed" },
	[G_NET_MANAGED] = { true, "only the proxy's port of the loopback is allowed" },
	[G_IPC] = { false, "semaphores and services of the system are shared with the host" },
	[G_PROC] = { false, "the host's processes can be seen: there is no pid namespace" },
	[G_KERNEL] = { false, "a profile restricts no system call as such" },
	[G_LIMITS] = { false, "macOS limits neither the memory nor the processes of a tree" },
	[G_TREE_DEATH] = { false, "a process that leaves the group can outlive the run" },
};

guarantee_set seatbelt_gives(void)
{
	guarantee_set set = 0;

	for (int g = 0; g < GUARANTEE_COUNT; g++)
		set |= guarantees[g].is_held ? GUARANTEE_BIT(g) : 0;
	return set;
}

const char *seatbelt_why(enum guarantee g)
{
	return g < GUARANTEE_COUNT ? guarantees[g].why : "?";
}

/* ---- For all sections ------------------------------------------------------------------------------- */

int lowering_refuse(struct lowering *l, enum guarantee g, struct err *e, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	l->out->is_refused = true;
	l->out->refused = g;
	if (arena_copy(l->a, str_of(text), &l->out->reason, e) < 0)
		return err_result(e);
	return FAIL_CAUSE(e, CAUSE_BACKEND_UNSUITED, "%s", text);
}

int lowering_add_param(struct lowering *l, struct str value, struct err *e)
{
	struct seatbelt_param *param = (void *)name_tree_find(l->params, value);
	const struct seatbelt_param **place;

	if (!param) {
		param = ARENA_NEW(l->a, struct seatbelt_param, e);
		/* NOLINTNEXTLINE(bugprone-sizeof-expression): the items are pointers. */
		place = param ? VEC_PUSH(l->a, &l->out->params, e) : NULL;
		if (!place ||
		    arena_printf(l->a, &param->name, e, "P%zu", l->out->params.count - 1) < 0)
			return err_result(e);
		param->value = param->node.name = value;
		*place = param;
		name_tree_add(&l->params, &param->node);
	}
	buf_printf(&l->text, "(param \"%s\")", param->name.p);
	return 0;
}

/* One line, whatever a file's name or a person's note has in it. */
void lowering_add_comment(struct lowering *l, const char *text)
{
	buf_add_text(&l->text, "; ");
	utf8_add_shown(&l->text, str_of(text));
	buf_add_char(&l->text, '\n');
}

/* ---- Network ------------------------------------------------------------------------------------------ */

/* A rule for the real path of a socket counts as much as one for the path that leads there. */
static bool is_denied(const struct lowering *l, struct str path)
{
	struct net_verdict v = net_resolve_socket(l->plan->net, path, l->plan->places.home);

	return v.decision == DECISION_DENY && v.reason == NET_REASON_RULE;
}

static int canonical(struct lowering *l, const struct net_socket *socket, struct str *out,
		     struct err *e)
{
	struct plan_inputs in = { .places = l->plan->places, .host = l->plan->host };
	struct str path = socket->path;
	struct located there;

	*out = STR_EMPTY;
	if (socket->below_home && !in.places.home.len)
		return 0;
	if (socket->below_home && path_join(l->a, in.places.home, path, &path, e) < 0)
		return err_result(e);
	if (plan_locate(l->a, &in, path, &there, e) < 0)
		return err_result(e);
	*out = there.path;
	if (net_resolve_socket(l->plan->net, path, in.places.home).decision != DECISION_ALLOW ||
	    is_denied(l, there.path))
		*out = STR_EMPTY;
	return 0;
}

static int add_sockets(struct lowering *l, struct err *e)
{
	const struct policy *policy = l->plan->policy;
	bool is_first = true;

	for (size_t i = 0; i < policy->layers.count; i++) {
		const struct net_rules *net = &policy->layers.items[i].net;

		for (size_t k = 0; k < net->sockets.count; k++) {
			struct str path;

			if (!net->sockets.items[k].is_allow)
				continue;
			if (canonical(l, &net->sockets.items[k], &path, e) < 0)
				return err_result(e);
			if (!path.len)
				continue;
			if (is_first)
				buf_add_text(&l->text,
					     "; these unix sockets\n"
					     "(allow system-socket (socket-domain AF_UNIX))\n");
			is_first = false;
			buf_add_text(&l->text, "(allow network-outbound (literal ");
			if (lowering_add_param(l, path, e) < 0)
				return err_result(e);
			buf_add_text(&l->text, "))\n");
		}
	}
	return 0;
}

static int add_network(struct lowering *l, uint16_t proxy_port, struct err *e)
{
	const struct net *net = l->plan->net;

	switch (net_mode(net)) {
	case NET_OFF:
		buf_add_text(&l->text, "\n; --- Network: off ---\n");
		return 0;
	case NET_FULL:
		buf_add_text(
			&l->text,
			"\n; --- Network: full; unix sockets are opened with the files above ---\n"
			"(allow network-outbound (remote ip \"*:*\"))\n"
			"(allow network-outbound (literal \"/private/var/run/mDNSResponder\"))\n"
			"(allow network-inbound (local ip \"*:*\"))\n"
			"(allow network-bind (local ip \"*:*\"))\n"
			"(allow system-socket (socket-domain AF_UNIX))\n");
		buf_add_text(&l->text, seatbelt_network_text);
		return 0;
	case NET_MANAGED:
		break;
	}
	buf_printf(&l->text,
		   "\n; --- Network: the proxy alone, which resolves the names too ---\n"
		   "(allow network-outbound (remote ip \"localhost:%u\"))\n",
		   (unsigned)proxy_port);
	if (net_allows_local_binding(net))
		buf_add_text(&l->text,
			     "; listeners; connections to those of the loopback are not allowed, "
			     "because\n; its own can't be told from the host's\n"
			     "(allow network-bind (local ip \"localhost:*\"))\n"
			     "(allow network-inbound (local ip \"localhost:*\"))\n");
	return add_sockets(l, e);
}

/* ---- All of it ------------------------------------------------------------------------------------------ */

static int check_policy(struct lowering *l, struct err *e)
{
	const char *limit = limit_of_processes(&l->plan->policy->profile->limits);

	if (limit)
		return lowering_refuse(l, G_LIMITS, e,
				       "limits.%s is not built for macOS in this version", limit);
	if (l->plan->policy->profile->tmp_is_private)
		return lowering_refuse(l, G_FS_READ, e,
				       "tmp = \"private\" needs mounts, which macOS does not have");
	return 0;
}

static int check_size(struct lowering *l, struct err *e)
{
	size_t bytes = l->text.len;

	for (size_t i = 0; i < l->out->params.count; i++)
		bytes += sizeof("-D=") + sizeof(char *) + l->out->params.items[i]->name.len +
			 l->out->params.items[i]->value.len;
	if (bytes < SEATBELT_MAX_BYTES && l->text.failed != ERR_LIMIT)
		return 0;
	l->text.failed = ERR_OK;
	return lowering_refuse(l, G_FS_CARVE, e,
			       "the profile would have more than the %d bytes that fit a command "
			       "line; use fewer entries",
			       SEATBELT_MAX_BYTES);
}

static int lower(struct lowering *l, uint16_t proxy_port, struct err *e)
{
	bool reads_all;

	if (check_policy(l, e) < 0)
		return err_result(e);
	buf_add_text(&l->text, seatbelt_start_text);
	if (lower_files(l, e) < 0 || add_network(l, proxy_port, e) < 0)
		return err_result(e);
	reads_all = l->globs.count == 0;
	for (size_t i = 0; i < l->plan->regions.count; i++)
		reads_all = reads_all && l->plan->regions.items[i].access != ACCESS_DENY;
	if (reads_all)
		buf_add_text(&l->text, seatbelt_preferences_text);
	if (check_size(l, e) < 0 || buf_check(&l->text, e) < 0)
		return err_result(e);
	return arena_copy(l->a, buf_str(&l->text), &l->out->profile, e);
}

int seatbelt_lower(struct arena *a, const struct plan *plan, uint16_t proxy_port,
		   struct seatbelt *out, struct err *e)
{
	struct lowering l = { .a = a, .plan = plan, .out = out, .text = BUF_INIT(8 << 20) };
	struct spellings *spellings;
	int r = 0;

	*out = (struct seatbelt){ .profile = STR_EMPTY, .reason = STR_EMPTY };
	out->missing = plan->needs_set & ~seatbelt_gives();
	if (plan->host->folds) {
		spellings = ARENA_NEW(a, struct spellings, e);
		if (!spellings || spellings_init(a, spellings, e) < 0)
			return err_result(e);
		l.spellings = spellings;
	}
	r = lower(&l, proxy_port, e);
	buf_done(&l.text);
	if (r < 0 && out->is_refused && e->cause == CAUSE_BACKEND_UNSUITED) {
		err_clear(e);
		return 0;
	}
	return r;
}
