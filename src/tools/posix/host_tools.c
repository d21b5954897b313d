/* SPDX-License-Identifier: MIT */
/*
 * What host programs ask the worker for: open_file, of which they get the descriptor, and check_path. The same
 * walk and the same answers as for the tools of an agent.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "os/fd.h"
#include "tools/open.h"

enum { WRITE_FLAGS = O_RDWR | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC };

/* ---- open_file ----------------------------------------------------------------------------------- */

static int refuse_changed(struct call *call, const struct opened *o)
{
	return call_refuse(call, REFUSAL_CONFLICT, "'%.*s' was replaced while it was opened",
			   STR_ARG(o->path));
}

static int refuse_errno(struct call *call, const struct opened *o, int number)
{
	if (number == EEXIST || number == ENOENT || number == ELOOP || number == ENXIO)
		return refuse_changed(call, o);
	if (number != EACCES && number != EPERM && number != EROFS)
		return call_refuse(call, REFUSAL_CONFLICT, "'%.*s' can't be opened (error %d)",
				   STR_ARG(o->path), number);
	(void)call_refuse(call, REFUSAL_VIOLATION,
			  "'%.*s' can't be opened: the permissions of the file, or the sandbox, "
			  "forbid it",
			  STR_ARG(o->path));
	call->refusal.rule = STR("permissions of the host");
	return CALL_REFUSED;
}

/* SECURITY: never a file with a second name, which may be where nothing may be written. */
static int open_to_write(struct call *call, const struct opened *o, bool is_new)
{
	scoped_fd fd = openat(o->directory, o->name.p,
			      WRITE_FLAGS | (is_new ? O_CREAT | O_EXCL : 0), 0666);
	struct file_facts now;

	if (fd < 0)
		return refuse_errno(call, o, errno);
	if (open_look(fd, &now) < 0 ||
	    (!is_new && (now.device != o->facts.device || now.inode != o->facts.inode)))
		return refuse_changed(call, o);
	if (now.link_count > 1)
		return call_refuse(call, REFUSAL_VIOLATION,
				   "'%.*s' has a second name (a hard link), and what is written "
				   "would be there as well",
				   STR_ARG(o->path));
	call->passed = fd;
	fd = -1;
	return 0;
}

static int open_edited(struct call *call, struct str path, bool creates, struct opened *o,
		       struct err *e)
{
	if (open_path(call, path, OPEN_EDIT, o, e) < 0)
		return call_result(call, e);
	if (o->fd < 0 && !creates)
		return call_refuse(call, REFUSAL_NOT_FOUND, "there is no '%.*s'", STR_ARG(o->path));
	if (o->fd < 0 && open_make_parents(call, o, e) < 0)
		return call_result(call, e);
	return open_to_write(call, o, o->fd < 0);
}

int tool_open_file(struct call *call, struct err *e)
{
	scoped_opened o = OPENED_NONE;
	struct str path = STR_EMPTY, access = STR_EMPTY;

	if (call_get_str(call, "path", &path) < 0 || call_get_str(call, "access", &access) < 0)
		return CALL_REFUSED;
	if (str_is(access, "read")) {
		if (open_path(call, path, OPEN_READ, &o, e) < 0)
			return call_result(call, e);
		call->passed = o.fd;
		o.fd = -1;
	} else if (open_edited(call, path, str_is(access, "create"), &o, e) < 0) {
		return call_result(call, e);
	}
	json_key(&call->json, "path");
	json_add_str(&call->json, o.path);
	return 0;
}

/* ---- check_path ---------------------------------------------------------------------------------- */

static void add_str(struct call *call, const char *name, struct str s)
{
	json_key(&call->json, name);
	json_add_str(&call->json, s);
}

int tool_check_path(struct call *call, struct err *e)
{
	struct str path = STR_EMPTY, found, why = STR_EMPTY;
	struct scope_verdict verdict;
	int guarded = 0;

	if (call_get_str(call, "path", &path) < 0 || open_find(call, path, &found, e) < 0 ||
	    scope_judge(call->a, call->scope, found, &verdict, e) < 0)
		return call_result(call, e);
	if (verdict.access == ACCESS_WRITE) {
		guarded = open_guards(call, found, &why, e);
		if (guarded < 0)
			return call_result(call, e);
	}
	add_str(call, "path", found);
	add_str(call, "access", str_of(access_name(verdict.access)));
	add_str(call, "rule", verdict.rule);
	json_key(&call->json, "edit");
	json_add_bool(&call->json, verdict.access == ACCESS_WRITE && !guarded);
	if (guarded)
		add_str(call, "guard", why);
	add_str(call, "grant",
		verdict.access < ACCESS_WRITE && !verdict.is_fixed ? found : STR_EMPTY);
	return 0;
}
