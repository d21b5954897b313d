/* SPDX-License-Identifier: MIT */
/*
 * The digest of an effective policy: what a session's grants are bound to. It is that of the profile
 * in force and of each narrowing layer in their normal form, so comments, the order of keys and the files
 * that they are in do not matter.
 */
#include "base/sha256.h"
#include "policy/policy.h"

enum { DIGEST_MAX_BYTES = 256 << 20 };

static bool is_asked(const struct net_rules *net)
{
	return net->access_origin.file && strcmp(net->access_origin.file, "--ask") == 0;
}

static bool has_allow(const struct net_rules *net)
{
	for (size_t i = 0; i < net->rules.count; i++)
		if (net->rules.items[i].is_allow)
			return true;
	for (size_t i = 0; i < net->sockets.count; i++)
		if (net->sockets.items[i].is_allow)
			return true;
	return false;
}

/*
 * A network that is off, or would be without --ask: allows have no effect. So a session's grants count also in
 * a run that asks nobody. With `is_exact` that goes only for what --ask opens to nobody by itself.
 */
static int normal_net(struct arena *a, struct net_rules *net, bool is_exact, struct err *e)
{
	struct net_rules normal = *net;

	if (net->access != NET_OFF && (!is_asked(net) || (is_exact && has_allow(net))))
		return 0;
	normal.access = NET_OFF;
	normal.rules.items = NULL;
	normal.rules.count = normal.rules.room = 0;
	normal.sockets.items = NULL;
	normal.sockets.count = normal.sockets.room = 0;
	for (size_t i = 0; i < net->rules.count; i++) {
		struct net_rule *kept;

		if (net->rules.items[i].is_allow)
			continue;
		kept = VEC_PUSH(a, &normal.rules, e);
		if (!kept)
			return err_result(e);
		*kept = net->rules.items[i];
	}
	for (size_t i = 0; i < net->sockets.count; i++) {
		struct net_socket *kept;

		if (net->sockets.items[i].is_allow)
			continue;
		kept = VEC_PUSH(a, &normal.sockets, e);
		if (!kept)
			return err_result(e);
		*kept = net->sockets.items[i];
	}
	*net = normal;
	return 0;
}

/* Paths that TOML can't hold are comments in the text, in which two could look the same. */
static void add_paths(struct buf *text, const fs_entries *fs)
{
	for (size_t i = 0; i < fs->count; i++) {
		buf_add(text, fs->items[i].path);
		buf_add_char(text, '\0');
	}
}

static int digest(struct arena *a, const struct policy *p, bool is_exact, struct str *out,
		  struct err *e)
{
	scoped_buf text = BUF_INIT(DIGEST_MAX_BYTES);
	char hex[SHA256_HEX_BYTES];

	for (size_t i = 0; i < p->layers.count; i++) {
		const struct layer *layer = &p->layers.items[i];
		struct profile shown = { .name = layer->name };

		if (layer->kind == LAYER_PROFILE)
			shown = *p->profile;
		shown.fs = layer->fs;
		shown.net = layer->net;
		if (normal_net(a, &shown.net, is_exact, e) < 0)
			return err_result(e);
		/* The two lengths of names keep one layer from looking like two. */
		buf_printf(&text, "%d %zu ", (int)layer->kind, shown.name.len);
		buf_add(&text, shown.name);
		buf_printf(&text, " %zu\n", layer->fs.count);
		profile_print(&text, &shown);
		add_paths(&text, &layer->fs);
	}
	if (buf_check(&text, e) < 0)
		return err_result(e);
	sha256_hex(buf_str(&text), hex);
	return arena_printf(a, out, e, "sha256:%s", hex);
}

int policy_digest(struct arena *a, const struct policy *p, struct str *out, struct err *e)
{
	return digest(a, p, false, out, e);
}

int policy_digest_exact(struct arena *a, const struct policy *p, struct str *out, struct err *e)
{
	return digest(a, p, true, out, e);
}
