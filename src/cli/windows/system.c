/* SPDX-License-Identifier: MIT */
/* See cli/system.h. */
#include "cli/system.h"

#include <stdio.h>
#include <windows.h>

#include <shellapi.h>

#include "cli/cli.h"

/* <io.h> and <fcntl.h> have these, and a function besides that uses what base/banned.h forbids. */
_CRTIMP int __cdecl _setmode(int fd, int mode);
enum { BINARY = 0x8000 };

/* What ends a run is noticed at once; what is typed at the console, within this time. */
const int step_ms = 50;
const bool has_backslash_paths = true;

/* Half a character is nobody's word; what it would become is another one. */
static char *narrow(const wchar_t *word)
{
	int bytes =
		WideCharToMultiByte(CP_UTF8, WC_ERR_INVALID_CHARS, word, -1, NULL, 0, NULL, NULL);
	char *text = bytes > 0 ? new_pages((size_t)bytes) : NULL;

	if (text)
		(void)WideCharToMultiByte(CP_UTF8, WC_ERR_INVALID_CHARS, word, -1, text, bytes,
					  NULL, NULL);
	return text;
}

/* main() gets words in the code page of the system, which can't say all of them. */
static bool read_words(int *argc, char ***argv)
{
	int count = 0;
	wchar_t **words = CommandLineToArgvW(GetCommandLineW(), &count);
	char **made = (char **)(void *)new_pages(((size_t)count + 1) * sizeof(*made));

	if (!words || !made)
		return false;
	for (int i = 0; i < count; i++) {
		made[i] = narrow(words[i]);
		if (!made[i])
			return false;
	}
	(void)LocalFree(words);
	*argc = count;
	*argv = made;
	return true;
}

bool system_begin(int *argc, char ***argv)
{
	for (int fd = 0; fd < 3; fd++)
		(void)_setmode(fd, BINARY);
	if (read_words(argc, argv))
		return true;
	print_error("a word of the command line is not Unicode");
	return false;
}

/* Nothing gets the number of a standard stream here (os/windows/handle.h). */
bool fill_streams(void)
{
	return true;
}

static HANDLE stream(int fd)
{
	static const DWORD names[] = { STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE };

	return fd >= 0 && fd < 3 ? GetStdHandle(names[fd]) : INVALID_HANDLE_VALUE;
}

bool is_terminal(int fd)
{
	DWORD mode;

	return GetConsoleMode(stream(fd), &mode);
}

const char *end_of_line(int fd)
{
	(void)fd;
	return "\n";
}

static DWORD attributes_of(const char *path)
{
	wchar_t wide[4096];

	if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide,
				(int)COUNT_OF(wide)) == 0)
		return INVALID_FILE_ATTRIBUTES;
	return GetFileAttributesW(wide);
}

bool is_regular_file(const char *path)
{
	DWORD attributes = attributes_of(path);

	return attributes != INVALID_FILE_ATTRIBUTES &&
	       !(attributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_DEVICE));
}

bool is_in_directory(const char *directory, const char *name)
{
	char path[4096];

	return snprintf(path, sizeof(path), "%s/%s", directory, name) < (int)sizeof(path) &&
	       attributes_of(path) != INVALID_FILE_ATTRIBUTES;
}

char *new_pages(size_t bytes)
{
	return VirtualAlloc(NULL, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}
