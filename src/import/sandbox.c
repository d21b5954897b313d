/* SPDX-License-Identifier: MIT */
/* What srt's settings and the "sandbox" of Claude Code's settings share. */
#include "import/rules.h"

static int note_if_set(struct rules *r, const struct json *object, const struct import_file *file,
		       const char *name, const char *meaning, struct err *e)
{
	const struct json *value = json_find(object, name);
	bool is_set = value && value->type != JSON_NULL &&
		      !(value->type == JSON_BOOL && !value->boolean) &&
		      !(value->type == JSON_ARRAY && !value->array.count);

	return is_set ? rules_note(r, value_origin(file->name, value), e, "%s: %s", name, meaning)
		      : 0;
}

static int add_hosts(struct rules *r, const struct json *network, const struct import_file *file,
		     const char *name, bool is_allow, struct err *e)
{
	const struct json *list;

	if (member_strings(network, file->name, name, &list, e) < 0)
		return err_result(e);
	for (size_t i = 0; list && i < list->array.count; i++) {
		const struct json *item = &list->array.items[i];

		if (rules_add_host(r, is_allow, item->string, value_origin(file->name, item), e) <
		    0)
			return err_result(e);
	}
	return 0;
}

static int check_there(const struct json *object, const struct import_file *file, const char *name,
		       struct err *e)
{
	if (json_find(object, name))
		return 0;
	return FAIL_AT(e, ERR_POLICY, value_origin(file->name, object),
		       "'%s' is missing, and the original refuses such a file", name);
}

int sandbox_add_network(struct rules *r, const struct json *network, const struct import_file *file,
			bool is_whole, struct err *e)
{
	static const char *const known[] = { "allowedDomains",
					     "deniedDomains",
					     "deniedResolvedAddresses",
					     "deniedDomainReasons",
					     "strictAllowlist",
					     "allowUnixSockets",
					     "allowAllUnixSockets",
					     "allowLocalBinding",
					     "allowMachLookup",
					     "httpProxyPort",
					     "socksProxyPort",
					     "mitmProxy",
					     "parentProxy",
					     "tlsTerminate",
					     "filterRequest",
					     "allowManagedDomainsOnly",
					     NULL };
	static const struct {
		const char *name, *meaning;
	} others[] = {
		{ "deniedDomainReasons", "reasons are not carried over" },
		{ "allowUnixSockets",
		  "on Linux the original opens none; add those to network.unix_sockets" },
		{ "allowAllUnixSockets",
		  "here each socket has to be named in network.unix_sockets" },
		{ "allowLocalBinding", "a command may always listen in its own network" },
		{ "allowMachLookup", "of macOS alone" },
		{ "httpProxyPort", "hosts are checked by Cordon's own proxy, by the rules here" },
		{ "socksProxyPort", "hosts are checked by Cordon's own proxy, by the rules here" },
		{ "mitmProxy", "no host goes through another proxy" },
		{ "parentProxy", "the proxy that HTTPS_PROXY names is used" },
		{ "tlsTerminate", "TLS is not opened" },
	};

	if (json_find(network, "filterRequest"))
		return FAIL_AT(
			e, ERR_POLICY, value_origin(file->name, network),
			"'filterRequest' denies requests by a function, which no profile can say");
	if (is_whole && (check_there(network, file, "allowedDomains", e) < 0 ||
			 check_there(network, file, "deniedDomains", e) < 0))
		return err_result(e);
	if (add_hosts(r, network, file, "allowedDomains", true, e) < 0 ||
	    add_hosts(r, network, file, "deniedDomains", false, e) < 0 ||
	    add_hosts(r, network, file, "deniedResolvedAddresses", false, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < COUNT_OF(others); i++)
		if (note_if_set(r, network, file, others[i].name, others[i].meaning, e) < 0)
			return err_result(e);
	return members_note(r, network, file->name, "network", known, is_whole, e);
}

/* A string, or { "path": ..., "literal": true }. */
static int read_path(const struct json *item, const char *file, const char *name, struct str *text,
		     enum rule_syntax *syntax, struct err *e)
{
	const struct json *path = item, *literal = NULL;

	if (item->type == JSON_OBJECT) {
		if (member_get(item, file, "path", JSON_STRING, &path, e) < 0 ||
		    member_get(item, file, "literal", JSON_BOOL, &literal, e) < 0)
			return err_result(e);
		if (item->object.count != 2 || !path || !literal || !literal->boolean)
			path = NULL;
	}
	if (!path || path->type != JSON_STRING || !path->string.len)
		return FAIL_AT(e, ERR_POLICY, value_origin(file, item),
			       "'%s' has to be a list of paths", name);
	*text = path->string;
	*syntax = literal ? SYNTAX_LITERAL : SYNTAX_GLOB;
	return 0;
}

static int add_paths(struct rules *r, const struct json *filesystem, const struct import_file *file,
		     const char *name, enum rule_kind kind, add_path_fn *add_path, struct err *e)
{
	const struct json *list;

	if (member_get(filesystem, file->name, name, JSON_ARRAY, &list, e) < 0)
		return err_result(e);
	for (size_t i = 0; list && i < list->array.count; i++) {
		const struct json *item = &list->array.items[i];
		enum rule_syntax syntax;
		struct str text;

		if (read_path(item, file->name, name, &text, &syntax, e) < 0 ||
		    add_path(r, kind, text, syntax, file, value_origin(file->name, item), e) < 0)
			return err_result(e);
	}
	return 0;
}

int sandbox_add_filesystem(struct rules *r, const struct json *filesystem,
			   const struct import_file *file, bool is_whole, add_path_fn *add_path,
			   struct err *e)
{
	static const char *const known[] = { "denyRead",
					     "allowRead",
					     "allowWrite",
					     "denyWrite",
					     "disabled",
					     "allowGitConfig",
					     "allowManagedReadPathsOnly",
					     NULL };

	if (is_whole && (check_there(filesystem, file, "denyRead", e) < 0 ||
			 check_there(filesystem, file, "allowWrite", e) < 0 ||
			 check_there(filesystem, file, "denyWrite", e) < 0))
		return err_result(e);
	if (add_paths(r, filesystem, file, "denyRead", RULE_NO_READ, add_path, e) < 0 ||
	    add_paths(r, filesystem, file, "allowRead", RULE_READ, add_path, e) < 0 ||
	    add_paths(r, filesystem, file, "allowWrite", RULE_WRITE, add_path, e) < 0 ||
	    add_paths(r, filesystem, file, "denyWrite", RULE_NO_WRITE, add_path, e) < 0 ||
	    note_if_set(r, filesystem, file, "disabled",
			"the rules for files hold here all the same", e) < 0)
		return err_result(e);
	return members_note(r, filesystem, file->name, "filesystem", known, is_whole, e);
}

/* Both "deny" and "mask" withhold the value. */
static int read_credential(const struct json *item, const struct import_file *file,
			   const char *name, const struct json **value, struct err *e)
{
	const struct json *mode;

	if (item->type != JSON_OBJECT ||
	    member_get(item, file->name, name, JSON_STRING, value, e) < 0 ||
	    member_get(item, file->name, "mode", JSON_STRING, &mode, e) < 0 || !*value || !mode ||
	    (!str_is(mode->string, "deny") && !str_is(mode->string, "mask")))
		return e->code != ERR_OK
			       ? err_result(e)
			       : FAIL_AT(e, ERR_POLICY, value_origin(file->name, item),
					 "a credential has '%s' and the mode \"deny\" or \"mask\"",
					 name);
	return 0;
}

static int note_mask(struct rules *r, const struct json *item, const struct import_file *file,
		     struct err *e)
{
	if (!str_is(json_find(item, "mode")->string, "mask"))
		return 0;
	return rules_note(r, value_origin(file->name, item), e,
			  "a masked credential is withheld; no stand-in is put in its place");
}

int sandbox_add_credentials(struct rules *r, const struct json *credentials,
			    const struct import_file *file, add_path_fn *add_path, struct err *e)
{
	static const char *const known[] = { "files", "envVars", NULL };
	const struct json *files, *variables;

	if (member_get(credentials, file->name, "files", JSON_ARRAY, &files, e) < 0 ||
	    member_get(credentials, file->name, "envVars", JSON_ARRAY, &variables, e) < 0)
		return err_result(e);
	for (size_t i = 0; files && i < files->array.count; i++) {
		const struct json *item = &files->array.items[i], *path;

		if (read_credential(item, file, "path", &path, e) < 0 ||
		    add_path(r, RULE_NOTHING, path->string, SYNTAX_GLOB, file,
			     value_origin(file->name, path), e) < 0 ||
		    note_mask(r, item, file, e) < 0)
			return err_result(e);
	}
	for (size_t i = 0; variables && i < variables->array.count; i++) {
		const struct json *item = &variables->array.items[i], *name;

		if (read_credential(item, file, "name", &name, e) < 0 ||
		    rules_withhold(r, name->string, value_origin(file->name, name), e) < 0 ||
		    note_mask(r, item, file, e) < 0)
			return err_result(e);
	}
	return members_note(r, credentials, file->name, "credentials", known, false, e);
}
