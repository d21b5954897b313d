/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the user's configuration, as a project file and as the
 * requirements. Every profile that is accepted must mean the same after
 * printing; what is refused must say where and why.
 */
#include <stdint.h>
#include <stdlib.h>

#include "policy/policy.h"

enum { LIMIT_BYTES = 64 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_error(const struct err *e)
{
	if (e->code == ERR_LIMIT)
		return;
	if ((e->code != ERR_SYNTAX && e->code != ERR_POLICY) || e->text[0] == '\0')
		abort();
	if (!str_has_prefix(str_of(e->text), STR("fuzz:")))
		abort();
	/* What the input holds must not reach a terminal raw. */
	for (const char *c = e->text; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7F)
			abort();
}

static const struct policy *compile(struct arena *a, const struct config *c, struct str name,
				    struct err *e)
{
	struct selection selection = { .fallback = ":read-only" };
	const struct profile_doc *doc;
	struct str copy;

	if (arena_copy(a, name, &copy, e) < 0)
		return NULL;
	selection.profile = copy.p;
	doc = config_select(a, c, &selection, e);
	return doc ? policy_compile(a, c, doc, NULL, 0, NULL, e) : NULL;
}

static const struct config *load(struct arena *a, struct str text, struct err *e)
{
	struct config_inputs in = { .user = { .file = "fuzz", .text = text, .is_present = true } };

	return config_load(a, &in, e);
}

/* What is printed, read again, is the same. */
static void check_print(struct arena *a, const struct profile *profile)
{
	scoped_buf text = BUF_INIT(LIMIT_BYTES);
	const struct policy *again;
	const struct config *c;
	struct str name = profile->name;
	struct err e = ERR_INIT;

	profile_print(&text, profile);
	if (profile->is_unsandboxed || buf_check(&text, &e) < 0)
		return;
	c = load(a, buf_str(&text), &e);
	if (str_has_prefix(name, STR(":")))
		name = str_from(name, 1);
	again = c ? compile(a, c, name, &e) : NULL;
	if (!again && e.code != ERR_LIMIT)
		abort();
	if (again && !profile_equal(profile, again->profile))
		abort();
}

static void check_user(struct str text)
{
	scoped_arena a = ARENA_INIT(LIMIT_BYTES);
	struct err e = ERR_INIT;
	const struct config *c = load(&a, text, &e);
	profile_names all;

	if (!c) {
		check_error(&e);
		return;
	}
	if (config_profiles(&a, c, &all, &e) < 0)
		abort();
	for (size_t i = 0; i < all.count; i++) {
		scoped_arena each = ARENA_INIT(LIMIT_BYTES);
		const struct policy *p = compile(&each, c, all.items[i].name, &e);

		if (p)
			check_print(&each, p->profile);
		else
			check_error(&e);
	}
}

/* A project or the requirements can't widen the filesystem: it never changes the lowest layer. */
static void check_narrowing(struct str text, bool is_required)
{
	static const struct selection workspace = { .profile = ":workspace" };
	scoped_arena a = ARENA_INIT(LIMIT_BYTES);
	struct project project = { .dir = STR_INIT("/p"),
				   .source = { .file = "fuzz", .text = text, .is_present = true } };
	struct config_inputs in = {
		.requirements = { .file = "fuzz", .text = text, .is_present = is_required }
	};
	struct err e = ERR_INIT;
	const struct config *c = config_load(&a, &in, &e);
	const struct profile_doc *doc = c ? config_select(&a, c, &workspace, &e) : NULL;
	const struct policy *p =
		doc ? policy_compile(&a, c, doc, &project, is_required ? 0 : 1, NULL, &e) : NULL;

	if (!p)
		check_error(&e);
	else if (p->layers.count != 2 || p->profile->fs.count != 4 || project.is_trusted ||
		 p->profile->net.access != NET_OFF)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = { (const char *)data, size };

	check_user(text);
	check_narrowing(text, false);
	check_narrowing(text, true);
	return 0;
}
