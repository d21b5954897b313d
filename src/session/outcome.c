/* SPDX-License-Identifier: MIT */
/* The result of a run (P23, P24), and the warnings at its end. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "audit/refused.h"
#include "base/path.h"
#include "base/shell.h"
#include "base/utf8.h"
#include "os/os.h"
#include "os/signals.h"
#include "policy/metadata.h"
#include "session/guess.h"
#include "session/run.h"

enum {
	STATUS_TIMED_OUT = 124,
	STATUS_NOT_EXECUTABLE = 126,
	STATUS_NOT_FOUND = 127,
	STATUS_SIGNAL = 128,
};

enum { SAID_MAX_BYTES = 2048 };

void session_warn(const struct session_request *in, const char *fmt, ...)
{
	char text[SAID_MAX_BYTES];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	in->warn(in->user, str_of(text));
}

void session_trace(const struct session_request *in, const char *fmt, ...)
{
	char text[SAID_MAX_BYTES];
	va_list args;

	if (!in->traces)
		return;
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	in->trace(in->user, str_of(text));
}

void outcome_set_end(struct outcome *o, int status, int signal)
{
	o->signal = signal;
	o->status = signal ? STATUS_SIGNAL + signal : status;
	if (o->timed_out)
		o->status = STATUS_TIMED_OUT;
}

/* The real path of a program that may be named relative to the run's directory. */
static bool find_place(const struct session *s, const char *program, char real[PATH_MAX_BYTES])
{
	UNINITIALIZED char path[PATH_MAX_BYTES];
	bool is_absolute = program[0] == '/';
	/* Not "//": a C library may take that for something else. */
	int n = snprintf(path, sizeof(path), "%s%s%s", is_absolute ? "" : s->in.directory,
			 is_absolute || !s->in.directory[1] ? "" : "/", program);

	return n > 0 && (size_t)n < sizeof(path) && os_real_path(path, real);
}

/* The first of the files that were tried that exists outside the sandbox; or NULL. */
static const char *find_existing(const struct session *s)
{
	UNINITIALIZED char real[PATH_MAX_BYTES];

	for (size_t i = 0; s->programs[i]; i++)
		if (find_place(s, s->programs[i], real))
			return s->programs[i];
	return NULL;
}

static void keep_shown(struct session *s, struct str text)
{
	scoped_buf shown = BUF_INIT((size_t)8 * SAID_MAX_BYTES);
	struct err e = ERR_INIT;

	utf8_add_shown(&shown, text);
	if (buf_check(&shown, &e) < 0 ||
	    arena_copy(s->a, buf_str(&shown), &s->outcome.exec_text, &e) < 0)
		s->outcome.exec_text = STR("it could not be executed");
}

/* The file that could not be executed if it is known, else the name of the command. */
static const char *find_program(const struct session *s, uint32_t index)
{
	for (uint32_t i = 0; s->programs[i]; i++)
		if (i == index)
			return s->programs[i];
	return s->in.argv[0];
}

void outcome_add_options(const struct session *s, struct str path, struct buf *out)
{
	if (s->in.has_options)
		buf_add(out, s->in.options);
	buf_add_char(out, ' ');
	shell_add_word(out, path);
	if (!s->in.has_options)
		buf_add_text(out, ", with the options of this run");
}

/*
 * Says why a program that exists could not be executed. `said` is a struct err because its text does
 * not depend on the locale. `more` is added to it.
 */
static void word_unexecutable(const struct session *s, const struct command_failure *why,
			      const char *inside, struct err *said, struct buf *more)
{
	UNINITIALIZED char real[PATH_MAX_BYTES];
	const char *program = find_program(s, why->index);
	bool is_forbidden = why->os_error == EACCES && s->outcome.is_sandboxed &&
			    find_place(s, program, real);

	if (is_forbidden && plan_resolve(s->in.plan, str_of(real)).access == ACCESS_DENY) {
		(void)FAIL_CAUSE(said, CAUSE_COMMAND_DENIED,
				 "'%s' can't be executed%s: the policy denies it", program, inside);
		buf_add_text(more, "; to see which rule: cordon why");
		outcome_add_options(s, str_of(real), more);
	} else if (is_forbidden && why->is_closed)
		(void)FAIL_SYS_CAUSE(said, CAUSE_COMMAND_NOT_EXECUTABLE, why->os_error,
				     "'%s' can be neither read nor executed%s", program, inside);
	else if (is_forbidden && os_is_executable(real))
		(void)FAIL_SYS_CAUSE(said, CAUSE_COMMAND_NOT_EXECUTABLE, why->os_error,
				     "'%s' can't be executed%s, perhaps because its interpreter is "
				     "missing",
				     program, inside);
	else
		(void)FAIL_SYS_CAUSE(said, CAUSE_COMMAND_NOT_EXECUTABLE, why->os_error,
				     "'%s' can't be executed%s", program, inside);
}

void outcome_set_exec_failed(struct session *s, const struct command_failure *why)
{
	const char *name = s->in.argv[0];
	const char *inside = s->outcome.is_sandboxed ? " inside the sandbox" : "";
	bool is_missing = why->os_error == ENOENT || why->os_error == ENOTDIR;
	const char *existing = is_missing ? find_existing(s) : NULL;
	bool has_slash = str_find(str_of(name), '/') < strlen(name);
	struct err said = ERR_INIT;
	char text[SAID_MAX_BYTES / 2] = "";
	char whole[sizeof(said.text) + sizeof(text)];
	struct buf more = BUF_OVER(text);

	s->outcome.exec_error = why->os_error;
	s->outcome.has_started = false;
	s->outcome.status = is_missing ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
	if (!is_missing)
		word_unexecutable(s, why, inside, &said, &more);
	else if (existing)
		(void)FAIL_CAUSE(&said, CAUSE_COMMAND_NOT_FOUND,
				 "'%s' exists, but it or its interpreter was not found%s", existing,
				 inside);
	else
		(void)FAIL_CAUSE(&said, CAUSE_COMMAND_NOT_FOUND, "'%s' was not found%s%s", name,
				 has_slash ? "" : " in PATH", inside);
	(void)snprintf(whole, sizeof(whole), "%s%s", said.text, more.failed == ERR_OK ? text : "");
	s->outcome.exec_cause = said.cause;
	session_warn(&s->in, "%s", whole);
	keep_shown(s, str_of(whole));
}

/* ---- The end --------------------------------------------------------------------------- */

static const char *find_limit(const struct session *s)
{
	const struct limits *limits = &s->in.plan->policy->profile->limits;

	if (s->outcome.timed_out)
		return limit_name(LIMIT_TIMEOUT);
	if (s->outcome.signal == os_signals.cpu_limit && limits->value[LIMIT_CPU_TIME])
		return limit_name(LIMIT_CPU_TIME);
	/* A second after SIGXCPU the kernel sends SIGKILL. */
	if (s->outcome.signal == os_signals.kill && !s->was_killed &&
	    limits->value[LIMIT_CPU_TIME] && s->outcome.cpu_ms >= limits->value[LIMIT_CPU_TIME])
		return limit_name(LIMIT_CPU_TIME);
	if (s->outcome.signal == os_signals.kill && !s->was_killed &&
	    supervisor_result(s->supervisor)->ran_out_of_memory && limits->value[LIMIT_MEMORY])
		return limit_name(LIMIT_MEMORY);
	if (s->outcome.signal == os_signals.file_limit && limits->value[LIMIT_FILE_SIZE])
		return limit_name(LIMIT_FILE_SIZE);
	return NULL;
}

/* Silent when the command succeeded: it has coped with the failures. */
static void warn_of_failures(const struct session *s)
{
	const struct traffic *t = &s->outcome.traffic;
	char shown[SAID_MAX_BYTES / 2];

	if (s->in.is_quiet || !t->first_failure.len || s->outcome.status == 0)
		return;
	(void)utf8_show(t->first_failure, shown, sizeof(shown));
	if (t->sums.failed == 1)
		session_warn(&s->in, "a connection failed, not because of the policy: %s", shown);
	else
		session_warn(&s->in,
			     "%llu connections failed, not because of the policy; the first: %s%s",
			     (unsigned long long)t->sums.failed, shown,
			     s->in.needs_sandbox ? "" : "; --report lists the hosts");
}

/* "; --unprotect .vscode opens it" if `path` is a protected name (P9), else "". */
static const char *find_way_out(const struct session_request *in, struct str path, char *out,
				size_t size)
{
	const struct plan *plan = in->plan;
	bool is_shell = in->needs_sandbox;

	out[0] = '\0';
	for (size_t i = 0; i < plan->roots.count && !out[0]; i++) {
		struct str root = plan->roots.items[i].path;
		struct str below;

		if (!path_is_under(path, root))
			continue;
		below = path_below(path, root);
		for (size_t n = 0; n < metadata_name_count && !out[0]; n++)
			if (path_is_under(below, str_of(metadata_names[n].name)))
				(void)snprintf(out, size, "; %s%s%s opens it",
					       is_shell ? "unprotect = [\"" : "--unprotect ",
					       metadata_names[n].name,
					       is_shell ? "\"] in your profile" : "");
	}
	return out;
}

/* One line for all of them, because a branch may track many. */
static void warn_of_unwritten(const struct session *s)
{
	const struct git_findings *git = &s->outcome.git;
	const struct git_finding *first = NULL;
	char shown[512];
	char more[64] = "";
	char way[128];
	size_t count = 0;

	for (size_t i = 0; i < git->items.count; i++) {
		if (git->items.items[i].kind != GIT_FOUND_UNWRITTEN)
			continue;
		first = first ? first : &git->items.items[i];
		count++;
	}
	if (!first)
		return;
	if (count > 1)
		(void)snprintf(more, sizeof(more), " and %zu more", count - 1);
	session_warn(&s->in,
		     "git tracks '%s'%s, which this run could not write: a commit of all changes "
		     "would delete %s%s",
		     utf8_show(first->path, shown, sizeof(shown)), more, count > 1 ? "them" : "it",
		     find_way_out(&s->in, first->path, way, sizeof(way)));
}

static void warn_of_findings(const struct session *s)
{
	const struct git_findings *git = &s->outcome.git;

	for (size_t i = 0; i < git->items.count; i++) {
		const struct git_finding *found = &git->items.items[i];
		char shown[512];

		if (found->kind == GIT_FOUND_UNWRITTEN)
			continue;
		session_warn(&s->in, "the run %s '%s': %s", found->is_new ? "made" : "changed",
			     utf8_show(found->path, shown, sizeof(shown)),
			     git_finding_meaning(found->kind));
	}
	warn_of_unwritten(s);
}

static void warn_of_names(const struct session *s)
{
	const changed_name_list *list = &s->outcome.names;

	for (size_t i = 0; i < list->count; i++) {
		const struct changed_name *found = &list->items[i];
		char shown[512];

		session_warn(&s->in, "the run %s '%s'; check it before you continue: %s",
			     found->is_new ? "made" : "changed",
			     utf8_show(found->path, shown, sizeof(shown)), found->reason);
	}
}

static void warn_of_timeout(const struct session *s)
{
	uint64_t ms = run_timeout(&s->in);

	if (ms % 1000)
		session_warn(&s->in, "timed out after %llums; the command was killed",
			     (unsigned long long)ms);
	else
		session_warn(&s->in, "timed out after %llus; the command was killed",
			     (unsigned long long)(ms / 1000));
}

/* A command that succeeded has coped with what it could not do. */
static void guess(struct session *s)
{
	struct outcome *o = &s->outcome;

	if (!s->in.captures || !o->is_sandboxed || o->status == 0 || o->timed_out ||
	    o->naming_asked == NAMING_OFF)
		return;
	guess_denials(
		&(struct guess_request){ .plan = live_plan(s),
					 .inputs = live_inputs(s),
					 .directory = str_of(s->in.directory),
					 .naming = o->naming,
					 .has_mounts = strcmp(o->backend->name, "landlock") != 0,
					 .outputs = { buf_str(&o->captured[1].bytes),
						      buf_str(&o->captured[0].bytes) },
					 .host_allows = os_is_allowed },
		&o->denials);
}

/* For who started cordon-sh, and asks what was refused (cordon hook). It is advice: a failure costs that. */
static void keep_refused(const struct session *s)
{
	scoped_arena a = ARENA_INIT(2 << 20);
	char starter[OS_STARTER_BYTES];
	struct err e = ERR_INIT;

	if (!s->in.needs_sandbox || !s->told.len || !s->in.state_directory.len ||
	    !os_find_starter(starter))
		return;
	if (refused_keep(&a, s->in.state_directory, str_of(starter), buf_str(&s->told), &e) < 0)
		session_trace(&s->in, "what was refused is not kept: %s", e.text);
}

int outcome_complete(struct session *s, struct err *e)
{
	const struct supervision *sum = supervisor_result(s->supervisor);
	struct outcome *o = &s->outcome;

	o->was_watched = sum->was_watched;
	o->watch = sum->watch;
	o->calls_answered = sum->calls_answered;
	o->placeholder_count = sum->placeholder_count;
	o->landlock_abi = sum->landlock_abi;
	o->naming = sum->naming;
	o->limit = find_limit(s);
	if (o->timed_out)
		warn_of_timeout(s);
	else if (o->limit)
		session_warn(&s->in, "the command was killed: it reached the limit %s", o->limit);
	if (o->is_sandboxed && o->watch.missed > 0)
		session_warn(&s->in,
			     "%llu names that a glob denies appeared and could not be masked",
			     (unsigned long long)o->watch.missed);
	if (o->is_sandboxed) {
		if (changed_names_look(s->a, live_plan(s), o->started, &o->names, e) < 0)
			return err_result(e);
		warn_of_names(s);
	}
	/* P10: looks for changes that could make git run something later. */
	if (o->is_sandboxed && s->in.plan->policy->profile->git == GIT_COMMIT) {
		if (git_look(s->a, live_plan(s), session_opened(s), o->started, &o->git, e) < 0)
			return err_result(e);
		o->has_looked = true;
		warn_of_findings(s);
	}
	approval_log_name_deciders(s);
	guess(s);
	outcome_list_denials(s);
	keep_refused(s);
	warn_of_failures(s);
	return 0;
}
