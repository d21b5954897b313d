/* SPDX-License-Identifier: MIT */
/* Looking at, reading and making files, by Cordon's paths. */
#include "child.h"

#include "os/append.h"
#include "os/kept_file.h"

static char directory[PATH_MAX_BYTES];

/* A directory of this test's own, in Cordon's form. */
static const char *begin(const char *name)
{
	struct err e = ERR_INIT;
	scoped_arena a = ARENA_INIT(1 << 20);
	struct str real;
	char path[PATH_MAX_BYTES];
	wchar_t wide[WIDE_PATH];
	const char *temp = os_environment_find(os_environment(), "TEMP");

	(void)snprintf(path, sizeof(path), "%s\\cordon-%s-%lu", temp ? temp : "C:", name,
		       GetCurrentProcessId());
	if (wide_plain_path(str_of(path), wide) < 0 || !CreateDirectoryW(wide, NULL) ||
	    os_canonical_directory(&a, str_of(path), &real, &e) < 0)
		return NULL;
	(void)snprintf(directory, sizeof(directory), "%.*s", (int)real.len, real.p);
	return directory;
}

static const char *in(const char *name)
{
	static char paths[4][PATH_MAX_BYTES];
	static int next;
	char *path = paths[next++ % 4];

	(void)snprintf(path, PATH_MAX_BYTES, "%s/%s", directory, name);
	return path;
}

static bool make(const char *name, const char *text)
{
	struct err e = ERR_INIT;

	return os_create_file(str_of(in(name)), str_of(text), false, &e) == 0;
}

static bool make_link(const wchar_t *link, const wchar_t *target)
{
	enum { UNPRIVILEGED = 2 };

	return CreateSymbolicLinkW(link, target, SYMBOLIC_LINK_FLAG_DIRECTORY | UNPRIVILEGED) &&
	       GetFileAttributesW(link) != INVALID_FILE_ATTRIBUTES;
}

static int remove_one(void *arg, struct str name, enum os_type type, struct err *e)
{
	char path[PATH_MAX_BYTES];
	wchar_t wide[WIDE_PATH];

	(void)snprintf(path, sizeof(path), "%s/%.*s", (const char *)arg, (int)name.len, name.p);
	if (type == OS_DIR && os_list(str_of(path), remove_one, path, e) < 0)
		return err_result(e);
	if (wide_path(str_of(path), wide) > 0 && !RemoveDirectoryW(wide))
		(void)DeleteFileW(wide);
	return 0;
}

static void end(void)
{
	struct err e = ERR_INIT;
	wchar_t wide[WIDE_PATH];

	(void)!os_list(str_of(directory), remove_one, directory, &e);
	if (wide_path(str_of(directory), wide) > 0)
		(void)RemoveDirectoryW(wide);
}

static enum os_type type_at(const char *path)
{
	struct os_file file = { .type = OS_OTHER };
	struct err e = ERR_INIT;

	CHECK_INT(os_look(str_of(path), &file, &e), 0);
	return file.type;
}

TEST(files_and_directories_are_seen_for_what_they_are)
{
	struct os_file a, b;
	struct err e = ERR_INIT;

	REQUIRE(begin("look"));
	REQUIRE(make("file", "text"));
	CHECK_INT(type_at(directory), OS_DIR);
	CHECK_INT(type_at(in("file")), OS_FILE);
	CHECK_INT(type_at(in("FILE")), OS_FILE);
	CHECK_INT(type_at(in("missing")), OS_MISSING);
	CHECK_INT(type_at(in("file/below")), OS_MISSING);
	CHECK_INT(type_at("/"), OS_DIR);
	CHECK_INT(type_at("/C:"), OS_DIR);
	CHECK_INT(os_look(str_of(in("file")), &a, &e), 0);
	CHECK_INT(os_look(str_of(in("FILE")), &b, &e), 0);
	CHECK(a.inode == b.inode && a.device == b.device && a.inode != 0);
	end();
}

TEST(a_file_is_called_as_its_directory_has_it)
{
	char room[256];
	struct str name;

	REQUIRE(begin("name"));
	REQUIRE(make("MixedCase", ""));
	name = os_true_name(str_of(in("mixedcase")), room, sizeof(room));
	CHECK(str_is(name, "MixedCase"));
	CHECK_INT(os_true_name(str_of(in("mixed*")), room, sizeof(room)).len, 0);
	end();
}

TEST(links_are_seen_read_and_followed)
{
	struct err e = ERR_INIT;
	scoped_buf text = BUF_INIT(PATH_MAX_BYTES);
	wchar_t link[WIDE_PATH], target[WIDE_PATH];
	char real[PATH_MAX_BYTES];

	REQUIRE(begin("link"));
	REQUIRE(make("target/file", "text"));
	REQUIRE(wide_path(str_of(in("link")), link) > 0 &&
		wide_plain_path(str_of(in("target")), target) > 0);
	if (!make_link(link, target)) {
		end();
		SKIP("no symbolic link can be made here: by this user, or by Wine, which only says "
		     "so");
	}
	CHECK_INT(type_at(in("link")), OS_LINK);
	CHECK_INT(type_at(in("link/file")), OS_FILE);
	CHECK_INT(type_at(in("link/.")), OS_DIR);
	CHECK_INT(os_read_link(str_of(in("link")), &text, &e), 0);
	CHECK_STR(text.p, in("target"));
	CHECK(os_real_path(in("link/file"), real));
	CHECK_STR(real, in("target/file"));
	end();
}

static int count_one(void *arg, struct str name, enum os_type type, struct err *e)
{
	int *found = arg;

	(void)e;
	*found += (str_is(name, "file") && type == OS_FILE) +
		  10 * (str_is(name, "dir") && type == OS_DIR);
	if (!str_is(name, "file") && !str_is(name, "dir"))
		*found += 100;
	return 0;
}

TEST(a_directory_is_listed_with_the_types_of_its_names)
{
	struct err e = ERR_INIT;
	int found = 0;

	REQUIRE(begin("list"));
	REQUIRE(make("file", "") && make("dir/x", ""));
	CHECK_INT(os_list(str_of(directory), count_one, &found, &e), 0);
	CHECK_INT(found, 11);
	CHECK_INT(os_list(str_of(in("missing")), count_one, &found, &e), -ERR_SYS);
	CHECK_INT(e.os_error, ENOENT);
	end();
}

TEST(a_file_is_read_whole_or_not_at_all)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	struct os_seen seen = { .is_there = true };
	struct str text;

	REQUIRE(begin("read"));
	REQUIRE(make("file", "some text") && make("dir/x", ""));
	CHECK_INT(os_read_file(&a, str_of(in("file")), 100, &text, &seen, &e), 0);
	CHECK(seen.is_there && str_is(text, "some text"));
	CHECK_INT(os_read_file(&a, str_of(in("file")), 3, &text, &seen, &e), -ERR_LIMIT);
	err_clear(&e);
	CHECK_INT(os_read_file(&a, str_of(in("dir")), 100, &text, &seen, &e), -ERR_POLICY);
	err_clear(&e);
	CHECK_INT(os_read_file(&a, str_of(in("none")), 100, &text, &seen, &e), 0);
	CHECK(!seen.is_there);
	CHECK_INT(os_read_file(&a, str_of(in("file/below")), 100, &text, &seen, &e), -ERR_POLICY);
	end();
}

TEST(what_leads_out_of_a_directory_is_not_read_as_beneath_it)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	struct os_seen seen;
	struct str text;
	wchar_t link[WIDE_PATH], target[WIDE_PATH];

	REQUIRE(begin("beneath"));
	REQUIRE(make("inside/.cordon/config", "ours") && make("outside/config", "theirs") &&
		make("other/x", ""));
	CHECK_INT(os_read_file_beneath(&a, str_of(in("inside")), STR(".cordon/config"), 100, &text,
				       &seen, &e),
		  0);
	CHECK(seen.is_there && str_is(text, "ours"));
	REQUIRE(wide_path(str_of(in("other/.cordon")), link) > 0 &&
		wide_plain_path(str_of(in("outside")), target) > 0);
	if (!make_link(link, target)) {
		end();
		SKIP("no symbolic link can be made here: by this user, or by Wine, which only says "
		     "so");
	}
	CHECK_INT(os_read_file_beneath(&a, str_of(in("other")), STR(".cordon/config"), 100, &text,
				       &seen, &e),
		  -ERR_POLICY);
	end();
}

TEST(a_file_is_created_once_and_replaced_when_asked)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	struct os_seen seen;
	struct str text;
	int found = 0;

	REQUIRE(begin("create"));
	CHECK_INT(os_create_file(str_of(in("file")), STR("one"), false, &e), 0);
	CHECK_INT(os_create_file(str_of(in("file")), STR("two"), false, &e), -ERR_SYS);
	CHECK_INT(e.os_error, EEXIST);
	err_clear(&e);
	CHECK_INT(os_create_file(str_of(in("file")), STR("three"), true, &e), 0);
	CHECK_INT(os_read_file(&a, str_of(in("file")), 100, &text, &seen, &e), 0);
	CHECK(str_is(text, "three"));
	/* Nothing is left of the attempts. */
	CHECK_INT(os_list(str_of(directory), count_one, &found, &e), 0);
	CHECK_INT(found, 1);
	end();
}

TEST(a_kept_file_is_read_written_and_locked)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	struct os_kept kept;
	struct os_kept_stamp stamp;
	struct os_kept_lock lock = OS_KEPT_LOCK_INIT;
	struct str text;

	REQUIRE(begin("kept"));
	kept = (struct os_kept){ .path = str_of(in("state/file")) };
	CHECK_INT(os_kept_read(&kept, &a, 100, &text, &stamp, &e), 0);
	CHECK(text.len == 0 && stamp.inode == 0);
	REQUIRE(os_kept_lock(&kept, &lock, &e) == 0);
	CHECK_INT(os_kept_write(&kept, &lock, STR("text"), &e), 0);
	CHECK(os_kept_is_changed(&kept, &stamp));
	CHECK_INT(os_kept_read(&kept, &a, 100, &text, &stamp, &e), 0);
	CHECK(str_is(text, "text") && !os_kept_is_changed(&kept, &stamp));
	CHECK_INT(os_kept_write(&kept, &lock, STR("other"), &e), 0);
	CHECK(os_kept_is_changed(&kept, &stamp));
	os_kept_unlock(&lock);
	CHECK_INT(os_kept_lock(&kept, &lock, &e), 0);
	os_kept_unlock(&lock);
	end();
}

TEST(lines_are_appended)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	struct os_seen seen;
	struct str text;
	int fd;

	REQUIRE(begin("append"));
	for (int i = 0; i < 2; i++) {
		REQUIRE(os_append_open(str_of(in("log")), &fd, &e) == 0);
		CHECK_INT(os_append(fd, STR("line\n")), 0);
		handle_close(fd);
	}
	CHECK_INT(os_read_file(&a, str_of(in("log")), 100, &text, &seen, &e), 0);
	CHECK(str_is(text, "line\nline\n"));
	end();
}
