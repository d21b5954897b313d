/* SPDX-License-Identifier: MIT */
/* See windows_run.h: the command in its job. */
#include <errno.h>

#include "backend/windows_run/windows_run.h"
#include "base/path.h"
#include "base/windows_path.h"
#include "os/fd.h"
#include "os/os.h"
#include "os/windows/api.h"
#include "os/windows/handle.h"

/* Where a program lies that was named by a path which may be relative to the command's directory. */
static int find_place(struct arena *a, const struct launch *in, const char *program,
		      const char **out, struct err *e)
{
	struct str path;

	if (windows_path(a, str_of(in->directory), str_of(program), WINDOWS_EXACT, &path, e) < 0 ||
	    path_plain(a, str_of(in->directory), path, &path, e) < 0)
		return err_result(e);
	*out = path.p;
	return 0;
}

/* Another may still be there: in the next directory of PATH, or with another suffix. */
static bool is_for_the_next(const struct err *e)
{
	return e->code == ERR_SYNTAX || e->cause == CAUSE_BAD_PATH ||
	       (e->code == ERR_SYS && (e->os_error == ENOENT || e->os_error == ENOTDIR ||
				       e->os_error == EACCES || e->os_error == EINVAL));
}

static bool is_there(const char *program)
{
	struct err e = ERR_INIT;
	struct os_file file;

	return os_look(str_of(program), &file, &e) == 0 &&
	       (file.type == OS_FILE || file.type == OS_LINK || file.type == OS_OTHER);
}

/* 0: it was started; else why not, with `how->program` as it was tried. */
static int try_program(struct arena *a, const struct start *in, const char *program,
		       struct process_start *how, struct process *out, struct err *e)
{
	if (find_place(a, in->launch, program, &how->program, e) < 0)
		return err_result(e);
	/* A batch file that is not there is no batch file. */
	if (!is_there(how->program))
		return FAIL_SYS(e, ENOENT, "there is no '%s'", program);
	return process_start(how, out, e);
}

static int start_first(struct arena *a, const struct start *in, struct process_start *how,
		       struct sandbox *out, struct err *e)
{
	out->failure = (struct command_failure){ .os_error = in->os_error };
	for (uint32_t i = 0; in->programs[i]; i++) {
		if (try_program(a, in, in->programs[i], how, &out->process, e) == 0)
			return 0;
		if (e->code == ERR_SYS && (e->os_error != ENOENT || i == 0))
			out->failure =
				(struct command_failure){ .os_error = e->os_error, .index = i };
		if (e->code != ERR_SYS && !is_for_the_next(e))
			return err_result(e);
		if (!is_for_the_next(e)) {
			err_clear(e);
			break;
		}
		err_clear(e);
	}
	return 0;
}

/* Known by a descriptor too, for the loop. */
static int watch(struct sandbox *s, struct err *e)
{
	HANDLE copy = NULL;

	if (!s->process.handle)
		return 0;
	if (DuplicateHandle(GetCurrentProcess(), s->process.handle, GetCurrentProcess(), &copy, 0,
			    FALSE, DUPLICATE_SAME_ACCESS))
		s->ended = handle_add(HANDLE_PROCESS, copy);
	return s->ended < 0 ? FAIL_SYS(e, EMFILE, "can't watch the command") : 0;
}

static int start_in_job(const struct start *in, struct sandbox *s, struct err *e)
{
	scoped_arena a = ARENA_INIT(4 << 20);
	void *jobs[] = { s->job.handle, NULL };
	struct process_start how = { .argv = in->argv,
				     .environment = in->launch->environment,
				     .directory = in->launch->directory,
				     .token = in->token,
				     .desktop = in->desktop,
				     .jobs = jobs,
				     .waits = true,
				     .has_group = s->has_group,
				     .is_hidden = in->is_hidden };

	for (int i = 0; i < 3; i++)
		how.stdio[i] = in->launch->stdio[i];
	return start_first(&a, in, &how, s, e) < 0 || watch(s, e) < 0 ? err_result(e) : 0;
}

void windows_discard(struct sandbox *s)
{
	job_kill(&s->job, 1);
	fd_close(&s->ended);
	process_done(&s->process);
	job_done(&s->job);
	*s = (struct sandbox)SANDBOX_NONE;
}

int windows_start(const struct start *in, struct sandbox *out, struct err *e)
{
	/* What this process is alone for shares its console: what is typed there is for the command. */
	struct sandbox s = { .ended = -1, .has_group = !in->launch->adopts };

	if (in->launch->owns_terminal)
		return FAIL_CAUSE(
			e, CAUSE_OTHER_PLATFORM,
			"questions at the terminal are not built for Windows in this version");
	if (in->launch->escalated_in)
		return FAIL_CAUSE(
			e, CAUSE_OTHER_PLATFORM,
			"running commands outside of the sandbox is not built for Windows in "
			"this version");
	if (job_new(&in->limits, &s.job, e) < 0)
		return err_result(e);
	if (start_in_job(in, &s, e) < 0) {
		windows_discard(&s);
		return err_result(e);
	}
	*out = s;
	return 0;
}
