/* SPDX-License-Identifier: MIT */
/* Reads an imagined host: the JSON of --host-view. What is not known there is an error. */
#include <stdarg.h>

#include "base/path.h"
#include "base/utf8.h"
#include "lib/view.h"

enum { DEFAULT_PROXY_PORT = 3128 };

static int fail_at(const struct json *at, struct err *e, const char *fmt, ...) PRINTF_LIKE(3, 4);

static int fail_at(const struct json *at, struct err *e, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return FAIL_CAUSE(e, CAUSE_HOST_VIEW, "%u:%u: %s", (unsigned)at->line, (unsigned)at->column,
			  text);
}

/* Puts the place before what went wrong there. */
static int wrap_at(const struct json *at, struct err *e)
{
	if (e->code == ERR_NOMEM)
		return err_result(e);
	e->cause = CAUSE_HOST_VIEW;
	return err_wrap(e, "%u:%u", (unsigned)at->line, (unsigned)at->column);
}

static int fail_name(const struct json_member *member, struct err *e)
{
	char shown[128];

	return fail_at(&member->value, e, "unknown key '%s'",
		       utf8_show(member->name, shown, sizeof(shown)));
}

static int need_type(const struct json *v, enum json_type type, const char *what, struct err *e)
{
	return v->type == type ? 0 : fail_at(v, e, "%s is expected", what);
}

static int read_bool(const struct json *v, bool *out, struct err *e)
{
	if (need_type(v, JSON_BOOL, "true or false", e) < 0)
		return err_result(e);
	*out = v->boolean;
	return 0;
}

/* ---- Places -------------------------------------------------------------------------------- */

/* An absolute path; null where it is not known. */
static int read_place(struct view *view, const struct json *v, struct str *out, struct err *e)
{
	if (v->type == JSON_NULL)
		return 0;
	if (need_type(v, JSON_STRING, "a path", e) < 0)
		return err_result(e);
	if (view_path(view->a, view->system, STR_EMPTY, v->string, out, e) < 0)
		return wrap_at(v, e);
	return 0;
}

static int read_environment(struct view *view, const struct json *v, struct err *e)
{
	const char **list;

	if (need_type(v, JSON_OBJECT, "an object", e) < 0)
		return err_result(e);
	list = arena_array(view->a, v->object.count + 1, sizeof(*list), e);
	if (!list)
		return err_result(e);
	for (size_t i = 0; i < v->object.count; i++) {
		const struct json_member *m = &v->object.items[i];
		struct str text;

		if (need_type(&m->value, JSON_STRING, "a text", e) < 0)
			return err_result(e);
		if (m->name.len == 0 || str_find(m->name, '=') < m->name.len)
			return fail_at(&m->value, e, "no variable has this name");
		if (arena_printf(view->a, &text, e, "%.*s=%.*s", STR_ALL(m->name),
				 STR_ALL(m->value.string)) < 0)
			return err_result(e);
		list[i] = text.p;
	}
	view->environment = list;
	return 0;
}

static int read_port(struct view *view, const struct json *v, struct err *e)
{
	if (v->type != JSON_INT || v->integer < 1 || v->integer > 65535)
		return fail_at(v, e, "a port is expected");
	view->proxy_port = (uint16_t)v->integer;
	return 0;
}

static int read_case(struct view *view, const struct json *v, struct err *e)
{
	if (v->type == JSON_STRING && str_is(v->string, "sensitive"))
		view->folds = false;
	else if (v->type != JSON_STRING || !str_is(v->string, "insensitive"))
		return fail_at(v, e, "\"sensitive\" or \"insensitive\" is expected");
	return 0;
}

/* ---- Files ---------------------------------------------------------------------------------- */

static int read_kind(const struct json *v, enum view_kind *out, struct err *e)
{
	static const char *const words[] = {
		[VIEW_DIR] = "dir",   [VIEW_FILE] = "file",	[VIEW_SOCKET] = "socket",
		[VIEW_FIFO] = "fifo", [VIEW_DEVICE] = "device",
	};

	for (size_t i = 0; v->type == JSON_STRING && i < COUNT_OF(words); i++)
		if (str_is(v->string, words[i])) {
			*out = (enum view_kind)i;
			return 0;
		}
	return fail_at(v, e,
		       "\"dir\", \"file\", \"socket\", \"fifo\", \"device\" or an object is "
		       "expected");
}

static int read_ace(struct view_ace *ace, const struct json *v, struct err *e)
{
	static const char *const accesses[] = {
		[VIEW_ACE_READ] = "read", [VIEW_ACE_WRITE] = "write", [VIEW_ACE_FULL] = "full"
	};
	bool has_access = false;

	if (need_type(v, JSON_OBJECT, "an object", e) < 0)
		return err_result(e);
	for (size_t i = 0; i < v->object.count; i++) {
		const struct json_member *m = &v->object.items[i];
		const bool is_text = m->value.type == JSON_STRING;

		if (str_is(m->name, "sid") && is_text) {
			ace->sid = m->value.string;
		} else if (str_is(m->name, "type") && is_text &&
			   (str_is(m->value.string, "allow") || str_is(m->value.string, "deny"))) {
			ace->is_deny = str_is(m->value.string, "deny");
		} else if (str_is(m->name, "access") && is_text) {
			for (size_t k = 0; k < COUNT_OF(accesses); k++)
				if (str_is(m->value.string, accesses[k])) {
					ace->access = (enum view_ace_access)k;
					has_access = true;
				}
		} else if (str_is(m->name, "inherit")) {
			if (read_bool(&m->value, &ace->inherits, e) < 0)
				return err_result(e);
		} else {
			return fail_name(m, e);
		}
	}
	if (!ace->sid.len || !has_access)
		return fail_at(v, e, "\"sid\" and \"access\" (read, write or full) are needed");
	return 0;
}

static int read_acl(struct view *view, struct view_file *file, const struct json *v, struct err *e)
{
	if (need_type(v, JSON_ARRAY, "an array", e) < 0)
		return err_result(e);
	for (size_t i = 0; i < v->array.count; i++) {
		struct view_ace *ace = VEC_PUSH(view->a, &file->acl, e);

		if (!ace)
			return err_result(e);
		ace->sid = STR_EMPTY;
		if (read_ace(ace, &v->array.items[i], e) < 0)
			return err_result(e);
	}
	return 0;
}

/*
 * What a link on Windows leads to. A relative target is left as it is, but for its separators; one that
 * begins with a separator is on the link's own drive.
 */
static int read_windows_target(struct view *view, const struct json *v, struct str link,
			       struct str *out, struct err *e)
{
	struct str text = v->string;
	const bool is_rooted = text.p[0] == '\\' || text.p[0] == '/';
	const bool is_absolute = (text.len >= 2 && text.p[1] == ':') ||
				 (is_rooted && text.len >= 2 && strchr("\\/?", text.p[1]));
	struct str drive = is_rooted ? str_first(link, 3) : STR_EMPTY;

	if (is_absolute)
		return view_path(view->a, view->system, STR_EMPTY, text, out, e) < 0 ? wrap_at(v, e)
										     : 0;
	if (arena_printf(view->a, out, e, "%.*s%.*s", STR_ALL(drive), STR_ALL(text)) < 0)
		return err_result(e);
	for (char *c = (char *)(uintptr_t)out->p; *c; c++)
		if (*c == '\\')
			*c = '/';
	return 0;
}

/* What the link at `link` leads to, as Cordon has paths. */
static int read_target(struct view *view, const struct json *v, struct str link, struct str *out,
		       struct err *e)
{
	if (need_type(v, JSON_STRING, "a path", e) < 0)
		return err_result(e);
	if (!v->string.len || str_has_nul(v->string))
		return fail_at(v, e, "a link leads somewhere");
	if (view->system == PLACES_WINDOWS)
		return read_windows_target(view, v, link, out, e);
	*out = v->string;
	return 0;
}

struct file_members {
	const struct json *link, *text, *type, *acl, *protected;
};

static int find_members(const struct json *v, struct file_members *out, struct err *e)
{
	*out = (struct file_members){ .link = NULL };
	for (size_t i = 0; i < v->object.count; i++) {
		const struct json_member *m = &v->object.items[i];

		if (str_is(m->name, "link"))
			out->link = &m->value;
		else if (str_is(m->name, "text"))
			out->text = &m->value;
		else if (str_is(m->name, "type"))
			out->type = &m->value;
		else if (str_is(m->name, "acl"))
			out->acl = &m->value;
		else if (str_is(m->name, "protected"))
			out->protected = &m->value;
		else
			return fail_name(m, e);
	}
	if (!!out->link + !!out->text + !!out->type != 1)
		return fail_at(v, e, "one of \"link\", \"text\" and \"type\" is needed");
	return 0;
}

static int read_object(struct view *view, struct str path, const struct json *v, struct err *e)
{
	struct file_members has;
	enum view_kind kind = VIEW_FILE;
	struct view_file *file;

	if (find_members(v, &has, e) < 0 || (has.type && read_kind(has.type, &kind, e) < 0))
		return err_result(e);
	if ((has.acl || has.protected) && view->system != PLACES_WINDOWS)
		return fail_at(v, e, "\"acl\" and \"protected\" are for Windows");
	if (has.link)
		kind = VIEW_LINK;
	file = view_add(view, path, kind, e);
	if (!file)
		return wrap_at(v, e);
	if (has.link && read_target(view, has.link, path, &file->text, e) < 0)
		return err_result(e);
	if (has.text && need_type(has.text, JSON_STRING, "a text", e) < 0)
		return err_result(e);
	if (has.text)
		file->text = has.text->string;
	if (has.protected && read_bool(has.protected, &file->is_protected, e) < 0)
		return err_result(e);
	return has.acl ? read_acl(view, file, has.acl, e) : 0;
}

static int read_one(struct view *view, const struct json_member *m, struct err *e)
{
	enum view_kind kind;
	struct str path = STR_EMPTY;

	if (view_path(view->a, view->system, STR_EMPTY, m->name, &path, e) < 0)
		return wrap_at(&m->value, e);
	if (m->value.type == JSON_OBJECT)
		return read_object(view, path, &m->value, e);
	if (read_kind(&m->value, &kind, e) < 0)
		return err_result(e);
	return view_add(view, path, kind, e) ? 0 : wrap_at(&m->value, e);
}

static int read_files(struct view *view, const struct json *v, struct err *e)
{
	if (need_type(v, JSON_OBJECT, "an object", e) < 0)
		return err_result(e);
	for (size_t i = 0; i < v->object.count; i++)
		if (read_one(view, &v->object.items[i], e) < 0)
			return err_result(e);
	return 0;
}

/* ---- All of it -------------------------------------------------------------------------------- */

static int read_version(struct view *view, const struct json *v, struct err *e)
{
	(void)view;
	return v->type == JSON_INT && v->integer == 1 ? 0 : fail_at(v, e, "the version is not 1");
}

static int read_platform(struct view *view, const struct json *v, struct err *e)
{
	if (v->type == JSON_STRING && str_is(v->string, "macos"))
		view->system = PLACES_MACOS;
	else if (v->type == JSON_STRING && str_is(v->string, "windows"))
		view->system = PLACES_WINDOWS;
	else
		return fail_at(v, e, "\"macos\" or \"windows\" is expected");
	return 0;
}

static int read_home(struct view *view, const struct json *v, struct err *e)
{
	return read_place(view, v, &view->home, e);
}

static int read_cwd(struct view *view, const struct json *v, struct err *e)
{
	if (need_type(v, JSON_STRING, "a path", e) < 0)
		return err_result(e);
	return read_place(view, v, &view->cwd, e);
}

static int read_tmpdir(struct view *view, const struct json *v, struct err *e)
{
	return read_place(view, v, &view->tmpdir, e);
}

static int read_program(struct view *view, const struct json *v, struct err *e)
{
	return read_place(view, v, &view->program, e);
}

/* In the order in which they are read, whatever that of the file is. */
static const struct {
	const char *name;
	int (*read)(struct view *view, const struct json *v, struct err *e);
	bool is_needed;
} members[] = {
	{ "view", read_version, true },	    { "platform", read_platform, true },
	{ "case", read_case, false },	    { "home", read_home, false },
	{ "cwd", read_cwd, true },	    { "tmpdir", read_tmpdir, false },
	{ "env", read_environment, false }, { "program", read_program, false },
	{ "proxy_port", read_port, false }, { "files", read_files, true },
};

static int check_names(const struct json *whole, struct err *e)
{
	if (need_type(whole, JSON_OBJECT, "an object", e) < 0)
		return err_result(e);
	for (size_t i = 0; i < whole->object.count; i++) {
		bool is_known = false;

		for (size_t k = 0; k < COUNT_OF(members); k++)
			is_known = is_known || str_is(whole->object.items[i].name, members[k].name);
		if (!is_known)
			return fail_name(&whole->object.items[i], e);
	}
	return 0;
}

static int read_members(struct view *view, const struct json *whole, struct err *e)
{
	for (size_t i = 0; i < COUNT_OF(members); i++) {
		const struct json *v = json_find(whole, members[i].name);

		if (!v && members[i].is_needed)
			return fail_at(whole, e, "\"%s\" is missing", members[i].name);
		if (v && members[i].read(view, v, e) < 0)
			return err_result(e);
	}
	return 0;
}

/* What every Windows has, whether or not it is listed. */
static int add_usual(struct view *view, struct err *e)
{
	static const char *const usual[] = { "/C:/Windows", "/C:/Program Files",
					     "/C:/Program Files (x86)", "/C:/ProgramData",
					     "/C:/Users" };

	for (size_t i = 0; i < COUNT_OF(usual); i++)
		if (!view_find(view, str_of(usual[i])) &&
		    !view_add(view, str_of(usual[i]), VIEW_DIR, e))
			return err_result(e);
	return 0;
}

struct view *view_read(struct arena *a, struct str text, struct err *e)
{
	static const char *const no_environment[] = { NULL };
	struct view *view = ARENA_NEW(a, struct view, e);
	struct json *whole;

	if (!view)
		return NULL;
	view_init(view, a);
	view->folds = true;
	view->proxy_port = DEFAULT_PROXY_PORT;
	view->environment = no_environment;
	whole = json_parse_paths(a, text, e);
	if (!whole) {
		if (e->code != ERR_NOMEM)
			e->cause = CAUSE_HOST_VIEW;
		return NULL;
	}
	if (check_names(whole, e) < 0 || read_members(view, whole, e) < 0)
		return NULL;
	view->host.folds = view->folds;
	view->host.has_drives = view->system == PLACES_WINDOWS;
	view->host.has_table = view->folds && view->system == PLACES_WINDOWS;
	/* Whoever works somewhere is in a directory. */
	if (!view_find(view, view->cwd) && !view_add(view, view->cwd, VIEW_DIR, e))
		return NULL;
	if (view->system == PLACES_WINDOWS && add_usual(view, e) < 0)
		return NULL;
	return view;
}
