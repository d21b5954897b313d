/* SPDX-License-Identifier: MIT */
/* What a run is asked for: the request, and the defaults of its handle. */
#include "base/mem.h"
#include "base/nearest.h"
#include "base/utf8.h"
#include "lib/command_line.h"
#include "lib/run.h"
#include "os/os.h"

enum { WORDS_MAX = 1 << 20 };

/* ---- Defaults ------------------------------------------------------------------------ */

/* Fills in what the request leaves at NULL or 0. */
static void complete(struct asked *to, const struct cordon *from)
{
	struct cordon_run_options run = from->options;
	struct cordon_load_options load = from->load;

	/* One choice in two members, twice. */
	if (to->load.profile || to->load.mode)
		load.profile = load.mode = NULL;
	if (to->run.backend || to->run.sandbox)
		run.backend = run.sandbox = NULL;
	for (size_t i = 0; i < option_member_count; i++) {
		const struct option_value *value = &option_members[i];
		void *place = option_member(value, &to->load, &to->run);
		const void *given = option_member(value, &load, &run);
		struct option_list list;
		uint64_t number;

		if (!value->member)
			continue;
		if (value->kind == VALUE_LIST) {
			memcpy(&list, place, sizeof(list));
			memcpy(place, list.count ? &list : given, sizeof(list));
		} else {
			memcpy(&number, place, sizeof(number));
			memcpy(place, number ? &number : given, sizeof(number));
		}
	}
}

static int check_command(const char *const *command, struct err *e)
{
	size_t count = 0;

	if (!command || !command[0])
		return FAIL_CAUSE(e, CAUSE_NO_COMMAND, "there is no command to run");
	if (!command[0][0])
		return FAIL_CAUSE(e, CAUSE_NO_COMMAND, "the name of the command is empty");
	while (count <= WORDS_MAX && command[count])
		count++;
	if (count > WORDS_MAX)
		return FAIL(e, ERR_LIMIT, "the command has more than %d arguments", WORDS_MAX);
	return 0;
}

/* SECURITY: a loaded policy can't be changed; ignoring such an option would be a silent fallback. */
static int check_policy(struct asked *asked, struct err *e)
{
	if (asked->run.policy && asked->load.flags)
		return FAIL_CAUSE(e, CAUSE_OPTION_CONFLICT,
				  "the request has a loaded policy, so 'flags' can't be set");
	for (size_t i = 0; i < option_member_count && asked->run.policy; i++) {
		const struct option_value *value = &option_members[i];
		uint64_t number;

		if (!value->member || value->kind == VALUE_COPIED ||
		    (value->in == IN_run && value->kind != VALUE_FEATURE))
			continue;
		memcpy(&number, option_member(value, &asked->load, &asked->run), sizeof(number));
		if (number)
			return FAIL_CAUSE(e, CAUSE_OPTION_CONFLICT,
					  "the request has a loaded policy, so '%s' can't be set",
					  value->member);
	}
	return 0;
}

int asked_read(const cordon *handle, const struct cordon_run_options *request, struct asked *out,
	       struct err *e)
{
	const uint64_t known = CORDON_RUN_CAPTURE | CORDON_RUN_MIRROR | CORDON_RUN_FOREGROUND |
			       CORDON_RUN_QUIET | CORDON_RUN_NO_STDIN | CORDON_RUN_TRACE |
			       CORDON_RUN_SHELL | CORDON_RUN_LOG_DENIALS | CORDON_RUN_RETRY |
			       CORDON_RUN_TELL_DENIALS | CORDON_RUN_AGENT;

	if (options_read_run(request, &out->run, e) < 0 ||
	    options_read(out->run.load, &out->load, e) < 0)
		return err_result(e);
	if (handle)
		complete(out, handle);
	out->run.load = &out->load;
	if (out->run.flags & ~known)
		return FAIL(e, ERR_ARGUMENT, "cordon_run_options.flags has an unknown flag");
	if (out->run.capture_limit > CAPTURE_MAX)
		return FAIL(e, ERR_LIMIT, "capture_limit is larger than %d bytes", CAPTURE_MAX);
	return check_policy(out, e) < 0 ? err_result(e) : check_command(out->run.command, e);
}

static int add_features(struct arena *a, const char *const *names_of, const char *value,
			const char **overrides, size_t *count, struct err *e)
{
	for (size_t i = 0; names_of && names_of[i]; i++) {
		struct str text;

		if (arena_printf(a, &text, e, "features.%s=%s", names_of[i], value) < 0)
			return err_result(e);
		overrides[(*count)++] = text.p;
	}
	return 0;
}

size_t count_words(const char *const *words)
{
	size_t count = 0;

	while (words && words[count])
		count++;
	return count;
}

int asked_add_features(struct arena *a, struct asked *asked, struct err *e)
{
	struct cordon_load_options *load = &asked->load;
	size_t count = load->override_count;
	const char **overrides;

	if (!asked->run.enable && !asked->run.disable)
		return 0;
	overrides = arena_array(
		a, count + count_words(asked->run.enable) + count_words(asked->run.disable) + 1,
		sizeof(*overrides), e);
	if (!overrides)
		return err_result(e);
	for (size_t i = 0; i < count; i++)
		overrides[i] = load->overrides[i];
	if (add_features(a, asked->run.enable, "true", overrides, &count, e) < 0 ||
	    add_features(a, asked->run.disable, "false", overrides, &count, e) < 0)
		return err_result(e);
	load->overrides = overrides;
	load->override_count = count;
	return 0;
}

/* ---- For the session ------------------------------------------------------------------- */

static int check_platform(const char *platform, struct err *e)
{
	enum places_system system;

	if (inputs_find_system(platform, &system, e) < 0)
		return err_result(e);
	if (system == inputs_own_system())
		return 0;
	return FAIL_CAUSE(e, CAUSE_OTHER_PLATFORM,
			  "this host runs %s, not %s; try 'cordon explain --platform %s'",
			  os_system_name, platform, platform);
}

static int find_sandbox_mode(const char *sandbox, enum sandbox_mode *out, struct err *e)
{
	char shown[64];

	*out = SANDBOX_AUTO;
	if (!sandbox || strcmp(sandbox, "auto") == 0)
		return 0;
	if (strcmp(sandbox, "require") == 0)
		*out = SANDBOX_REQUIRE;
	else if (strcmp(sandbox, "forbid") == 0)
		*out = SANDBOX_FORBID;
	else
		return FAIL(e, ERR_ARGUMENT, "--sandbox must be auto, require or forbid, not '%s'",
			    utf8_show(str_of(sandbox), shown, sizeof(shown)));
	return 0;
}

static int find_accepted(const char *const *names_of, guarantee_set *out, struct err *e)
{
	*out = 0;
	for (size_t i = 0; names_of && names_of[i]; i++) {
		guarantee_set found = 0;
		const char *meant;
		char shown[64];

		for (int g = 0; g < GUARANTEE_COUNT; g++)
			if (strcmp(names_of[i], guarantee_name((enum guarantee)g)) == 0)
				found = GUARANTEE_BIT(g);
		*out |= found;
		if (found)
			continue;
		if (strchr(names_of[i], ','))
			return FAIL(e, ERR_ARGUMENT,
				    "--accept-missing takes one guarantee, not '%s'; it may be "
				    "repeated",
				    utf8_show(str_of(names_of[i]), shown, sizeof(shown)));
		meant = nearest_name(str_of(names_of[i]), guarantee_names, GUARANTEE_COUNT);
		return FAIL_CAUSE(e, CAUSE_UNKNOWN_GUARANTEE, "there is no guarantee '%s'%s%s%s",
				  utf8_show(str_of(names_of[i]), shown, sizeof(shown)),
				  meant ? "; did you mean '" : "; 'cordon doctor' lists them",
				  meant ? meant : "", meant ? "'?" : "");
	}
	return 0;
}

int asked_session(struct arena *a, const struct asked *asked, const cordon_policy *policy,
		  struct session_request *out, struct err *e)
{
	const struct cordon_run_options *run = &asked->run;
	char space[1024];
	struct buf words = BUF_OVER(space);
	struct session_request in = {
		.plan = policy->plan,
		.plan_inputs = &policy->plan_inputs,
		.host = &policy->host,
		.directory = policy->plan_inputs.places.cwd.p,
		.sets_pwd = asked->load.directory || run->policy,
		.argv = run->command,
		.environment = run->environment ? run->environment : os_environment(),
		.more_environment = run->set_environment,
		.backend = run->backend,
		.timeout_ms = run->timeout_ms,
		.capture_limit = run->capture_limit ? run->capture_limit : CAPTURE_DEFAULT,
		.captures = (run->flags & CORDON_RUN_CAPTURE) != 0,
		.hands_out = run->on_output != NULL,
		.mirrors = (run->flags & CORDON_RUN_MIRROR) != 0,
		.has_no_stdin = (run->flags & CORDON_RUN_NO_STDIN) != 0,
		.is_foreground = (run->flags & CORDON_RUN_FOREGROUND) != 0,
		.is_quiet = (run->flags & CORDON_RUN_QUIET) != 0,
		.logs_denials = (run->flags & CORDON_RUN_LOG_DENIALS) != 0,
		.tells_denials = (run->flags & CORDON_RUN_TELL_DENIALS) != 0,
		.traces = (run->flags & CORDON_RUN_TRACE) != 0 && run->on_trace,
	};

	/* Leave out options that make an unreadably long line. */
	if (asked_policy_words(asked, &words, e) < 0 ||
	    (words.failed == ERR_OK && arena_copy(a, buf_str(&words), &in.options, e) < 0))
		return err_result(e);
	/* The options that a loaded policy was made from are not known. */
	in.has_options = words.failed == ERR_OK && !run->policy;
	if (check_platform(run->platform, e) < 0 ||
	    find_sandbox_mode(run->sandbox, &in.sandbox_mode, e) < 0 ||
	    find_accepted(run->accept_missing, &in.accepted, e) < 0 ||
	    asked_network(a, run, policy, &in, e) < 0)
		return err_result(e);
	*out = in;
	return 0;
}

/* ---- Handles ------------------------------------------------------------------------------ */

int copy_words(struct arena *a, const char *const *words, const char *const **out, struct err *e)
{
	size_t count = count_words(words);
	const char **copy = arena_array(a, count + 1, sizeof(*copy), e);

	if (!copy)
		return err_result(e);
	for (size_t i = 0; i < count; i++) {
		struct str text;

		if (arena_copy(a, str_of(words[i]), &text, e) < 0)
			return err_result(e);
		copy[i] = text.p;
	}
	*out = copy;
	return 0;
}

static int keep_text(struct arena *a, const char **text, struct err *e)
{
	struct str copy;

	if (!*text)
		return 0;
	if (arena_copy(a, str_of(*text), &copy, e) < 0)
		return err_result(e);
	*text = copy.p;
	return 0;
}

static int keep_words(struct arena *a, const char *const **words, struct err *e)
{
	return *words ? copy_words(a, *words, words, e) : 0;
}

/* A list with a count need not end with NULL. */
static int keep_list(struct arena *a, const char *const **list, uint64_t count, struct err *e)
{
	const char **copy;

	if (!count)
		return 0;
	copy = arena_array(a, count, sizeof(*copy), e);
	if (!copy)
		return err_result(e);
	for (size_t i = 0; i < count; i++) {
		copy[i] = (*list)[i];
		if (keep_text(a, &copy[i], e) < 0)
			return err_result(e);
	}
	*list = copy;
	return 0;
}

static int keep_value(struct arena *a, const struct option_value *value, void *place, struct err *e)
{
	struct option_list list;

	switch (value->kind) {
	case VALUE_TEXT:
		return keep_text(a, place, e);
	case VALUE_LIST:
		memcpy(&list, place, sizeof(list));
		return keep_list(a, place, list.count, e);
	case VALUE_WORDS:
	case VALUE_FEATURE:
		return keep_words(a, place, e);
	case VALUE_TIME:
	case VALUE_FLAG:
	case VALUE_COPIED:
	case VALUE_OWN_TEXT:
	case VALUE_OWN_WORDS:
	case VALUE_OWN_SWITCH:
		break;
	}
	return 0;
}

static int fill_handle(struct cordon *handle, const struct cordon_run_options *defaults,
		       struct err *e)
{
	handle->arena = (struct arena)ARENA_INIT(RUN_MAX_BYTES);
	if (options_read_run(defaults, &handle->options, e) < 0 ||
	    options_read(handle->options.load, &handle->load, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < option_member_count; i++)
		if (keep_value(&handle->arena, &option_members[i],
			       option_member(&option_members[i], &handle->load, &handle->options),
			       e) < 0)
			return err_result(e);
	handle->options.load = NULL; /* it is in the handle */
	if (handle->options.policy)
		(void)load_share(handle->options.policy);
	handle->is_filled = true;
	return 0;
}

int cordon_new(const struct cordon_run_options *defaults, cordon **handle, cordon_error **error)
{
	struct err e = ERR_INIT;
	cordon *made = NULL;

	if (!handle)
		(void)FAIL(&e, ERR_ARGUMENT, "cordon_new: handle is NULL");
	else
		made = mem_new(sizeof(*made), &e);
	if (!made)
		return error_give(&e, error);
	if (fill_handle(made, defaults, &e) < 0) {
		cordon_free(made);
		return error_give(&e, error);
	}
	*handle = made;
	return 0;
}

void cordon_free(cordon *handle)
{
	if (!handle)
		return;
	if (handle->is_filled && handle->options.policy)
		cordon_policy_free(handle->options.policy->self);
	arena_done(&handle->arena);
	mem_free(handle);
}
