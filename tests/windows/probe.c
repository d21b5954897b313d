/* SPDX-License-Identifier: MIT */
/*
 * What the tests start: probe WHAT [WORD...].
 *
 *	argv WORD...	prints each word of its own, as hexadecimal UTF-16, a line each
 *	env NAME	prints what the variable is, or "(unset)"
 *	exit CODE	ends with that status, hexadecimal
 *	sleep MS	waits
 *	cat		standard input to standard output
 *	say TEXT	TEXT to standard output, "err" to standard error
 *	many BYTES	that many bytes to standard output
 *	open HANDLE	whether that number is an open handle here: "open" or "closed"
 *	spawn EVENT	starts itself, which starts itself, which sets the named event and waits for a minute
 *	last EVENT	the last of those
 *	wait EVENT	waits for the named event, at most a minute
 *	directory	prints the working directory
 *	crash		as if it had written where nothing is
 */
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

#include <shellapi.h>

static int print_words(int count, wchar_t **words)
{
	for (int i = 0; i < count; i++) {
		for (const wchar_t *c = words[i]; *c; c++)
			printf("%04x", *c);
		printf("\n");
	}
	return 0;
}

static int print_variable(const wchar_t *name)
{
	wchar_t value[1024];
	DWORD n = GetEnvironmentVariableW(name, value, 1024);

	printf(n ? "%ls\n" : "(unset)\n", value);
	return 0;
}

static int copy_input(void)
{
	char block[4096];
	DWORD n, written;
	HANDLE in = GetStdHandle(STD_INPUT_HANDLE), out = GetStdHandle(STD_OUTPUT_HANDLE);

	while (ReadFile(in, block, sizeof(block), &n, NULL) && n > 0)
		if (!WriteFile(out, block, n, &written, NULL))
			return 1;
	return 0;
}

static int write_many(unsigned long bytes)
{
	char block[4096];
	DWORD written;

	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (char)('a' + i % 26);
	while (bytes > 0) {
		DWORD n = bytes < sizeof(block) ? bytes : (DWORD)sizeof(block);

		if (!WriteFile(GetStdHandle(STD_OUTPUT_HANDLE), block, n, &written, NULL))
			return 1;
		bytes -= written;
	}
	return 0;
}

static int spawn(const wchar_t *self, const wchar_t *what, const wchar_t *event)
{
	wchar_t line[1024];
	STARTUPINFOW how = { .cb = sizeof(how) };
	PROCESS_INFORMATION made;

	_snwprintf(line, 1024, L"\"%ls\" %ls %ls", self, what, event);
	if (!CreateProcessW(self, line, NULL, NULL, FALSE, 0, NULL, NULL, &how, &made))
		return 3;
	return 0;
}

static int set_and_wait(const wchar_t *name)
{
	HANDLE event = OpenEventW(EVENT_MODIFY_STATE, FALSE, name);

	if (event)
		SetEvent(event);
	Sleep(60000);
	return 0;
}

static int wait_for(const wchar_t *name)
{
	HANDLE event = OpenEventW(SYNCHRONIZE, FALSE, name);

	return event && WaitForSingleObject(event, 60000) == WAIT_OBJECT_0 ? 0 : 4;
}

static int is(const wchar_t *a, const wchar_t *b)
{
	return wcscmp(a, b) == 0;
}

static int act(int count, wchar_t **words)
{
	const wchar_t *what = count > 1 ? words[1] : L"", *word = count > 2 ? words[2] : L"";
	wchar_t self[MAX_PATH], directory[1024];
	DWORD flags;

	GetModuleFileNameW(NULL, self, MAX_PATH);
	if (is(what, L"argv"))
		return print_words(count, words);
	if (is(what, L"env"))
		return print_variable(word);
	if (is(what, L"exit"))
		return (int)wcstoul(word, NULL, 16);
	if (is(what, L"sleep"))
		Sleep(wcstoul(word, NULL, 10));
	else if (is(what, L"cat"))
		return copy_input();
	else if (is(what, L"many"))
		return write_many(wcstoul(word, NULL, 10));
	else if (is(what, L"say"))
		fprintf(stderr, "err\n"), printf("%ls\n", word);
	else if (is(what, L"open"))
		printf(GetHandleInformation((HANDLE)(uintptr_t)_wcstoui64(word, NULL, 16), &flags)
			       ? "open\n"
			       : "closed\n");
	else if (is(what, L"spawn"))
		return spawn(self, L"spawn2", word) || (Sleep(60000), 0);
	else if (is(what, L"leave"))
		return spawn(self, L"spawn2", word);
	else if (is(what, L"spawn2"))
		return spawn(self, L"last", word) || (Sleep(60000), 0);
	else if (is(what, L"last"))
		return set_and_wait(word);
	else if (is(what, L"wait"))
		return wait_for(word);
	else if (is(what, L"directory") && GetCurrentDirectoryW(1024, directory))
		printf("%ls\n", directory);
	else if (is(what, L"crash"))
		RaiseException(EXCEPTION_ACCESS_VIOLATION, 0, 0, NULL);
	return 0;
}

int main(void)
{
	int count = 0;
	wchar_t **words = CommandLineToArgvW(GetCommandLineW(), &count);

	/* A crash shows no window that waits for somebody. */
	SetErrorMode(SEM_NOGPFAULTERRORBOX | SEM_FAILCRITICALERRORS);
	return words ? act(count, words) : 2;
}
