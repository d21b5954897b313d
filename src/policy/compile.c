/* SPDX-License-Identifier: MIT */
/*
 * The effective policy (P1, P2, P16): the profile, the projects and the requirements
 * as a stack of layers.
 */
#include <stdio.h>
#include <stdlib.h>

#include "policy/config.h"

/* What policy_compile() builds up. */
struct compile {
	struct arena *a;
	const struct config *c;
	struct policy *policy;
	struct profile *profile;
	VEC(struct narrowing) above;
};

static struct origin allow_origin(const struct toml *requirements)
{
	const struct toml *allow = toml_find(requirements, "allow");

	return allow ? allow->origin : requirements->origin;
}

/* Refuses what the requirements' `allow` would have to name (P1). */
static int check_allowed(const struct config *c, const struct profile_doc *doc, struct err *e)
{
	const struct settings *s = &c->settings;

	if (!c->requirements)
		return 0;
	if (!(s->allow & ALLOW_NONE) && doc->is_unsandboxed)
		return FAIL_CAUSE_AT(
			e, CAUSE_REQUIREMENTS, allow_origin(c->requirements),
			"the requirements do not allow to run without a sandbox, as '%s' does; "
			"choose another profile, or have \"none\" added to 'allow' here",
			builtin_full_access);
	if (!(s->allow & ALLOW_NONE) && s->unavailable == UNAVAILABLE_PASSTHROUGH)
		return FAIL_CAUSE_AT(
			e, CAUSE_REQUIREMENTS, allow_origin(c->requirements),
			"the requirements do not allow unavailable = \"passthrough\" (%s:%u); "
			"remove it there, or have \"none\" added to 'allow' here",
			s->unavailable_origin.file, (unsigned)s->unavailable_origin.line);
	if (!(s->allow & ALLOW_ACCEPT_MISSING) && s->accept_missing.count > 0)
		return FAIL_CAUSE_AT(
			e, CAUSE_REQUIREMENTS, allow_origin(c->requirements),
			"the requirements do not allow 'accept_missing' (%s:%u); remove it "
			"there, or have \"accept_missing\" added to 'allow' here",
			s->accept_missing.items[0].origin.file,
			(unsigned)s->accept_missing.items[0].origin.line);
	return 0;
}

static bool takes_away(const struct narrowing *n)
{
	for (size_t i = 0; i < n->layer.fs.count; i++)
		if (n->layer.fs.items[i].access != ACCESS_WRITE)
			return true;
	for (size_t i = 0; i < KEY_COUNT; i++)
		if (key_takes_away(&policy_keys[i], &n->keys))
			return true;
	return n->layer.net.access != NET_FULL;
}

/* P3: without a sandbox nothing that a layer takes away would be taken away. */
static int check_enforced(const struct profile_doc *doc, const struct narrowing *n,
			  struct origin origin, struct err *e)
{
	if (!doc->is_unsandboxed || !takes_away(n))
		return 0;
	return FAIL_CAUSE_AT(
		e, CAUSE_NO_SANDBOX_FOR_RULE, origin,
		"'%s' runs without a sandbox, so what %s takes away would be lost; choose a "
		"profile with a sandbox, or remove this file's rules",
		builtin_full_access, SHOWN(n->layer.name));
}

static int add_narrowing(struct compile *k, const struct narrowing *n, struct err *e)
{
	struct narrowing *added = VEC_PUSH(k->a, &k->above, e);

	if (!added)
		return err_result(e);
	*added = *n;
	return 0;
}

static int add_text(struct compile *k, const struct toml *text, struct err *e)
{
	const struct toml **added;

	if (!text)
		return 0;
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): the items are pointers. */
	added = VEC_PUSH(k->a, &k->policy->texts, e);
	if (!added)
		return err_result(e);
	*added = text;
	return 0;
}

/* Keeps the origin of the profile: suggested edits go into the user's file. */
static int merge_trusted(struct compile *k, const struct project *project, struct toml *table,
			 const struct toml *top, struct err *e)
{
	struct origin origin = table->origin;
	struct named *added;
	int r = project_merge(k->a, table, top, e);

	if (r < 0)
		return r;
	table->origin = origin;
	added = VEC_PUSH(k->a, &k->policy->trusted, e);
	if (!added)
		return err_result(e);
	*added = (struct named){ .name = str_of(project->source.file),
				 .origin = { .file = project->source.file } };
	return 0;
}

/* One project: merged into `*table` when trusted, else a layer above. */
static int add_project(struct compile *k, const struct profile_doc *doc, struct project *project,
		       struct toml *table, struct toml **kept, struct err *e)
{
	struct decode quiet = { .a = k->a, .where = "a project", .kind = LAYER_PROJECT };
	struct decode d = quiet;
	struct narrowing n;
	struct toml *top;
	int r;

	*kept = NULL;
	if (!project->source.is_present) {
		project->is_trusted = false;
		return 0;
	}
	d.warnings = &k->policy->warnings;
	r = project_load(&d, k->c, project, &top, e);
	if (r == 0)
		r = decode_narrowing(project->is_trusted ? &quiet : &d, top, &n, e);
	if (r == 0)
		r = arena_printf(k->a, &n.layer.name, e, "project %.*s", (int)project->dir.len,
				 project->dir.p);
	if (r == 0)
		r = check_enforced(doc, &n, top->origin, e);
	if (r < 0)
		return r;
	if (project->is_trusted)
		return merge_trusted(k, project, table, top, e);
	n.layer.kind = LAYER_PROJECT;
	n.layer.dir = project->dir;
	n.layer.digest = project->digest;
	*kept = top;
	return add_text(k, top, e) < 0 ? err_result(e) : add_narrowing(k, &n, e);
}

static int add_requirements(struct compile *k, const struct profile_doc *doc, struct err *e)
{
	struct decode d = { .a = k->a,
			    .warnings = &k->policy->warnings,
			    .where = "the requirements",
			    .kind = LAYER_REQUIREMENTS };
	struct narrowing n;
	int r;

	if (!k->c->requirements)
		return 0;
	r = decode_narrowing(&d, k->c->requirements, &n, e);
	if (r < 0)
		return r;
	n.layer.kind = LAYER_REQUIREMENTS;
	n.layer.name = STR("requirements");
	r = check_enforced(doc, &n, k->c->requirements->origin, e);
	return r < 0 ? r : add_narrowing(k, &n, e);
}

static bool is_of(const struct origin *origin, const struct toml *text)
{
	return text && text->origin.file && strcmp(origin->file, text->origin.file) == 0;
}

/* SECURITY: a trusted project first, whatever else its file is read as. */
static enum fs_layer find_layer(const struct compile *k, const struct origin *origin)
{
	if (!origin->file || strcmp(origin->file, "built-in") == 0)
		return FS_LAYER_BUILT_IN;
	for (size_t i = 0; i < k->policy->trusted.count; i++)
		if (str_is(k->policy->trusted.items[i].name, origin->file))
			return FS_LAYER_PROJECT;
	if (is_of(origin, k->c->user))
		return FS_LAYER_USER;
	return is_of(origin, k->c->system) ? FS_LAYER_SYSTEM : FS_LAYER_OPTION;
}

static void find_layers(struct compile *k)
{
	fs_entries *fs = &k->profile->fs;

	for (size_t i = 0; i < fs->count; i++)
		fs->items[i].layer = find_layer(k, &fs->items[i].origin);
}

static int add_entries(struct compile *k, const struct additions *more, struct err *e)
{
	for (size_t i = 0; i < more->entry_count; i++) {
		const struct fs_entry *entry = &more->entries[i];
		struct fs_entry *added;

		if (k->profile->is_unsandboxed && entry->access != ACCESS_WRITE)
			return FAIL_CAUSE_AT(
				e, CAUSE_NO_SANDBOX_FOR_RULE, entry->origin,
				"'%s' runs without a sandbox, so '%s' could not be kept from "
				"being written; choose another profile",
				builtin_full_access, SHOWN(entry->key));
		added = VEC_PUSH(k->a, &k->profile->fs, e);
		if (!added)
			return err_result(e);
		*added = *entry;
	}
	return 0;
}

/* Nothing could be enforced there. */
static int check_unsandboxed(const struct compile *k, const struct additions *more, struct err *e)
{
	struct origin origin = more->port_origin;

	if (more->socket_count)
		origin = more->sockets[0].origin;
	if (more->host_count)
		origin = more->hosts[0].origin;
	if (more->says_network && more->network != NET_FULL)
		origin = more->network_origin;
	if (!k->profile->is_unsandboxed || !origin.file)
		return 0;
	return FAIL_CAUSE_AT(e, CAUSE_NO_SANDBOX_FOR_RULE, origin,
			     "'%s' runs without a sandbox, so the network could not be %s; choose "
			     "another profile",
			     builtin_full_access,
			     more->says_network && more->network == NET_OFF ? "kept off"
									    : "managed");
}

static void replace_network(struct net_rules *net, const struct additions *more)
{
	if (!more->says_network)
		return;
	/* The profile's own rules for hosts and sockets go: they were for the network that it had. */
	if (more->network != NET_MANAGED)
		*net = (struct net_rules){ .allows_upstream_proxy = true };
	net->access = more->network;
	net->access_origin = more->network_origin;
	net->access_is_set = true;
}

static void drop_allows(struct net_rules *net)
{
	size_t count = 0;

	for (size_t i = 0; i < net->rules.count; i++)
		if (!net->rules.items[i].is_allow)
			net->rules.items[count++] = net->rules.items[i];
	net->rules.count = count;
	count = 0;
	for (size_t i = 0; i < net->sockets.count; i++)
		if (!net->sockets.items[i].is_allow)
			net->sockets.items[count++] = net->sockets.items[i];
	net->sockets.count = count;
}

/* P12: with --ask, what nobody has turned on or off is managed, so that each host can be asked about. */
static struct origin find_asker(const struct additions *more, const struct net_rules *net)
{
	const char *by = net->access_is_set ? net->access_origin.file : NULL;
	bool is_chosen = by && strcmp(by, "built-in") != 0;

	if (is_chosen)
		return (struct origin){ .file = NULL };
	return more->ask_origin;
}

/* The option that makes the network managed; .file NULL: none does. */
static struct origin find_manager(const struct additions *more, const struct net_rules *net)
{
	enum net_access access = net->access;

	for (size_t i = 0; i < more->host_count; i++)
		if (access == NET_FULL || more->hosts[i].is_allow)
			return more->hosts[i].origin;
	if (access == NET_OFF && more->socket_count)
		return more->sockets[0].origin;
	if (access == NET_OFF)
		return more->port_origin.file ? more->port_origin : find_asker(more, net);
	return (struct origin){ .file = NULL };
}

static int warn_nothing_allowed(const struct decode *d, const struct net_rules *net,
				struct origin origin, struct err *e)
{
	for (size_t i = 0; i < net->rules.count; i++)
		if (net->rules.items[i].is_allow)
			return 0;
	return decode_warn(d, origin, e,
			   "with a rule for a host the network is managed, and none allows any "
			   "host; --allow-host '*' allows every public one");
}

/* Warns of an option that repeats the profile, or denies a host while the network is off. */
static int warn_vain_host(const struct decode *d, const struct net_rules *net,
			  const struct host_addition *host, struct err *e)
{
	if (net->access == NET_OFF)
		return decode_warn(
			d, host->origin, e,
			"'%s' changes nothing: the network is off, and no host is reached",
			SHOWN(host->pattern));
	for (size_t i = 0; i < net->rules.count; i++) {
		const struct net_rule *rule = &net->rules.items[i];

		if (rule->is_allow == host->is_allow && str_eq(rule->domain.text, host->pattern))
			return decode_warn(d, host->origin, e,
					   "'%s' changes nothing: it is %s already (%s:%u)",
					   SHOWN(host->pattern),
					   host->is_allow ? "allowed" : "denied", rule->origin.file,
					   (unsigned)rule->origin.line);
	}
	return 0;
}

static int add_sockets(const struct decode *d, struct net_rules *net, const struct additions *more,
		       struct err *e)
{
	if (net->access == NET_FULL && more->socket_count)
		return decode_warn(d, more->sockets[0].origin, e,
				   "this changes nothing: with the whole network every socket may "
				   "be used");
	for (size_t i = 0; i < more->socket_count; i++) {
		struct net_socket *added = VEC_PUSH(d->a, &net->sockets, e);

		if (!added)
			return err_result(e);
		*added = (struct net_socket){ .path = more->sockets[i].path,
					      .is_allow = true,
					      .origin = more->sockets[i].origin };
	}
	return 0;
}

static int add_hosts(const struct decode *d, struct net_rules *net, const struct additions *more,
		     struct err *e)
{
	struct origin manager = find_manager(more, net);
	enum net_access before = net->access;

	if (before == NET_OFF && manager.file)
		drop_allows(net);
	if (before != NET_MANAGED && manager.file) {
		net->access = NET_MANAGED;
		net->access_origin = manager;
		net->access_is_set = true;
	}
	for (size_t i = 0; i < more->host_count; i++) {
		const struct host_addition *host = &more->hosts[i];
		int r = warn_vain_host(d, net, host, e);

		if (r < 0)
			return r;
		r = decode_domain(d, host->pattern, host->is_allow, host->origin, net, e);

		if (r < 0)
			return r;
	}
	if (add_sockets(d, net, more, e) < 0)
		return err_result(e);
	return before == NET_FULL && manager.file ? warn_nothing_allowed(d, net, manager, e) : 0;
}

static int add_unprotected(struct compile *k, const struct additions *more, struct err *e)
{
	for (size_t i = 0; i < more->unprotect_count; i++) {
		const struct named *name = &more->unprotect[i];
		struct named *added;

		if (unprotect_check(name->name, name->origin, e) < 0)
			return err_result(e);
		added = VEC_PUSH(k->a, &k->profile->unprotect, e);
		if (!added)
			return err_result(e);
		*added = *name;
	}
	return 0;
}

static int decode_base(struct compile *k, const struct profile_doc *doc, const struct toml *table,
		       const struct additions *more, struct err *e)
{
	char where[SHOWN_BYTES + 16];
	struct decode d = { .a = k->a, .warnings = &k->policy->warnings, .where = where };
	const struct toml *network = toml_find(table, "network");

	(void)snprintf(where, sizeof(where), "profile '%s'", SHOWN(doc->name));
	k->profile = decode_profile(&d, doc->name, table, e);
	if (!k->profile)
		return err_result(e);
	k->profile->is_unsandboxed = doc->is_unsandboxed;
	if (network && !(more && more->says_network) && decode_warn_off(&d, network, e) < 0)
		return err_result(e);
	if (more && (add_entries(k, more, e) < 0 || add_unprotected(k, more, e) < 0 ||
		     check_unsandboxed(k, more, e) < 0))
		return err_result(e);
	find_layers(k);
	if (!more)
		return 0;
	replace_network(&k->profile->net, more);
	return add_hosts(&d, &k->profile->net, more, e);
}

/* The keys that are no layers; `network` stays one, and plan/net.c asks each. */
static int narrow_keys(struct compile *k, const struct profile *by, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < KEY_COUNT && r == 0; i++)
		if (policy_keys[i].table != KEYS_NETWORK)
			r = key_meet(k->a, &policy_keys[i], k->profile, by, e);
	return r;
}

static int stack_layers(struct compile *k, struct err *e)
{
	struct layer *base = VEC_PUSH(k->a, &k->policy->layers, e);
	int r;

	if (!base)
		return err_result(e);
	*base = (struct layer){ .kind = LAYER_PROFILE,
				.dir = STR_EMPTY,
				.fs = k->profile->fs,
				.net = k->profile->net,
				.has_net = true };
	r = arena_printf(k->a, &base->name, e, "profile %.*s", (int)k->profile->name.len,
			 k->profile->name.p);
	if (r < 0)
		return r;
	for (size_t i = 0; i < k->above.count; i++) {
		struct layer *added = VEC_PUSH(k->a, &k->policy->layers, e);

		if (!added)
			return err_result(e);
		*added = k->above.items[i].layer;
		r = narrow_keys(k, &k->above.items[i].keys, e);
		if (r < 0)
			return r;
	}
	k->policy->profile = k->profile;
	return names_unite(k->a, &k->profile->protect, &(names){ 0 }, e);
}

static int copy_warnings(struct compile *k, struct err *e)
{
	for (size_t i = 0; i < k->c->warnings.count; i++) {
		struct warning *added = VEC_PUSH(k->a, &k->policy->warnings, e);

		if (!added)
			return err_result(e);
		*added = k->c->warnings.items[i];
	}
	return 0;
}

/* The first deny of a profile's files, or NULL; the built-in ones have none. */
static const struct toml *find_deny(const struct toml *profile)
{
	const struct toml *fs = toml_find(profile, "filesystem");

	for (size_t i = 0; fs && i < fs->table.count; i++) {
		const struct toml *base = &fs->table.items[i].value;

		for (size_t k = 0; base->type == TOML_TABLE && k < base->table.count; k++) {
			const struct toml *value = &base->table.items[k].value;

			if (value->type == TOML_STRING && str_is(value->string, "deny"))
				return value;
		}
	}
	return NULL;
}

/* A mode replaces the profile, and with it its denies, which the user may not expect. */
static int warn_set_aside(struct compile *k, const struct profile_doc *doc, struct err *e)
{
	struct decode d = { .a = k->a, .warnings = &k->policy->warnings, .where = "a mode" };
	const struct toml *chosen = toml_find(k->c->merged, "default_permissions");
	const struct toml *deny;
	struct toml profile;

	if (!doc->is_mode || !chosen)
		return 0;
	if (config_resolve(k->a, k->c, chosen->string, &profile, e) < 0)
		return err_result(e);
	deny = find_deny(&profile);
	if (!deny)
		return 0;
	return decode_warn(
		&d, deny->origin, e,
		"the mode replaces your profile '%s', so files that '%s' denies can be read; "
		"to keep it, use the profile (-P %s) and no mode",
		SHOWN(chosen->string), SHOWN(chosen->string), SHOWN(chosen->string));
}

/* What is ignored is known only when the profile, trusted projects included, is known. */
static int report_ignored(struct compile *k, struct toml *const *tops, size_t count, struct err *e)
{
	struct decode d = { .a = k->a, .warnings = &k->policy->warnings, .where = "a project" };
	size_t layer = 0;
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++)
		if (tops[i] && layer < k->above.count)
			r = project_report_ignored(&d, tops[i], &k->above.items[layer++],
						   k->profile, e);
	return r;
}

struct policy *policy_compile(struct arena *a, const struct config *c,
			      const struct profile_doc *doc, struct project *projects,
			      size_t project_count, const struct additions *additions,
			      struct err *e)
{
	struct compile k = { .a = a, .c = c, .policy = ARENA_NEW(a, struct policy, e) };
	struct toml **tops = arena_array(a, project_count + 1, sizeof(struct toml *), e);
	struct toml table = doc->table;

	if (!k.policy || !tops || check_allowed(c, doc, e) < 0 || copy_warnings(&k, e) < 0 ||
	    warn_set_aside(&k, doc, e) < 0)
		return NULL;
	k.policy->settings = c->settings;
	k.policy->user = c->user;
	k.policy->chosen_by = doc->chosen_by;
	if (add_text(&k, c->system, e) < 0 || add_text(&k, c->user, e) < 0)
		return NULL;
	for (size_t i = 0; i < project_count; i++)
		if (add_project(&k, doc, &projects[i], &table, &tops[i], e) < 0)
			return NULL;
	if (decode_base(&k, doc, &table, additions, e) < 0 ||
	    report_ignored(&k, tops, project_count, e) < 0 || add_requirements(&k, doc, e) < 0 ||
	    stack_layers(&k, e) < 0)
		return NULL;
	return k.policy;
}
