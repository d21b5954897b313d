/* SPDX-License-Identifier: MIT */
/*
 * What the tools are called and take; see tool.h. The schemas are JSON Schema as the MCP clients accept
 * it: an object at the top, and an answer that fits whether it was refused or not.
 */
#include "tools/tool.h"

#define OBJECT	    "{\"type\":\"object\",\"properties\":{"
#define TEXT(words) "{\"type\":\"string\",\"description\":\"" words "\"}"
#define FLAG(words) "{\"type\":\"boolean\",\"description\":\"" words "\"}"
#define NUMBER(least, words) \
	"{\"type\":\"integer\",\"minimum\":" #least ",\"description\":\"" words "\"}"

#define PATH "\"path\":" TEXT("absolute, or relative to the first project")
#define IF_VERSION                                                                        \
	"\"if_version\":" TEXT("the version that read_file gave; if the file is another " \
			       "one by now, nothing is changed")

#define ENDS_INPUT(...) "},\"required\":[" __VA_ARGS__ "],\"additionalProperties\":false}"
#define ENDS_OPTIONAL	"},\"additionalProperties\":false}"

/* What every answer may have. */
#define ENDS_OUTPUT                                                                            \
	"\"sandbox\":{\"type\":\"object\",\"description\":\"what did the work, and what it "   \
	"enforces\"},"                                                                         \
	"\"error\":{\"type\":\"object\",\"description\":\"why it was refused\","               \
	"\"properties\":{\"kind\":{\"type\":\"string\",\"enum\":[\"violation\",\"not_found\"," \
	"\"conflict\",\"invalid\",\"too_large\",\"binary\",\"timeout\"]},"                     \
	"\"message\":{\"type\":\"string\"},\"rule\":{\"type\":\"string\"},"                    \
	"\"grant\":{\"type\":\"string\"},\"needs\":{\"type\":\"object\"}},"                    \
	"\"required\":[\"kind\",\"message\"]}}}"

#define EDITED                                                                                  \
	"\"path\":{\"type\":\"string\"},\"version\":{\"type\":\"string\"},"                     \
	"\"created\":{\"type\":\"boolean\"},\"changed\":{\"type\":\"boolean\"},"                \
	"\"bytes\":{\"type\":\"integer\"},\"encoding\":{\"type\":\"string\"},"                  \
	"\"eol\":{\"type\":\"string\"},"                                                        \
	"\"atomic\":{\"type\":\"boolean\",\"description\":\"false: it was written in place\"}," \
	"\"notes\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"

#define READ_FILE_IN                                                                     \
	OBJECT PATH ",\"offset\":" NUMBER(1, "first line, from 1") ",\"limit\":" NUMBER( \
		1, "number of lines; 2000 if none") ENDS_INPUT("\"path\"")
#define READ_FILE_OUT                                                                           \
	OBJECT "\"path\":{\"type\":\"string\"},\"content\":{\"type\":\"string\"},"              \
	       "\"version\":{\"type\":\"string\"},\"encoding\":{\"type\":\"string\"},"          \
	       "\"bom\":{\"type\":\"boolean\"},\"eol\":{\"type\":\"string\"},"                  \
	       "\"first_line\":{\"type\":\"integer\"},\"line_count\":{\"type\":\"integer\"},"   \
	       "\"total_lines\":{\"type\":\"integer\"},\"bytes\":{\"type\":\"integer\"},"       \
	       "\"final_newline\":{\"type\":\"boolean\"},\"truncated\":{\"type\":\"boolean\"}," \
	       "\"next_offset\":{\"type\":\"integer\"}," ENDS_OUTPUT

#define WRITE_FILE_IN                                                                           \
	OBJECT PATH ",\"content\":" TEXT(                                                       \
		"the whole new text") "," IF_VERSION ",\"eol\":{\"type\":\"string\",\"enum\":[" \
				      "\"keep\",\"lf\",\"crlf\"],"                              \
				      "\"description\":\"line endings; keep: those of the "     \
				      "file\"}" ENDS_INPUT("\"path\",\"content\"")
#define WRITE_FILE_OUT OBJECT EDITED ENDS_OUTPUT

#define REPLACE_IN_FILE_IN                                                                             \
	OBJECT PATH ",\"old\":" TEXT(                                                                  \
		"what is there; has to occur exactly once, unless "                                    \
		"all") ",\"new\":" TEXT("what takes its place") ",\"all\":" FLAG("replace every "      \
										 "one") "," IF_VERSION \
		ENDS_INPUT("\"path\",\"old\",\"new\"")
#define REPLACE_IN_FILE_OUT                                  \
	OBJECT EDITED "\"replaced\":{\"type\":\"integer\"}," \
		      "\"matched\":{\"type\":\"string\"}," ENDS_OUTPUT

#define DELETE_FILE_IN	OBJECT PATH "," IF_VERSION ENDS_INPUT("\"path\"")
#define DELETE_FILE_OUT OBJECT "\"path\":{\"type\":\"string\"}," ENDS_OUTPUT

#define LIST_FILES_IN                                                                           \
	OBJECT "\"path\":" TEXT("a directory; the first project if none") ",\"depth\":" NUMBER( \
		1, "how deep; all of it if none") ",\"ignored\":" FLAG("also what git ignores") \
		ENDS_OPTIONAL
#define LIST_FILES_OUT                                                                      \
	OBJECT "\"path\":{\"type\":\"string\"},\"entries\":{\"type\":\"array\",\"items\":{" \
	       "\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"},"        \
	       "\"type\":{\"type\":\"string\"}}}},"                                         \
	       "\"count\":{\"type\":\"integer\"},\"truncated\":{\"type\":\"boolean\"},"     \
	       "\"hidden\":{\"type\":\"integer\"},"                                         \
	       "\"notes\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}," ENDS_OUTPUT

#define SEARCH_FILES_IN                                                                                                    \
	OBJECT                                                                                                             \
	"\"pattern\":" TEXT(                                                                                               \
		"a regular expression, without backreferences and "                                                        \
		"look-around") ","                                                                                         \
			       "\"path\":" TEXT(                                                                           \
				       "a file or directory; the first project "                                           \
				       "if none") ","                                                                      \
						  "\"glob\":" TEXT(                                                        \
							  "only files that it "                                            \
							  "matches") ","                                                   \
								     "\"ignore_"                                           \
								     "case\""                                              \
								     ":" FLAG(                                             \
									     "up"                                          \
									     "pe"                                          \
									     "r "                                          \
									     "an"                                          \
									     "d "                                          \
									     "lo"                                          \
									     "we"                                          \
									     "r "                                          \
									     "ca"                                          \
									     "se"                                          \
									     " a"                                          \
									     "re"                                          \
									     " t"                                          \
									     "he"                                          \
									     " s"                                          \
									     "am"                                          \
									     "e") ","                                      \
										  "\"context\""                            \
										  ":" NUMBER(                              \
											  0,                               \
											  "lines"                          \
											  " befo"                          \
											  "re "                            \
											  "and "                           \
											  "after"                          \
											  " each"                          \
											  " matc"                          \
											  "h") ","                         \
											       "\"limit\":" NUMBER(        \
												       1,                  \
												       "the most matches") \
												       ENDS_INPUT(         \
													       "\"pattern\"")
#define SEARCH_FILES_OUT                                                                     \
	OBJECT "\"matches\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"           \
	       "\"count\":{\"type\":\"integer\"},\"files_searched\":{\"type\":\"integer\"}," \
	       "\"truncated\":{\"type\":\"boolean\"},"                                       \
	       "\"notes\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}," ENDS_OUTPUT

#define APPLY_PATCH_IN                                                                   \
	OBJECT "\"patch\":" TEXT("*** Begin Patch … *** End Patch") ",\"atomic\":" FLAG( \
		"all files or none") ",\"dry_run\":" FLAG("only say what would be done") \
		ENDS_INPUT("\"patch\"")
#define APPLY_PATCH_OUT                                                          \
	OBJECT "\"files\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}," \
	       "\"atomic\":{\"type\":\"boolean\"},"                              \
	       "\"notes\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}," ENDS_OUTPUT

#define EXECUTE_COMMAND_IN                                                                           \
	OBJECT "\"command\":{\"description\":\"the words of a command, or a line for a "             \
	       "shell\",\"anyOf\":[{\"type\":\"string\"},{\"type\":\"array\",\"items\":{"            \
	       "\"type\":\"string\"},\"minItems\":1}]},"                                             \
	       "\"cwd\":" TEXT(                                                                      \
		       "where it runs, in a project; the first project if none") ","                 \
										 "\"timeout_"        \
										 "ms\":" NUMBER(     \
											 1,          \
											 "50000 "    \
											 "if "       \
											 "none")     \
											 ENDS_INPUT( \
												 "\"command\"")
#define EXECUTE_COMMAND_OUT                                                                 \
	OBJECT "\"status\":{\"type\":\"integer\"},\"signal\":{\"type\":\"integer\"},"       \
	       "\"stdout\":{\"type\":\"string\"},\"stderr\":{\"type\":\"string\"},"         \
	       "\"timed_out\":{\"type\":\"boolean\"},\"truncated\":{\"type\":\"boolean\"}," \
	       "\"duration_ms\":{\"type\":\"integer\"},"                                    \
	       "\"denials\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}," ENDS_OUTPUT

#define OPEN_PROJECT_IN                                                                           \
	OBJECT "\"path\":" TEXT(                                                                  \
		"its directory") ","                                                              \
				 "\"access\":{\"type\":\"string\",\"enum\":[\"read\",\"write\"]," \
				 "\"description\":\"read if none\"}" ENDS_INPUT("\"path\"")
#define OPEN_PROJECT_OUT                                                          \
	OBJECT "\"path\":{\"type\":\"string\"},\"access\":{\"type\":\"string\"}," \
	       "\"roots\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}," ENDS_OUTPUT

_Static_assert(TOOL_COUNT == 9, "each tool has its words here");

#define READ_FILE_WORDS                                                                          \
	"Reads a text file, or lines of it. The content is the text without a byte order mark; " \
	"give `version` to an edit as if_version."
#define WRITE_FILE_WORDS                                                                         \
	"Writes a whole file, new or in place of the old one, at once or not at all. Encoding, " \
	"byte order mark and line endings of an existing file are kept."
#define REPLACE_IN_FILE_WORDS                                                                    \
	"Replaces a text in a file. It has to occur exactly once, or `all` is true; if it does " \
	"not occur as it is, differences in white space are tolerated."
#define DELETE_FILE_WORDS "Deletes a file."
#define LIST_FILES_WORDS                                                                      \
	"Lists the files of a directory and below it, without what git ignores and what the " \
	"policy denies."
#define SEARCH_FILES_WORDS                                                                \
	"Searches files for a regular expression, without what git ignores and what the " \
	"policy denies."
#define APPLY_PATCH_WORDS "Applies a patch: *** Begin Patch, *** Update File: …, *** End Patch."
#define EXECUTE_COMMAND_WORDS                                                                   \
	"Runs a command in a sandbox of the same policy, and gives its status and output. Its " \
	"input is empty."
#define OPEN_PROJECT_WORDS                                                                      \
	"Opens another project directory for this session. If the policy does not cover it, a " \
	"person is asked."

#define OPEN_FILE_IN                                                                            \
	OBJECT PATH ",\"access\":{\"type\":\"string\",\"enum\":[\"read\",\"write\",\"create\"]" \
		    "}" ENDS_INPUT("\"path\",\"access\"")
#define OPEN_FILE_OUT	OBJECT "\"path\":{\"type\":\"string\"}," ENDS_OUTPUT
#define OPEN_FILE_WORDS "Opens a file for the host program."
#define CHECK_PATH_IN	OBJECT PATH ENDS_INPUT("\"path\"")
#define CHECK_PATH_OUT                                                            \
	OBJECT "\"path\":{\"type\":\"string\"},\"access\":{\"type\":\"string\"}," \
	       "\"rule\":{\"type\":\"string\"},\"edit\":{\"type\":\"boolean\"},"  \
	       "\"guard\":{\"type\":\"string\"},\"grant\":{\"type\":\"string\"}," ENDS_OUTPUT
#define CHECK_PATH_WORDS "Says what may be done with a path."

#define APPROVE_IN                                                                                \
	OBJECT "\"tool_name\":" TEXT(                                                             \
		"of the client's own tools") ",\"input\":{\"type\":"                              \
					     "\"object\",\"description\":\"what that tool is "    \
					     "given\"},\"tool_use_id\":" TEXT("which call it is") \
						     ENDS_INPUT("\"tool_name\",\"input\"")
#define APPROVE_OUT NULL
#define APPROVE_WORDS                                                                    \
	"For the client, not for the model: says whether the policy lets a tool of the " \
	"client's do what it is about to do. Grants nothing."

#define IS_SLOW_APPROVE		false
#define IS_SLOW_OPEN_FILE	false
#define IS_SLOW_CHECK_PATH	false
#define IS_SLOW_LIST_FILES	true
#define IS_SLOW_SEARCH_FILES	true
#define IS_SLOW_APPLY_PATCH	true
#define IS_SLOW_READ_FILE	false
#define IS_SLOW_WRITE_FILE	false
#define IS_SLOW_REPLACE_IN_FILE false
#define IS_SLOW_DELETE_FILE	false
#define IS_SLOW_EXECUTE_COMMAND false
#define IS_SLOW_OPEN_PROJECT	false

const struct tool tools[TOOL_ALL] = {
#define TOOL_ROW(tool_id, tool_name, tool_access, reads, destroys, repeats) \
	[TOOL_##tool_id] = { .id = TOOL_##tool_id,                          \
			     .name = #tool_name,                            \
			     .description = tool_id##_WORDS,                \
			     .input_schema = tool_id##_IN,                  \
			     .output_schema = tool_id##_OUT,                \
			     .access = (tool_access),                       \
			     .is_read_only = (reads),                       \
			     .is_destructive = (destroys),                  \
			     .is_idempotent = (repeats),                    \
			     .is_slow = IS_SLOW_##tool_id },
	TOOLS(TOOL_ROW) HOST_TOOLS(TOOL_ROW) PROMPT_TOOLS(TOOL_ROW)
#undef TOOL_ROW
};

const struct tool *tool_find(struct str name)
{
	for (size_t i = 0; i < TOOL_COUNT; i++)
		if (str_is(name, tools[i].name))
			return &tools[i];
	return NULL;
}

const char *tool_refusal_name(enum tool_refusal_kind kind)
{
	switch (kind) {
#define REFUSAL_NAME(id, name) \
	case REFUSAL_##id:     \
		return #name;
		TOOL_REFUSALS(REFUSAL_NAME)
#undef REFUSAL_NAME
	}
	return "invalid";
}
