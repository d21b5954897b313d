/* SPDX-License-Identifier: MIT */
/*
 * The files, journals and locks of a real system (backend/windows/acl_files.c, acl_state.c). Where access lists are not kept
 * as they were written, as by Wine, a run has to be refused.
 */
#include "os/windows/api.h"

#include "../unit/test.h"
#include "backend/windows/acl_apply.h"
#include "backend/windows/sid.h"
#include "base/path.h"
#include "os/windows/text.h"

static struct arena arena = ARENA_INIT(64 << 20);
static struct err error = ERR_INIT;
static struct acl_system files;
static char top[PATH_MAX_BYTES];

/* A directory of its own for each test. */
static bool begin(void)
{
	static unsigned count;
	wchar_t temporary[MAX_PATH], path[MAX_PATH];
	char state[PATH_MAX_BYTES];

	err_clear(&error);
	GetTempPathW(MAX_PATH, temporary);
	swprintf(path, MAX_PATH, L"%lscordon-acl-%lu-%u", temporary, GetCurrentProcessId(),
		 ++count);
	CHECK(CreateDirectoryW(path, NULL));
	CHECK(narrow_path(path, wcslen(path), top) > 0);
	snprintf(state, sizeof(state), "%s/state", top);
	CHECK(acl_system_open(&arena, str_of(state), &files, &error) == 0);
	return error.code == 0;
}

static struct str at(const char *name)
{
	struct str path = STR_EMPTY;

	CHECK(arena_printf(&arena, &path, &error, "%s/%s", top, name) == 0);
	return path;
}

static void write_file(const char *name, const char *text)
{
	wchar_t wide[WIDE_PATH];
	DWORD written;
	HANDLE handle;

	CHECK(wide_path(at(name), wide) > 0);
	handle = CreateFileW(wide, GENERIC_WRITE, 0, NULL, CREATE_ALWAYS, 0, NULL);
	CHECK(handle != INVALID_HANDLE_VALUE);
	CHECK(WriteFile(handle, text, (DWORD)strlen(text), &written, NULL));
	CloseHandle(handle);
}

static bool is_there(const char *name)
{
	wchar_t wide[WIDE_PATH];

	return wide_path(at(name), wide) > 0 && GetFileAttributesW(wide) != INVALID_FILE_ATTRIBUTES;
}

static void remove_below(const wchar_t *dir)
{
	wchar_t path[WIDE_PATH];
	WIN32_FIND_DATAW found;
	HANDLE search;

	swprintf(path, WIDE_PATH, L"%ls\\*", dir);
	search = FindFirstFileW(path, &found);
	if (search == INVALID_HANDLE_VALUE)
		return;
	do {
		if (!wcscmp(found.cFileName, L".") || !wcscmp(found.cFileName, L".."))
			continue;
		swprintf(path, WIDE_PATH, L"%ls\\%ls", dir, found.cFileName);
		if (found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY)
			remove_below(path);
		if (!DeleteFileW(path))
			RemoveDirectoryW(path);
	} while (FindNextFileW(search, &found));
	FindClose(search);
	RemoveDirectoryW(dir);
}

static void end(void)
{
	wchar_t wide[WIDE_PATH];

	acl_system_close(&files);
	if (wide_path(str_of(top), wide) > 0)
		remove_below(wide);
	CHECK(!is_there("."));
}

static struct acl_object open_object(const char *name)
{
	struct acl_object object = { .handle = NULL };

	CHECK(files.open(files.user, at(name), &object, &error) == 0);
	return object;
}

/* ---- Objects ---------------------------------------------------------------------------------------- */

TEST(an_object_is_opened_by_itself_and_has_an_identity)
{
	struct acl_object dir, file, again, missing;

	REQUIRE(begin());
	CHECK(files.make(files.user, at("d"), true, &error) == 0);
	CHECK(files.make(files.user, at("d/f"), false, &error) == 0);
	CHECK(files.make(files.user, at("d/f"), false, &error) < 0);
	err_clear(&error);
	dir = open_object("d");
	file = open_object("d/f");
	missing = open_object("d/missing");
	CHECK(dir.handle && dir.is_dir && !dir.is_link);
	CHECK(file.handle && !file.is_dir && !missing.handle);
	CHECK(memcmp(dir.id, file.id, ACL_ID_BYTES) != 0);
	CHECK(files.open_in(files.user, &dir, STR("f"), &again, &error) == 0 && again.handle);
	CHECK(memcmp(again.id, file.id, ACL_ID_BYTES) == 0);
	files.close(files.user, &again);
	CHECK(files.open_in(files.user, &dir, STR("g"), &missing, &error) == 0 && !missing.handle);
	CHECK(files.open_in(files.user, &dir, STR(".."), &missing, &error) < 0 || !missing.handle);
	err_clear(&error);
	files.close(files.user, &dir);
	files.close(files.user, &file);
	end();
}

static int count_names(void *arg, struct str name, struct err *e)
{
	size_t *count = arg;

	(void)e;
	*count += str_is(name, "a") || str_is(name, "b c") ? 1 : 100;
	return 0;
}

TEST(only_what_is_empty_is_removed)
{
	struct acl_object dir, full, empty;
	bool is_empty = true;
	size_t count = 0;

	REQUIRE(begin());
	CHECK(files.make(files.user, at("d"), true, &error) == 0);
	write_file("d/a", "text");
	write_file("d/b c", "");
	dir = open_object("d");
	full = open_object("d/a");
	empty = open_object("d/b c");
	CHECK(files.list(files.user, &dir, count_names, &count, &error) == 0);
	CHECK_INT(count, 2);
	CHECK(files.look_empty(files.user, &dir, &is_empty, &error) == 0 && !is_empty);
	CHECK(files.look_empty(files.user, &full, &is_empty, &error) == 0 && !is_empty);
	CHECK(files.look_empty(files.user, &empty, &is_empty, &error) == 0 && is_empty);
	CHECK(files.discard(files.user, &dir, &error) == 0 && is_there("d")); /* it is not empty */
	CHECK(files.discard(files.user, &empty, &error) == 0);
	files.close(files.user, &empty);
	CHECK(!is_there("d/b c") && is_there("d/a"));
	files.close(files.user, &dir);
	files.close(files.user, &full);
	end();
}

static bool shows_link(const wchar_t *path)
{
	HANDLE handle =
		CreateFileW(path, FILE_READ_ATTRIBUTES, FILE_SHARE_READ, NULL, OPEN_EXISTING,
			    FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS, NULL);
	FILE_ATTRIBUTE_TAG_INFO tag = { 0 };
	bool shows =
		GetFileInformationByHandleEx(handle, FileAttributeTagInfo, &tag, sizeof(tag)) &&
		(tag.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT);

	CloseHandle(handle);
	return shows;
}

TEST(a_path_through_a_link_is_refused)
{
	wchar_t link[WIDE_PATH], target[WIDE_PATH];
	struct acl_object object = { .handle = NULL };

	REQUIRE(begin());
	CHECK(files.make(files.user, at("d"), true, &error) == 0);
	write_file("d/f", "");
	CHECK(wide_path(at("link"), link) > 0 && wide_path(at("d"), target) > 0);
	if (!CreateSymbolicLinkW(link, target, SYMBOLIC_LINK_FLAG_DIRECTORY) || !shows_link(link)) {
		end();
		SKIP("this user may not make links, or (Wine) a handle of one is its target's");
	}
	CHECK(files.open(files.user, at("d/f"), &object, &error) == 0 && object.handle);
	files.close(files.user, &object);
	CHECK(files.open(files.user, at("link/f"), &object, &error) < 0);
	CHECK_INT(error.cause, CAUSE_FILE_CHANGED);
	end();
}

/* ---- Journals and locks --------------------------------------------------------------------------------- */

static int remember(void *arg, struct str name, struct err *e)
{
	(void)e;
	snprintf(arg, MAX_PATH, "%.*s", STR_ARG(name));
	return 0;
}

TEST(a_journal_is_held_until_it_is_closed_and_can_be_read_meanwhile)
{
	struct acl_journal held = { .handle = NULL }, other = { .handle = NULL };
	struct buf text = BUF_INIT(4096);
	char name[MAX_PATH] = "";

	REQUIRE(begin());
	CHECK(files.journal_new(files.user, &arena, &held, &error) == 0 && held.handle);
	CHECK(files.journal_add(files.user, &held, STR("one\n"), &error) == 0);
	CHECK(files.journal_add(files.user, &held, STR("two\n"), &error) == 0);
	CHECK(files.journal_list(files.user, remember, name, &error) == 0);
	CHECK_STR(name, held.name.p);
	CHECK(files.journal_read(files.user, held.name, &text, &error) == 0);
	CHECK(str_is(buf_str(&text), "one\ntwo\n"));
	CHECK(files.journal_take(files.user, held.name, &other, &error) == 0 && !other.handle);
	files.journal_close(files.user, &held);
	CHECK(files.journal_take(files.user, str_of(name), &other, &error) == 0 && other.handle);
	CHECK(files.journal_add(files.user, &other, STR("three\n"), &error) == 0);
	buf_clear(&text);
	CHECK(files.journal_read(files.user, str_of(name), &text, &error) == 0);
	CHECK(str_is(buf_str(&text), "one\ntwo\nthree\n"));
	CHECK(files.journal_remove(files.user, &other, &error) == 0);
	files.journal_close(files.user, &other);
	name[0] = '\0';
	CHECK(files.journal_list(files.user, remember, name, &error) == 0 && !name[0]);
	buf_done(&text);
	end();
}

static DWORD WINAPI lock_beside(void *arg)
{
	struct acl_system *second = arg;
	struct err e = ERR_INIT;

	if (second->lock(second->user, &e) < 0)
		return 1;
	second->unlock(second->user);
	return 0;
}

TEST(the_lock_of_the_machine_keeps_others_out)
{
	struct acl_system second;
	HANDLE thread;

	REQUIRE(begin());
	REQUIRE(acl_system_open(&arena, at("state2"), &second, &error) == 0);
	CHECK(files.lock(files.user, &error) == 0);
	thread = CreateThread(NULL, 0, lock_beside, &second, 0, NULL);
	CHECK_INT(WaitForSingleObject(thread, 300), WAIT_TIMEOUT);
	files.unlock(files.user);
	CHECK_INT(WaitForSingleObject(thread, 20000), WAIT_OBJECT_0);
	CloseHandle(thread);
	acl_system_close(&second);
	end();
}

/* ---- A run ---------------------------------------------------------------------------------------------- */

/* Whether a list keeps an entry for a SID that nobody has. Nothing of Cordon's is used to find out. */
static bool keeps_lists(void)
{
	PSECURITY_DESCRIPTOR wanted = NULL, found = NULL;
	char room[4096];
	wchar_t wide[WIDE_PATH];
	wchar_t *text = NULL;
	DWORD needed;
	bool keeps;

	write_file("probe", "");
	CHECK(wide_path(at("probe"), wide) > 0);
	found = room;
	keeps = ConvertStringSecurityDescriptorToSecurityDescriptorW(
			L"D:(D;;DC;;;S-1-5-21-9-9-9-9-9-9-9)(A;;FA;;;WD)", SDDL_REVISION_1, &wanted,
			NULL) &&
		SetFileSecurityW(wide, DACL_SECURITY_INFORMATION, wanted) &&
		GetFileSecurityW(wide, DACL_SECURITY_INFORMATION, found, sizeof(room), &needed) &&
		ConvertSecurityDescriptorToStringSecurityDescriptorW(
			found, SDDL_REVISION_1, DACL_SECURITY_INFORMATION, &text, NULL) &&
		wcsstr(text, L"S-1-5-21-9-9-9-9-9-9-9");
	LocalFree(text);
	LocalFree(wanted);
	return keeps;
}

TEST(a_run_gets_entries_that_are_kept_or_is_refused)
{
	const unsigned char digest[SHA256_BYTES] = { 7 };
	struct windows_acl_cleanup cleaned;
	struct windows_acl_run *run = NULL;
	struct windows_acl_ace ace = { .inherits = true, .access = WINDOWS_WRITE };
	struct windows_acl_place place = { .aces = &ace, .count = 1 };
	const struct windows_acl_request request = { .places = &place, .count = 1 };
	struct str text = STR_EMPTY;
	bool keeps;
	int r;

	REQUIRE(begin());
	keeps = keeps_lists();
	printf("# this system %s access lists\n", keeps ? "keeps" : "does not keep");
	CHECK(files.make(files.user, at("d"), true, &error) == 0);
	write_file("d/f", "");
	place.path = at("d");
	CHECK(sid_of_capability(&arena, digest, &text, &error) == 0);
	CHECK(sid_parse(&arena, text, &ace.sid, &error) == 0);
	r = windows_acl_apply(&arena, &files, &request, &run, &error);
	if (keeps) {
		CHECK(r == 0 && windows_acl_check(run, &request, &error) == 0);
		CHECK(windows_acl_end(run, &error) == 0);
	} else {
		CHECK(r < 0);
		/* Or the system's own lists are in no order, which is refused before. */
		CHECK(error.cause == CAUSE_WITHOUT_EFFECT || error.cause == CAUSE_ACL_UNUSUAL);
		printf("# %s\n", error.text);
	}
	err_clear(&error);
	CHECK(windows_acl_cleanup(&arena, &files, &cleaned, &error) == 0);
	CHECK_INT(cleaned.held + cleaned.lost, 0);
	end();
}
