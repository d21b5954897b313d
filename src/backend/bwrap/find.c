/* SPDX-License-Identifier: MIT */
/*
 * Finds the first bwrap on PATH that can be trusted. bwrap makes the sandbox: whoever can change
 * the program, or put another in its place, gets around the sandbox. So neither a sandboxed command
 * nor another user may be able to.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "backend/bwrap/bwrap.h"
#include "base/path.h"
#include "base/utf8.h"
#include "os/arguments.h"
#include "os/os.h"
#include "os/program.h"

/* ---- One candidate ---------------------------------------------------------------------- */

struct search {
	struct arena *a;
	const struct launch *in;
	struct buf said;
	struct str last; /* the last one that was reported */
	struct bwrap_program *out;
};

static const char *distrust_for(const struct plan *plan, struct str directory, struct str path)
{
	/* An earlier command may have put it into the workspace. */
	if (!str_is(directory, "/") && path_is_under(path, directory))
		return "it lies in the working directory";
	if (plan_may_replace(plan, path, os_may_write))
		return "the policy lets the command change it";
	return NULL;
}

static const char *distrust_place(const struct launch *in, struct str path)
{
	const char *why = distrust_for(in->plan, str_of(in->directory), path);

	if (!why)
		why = distrust_for(in->plan, places_workspace(&in->plan->places), path);
	if (!why && in->stands_for)
		why = distrust_for(in->stands_for, places_workspace(&in->stands_for->places), path);
	return why;
}

/* Checks the file itself, and notes its identity. */
static const char *distrust_file(int fd, const char *path, struct bwrap_program *out, char *where,
				 size_t room)
{
	struct stat st;
	char value[64];

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return "it is no file";
	if (access(path, X_OK) < 0)
		return "it can't be executed";
	/* Its namespaces would belong to root, so this user could not supervise them. */
	if ((st.st_mode & (S_ISUID | S_ISGID)) ||
	    getxattr(path, "security.capability", value, sizeof(value)) >= 0)
		return "it runs with the rights of another user (set-uid or capabilities), and "
		       "then Cordon can't look after what runs in it";
	out->identity = bwrap_identity(&st);
	return os_distrust_path(path, where, room);
}

/* Reports a program only once if PATH has it by two names. */
static void say(struct search *s, struct str path, const char *why, const char *where)
{
	if (str_eq(path, s->last))
		return;
	s->last = path;
	buf_add_text(&s->said, s->said.len ? "; " : "");
	buf_add_text(&s->said, "'");
	utf8_add_shown(&s->said, path);
	buf_printf(&s->said, "' was passed over: %s%s%s%s", *where ? "'" : "", where,
		   *where ? "' " : "", why);
}

/* 1: this is the program; 0: it was rejected and reported. */
static int try_file(struct search *s, struct str candidate, const char *real, struct err *e)
{
	char where[256] = "";
	const char *why = distrust_place(s->in, candidate);
	int fd;

	if (!why)
		why = distrust_place(s->in, str_of(real));
	fd = why ? -1 : open(real, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (!why && fd < 0)
		why = "it can't be opened";
	if (!why)
		why = distrust_file(fd, real, s->out, where, sizeof(where));
	if (why) {
		say(s, candidate, why, where);
		if (fd >= 0)
			close(fd);
		return 0;
	}
	if (arena_copy(s->a, str_of(real), &s->out->path, e) < 0) {
		close(fd);
		return err_result(e);
	}
	s->out->fd = fd;
	return 1;
}

/* 1: this directory of PATH has it. */
static int try_directory(struct search *s, struct str directory, struct err *e)
{
	char real_directory[PATH_MAX_BYTES], real[PATH_MAX_BYTES];
	struct str name, candidate;

	/* SECURITY: "" and "." mean the working directory, where the command may write. */
	if (directory.len == 0 || directory.p[0] != '/')
		return 0;
	if (arena_printf(s->a, &name, e, "%.*s/bwrap", (int)directory.len, directory.p) < 0)
		return err_result(e);
	/* Checked first: most directories of PATH have no bwrap. */
	if (access(name.p, F_OK) < 0 || !realpath(name.p, real))
		return 0;
	if (arena_copy(s->a, directory, &name, e) < 0)
		return err_result(e);
	if (!realpath(name.p, real_directory))
		return 0;
	if (path_join(s->a, str_of(real_directory), STR("bwrap"), &candidate, e) < 0)
		return err_result(e);
	return try_file(s, candidate, real, e);
}

int bwrap_find(struct arena *a, const struct launch *in, const char *path_list,
	       struct bwrap_program *out, struct err *e)
{
	struct bwrap_program found = { .fd = -1 };
	struct search s = { .a = a, .in = in, .said = BUF_INIT(16 << 10), .out = &found };
	struct str rest = str_of(path_list ? path_list : "/usr/local/bin:/usr/bin:/bin");
	int r = 0;

	while (r == 0) {
		struct str directory = str_first(rest, str_find(rest, ':'));

		r = try_directory(&s, directory, e);
		if (directory.len == rest.len)
			break;
		rest = str_from(rest, directory.len + 1);
	}
	if (r == 0)
		r = s.said.len ? FAIL_CAUSE(e, CAUSE_BWRAP_UNTRUSTED,
					    "the bwrap backend can't be used: there is no bwrap on "
					    "PATH that can be trusted; install bubblewrap; %s",
					    buf_str(&s.said).p)
			       : FAIL_CAUSE(e, CAUSE_BWRAP_MISSING,
					    "the bwrap backend can't be used: there is no bwrap on "
					    "PATH; install bubblewrap");
	else if (r > 0 && s.said.len && in->warn)
		in->warn(in->user, buf_str(&s.said).p);
	buf_done(&s.said);
	if (r < 0)
		return r;
	*out = found;
	return 0;
}

/* ---- The inner stage ---------------------------------------------------------------------- */

int bwrap_find_cordon(struct arena *a, struct str *out, bool *is_this, struct err *e)
{
	const char *named = os_environment_find(os_environment(), "CORDON_PROGRAM");
	char real[PATH_MAX_BYTES], where[256];
	const char *why;

	if (os_program_path(a, out, e) < 0)
		return err_result(e);
	/* Not a program linked with the library: the sandbox may hide its shared objects. */
	*is_this = str_is(path_name(*out), "cordon") || os_can_be_inner();
	if (*is_this)
		return 0;
	if (!named || !*named)
		named = CORDON_PROGRAM;
	/* Resolve links: the target has to be trusted. */
	if (named[0] == '/' && realpath(named, real))
		named = real;
	why = os_distrust_path(named, where, sizeof(where));
	if (why)
		return FAIL_CAUSE(e, CAUSE_PROGRAM_UNUSABLE,
				  "the program cordon is needed: '%s' %s; install it, or set "
				  "CORDON_PROGRAM to it",
				  where, why);
	return arena_copy(a, str_of(named), out, e);
}

int bwrap_find_stage(struct arena *a, const struct launch *in, int *fd, struct err *e)
{
	const char *why;
	struct str program;
	bool is_this = false;
	char shown[256];

	if (bwrap_find_cordon(a, &program, &is_this, e) < 0)
		return err_wrap(e, "the bwrap backend can't find its inner stage");
	/* The running program, even if its path was replaced; P25 protects it from the command. */
	if (is_this) {
		*fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);
		if (*fd < 0)
			return FAIL_SYS(e, errno, "can't open this program");
		return 0;
	}
	(void)utf8_show(program, shown, sizeof(shown));
	why = distrust_place(in, program);
	if (why)
		return FAIL_CAUSE(e, CAUSE_PROGRAM_UNUSABLE,
				  "the bwrap backend can't use '%s' as its inner stage: %s", shown,
				  why);
	*fd = open(program.p, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (*fd < 0)
		return FAIL_SYS(e, errno, "can't open the program '%s'", shown);
	return 0;
}
