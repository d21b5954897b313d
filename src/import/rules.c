/* SPDX-License-Identifier: MIT */
/* Notes, hosts and names: what the formats put into their rules. And the formats by name. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "import/rules.h"

static const struct {
	const char *name;
	bool has_commands;
	int (*import)(struct rules *r, const struct import_file *files, size_t count,
		      struct err *e);
} formats[] = {
	[IMPORT_CLAUDE] = { "claude", true, import_claude },
	[IMPORT_CODEX] = { "codex", true, import_codex },
	[IMPORT_GEMINI] = { "gemini", true, import_gemini },
	[IMPORT_OPENCODE] = { "opencode", true, import_opencode },
	[IMPORT_SRT] = { "srt", false, import_srt },
};

const char no_such_rules[] = "left out: Cordon has no rules for commands or MCP tools";

const char *import_format_name(enum import_format format)
{
	return formats[format].name;
}

bool import_format_find(struct str name, enum import_format *out)
{
	for (size_t i = 0; i < COUNT_OF(formats); i++)
		if (str_is(name, formats[i].name)) {
			*out = (enum import_format)i;
			return true;
		}
	return false;
}

int import_translate(struct arena *a, enum import_format format, const struct import_file *files,
		     size_t count, const struct import_host *host, struct imported *out,
		     struct err *e)
{
	struct imported made = { 0 };
	struct rules r = { .a = a,
			   .host = host,
			   .out = &made,
			   .tool = formats[format].name,
			   .has_commands = formats[format].has_commands };

	made.directory = STR_EMPTY;
	if (formats[format].import(&r, files, count, e) < 0)
		return err_result(e);
	if (!made.text.len && (rules_resolve(&r, e) < 0 || rules_print(&r, e) < 0))
		return err_result(e);
	*out = made;
	return 0;
}

int rules_note(struct rules *r, struct origin origin, struct err *e, const char *fmt, ...)
{
	struct import_note *note = VEC_PUSH(r->a, &r->out->notes, e);
	char text[1024];
	va_list args;

	if (!note)
		return err_result(e);
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	note->origin = origin;
	return arena_copy(r->a, str_of(text), &note->text, e);
}

static int add_domain(struct rules *r, const struct domain *domain, bool is_allow, struct str text,
		      struct origin origin, struct err *e)
{
	struct host_rule *added = VEC_PUSH(r->a, &r->hosts, e);

	if (!added)
		return err_result(e);
	*added = (struct host_rule){
		.domain = *domain, .is_allow = is_allow, .text = text, .origin = origin
	};
	return 0;
}

static const char *why_not_allowed(const struct domain *d, struct str text)
{
	if (d->kind == DOMAIN_ANY)
		return "allows every host";
	if (d->kind == DOMAIN_BOTH || (d->kind == DOMAIN_BLOCK && str_find(text, '/') < text.len))
		return "is no host that the original takes";
	if (str_is(d->name, "localhost") && d->kind == DOMAIN_EXACT)
		return "is this computer, which has to be allowed by its address (\"127.0.0.1\")";
	return NULL;
}

int file_check_not_empty(const struct import_file *file, struct err *e)
{
	for (size_t i = 0; i < file->text.len; i++)
		if (!strchr(" \t\r\n", file->text.p[i]) || file->text.p[i] == '\0')
			return 0;
	return FAIL_AT(e, ERR_POLICY,
		       ((struct origin){ .file = file->name, .line = 1, .column = 1 }),
		       "the file is empty, so there is nothing to import");
}

void rules_turn_off(struct rules *r, struct str text, struct origin origin)
{
	if (r->network_is_off)
		return;
	r->network_is_off = true;
	r->off_text = text;
	r->off_origin = origin;
}

int rules_add_host(struct rules *r, bool is_allow, struct str text, struct origin origin,
		   struct err *e)
{
	struct err wrong = ERR_INIT;
	struct domain d;
	const char *why;

	if (domain_parse(r->a, text, &d, &wrong) < 0) {
		if (wrong.code == ERR_NOMEM || !is_allow) {
			*e = wrong;
			return err_wrap_place(e, origin);
		}
		return rules_note(r, origin, e,
				  "the host \"%.*s\" is not a name that can be allowed",
				  STR_ARG(text));
	}
	why = is_allow ? why_not_allowed(&d, text) : NULL;
	if (why)
		return rules_note(r, origin, e, "\"%.*s\" %s", STR_ARG(text), why);
	if (!is_allow && d.kind == DOMAIN_ANY) {
		r->has_denied_port = true;
		if (d.port_first == 0 && d.port_last == 65535)
			rules_turn_off(r, text, origin);
	}
	return add_domain(r, &d, is_allow, text, origin, e);
}

int rules_withhold(struct rules *r, struct str name, struct origin origin, struct err *e)
{
	struct name_rule *added;

	for (size_t i = 0; i < name.len; i++)
		if (!ascii_is_alpha(name.p[i]) && !ascii_is_digit(name.p[i]) && name.p[i] != '_')
			return FAIL_AT(e, ERR_POLICY, origin, "'%.*s' is no name of a variable",
				       STR_ARG(name));
	if (!name.len)
		return FAIL_AT(e, ERR_POLICY, origin, "the name of a variable is empty");
	added = VEC_PUSH(r->a, &r->withheld, e);
	if (!added)
		return err_result(e);
	*added = (struct name_rule){ .name = name, .origin = origin };
	return 0;
}

int rules_add_mandatory(struct rules *r, bool opens_git_config, struct err *e)
{
	static const char *const names[] = {
		".git/config",	 ".git/hooks", ".gitconfig", ".gitmodules",	 ".bashrc",
		".bash_profile", ".zshrc",     ".zprofile",  ".profile",	 ".ripgreprc",
		".mcp.json",	 ".vscode",    ".idea",	     ".claude/commands", ".claude/agents",
	};
	/* Below the first level there are only patterns for it, and these deny reading, too. */
	static const struct str below =
		STR_INIT("*/**/"
			 "{.gitconfig,.gitmodules,.bashrc,.bash_profile,.zshrc,.zprofile,.profile,."
			 "ripgreprc,"
			 ".mcp.json,.vscode,.idea,.claude/commands,.claude/agents}/**");
	const struct origin nowhere = { .file = NULL };
	struct path_rule *added;

	for (size_t i = opens_git_config ? 1 : 0; i < COUNT_OF(names); i++) {
		int n = rules_add_path(r, RULE_NO_WRITE, BASE_WORKSPACE, str_of(names[i]),
				       SYNTAX_LITERAL, str_of(names[i]), nowhere, e);

		if (n < 0)
			return n;
	}
	added = VEC_PUSH(r->a, &r->paths, e);
	if (!added)
		return err_result(e);
	*added = (struct path_rule){ .kind = RULE_NOTHING,
				     .base = BASE_WORKSPACE,
				     .path = STR_EMPTY,
				     .glob = below,
				     .text = below,
				     .origin = nowhere };
	r->keeps_git_open = true;
	return 0;
}

void rules_drop_others(struct rules *r)
{
	size_t kept = 0;

	if (!r->only_file)
		return;
	for (size_t i = 0; i < r->paths.count; i++) {
		struct path_rule *p = &r->paths.items[i];

		if ((p->kind != RULE_WRITE && p->kind != RULE_READ) ||
		    (p->origin.file && strcmp(p->origin.file, r->only_file) == 0))
			continue;
		p->is_gone = true;
		p->why = "managed settings let only their own rules allow";
	}
	for (size_t i = 0; i < r->hosts.count; i++) {
		struct host_rule *h = &r->hosts.items[i];

		if (!h->is_allow || strcmp(h->origin.file, r->only_file) == 0)
			r->hosts.items[kept++] = *h;
	}
	r->hosts.count = kept;
}
