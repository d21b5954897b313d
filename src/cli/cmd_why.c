/* SPDX-License-Identifier: MIT */
/* cordon why: the answer for one path or host, with its reasons. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/cli.h"
#include "cli/system.h"

const char about_why[] =
	"Says whether a path may be read or written, or a host may be reached; which rule\n"
	"decides that and where it is written; which rules it overrides; and the smallest edit\n"
	"that would change the answer. The operand is a path if it contains a '/', begins with\n"
	"'.' or '~', or names a file in this directory; so is a word without '.' or ':', but for\n"
	"localhost. With --platform windows a '\\' makes a path too. All else is a host. Host "
	"names\n"
	"are not resolved, and nothing is run. With the options of a run the answer is for\n"
	"that run.\n\nThe exit status is 0 for yes, 1 for "
	"no (denied, or less than --read or --write asks\n"
	"for), and 125 for an error.";

static bool asks_access(const struct args *args)
{
	return args_have(args, OPT_READ) || args_have(args, OPT_WRITE);
}

static bool is_for_windows(const struct args *args)
{
	return args->run.platform ? strcmp(args->run.platform, "windows") == 0
				  : has_backslash_paths;
}

/* False for what looks like neither a path nor a host, unless --path says that it is one. */
static bool is_named_well(const struct args *args)
{
	const char *subject = args->operand;

	if (args_have(args, OPT_PATH))
		return true;
	if (strstr(subject, "://") && asks_access(args))
		complain_usage(args, "'%s' is a URL; --read and --write are for paths", subject);
	else if (subject[0] == '~' && subject[1] && subject[1] != '/' &&
		 !(subject[1] == '\\' && is_for_windows(args)))
		complain_usage(args,
			       "can't expand '%s': write the home directory in full, or ./%s for a "
			       "file of that name",
			       subject, subject);
	else
		return true;
	return false;
}

/* False when two options conflict or there is nothing to ask about. */
static bool is_asked_well(const struct args *args, bool is_path)
{
	if (!args->operand)
		complain_usage(args, "no path or host is given; try 'cordon why ~/.ssh'");
	else if (args_have(args, OPT_PATH) && args_have(args, OPT_HOST))
		complain_conflict(args, "--path", "--host");
	else if (args_have(args, OPT_READ) && args_have(args, OPT_WRITE))
		complain_conflict(args, "--read", "--write");
	else if (asks_access(args) && !is_path)
		complain_conflict(args, args_have(args, OPT_READ) ? "--read" : "--write", "--host");
	else
		return is_named_well(args);
	return false;
}

/* Whether something of that name is in the directory that the answer is for. */
static bool is_here(const struct args *args)
{
	const char *directory = args->load.directory ? args->load.directory : ".";
	const char *subject = args->operand;

	/* An imagined host has other files. */
	if (!subject || !subject[0] || strchr(subject, '/') || args->load.host_view)
		return false;
	return is_in_directory(directory, subject);
}

/* Few hosts are called by one word, and most missing files that somebody asks about are. */
static bool is_word(const char *subject)
{
	return subject[0] && !strpbrk(subject, ".:@/[") && strcasecmp(subject, "localhost") != 0 &&
	       subject[strspn(subject, "0123456789")];
}

static bool names_path(const struct args *args)
{
	const char *subject = args->operand ? args->operand : "";

	if (args_have(args, OPT_PATH) || args_have(args, OPT_HOST))
		return args_have(args, OPT_PATH);
	/* A host is neither read nor written; what was meant by a URL is said of hosts. */
	return asks_access(args) || subject[0] == '.' || subject[0] == '~' ||
	       (strchr(subject, '/') && !strstr(subject, "://")) || is_here(args) ||
	       is_word(subject) || (strchr(subject, '\\') && is_for_windows(args));
}

/* It was taken for a path or a host by its looks alone. */
static bool is_guess(const struct args *args, bool is_path)
{
	const char *subject = args->operand;

	if (args_have(args, OPT_HOST) || args_have(args, OPT_PATH) || args_have(args, OPT_JSON) ||
	    args_have(args, OPT_QUIET))
		return false;
	if (is_path)
		return is_word(subject) && !asks_access(args) && !is_here(args);
	/* An address, a name with a port, or a URL is no file. */
	return subject[strspn(subject, "0123456789.")] && !strpbrk(subject, ":/@");
}

/* How to ask about the other. What a terminal might obey, or a shell, is not repeated. */
static void print_guess(FILE *out, const char *before, const char *subject, bool is_path)
{
	bool is_plain = !subject[strspn(subject, "abcdefghijklmnopqrstuvwxyz"
						 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._")];
	bool is_quotable = true;
	const char *quote = is_plain ? "" : "'";

	for (const char *c = subject; *c; c++)
		is_quotable = is_quotable && *c >= ' ' && *c <= '~' && *c != '\'';
	if (!is_quotable) {
		subject = "NAME";
		quote = "";
	}
	(void)fprintf(out, "%sassumed to be a %s name; for a %s: cordon why %s %s%s%s\n", before,
		      is_path ? "file" : "host", is_path ? "host" : "file",
		      is_path ? "--host" : "--path", quote, subject, quote);
}

static int finish_why(const struct args *args, bool is_path, cordon_report *report)
{
	int status = finish_answer(args, report, EXIT_NO);

	if (!is_guess(args, is_path) || (status != 0 && status != EXIT_NO))
		return status;
	print_guess(stdout, "\n", args->operand, is_path);
	return finish_output(status);
}

/* What can't be a host's name was perhaps meant as a file's. */
static int finish_bad_host(const struct args *args, cordon_error *error)
{
	int status = finish_error(args, error);

	if (is_guess(args, false))
		print_guess(stderr, "  ", args->operand, false);
	return status;
}

int cmd_why(const struct args *args)
{
	struct cordon_load_options load = args->load;
	bool is_path = names_path(args);
	cordon_policy *policy;
	cordon_report *report;
	cordon_error *error;
	uint32_t ask = 0;
	int status;

	if (!is_asked_well(args, is_path))
		return EXIT_CORDON;
	if (asks_access(args))
		ask = args_have(args, OPT_READ) ? CORDON_ASK_READ : CORDON_ASK_WRITE;
	load.platform = args->run.platform;
	show_warnings(args, &load);
	if (cordon_policy_load(&load, &policy, &error) < 0)
		return finish_error(args, error);
	if (is_path)
		status = cordon_why_path(policy, args->operand, strlen(args->operand), ask, &report,
					 &error);
	else
		status = cordon_why_host(policy, args->operand, strlen(args->operand), &report,
					 &error);
	if (status < 0)
		status = is_path ? finish_error(args, error) : finish_bad_host(args, error);
	else
		status = finish_why(args, is_path, report);
	cordon_policy_free(policy);
	return status;
}
