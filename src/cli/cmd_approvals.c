/* SPDX-License-Identifier: MIT */
/* cordon approvals: what was approved for later runs, and its end. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/system.h"

const char about_approvals[] =
	"Shows and ends what was approved for later runs: what is always allowed "
	"(approvals.toml),\n"
	"and what sessions allow. list (the default) shows all of it, show ID... one with its\n"
	"details, revoke ID... ends those, clear ends everything that is always allowed. The "
	"begin\n"
	"of an id is enough, if no other begins so; revoke needs 4 characters. With --session "
	"NAME,\n"
	"or CORDON_SESSION in the environment, clear ends what that session allows, and nothing\n"
	"else; list, show and revoke look only at that session with --session NAME. What is "
	"revoked\n"
	"ends at once in runs that were started with --ask; others keep it until they end.";

enum action { ACTION_LIST, ACTION_SHOW, ACTION_REVOKE, ACTION_CLEAR, ACTION_COUNT };

static const char *const actions[] = { "list", "show", "revoke", "clear" };

/* ACTION_COUNT: there is none of that name, and the user was told. */
static enum action find_action(const struct args *args)
{
	const char *meant;

	if (!args->operand)
		return ACTION_LIST;
	for (int i = 0; i < ACTION_COUNT; i++)
		if (strcmp(args->operand, actions[i]) == 0)
			return (enum action)i;
	meant = suggest(args->operand, actions, ACTION_COUNT);
	if (meant)
		complain_usage(args, "'cordon approvals %s' does not exist; did you mean %s?",
			       args->operand, meant);
	else
		complain_usage(
			args,
			"'cordon approvals %s' does not exist; use list, show, revoke or clear",
			args->operand);
	return ACTION_COUNT;
}

static bool check_words(const struct args *args, enum action action)
{
	bool takes_ids = action == ACTION_SHOW || action == ACTION_REVOKE;

	if (takes_ids && args->operand_count < 2) {
		complain_usage(
			args, "'cordon approvals %s' needs an ID; 'cordon approvals list' has them",
			actions[action]);
		return false;
	}
	if (!takes_ids && args->operand_count > 1) {
		complain_usage(args, "'cordon approvals %s' takes no ID, but '%s' was given",
			       actions[action], args->operands[1]);
		return false;
	}
	if (args_have(args, OPT_YES) && action != ACTION_CLEAR) {
		complain_usage(args, "'cordon approvals %s' has no option --yes", actions[action]);
		return false;
	}
	return true;
}

/* Whose approvals 'clear' is about; NULL: those that are always allowed. */
static const char *find_session(const struct args *args)
{
	const char *set = getenv("CORDON_SESSION");

	if (args->load.session)
		return args->load.session;
	return set && set[0] ? set : NULL;
}

/* To look at what 'clear' would end, and at nothing that stays. */
static struct cordon_load_options look_at_cleared(const struct args *args)
{
	struct cordon_load_options load = args->load;

	load.session = find_session(args);
	load.flags |= load.session ? 0 : CORDON_LOAD_ALWAYS_ONLY;
	return load;
}

/* Whether anything is approved; also if that can't be known, because then the call says why. */
static bool has_any(const struct args *args)
{
	struct cordon_load_options load = look_at_cleared(args);
	cordon_report *report;
	const char *ids;
	bool has;

	if (cordon_approvals(&load, NULL, 0, &report, NULL) < 0)
		return true;
	ids = cordon_report_text(report, CORDON_TEXT_BRIEF);
	has = !ids || ids[0];
	cordon_report_free(report);
	return has;
}

/* Asks a person who can see what it is about; nobody else can say yes but by --yes. */
static bool ask_person(const struct args *args)
{
	struct cordon_load_options load = look_at_cleared(args);
	const char *session = load.session;
	cordon_error *error = NULL;
	cordon_report *report;
	const char *text;
	char answer[16];

	if (!has_any(args))
		return true;
	if (args_have(args, OPT_JSON) || !is_terminal(STREAM_INPUT) || !is_terminal(STREAM_ERROR)) {
		complain_usage(args, "nothing was ended; to end all that %s%s, add --yes",
			       session ? "is allowed in the session "
				       : "is always allowed (sessions stay)",
			       session ? session : "");
		return false;
	}
	/* Nobody says yes to what they have not seen. */
	if (cordon_approvals(&load, NULL, 0, &report, &error) < 0) {
		(void)finish_error(args, error);
		return false;
	}
	text = cordon_report_text(report, has_colour(STREAM_ERROR) ? CORDON_TEXT_COLOUR : 0);
	(void)fprintf(stderr, "%s\n%s? [y/N] ", text ? text : "",
		      session ? "End all that is allowed in this session"
			      : "End all that is always allowed (sessions stay)");
	cordon_report_free(report);
	if (fgets(answer, sizeof(answer), stdin) &&
	    (strcmp(answer, "y\n") == 0 || strcmp(answer, "yes\n") == 0))
		return true;
	print_error("nothing was ended");
	return false;
}

int cmd_approvals(const struct args *args)
{
	const char *const *ids = args->operands + 1;
	enum action action = find_action(args);
	cordon_report *report;
	cordon_error *error;
	uint64_t count;
	int r;

	if (action == ACTION_COUNT || !check_words(args, action))
		return EXIT_CORDON;
	if (action == ACTION_CLEAR && !args_have(args, OPT_YES) && !ask_person(args))
		return EXIT_CORDON;
	count = args->operand_count > 1 ? args->operand_count - 1 : 0;
	if (action == ACTION_REVOKE || action == ACTION_CLEAR)
		r = cordon_approvals_end(&args->load, ids, count, &report, &error);
	else
		r = cordon_approvals(&args->load, ids, count, &report, &error);
	return r < 0 ? finish_error(args, error) : finish_report(args, report);
}
