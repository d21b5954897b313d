/* SPDX-License-Identifier: MIT */
/*
 * Project files (P2). They come with the repository that is worked on, so they
 * may only narrow, unless the user has listed this directory with the digest of
 * this very text.
 */
#include "base/sha256.h"
#include "policy/config.h"
#include "policy/tree.h"

const char project_where[] = "the project file";

static bool is_same_digest(struct str trusted, const char *digest)
{
	struct str given = str_from(trusted, sizeof("sha256:") - 1);

	if (given.len != strlen(digest))
		return false;
	for (size_t i = 0; i < given.len; i++)
		if (ascii_lower(given.p[i]) != digest[i])
			return false;
	return true;
}

static int decide_trust(const struct decode *d, const struct config *c, struct project *project,
			struct err *e)
{
	const struct toml *trust = toml_find(c->merged, "trust");
	const struct toml *entry = trust ? tree_find(trust, project->dir) : NULL;
	char digest[SHA256_HEX_BYTES];

	project->is_trusted = false;
	sha256_hex(project->source.text, digest);
	if (arena_printf(d->a, &project->digest, e, "sha256:%s", digest) < 0)
		return err_result(e);
	if (!entry)
		return 0;
	project->is_trusted = is_same_digest(entry->string, digest);
	if (project->is_trusted)
		return 0;
	return decode_warn(
		d, entry->origin, e,
		"%s has changed since it was trusted and may only narrow: trusted is %s, "
		"it now is sha256:%s; read it, then put the new digest here",
		project->source.file, SHOWN(entry->string), digest);
}

int project_load(const struct decode *d, const struct config *c, struct project *project,
		 struct toml **out, struct err *e)
{
	struct toml *top;
	int r = decide_trust(d, c, project, e);

	if (r < 0)
		return r;
	top = layer_parse(d->a, &project->source, e);
	if (!top)
		return err_result(e);
	r = layer_check_narrowing(d->a, top, IN_PROJECT, project_where, d->warnings, e);
	if (r == 0)
		*out = top;
	return r;
}

/* Even a trusted project can only add to such a list; a merge would replace it. */
static int unite_lists(struct arena *a, const struct toml *below, struct toml *above, struct err *e)
{
	for (size_t i = 0; i < above->table.count; i++) {
		struct toml_member *m = &above->table.items[i];
		const struct key *k = key_find(KEYS_PROFILE, m->name);
		const struct toml *old = k ? toml_find(below, k->name) : NULL;
		struct toml *items;
		size_t count;

		if (!old || k->meet != MEET_UNION)
			continue;
		count = old->array.count + m->value.array.count;
		items = arena_array(a, count + 1, sizeof(*items), e);
		if (!items)
			return err_result(e);
		if (old->array.count)
			memcpy(items, old->array.items, old->array.count * sizeof(*items));
		if (m->value.array.count)
			memcpy(items + old->array.count, m->value.array.items,
			       m->value.array.count * sizeof(*items));
		m->value.array.items = items;
		m->value.array.count = count;
	}
	return 0;
}

int project_merge(struct arena *a, struct toml *profile, const struct toml *project, struct err *e)
{
	struct toml above = { .type = TOML_TABLE };
	int r = tree_merge(a, &above, project, e); /* a copy, because it is changed below */

	if (r == 0)
		r = unite_lists(a, profile, &above, e);
	return r < 0 ? r : tree_merge(a, profile, &above, e);
}

static int report_limits(const struct decode *d, const struct limits *asked,
			 const struct limits *given, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < LIMIT_COUNT && r == 0; i++)
		if (given->value[i] && asked->value[i] > given->value[i])
			r = decode_warn(
				d, asked->origin[i], e,
				"'limits.%s' stays as the profile has it: a project that is not "
				"trusted can only lower it",
				limit_name((enum limit)i));
	return r;
}

static int warn_ignored(const struct decode *d, const struct toml *value, const char *key,
			const char *word, struct err *e)
{
	const char *quote = value->type == TOML_STRING ? "\"" : "";

	return decode_warn(
		d, value->origin, e,
		"'network.%s = %s%s%s' is ignored: the profile does not allow it, and %s that "
		"is not trusted can only narrow",
		key, quote, word, quote, project_where);
}

static int report_network(const struct decode *d, const struct toml *network,
			  const struct profile *asked, const struct profile *given, struct err *e)
{
	const struct toml *enabled = toml_find(network, "enabled");
	int r = 0;

	if (enabled && enabled->boolean && given->net.access == NET_OFF)
		r = warn_ignored(d, enabled, "enabled", "true", e);
	for (size_t i = 0; i < KEY_COUNT && r == 0; i++) {
		const struct key *k = &policy_keys[i];
		const struct toml *value;
		struct profile met;

		if (k->table != KEYS_NETWORK || (k->meet != MEET_FALSE && k->meet != MEET_LATER))
			continue;
		/* Where the network is full, listening needs no key. */
		if (i == KEY_ALLOW_LOCAL_BINDING && given->net.access == NET_FULL)
			continue;
		value = toml_find(network, k->name);
		met = *given;
		r = key_meet(d->a, k, &met, asked, e);
		if (r == 0 && value && key_value(k, &met) != key_value(k, asked))
			r = warn_ignored(d, value, k->name, key_word(k, asked), e);
	}
	return r;
}

int project_report_ignored(const struct decode *d, const struct toml *project,
			   const struct narrowing *narrowing, const struct profile *profile,
			   struct err *e)
{
	const struct toml *network = toml_find(project, "network");
	int r = report_limits(d, &narrowing->keys.limits, &profile->limits, e);

	if (r == 0 && network)
		r = report_network(d, network, &narrowing->keys, profile, e);
	return r;
}
