/* SPDX-License-Identifier: MIT */
/* cordon import: the permissions of another tool as a policy. */
#include <string.h>

#include "cli/cli.h"

const char about_import[] =
	"Reads the permissions of claude, codex, gemini, opencode or srt, and prints a policy "
	"that\n"
	"never allows more. Each line says where it comes from. What has no counterpart is listed "
	"in\n"
	"comments and on stderr. Several FILEs are layers, the lowest first. Relative paths begin "
	"at\n"
	"the workspace, or, where that would not be safe, at the working directory (-C).";

/* With what a user of that tool would write. */
static const char *text_of_missing(const char *tool)
{
	static const struct {
		const char *tool, *text;
	} all[] = {
#define NEEDS(tool, file)                                                                      \
	{ tool, "'cordon import' needs the name of a tool, and its files: cordon import " tool \
		" " file }
		NEEDS("claude", "~/.claude/settings.json"),
		NEEDS("codex", "~/.codex/config.toml"),
		NEEDS("gemini", "~/.gemini/settings.json"),
		NEEDS("opencode", "~/.config/opencode/opencode.json"),
		NEEDS("srt", "~/.srt-settings.json"),
#undef NEEDS
	};
	size_t i = sizeof(all) / sizeof(*all) - 1;

	while (i > 0 && strcmp(tool, all[i].tool) != 0)
		i--;
	return all[i].text;
}

int cmd_import(const struct args *args)
{
	const char *output = args_text(args, OPT_OUTPUT);
	struct cordon_load_options load = args->load;
	struct cordon_import_options wanted = { .size = sizeof(wanted),
						.load = &load,
						.agent = args->operand,
						.files = args->operands + 1,
						.output = output,
						.flags = args_have(args, OPT_FORCE)
								 ? CORDON_IMPORT_REPLACE
								 : 0 };
	cordon_report *report;
	cordon_error *error;

	if (args->operand_count < 2) {
		complain_usage(args, "%s",
			       text_of_missing(args->operand_count ? args->operand : ""));
		return EXIT_CORDON;
	}
	if (output && strcmp(output, "-") == 0)
		wanted.output = NULL;
	show_warnings(args, &load);
	if (cordon_import(&wanted, &report, &error) < 0)
		return finish_error(args, error);
	return finish_report(args, report);
}
