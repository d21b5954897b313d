/* SPDX-License-Identifier: MIT */
/*
 * Each key that a project's file or the requirements may hold, from the text to the plan: no value of
 * it widens anything (P2, P16), and some value narrows.
 */
#include "policy/keys.h"
#include "test.h"
#include "world.h"

static const char host_text[] = "d /repo/.vscode\nf /repo/.vscode/f\nd /repo/.x\nf /repo/a\n"
				"d /home/me\nd /etc\nf /etc/p\nd /run\nf /run/a\nf /run/b\n";

#define FILES "filesystem = { ':root' = 'read', ':workspace_roots' = 'write' }\n"

/* What is narrowed: one profile that opens much, and one that opens little. */
static const char *const bases[] = {
	"[permissions.dev]\n" FILES "network = { enabled = true, allow_local_binding = true,"
	" domains = { '*' = 'allow' }, unix_sockets = { '/run/a' = 'allow' } }\n"
	"limits = { timeout = 7, memory = 7, processes = 7, file_size = 7, open_files = 7,"
	" cpu_time = 7 }\n",
	"[permissions.dev]\n" FILES "network = { enabled = true, mode = 'limited',"
	" allow_upstream_proxy = false, domains = { 'b.example' = 'allow' } }\n"
	"protect = ['.y']\n",
	"[permissions.dev]\n" FILES "network = { enabled = true }\n",
	"[permissions.dev]\n" FILES "network = { enabled = false }\n",
};

/* Values of keys that have no list of values; some would widen if nothing stopped them. */
static const char *const samples[KEY_COUNT][4] = {
	[KEY_ALLOW] = { "[]", "['none']", "['none', 'always']" },
	[KEY_FILESYSTEM] = { "{ '/repo/a' = 'deny' }", "{ '/etc/p' = 'write' }",
			     "{ ':root' = 'write' }" },
	[KEY_ENABLED] = { "false", "true" },
	[KEY_DOMAINS] = { "{ 'a.example' = 'deny' }", "{ 'a.example' = 'allow' }",
			  "{ '*' = 'allow' }" },
	[KEY_UNIX_SOCKETS] = { "{ '/run/a' = 'deny' }", "{ '/run/b' = 'allow' }" },
};

/* The number'th value to try, or false if there is none. */
static bool find_value(const struct key *k, size_t number, char *out, size_t size)
{
	const char *own = number < COUNT_OF(samples[0]) ? samples[k - policy_keys][number] : NULL;

	out[0] = '\0';
	if (own)
		(void)snprintf(out, size, "%s", own);
	else if (k->kind == KIND_BOOL && number < 2)
		(void)snprintf(out, size, "%s", number ? "true" : "false");
	else if (k->kind == KIND_CHOICE && (number == 0 || k->words[number - 1]))
		(void)snprintf(out, size, "'%s'", k->words[number] ? k->words[number] : "");
	else if (k->kind == KIND_LIMIT && number < 2)
		(void)snprintf(out, size, "%d", number ? 8 : 6);
	else if (k->kind == KIND_NAMES && number < 2)
		(void)snprintf(out, size, "%s", number ? "['.vscode']" : "['.x']");
	return out[0] != '\0' && strcmp(out, "''") != 0;
}

/* What a plan gives, as numbers of which the lesser is the narrower. */
struct reach {
	uint64_t values[64];
	size_t count;
};

static void add(struct reach *r, uint64_t value)
{
	REQUIRE(r->count < COUNT_OF(r->values));
	r->values[r->count++] = value;
}

static struct reach measure(struct world *w)
{
	static const char *const paths[] = {
		"/repo",	"/repo/a",    "/repo/.x/n",
		"/repo/.y/n",	"/repo/.git", "/repo/.vscode/f",
		"/home/me/new", "/etc/p",     "/repo/.cordon/config.toml"
	};
	static const char *const hosts[] = { "a.example", "b.example:80", "127.0.0.1", "8.8.8.8" };
	const struct net *net = w->plan->net;
	struct reach r = { .count = 0 };

	for (size_t i = 0; i < COUNT_OF(paths); i++)
		add(&r, world_access(w, paths[i]));
	for (size_t i = 0; i < COUNT_OF(hosts); i++)
		add(&r, world_host(w, hosts[i]).decision);
	add(&r, net_resolve_socket(net, STR("/run/a"), STR("/home/me")).decision);
	add(&r, net_resolve_socket(net, STR("/run/b"), STR("/home/me")).decision);
	add(&r, net_mode(net) == NET_OFF ? 0 : net_mode(net) == NET_MANAGED ? 1 : 2);
	add(&r, !net_is_limited(net));
	add(&r, net_allows_local_binding(net));
	add(&r, net_allows_upstream_proxy(net));
	for (int i = 0; i < LIMIT_COUNT; i++)
		add(&r, w->policy->profile->limits.value[i] - 1); /* 0 is no limit */
	for (unsigned bit = ALLOW_NONE; bit <= ALLOW_ESCALATE; bit <<= 1)
		add(&r, (w->policy->settings.allow & bit) != 0);
	return r;
}

/* What the other keys of the profile say, which a file that narrows must not touch. */
static void check_rest(const struct world *w, const struct profile *before)
{
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct key *k = &policy_keys[i];

		if (k->meet == MEET_NEVER && !key_is_setting(k) &&
		    (k->kind == KIND_BOOL || k->kind == KIND_CHOICE))
			CHECK_INT(key_value(k, w->policy->profile), key_value(k, before));
	}
	CHECK_INT(w->policy->profile->unprotect.count, before->unprotect.count);
	CHECK_INT(w->policy->profile->env.include.count, before->env.include.count);
}

/* Whether the file takes something away; it must give nothing. */
static bool try_value(const struct key *k, const char *text, const char *base, bool is_project)
{
	scoped_world plain, narrowed;
	struct reach before, after;
	bool is_less = false;

	world_init(&plain, host_text, "/repo");
	world_init(&narrowed, host_text, "/repo");
	plain.user = narrowed.user = base;
	plain.profile = narrowed.profile = "dev";
	if (is_project)
		narrowed.project = text;
	else
		narrowed.requirements = text;
	/* The requirements alone take away what `allow` would have to name. */
	if (!is_project && k != &policy_keys[KEY_ALLOW])
		plain.requirements = "";
	CHECK(world_plan(&plain));
	/* Some are refused, which gives nothing. */
	if (!plain.plan || !world_plan(&narrowed))
		return false;
	before = measure(&plain);
	after = measure(&narrowed);
	for (size_t i = 0; i < before.count; i++) {
		if (after.values[i] > before.values[i])
			printf("#   %s widens value %zu of\n%s", text, i, base);
		CHECK(after.values[i] <= before.values[i]);
		is_less |= after.values[i] < before.values[i];
	}
	check_rest(&narrowed, plain.policy->profile);
	return is_less;
}

static void check_key(const struct key *k, bool is_project)
{
	bool narrows = false;
	char value[80], text[200];

	for (size_t i = 0; find_value(k, i, value, sizeof(value)); i++) {
		(void)snprintf(text, sizeof(text), "%s%s = %s\n", key_table_prefix(k->table),
			       k->name, value);
		for (size_t j = 0; j < COUNT_OF(bases); j++)
			narrows |= try_value(k, text, bases[j], is_project);
	}
	if (!narrows)
		printf("#   no value of '%s' narrows anything\n", k->name);
	CHECK(narrows);
}

TEST(a_file_that_narrows_can_only_narrow)
{
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct key *k = &policy_keys[i];

		if (k->meet == MEET_ROWS || k->meet == MEET_NO_VALUE)
			continue;
		if (k->files & IN_PROJECT)
			check_key(k, true);
		if (k->files & IN_REQUIREMENTS)
			check_key(k, false);
	}
}
