/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the files of another tool: the first byte says of which. What is refused must say why; what is
 * not must be a policy that compiles, with every comment on its own line, and no key that the host's
 * paths could not have.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "import/import.h"
#include "policy/policy.h"

enum { LIMIT_BYTES = 64 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_error(const struct err *e)
{
	if (e->code == ERR_OK || e->code == ERR_INTERNAL || e->code == ERR_NOTFOUND || !e->text[0])
		abort();
}

static void check_policy(struct arena *a, const struct imported *im)
{
	struct config_inputs in = {
		.user = { .file = "imported", .text = im->text, .is_present = true }
	};
	const struct selection selection = { .fallback = ":read-only" };
	const struct profile_doc *doc;
	const struct policy *policy;
	const struct config *config;
	struct err e = ERR_INIT;

	if (utf8_count_plain(im->text) < im->text.len)
		for (size_t i = 0; i < im->text.len; i++)
			if ((unsigned char)im->text.p[i] < 0x20 && im->text.p[i] != '\n' &&
			    im->text.p[i] != '\t')
				abort();
	config = config_load(a, &in, &e);
	doc = config ? config_select(a, config, &selection, &e) : NULL;
	policy = doc ? policy_compile(a, config, doc, NULL, 0, NULL, &e) : NULL;
	if (!policy) {
		/* Only what is too long or too much, or a name that no kernel takes. */
		check_error(&e);
		return;
	}
	/* Nothing in a comment or a name has chosen another profile, or made one. */
	if (!str_eq(policy->profile->name, im->profile) || policy->profile->is_unsandboxed ||
	    policy->profile->git != GIT_READ || policy->profile->unprotect.count ||
	    policy->settings.exec.count || policy->settings.approve.count)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct import_host host = { .home = STR_INIT("/home/me"),
						 .temporary = STR_INIT("/tmp/t"),
						 .directory = STR_INIT("/home/me/p") };
	static const struct str paths[] = { STR_INIT("/home/me/.claude/settings.json"),
					    STR_INIT("/home/me/p/.claude/settings.json"),
					    STR_INIT("/x/rules.toml") };
	scoped_arena a = ARENA_INIT(LIMIT_BYTES);
	struct err e = ERR_INIT;
	struct import_file files[2];
	struct str text;
	struct imported im;
	size_t count = 1;

	if (!size)
		return 0;
	text = (struct str){ (const char *)data + 1, size - 1 };
	for (size_t i = 0; i < 2; i++)
		files[i] = (struct import_file){ .name = "fuzz",
						 .path = paths[(data[0] / 8u) % 3],
						 .text = text };
	/* What is behind a NUL is a second file. */
	files[0].text = str_first(text, str_find(text, '\0'));
	if (files[0].text.len < text.len) {
		files[1].text = str_from(text, files[0].text.len + 1);
		count = 2;
	}
	if (import_translate(&a, (enum import_format)(data[0] % 8u % IMPORT_FORMAT_COUNT), files,
			     count, &host, &im, &e) < 0)
		check_error(&e);
	else
		check_policy(&a, &im);
	return 0;
}
