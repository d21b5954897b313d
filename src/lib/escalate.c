/* SPDX-License-Identifier: MIT */
/*
 * Commands that a command in a sandbox has run outside of it (session/escalate.h): each is a run of its
 * own, in this process, with the options of the first, another profile, and neither a terminal nor anybody
 * to ask.
 */
#include "base/mem.h"
#include "base/utf8.h"
#include "lib/run.h"
#include "os/os.h"

struct outside {
	cordon *handle; /* the defaults of such runs */
	struct str workspace;
};

/* A command that runs. */
struct outside_run {
	cordon_run_handle *run;
	struct arena arena;
};

enum { RUN_OPTIONS_BYTES = 4 << 20 };

/* ---- Its options -------------------------------------------------------------------------------- */

static void warn(void *user, const char *text)
{
	struct callbacks *callbacks = user;
	scoped_buf line = BUF_INIT(64 << 10);

	buf_add_text(&line, "outside: ");
	buf_add_text(&line, text);
	if (line.failed == ERR_OK)
		callbacks_warn(callbacks, line.p);
}

/* What the command of the run has; of several the last counts. */
static const char *find_set(const struct outside *o, const char *name)
{
	const char *const *set = o->handle->options.set_environment;
	const char *const *environment = o->handle->options.environment;
	const char *found = NULL;

	for (size_t i = 0; set && set[i]; i++) {
		const char *value =
			os_environment_find((const char *const[]){ set[i], NULL }, name);

		found = value ? value : found;
	}
	return found ? found
		     : os_environment_find(environment ? environment : os_environment(), name);
}

/*
 * Which repository a program like git takes is up to who started the run: one that the command has made
 * of the workspace (a HEAD, objects and refs in it), or above it, must not count.
 */
enum { GIT_ENTRIES = 4 };

static int make_git(struct arena *a, const struct outside *o, const char *ceiling,
		    struct str out[GIT_ENTRIES], struct err *e)
{
	const char *before = find_set(o, "GIT_CONFIG_COUNT");
	const char *ceilings = find_set(o, "GIT_CEILING_DIRECTORIES");
	unsigned long long n = 0;

	for (const char *p = before; p && *p; p++) {
		if (!ascii_is_digit(*p) || n > 10000)
			return FAIL(e, ERR_ARGUMENT, "GIT_CONFIG_COUNT is no number");
		n = n * 10 + (unsigned long long)(*p - '0');
	}
	if (arena_printf(a, &out[0], e, "GIT_CONFIG_COUNT=%llu", n + 1) < 0 ||
	    arena_printf(a, &out[1], e, "GIT_CONFIG_KEY_%llu=safe.bareRepository", n) < 0 ||
	    arena_printf(a, &out[2], e, "GIT_CONFIG_VALUE_%llu=explicit", n) < 0)
		return err_result(e);
	out[3] = STR_EMPTY;
	/* First, because what stands behind an empty one is not looked up on the disk. */
	return !ceiling ? 0
			: arena_printf(a, &out[3], e, "GIT_CEILING_DIRECTORIES=%s%s%s", ceiling,
				       ceilings && *ceilings ? ":" : "", ceilings ? ceilings : "");
}

/*
 * SECURITY: the terminal is the command's as well, which can have it send answers that look like keys. A
 * pager would execute commands for them.
 */
static const char *const for_terminal[] = { "PAGER=cat", "GIT_PAGER=cat", "LESSSECURE=1" };

static int make_set(struct arena *a, const struct outside *o, const struct escalation_order *order,
		    const char *const **out, struct err *e)
{
	const char *const *before = o->handle->options.set_environment;
	struct str git[GIT_ENTRIES];
	size_t count = 0;
	const char **list;

	while (before && before[count])
		count++;
	list = arena_array(a, count + GIT_ENTRIES + COUNT_OF(for_terminal) + 2, sizeof(*list), e);
	if (!list || make_git(a, o, order->git_ceiling, git, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < count; i++)
		list[i] = before[i];
	list[count++] = order->path;
	for (size_t i = 0; i < GIT_ENTRIES; i++)
		if (git[i].len)
			list[count++] = git[i].p;
	for (size_t i = 0; order->has_terminal && i < COUNT_OF(for_terminal); i++)
		list[count++] = for_terminal[i];
	*out = list;
	return 0;
}

/* SECURITY: what was allowed for the run besides its profile says nothing about a run without a sandbox. */
static void drop_additions(struct cordon *copy)
{
	copy->options.backend = NULL;
	copy->options.accept_missing = NULL;
	copy->options.host_ports = NULL;
	copy->load.network = NULL;
	copy->load.add_read_count = copy->load.add_write_count = 0;
	copy->load.allow_host_count = copy->load.allow_socket_count = 0;
	copy->load.unprotect_count = 0;
}

/* ---- Running ------------------------------------------------------------------------------------- */

static int start(void *user, const struct escalation_order *order, void **run, struct err *e)
{
	struct callbacks *callbacks = user;
	const struct outside *o = callbacks->outside;
	struct outside_run *made = mem_new(sizeof(*made), e);
	struct cordon copy = *o->handle;
	struct cordon_load_options load = { .size = sizeof(load),
					    .profile = order->profile,
					    .directory = order->directory,
					    .workspace = o->workspace.p,
					    .on_warning = warn,
					    .user = callbacks };
	struct cordon_run_options request = { .size = sizeof(request),
					      .load = &load,
					      .command = order->argv };

	if (!made)
		return err_result(e);
	made->arena = (struct arena)ARENA_INIT(RUN_OPTIONS_BYTES);
	if (order->is_unsandboxed)
		drop_additions(&copy);
	if (make_set(&made->arena, o, order, &request.set_environment, e) < 0 ||
	    run_start_outside(&copy, &request, order, &made->run, e) < 0) {
		arena_done(&made->arena);
		mem_free(made);
		return err_result(e);
	}
	*run = made;
	return 0;
}

static int descriptor(const void *run)
{
	const struct outside_run *outside = run;

	return cordon_run_descriptor(outside->run);
}

static bool step(void *run, int timeout_ms)
{
	const struct outside_run *outside = run;
	cordon_error *error = NULL;
	int status = cordon_poll(outside->run, timeout_ms, &error);

	cordon_error_free(error);
	return status != 0;
}

static int64_t process(const void *run)
{
	const struct outside_run *outside = run;

	return session_process(run_session(outside->run));
}

static void finish(void *run, struct escalation_end *end)
{
	struct outside_run *outside = run;
	cordon_result *result = NULL;
	cordon_error *error = NULL;

	*end = (struct escalation_end){ .status = 125 };
	if (cordon_wait(outside->run, &result, &error) == 0) {
		end->status = cordon_result_status(result);
		end->signal = cordon_result_signal(result);
		end->has_run = true;
		cordon_result_free(result);
	}
	cordon_error_free(error);
	arena_done(&outside->arena);
	mem_free(outside);
}

static void pass_signal(void *run, int number)
{
	const struct outside_run *outside = run;
	cordon_error *error = NULL;

	(void)cordon_signal(outside->run, number, &error); /* it may have ended */
	cordon_error_free(error);
}

static void cancel(void *run)
{
	const struct outside_run *outside = run;

	cordon_cancel(outside->run);
}

static const struct escalation_runner runner = { .start = start,
						 .descriptor = descriptor,
						 .step = step,
						 .process = process,
						 .finish = finish,
						 .signal = pass_signal,
						 .cancel = cancel };

/* ---- For a run ------------------------------------------------------------------------------------ */

static void drop_what_is_its_own(struct cordon_run_options *run)
{
	const struct cordon_run_options kept = *run;

	*run = (struct cordon_run_options){
		.size = kept.size,
		.load = kept.load,
		.backend = kept.backend,
		.sandbox = kept.sandbox,
		.environment = kept.environment,
		.set_environment = kept.set_environment,
		.accept_missing = kept.accept_missing,
		.enable = kept.enable,
		.disable = kept.disable,
		.host_ports = kept.host_ports,
		.audit_file = kept.audit_file,
	};
}

int outside_prepare(const struct asked *asked, struct outside **out, struct err *e)
{
	struct cordon_load_options load = asked->load;
	struct cordon_run_options run = asked->run;
	struct outside *o = NULL;
	cordon_error *error = NULL;

	*out = NULL;
	/* Of a loaded policy the options are not known, so denies could be lost. */
	if (run.policy)
		return 0;
	drop_what_is_its_own(&run);
	load.profile = load.mode = load.directory = load.workspace = load.session = NULL;
	load.on_warning = NULL;
	load.on_progress = NULL;
	run.load = &load;
	o = mem_new(sizeof(*o), e);
	if (!o)
		return err_result(e);
	if (cordon_new(&run, &o->handle, &error) < 0) {
		(void)FAIL(e, ERR_NOMEM, "%s", cordon_error_text(error));
		cordon_error_free(error);
		mem_free(o);
		return err_result(e);
	}
	*out = o;
	return 0;
}

void outside_attach(struct outside *o, struct callbacks *callbacks, const cordon_policy *policy,
		    struct session_request *in)
{
	if (!o)
		return;
	o->workspace = policy->workspace.path;
	callbacks->outside = o;
	in->escalations = &runner;
}

void outside_free(struct outside *o)
{
	if (!o)
		return;
	cordon_free(o->handle);
	mem_free(o);
}
