/* SPDX-License-Identifier: MIT */
/* What one grant has of another, and how a grant may be written. */
#include "approve/approve.h"
#include "test.h"

static bool covers(enum ask_kind kind, const char *wide, const char *narrow)
{
	struct grant w = { .kind = kind, .subject = str_of(wide), .is_dir = true };
	struct grant n = { .kind = kind, .subject = str_of(narrow), .is_dir = true };

	return grant_covers(&w, &n);
}

static bool is_written_well(enum ask_kind kind, const char *subject)
{
	struct grant g = { .kind = kind, .subject = str_of(subject) };

	return grant_is_well_formed(&g);
}

TEST(a_directory_covers_what_is_below_it_by_components)
{
	CHECK(covers(ASK_WRITE, "/a", "/a"));
	CHECK(covers(ASK_WRITE, "/a", "/a/b"));
	CHECK(covers(ASK_WRITE, "/", "/a"));
	CHECK(!covers(ASK_WRITE, "/a", "/ab"));
	CHECK(!covers(ASK_WRITE, "/a/b", "/a"));
	CHECK(!covers(ASK_WRITE, "/a", "/"));
}

TEST(a_file_covers_itself_alone)
{
	struct grant file = { .kind = ASK_WRITE, .subject = STR("/a") };
	struct grant dir = { .kind = ASK_WRITE, .subject = STR("/a"), .is_dir = true };
	struct grant below = { .kind = ASK_WRITE, .subject = STR("/a/b") };

	CHECK(grant_covers(&file, &file));
	CHECK(grant_covers(&dir, &file));
	CHECK(!grant_covers(&file, &dir));
	CHECK(!grant_covers(&file, &below));
}

TEST(a_host_without_a_port_covers_every_port_of_that_host)
{
	CHECK(covers(ASK_CONNECT, "a.com", "a.com:443"));
	CHECK(covers(ASK_CONNECT, "a.com", "a.com"));
	CHECK(covers(ASK_CONNECT, "a.com:443", "a.com:443"));
	CHECK(!covers(ASK_CONNECT, "a.com:443", "a.com"));
	CHECK(!covers(ASK_CONNECT, "a.com:443", "a.com:80"));
	CHECK(!covers(ASK_CONNECT, "a.com", "b.a.com"));
	CHECK(!covers(ASK_CONNECT, "*", "a.com"));
	CHECK(covers(ASK_CONNECT, "::1", "[::1]:80"));
	CHECK(covers(ASK_CONNECT, "[::1]:80", "[::1]:80"));
	CHECK(!covers(ASK_CONNECT, "[::1]:80", "::1"));
}

TEST(a_socket_covers_itself_alone)
{
	CHECK(covers(ASK_UNIX_SOCKET, "/run/x", "/run/x"));
	CHECK(!covers(ASK_UNIX_SOCKET, "/run", "/run/x"));
}

TEST(kinds_cover_nothing_of_each_other)
{
	struct grant path = { .kind = ASK_WRITE, .subject = STR("/run/x"), .is_dir = true };
	struct grant socket = { .kind = ASK_UNIX_SOCKET, .subject = STR("/run/x") };

	CHECK(!grant_covers(&path, &socket));
	CHECK(!grant_covers(&socket, &path));
}

TEST(a_grant_of_a_path_is_plain)
{
	CHECK(is_written_well(ASK_WRITE, "/a/b"));
	CHECK(is_written_well(ASK_WRITE, "/a/..b"));
	CHECK(is_written_well(ASK_WRITE, "/"));
	CHECK(!is_written_well(ASK_WRITE, "/a/../etc"));
	CHECK(!is_written_well(ASK_WRITE, "/a/."));
	CHECK(!is_written_well(ASK_WRITE, "/a//b"));
	CHECK(!is_written_well(ASK_WRITE, "/a/"));
	CHECK(!is_written_well(ASK_WRITE, "//a"));
	CHECK(!is_written_well(ASK_WRITE, "a"));
	CHECK(!is_written_well(ASK_WRITE, ""));
	CHECK(!is_written_well(ASK_UNIX_SOCKET, "/run/../x"));
	CHECK(is_written_well(ASK_UNIX_SOCKET, "/run/x"));
}

TEST(a_grant_of_a_host_has_a_port_or_none)
{
	CHECK(is_written_well(ASK_CONNECT, "a.com"));
	CHECK(is_written_well(ASK_CONNECT, "a.com:443"));
	CHECK(is_written_well(ASK_CONNECT, "[::1]:443"));
	CHECK(!is_written_well(ASK_CONNECT, "a.com:"));
	CHECK(!is_written_well(ASK_CONNECT, "a.com:0443"));
	CHECK(!is_written_well(ASK_CONNECT, "a.com:65536"));
	CHECK(!is_written_well(ASK_CONNECT, ""));
}

TEST(names_are_read_back)
{
	enum ask_kind kind;
	enum grant_scope scope;

#define CHECK_KIND(id, name, words)              \
	CHECK(ask_kind_parse(STR(name), &kind)); \
	CHECK_INT(kind, ASK_##id);               \
	CHECK_STR(ask_kind_name(kind), name);    \
	CHECK_STR(ask_kind_words(kind), words);
	ASK_KINDS(CHECK_KIND)
#define CHECK_SCOPE(id, name, words)                 \
	CHECK(grant_scope_parse(STR(name), &scope)); \
	CHECK_INT(scope, SCOPE_##id);                \
	CHECK_STR(grant_scope_name(scope), name);    \
	CHECK_STR(grant_scope_words(scope), words);
	GRANT_SCOPES(CHECK_SCOPE)
	CHECK(!ask_kind_parse(STR("writes"), &kind));
	CHECK(!grant_scope_parse(STR(""), &scope));
}
