/* SPDX-License-Identifier: MIT */
/*
 * cordon run --backend win_token, end to end. Where a restricted token restricts nothing (Wine), nothing may be run with it;
 * elsewhere what the policy opens is written, and what it does not is not.
 */
#include "child.h"

enum { TEXT = 64 << 10, MAX_WORDS = 64, MAX_ENVIRONMENT = 512 };

static char text[TEXT], report[TEXT], top[MAX_PATH], appdata[MAX_PATH + 16];

static const char *const accept_all[] = { "--accept-missing",
					  "fs_write",
					  "--accept-missing",
					  "net_off",
					  "--accept-missing",
					  "ipc",
					  "--accept-missing",
					  "proc",
					  "--accept-missing",
					  "kernel",
					  NULL };

/* ---- A directory with a workspace and a configuration ------------------------------------------------- */

static const char *below(const char *name)
{
	static char paths[4][MAX_PATH + 64];
	static int next;

	(void)snprintf(paths[next = (next + 1) % 4], sizeof(*paths), "%s\\%s", top, name);
	return paths[next];
}

static void write_file(const char *name, const char *content)
{
	FILE *file = fopen(below(name), "wb");

	CHECK(file != NULL);
	if (file) {
		CHECK(fputs(content, file) >= 0);
		CHECK(fclose(file) == 0);
	}
}

static bool is_there(const char *name)
{
	return GetFileAttributesA(below(name)) != INVALID_FILE_ATTRIBUTES;
}

static void begin(const char *config)
{
	static unsigned count;
	char temporary[MAX_PATH];

	(void)GetTempPathA(MAX_PATH, temporary);
	(void)snprintf(top, sizeof(top), "%scordon-token-%lu-%u", temporary, GetCurrentProcessId(),
		       ++count);
	(void)snprintf(appdata, sizeof(appdata), "APPDATA=%s\\settings", top);
	CHECK(CreateDirectoryA(top, NULL));
	CHECK(CreateDirectoryA(below("repo"), NULL));
	CHECK(CreateDirectoryA(below("repo\\.git"), NULL));
	CHECK(CreateDirectoryA(below("settings"), NULL));
	CHECK(CreateDirectoryA(below("settings\\cordon"), NULL));
	write_file("settings\\cordon\\config.toml", config);
}

static void remove_all(const char *dir)
{
	char path[2 * MAX_PATH];
	WIN32_FIND_DATAA found;
	HANDLE search;

	(void)snprintf(path, sizeof(path), "%s\\*", dir);
	search = FindFirstFileA(path, &found);
	if (search == INVALID_HANDLE_VALUE)
		return;
	do {
		if (!strcmp(found.cFileName, ".") || !strcmp(found.cFileName, ".."))
			continue;
		(void)snprintf(path, sizeof(path), "%s\\%s", dir, found.cFileName);
		if (found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY)
			remove_all(path);
		(void)DeleteFileA(path);
	} while (FindNextFileA(search, &found));
	FindClose(search);
	CHECK(RemoveDirectoryA(dir));
}

/* ---- A run in it ------------------------------------------------------------------------------------------ */

/* cordon run OPTIONS... -- cmd /c COMMAND, in the workspace. The report is in `report`. */
static uint32_t run(const char *const *options, const char *command)
{
	const char *argv[MAX_WORDS] = { "cordon", "run", "--report", below("report") };
	const char *environment[MAX_ENVIRONMENT] = { appdata };
	struct process_start how = { .program = program_of("CORDON"),
				     .argv = argv,
				     .environment = environment,
				     .directory = below("repo") };
	const char *const *given = os_environment();
	size_t n = 4, kept = 1, read;
	struct child c;
	uint32_t status;
	FILE *file;

	for (; *given && kept + 1 < MAX_ENVIRONMENT; given++)
		if (_strnicmp(*given, "APPDATA=", 8) != 0)
			environment[kept++] = *given;
	for (; *options; options++)
		argv[n++] = *options;
	argv[n++] = "--";
	argv[n++] = "cmd";
	argv[n++] = "/c";
	argv[n++] = command;
	report[0] = '\0';
	if (!child_start(&how, &c))
		return UINT32_MAX;
	status = child_finish(&c, text, sizeof(text));
	file = fopen(below("report"), "rb");
	read = file ? fread(report, 1, sizeof(report) - 1, file) : 0;
	report[read] = '\0';
	if (file)
		(void)fclose(file);
	return status;
}

static uint32_t run_token(const char *const *more, const char *command)
{
	const char *options[MAX_WORDS] = { "--mode", "workspace-write", "--backend", "win_token" };

	for (size_t n = 4; *more; more++)
		options[n++] = *more;
	return run(options, command);
}

static bool has_cause(const char *cause)
{
	char member[128];

	(void)snprintf(member, sizeof(member), "\"cause\": \"%s\"", cause);
	return strstr(report, member) != NULL;
}

/* Asked of the system itself. */
static bool tokens_restrict(void)
{
	unsigned char sid[] = { 1, 1, 0, 0, 0, 0, 0, 5, 12, 0, 0, 0 }; /* RESTRICTED */
	SID_AND_ATTRIBUTES one = { .Sid = sid };
	HANDLE base = NULL, token = NULL;
	bool is_restricted;

	CHECK(OpenProcessToken(GetCurrentProcess(), TOKEN_ALL_ACCESS, &base));
	CHECK(CreateRestrictedToken(base, WRITE_RESTRICTED, 0, NULL, 0, NULL, 1, &one, &token));
	is_restricted = IsTokenRestricted(token);
	CloseHandle(token);
	CloseHandle(base);
	return is_restricted;
}

/* ---- Refusals ------------------------------------------------------------------------------------------- */

static const char preview[] = "features.windows_preview = true\n";
static const char *const control[] = { "--backend", "none", NULL };

TEST(a_run_needs_each_missing_guarantee_accepted_by_name)
{
	static const char *const nothing[] = { NULL };
	static const char *const all_but_one[] = { "--accept-missing",
						   "net_off",
						   "--accept-missing",
						   "ipc",
						   "--accept-missing",
						   "proc",
						   "--accept-missing",
						   "kernel",
						   NULL };

	begin(preview);
	CHECK_INT(run_token(nothing, "echo x>made"), 125);
	CHECK(has_cause("guarantee_missing"));
	CHECK_INT(run_token(all_but_one, "echo x>made"), 125);
	CHECK(has_cause("guarantee_missing") && strstr(report, "fs_write"));
	CHECK(!is_there("repo\\made"));
	CHECK_INT(run(control, "echo x>made"), 0);
	CHECK(is_there("repo\\made"));
	remove_all(top);
}

TEST(a_run_needs_the_preview_switched_on)
{
	begin("");
	CHECK_INT(run_token(accept_all, "echo x>made"), 125);
	CHECK(has_cause("preview") && !is_there("repo\\made"));
	CHECK_INT(run(control, "echo x>made"), 0);
	CHECK(is_there("repo\\made"));
	remove_all(top);
}

TEST(a_run_is_confined_or_refused)
{
	const bool is_real = tokens_restrict();
	uint32_t status;

	begin(preview);
	status = run_token(accept_all, "echo x>made");
	if (!is_real) {
		CHECK_INT(status, 125);
		CHECK(has_cause("without_effect") && strstr(report, "fs_write"));
		CHECK(!is_there("repo\\made"));
	} else {
		CHECK_INT(status, 0);
		CHECK(is_there("repo\\made"));
		CHECK(run_token(accept_all, "echo x>..\\outside") != 0 && !is_there("outside"));
		CHECK(run_token(accept_all, "echo x>.git\\config") != 0);
		CHECK(!is_there("repo\\.git\\config"));
	}
	CHECK(!is_there("repo\\.claude")); /* the placeholders are gone */
	CHECK_INT(run(control, "echo x>..\\outside"), 0);
	CHECK(is_there("outside"));
	CHECK_INT(run(control, "echo x>.git\\config"), 0);
	remove_all(top);
}
