/* SPDX-License-Identifier: MIT */
/* The settings of sandbox-runtime (srt), as it obeys them on Linux. */
#include "import/rules.h"

static int add_path(struct rules *r, enum rule_kind kind, struct str text, enum rule_syntax syntax,
		    const struct import_file *file, struct origin origin, struct err *e)
{
	(void)file;
	return rules_add_text(r, kind, text, syntax, origin, e);
}

/* What srt opens by itself. */
static int add_own(struct rules *r, struct err *e)
{
	static const char *const own[] = { "/tmp/claude", "~/.npm/_logs", "~/.claude/debug" };
	const struct origin nowhere = { .file = NULL };

	for (size_t i = 0; i < COUNT_OF(own); i++)
		if ((own[i][0] != '~' || r->host->home.len) &&
		    rules_add_text(r, RULE_WRITE, str_of(own[i]), SYNTAX_LITERAL, nowhere, e) < 0)
			return err_result(e);
	r->temporary = STR("/tmp/claude");
	return 0;
}

int import_srt(struct rules *r, const struct import_file *files, size_t count, struct err *e)
{
	static const char *const known[] = { "network", "filesystem", "credentials", "$schema",
					     NULL };
	const struct json *root, *network, *filesystem, *credentials, *opens_config;

	if (count != 1)
		return FAIL(e, ERR_ARGUMENT, "srt reads one file, but %zu are given", count);
	root = json_parse(r->a, files->text, e);
	if (!root)
		return err_wrap(e, "%s", files->name);
	if (root->type != JSON_OBJECT)
		return FAIL_AT(e, ERR_POLICY, value_origin(files->name, root),
			       "these are no settings of srt");
	if (member_get(root, files->name, "network", JSON_OBJECT, &network, e) < 0 ||
	    member_get(root, files->name, "filesystem", JSON_OBJECT, &filesystem, e) < 0 ||
	    member_get(root, files->name, "credentials", JSON_OBJECT, &credentials, e) < 0)
		return err_result(e);
	if (!network || !filesystem)
		return FAIL_AT(e, ERR_POLICY, value_origin(files->name, root),
			       "'%s' is missing, and the original refuses such a file",
			       network ? "filesystem" : "network");
	if (member_get(filesystem, files->name, "allowGitConfig", JSON_BOOL, &opens_config, e) <
		    0 ||
	    sandbox_add_network(r, network, files, true, e) < 0 ||
	    sandbox_add_filesystem(r, filesystem, files, true, add_path, e) < 0 ||
	    (credentials && sandbox_add_credentials(r, credentials, files, add_path, e) < 0) ||
	    rules_add_mandatory(r, opens_config && opens_config->boolean, e) < 0 ||
	    add_own(r, e) < 0)
		return err_result(e);
	return members_note(r, root, files->name, "", known, true, e);
}
