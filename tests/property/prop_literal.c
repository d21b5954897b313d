/* SPDX-License-Identifier: MIT */
/*
 * A key means the path that it spells. Escaped, a name of any characters is that
 * one path and no other; as it is, a deny key denies what glob_match_deepest()
 * says, be it written whole or as the subpath of a table.
 */
#include "../support/world.h"
#include "../unit/test.h"
#include "base/path.h"
#include "base/utf8.h"

enum { NAME_CHARS = 8, TEXT_BYTES = 4096, TRIES = 24 };

static const char punctuation[] = "*?[]{},\\!^-.~:ab";

static uint64_t below(uint64_t *state, uint64_t n)
{
	return test_random(state) % n;
}

/* Mostly what means something to a glob, now and then anything that TOML can say. */
static uint32_t random_character(uint64_t *state)
{
	for (;;) {
		uint32_t c = below(state, 5)
				     ? (uint32_t)punctuation[below(state, sizeof(punctuation) - 1)]
				     : (uint32_t)below(state, below(state, 2) ? 0x80 : 0x3000);

		if (c != 0 && c != '/')
			return c;
	}
}

static void random_name(uint64_t *state, struct buf *out)
{
	size_t count = 1 + below(state, NAME_CHARS);

	buf_clear(out);
	while (count-- > 0) {
		char bytes[4];
		size_t len;

		if (utf8_put(random_character(state), bytes, &len))
			buf_add(out, (struct str){ bytes, len });
	}
}

/* `name` with a '\' before all that is punctuation, and before a letter now and then. */
static void add_escaped(uint64_t *state, struct buf *out, struct str name)
{
	for (size_t i = 0; i < name.len; i++) {
		if (strchr("*?[{\\", name.p[i]) ||
		    ((unsigned char)name.p[i] < 0x80 && below(state, 3) == 0))
			buf_add_char(out, '\\');
		buf_add_char(out, name.p[i]);
	}
}

/* As a TOML string. */
static void add_quoted(struct buf *out, struct str text)
{
	size_t at = 0;
	uint32_t c;

	buf_add_char(out, '"');
	while (utf8_next(text, &at, &c))
		buf_printf(out, "\\U%08x", (unsigned)c);
	buf_add_char(out, '"');
}

/* A profile that writes /r and says `access` for `key` below it, as a whole key or a subpath. */
static void write_policy(uint64_t *state, struct buf *out, struct str key, const char *access)
{
	scoped_buf whole = BUF_INIT(TEXT_BYTES);

	buf_clear(out);
	buf_add_text(out, "[permissions.dev.filesystem]\n':root' = 'read'\n");
	if (below(state, 2)) {
		buf_add_text(out, "'/r' = { '.' = 'write', ");
		add_quoted(out, key);
		buf_printf(out, " = '%s' }\n", access);
		return;
	}
	buf_add_text(&whole, "/r/");
	buf_add(&whole, key);
	buf_add_text(out, "'/r' = 'write'\n");
	add_quoted(out, buf_str(&whole));
	buf_printf(out, " = '%s'\n", access);
}

/* Some name near `name`: with a character more, less, or another one. */
static void mutate(uint64_t *state, struct buf *out, struct str name)
{
	size_t at = (size_t)below(state, name.len + 1);
	size_t skip = (size_t)below(state, 2);

	buf_clear(out);
	buf_add(out, str_first(name, at));
	if (below(state, 2))
		buf_add_char(out, punctuation[below(state, sizeof(punctuation) - 1)]);
	buf_add(out, str_from(name, MIN_OF(at + skip, name.len)));
}

static bool is_name(struct str s)
{
	return s.len > 0 && !str_is(s, ".") && !str_is(s, "..");
}

static enum access access_below(const struct world *w, struct str name)
{
	scoped_buf path = BUF_INIT(TEXT_BYTES);

	buf_add_text(&path, "/r/");
	buf_add(&path, name);
	return plan_resolve(w->plan, buf_str(&path)).access;
}

static bool report(const char *what, struct str name, const struct buf *policy)
{
	char shown[256];

	printf("# %s: %s\n", what, utf8_show(name, shown, sizeof(shown)));
	test_print_str("policy", buf_str(policy).p);
	return test_check(false, __FILE__, __LINE__, what);
}

static void init(struct world *w)
{
	world_init(w, "d /r\nd /home/me\nd /repo\n", "/repo");
	w->profile = "dev";
}

/* False ends the test. */
static bool try_literal(uint64_t *state, const struct world *base, struct world *w, size_t *tried)
{
	static const char *const accesses[] = { "deny", "read", "write" };
	enum access access = (enum access)below(state, 3);
	scoped_buf name = BUF_INIT(TEXT_BYTES), key = BUF_INIT(TEXT_BYTES);
	scoped_buf policy = BUF_INIT(TEXT_BYTES), other = BUF_INIT(TEXT_BYTES);

	random_name(state, &name);
	if (!is_name(buf_str(&name)))
		return true;
	add_escaped(state, &key, buf_str(&name));
	write_policy(state, &policy, buf_str(&key), accesses[access]);
	w->user = buf_str(&policy).p;
	if (!world_plan(w)) {
		printf("# %s\n", w->e.text);
		return report("a name is refused", buf_str(&name), &policy);
	}
	++*tried;
	/* A write entry that is missing is skipped: the answer stays what it was. */
	if (access_below(w, buf_str(&name)) != access)
		return report("not what its key says", buf_str(&name), &policy);
	for (size_t i = 0; i < TRIES; i++) {
		mutate(state, &other, buf_str(&name));
		if (!is_name(buf_str(&other)) || str_eq(buf_str(&other), buf_str(&name)))
			continue;
		if (access_below(w, buf_str(&other)) != access_below(base, buf_str(&other)))
			return report("another path changed", buf_str(&other), &policy);
	}
	return true;
}

TEST(an_escaped_key_is_exactly_the_path_that_it_spells)
{
	uint64_t state = test_seed();
	size_t cases = test_cases(20000), tried = 0;
	scoped_world base;
	scoped_world w;

	init(&base);
	init(&w);
	base.user = "[permissions.dev.filesystem]\n':root' = 'read'\n'/r' = 'write'\n";
	REQUIRE(world_plan(&base));
	for (size_t n = 0; n < cases; n++)
		if (!try_literal(&state, &base, &w, &tried))
			return;
	CHECK(tried > cases / 2);
}

/* Short patterns and paths over few letters, so that they often match. */
static void random_text(uint64_t *state, const char *alphabet, struct buf *out)
{
	size_t count = 1 + below(state, NAME_CHARS);

	buf_clear(out);
	while (count-- > 0)
		buf_add_char(out, alphabet[below(state, strlen(alphabet))]);
}

static bool is_plain_below(struct str path)
{
	size_t at = 0, len = 0;
	struct str name;

	while (path_next(path, &at, &name)) {
		if (!is_name(name))
			return false;
		len += name.len + (len > 0);
	}
	return len == path.len && len > 0;
}

static bool try_pattern(uint64_t *state, struct world *w, size_t *tried, size_t *denied)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	scoped_buf key = BUF_INIT(TEXT_BYTES), policy = BUF_INIT(TEXT_BYTES);
	scoped_buf path = BUF_INIT(TEXT_BYTES);
	struct err e = ERR_INIT;
	const struct glob *g;

	random_text(state, "aab]}[{,*?\\/!-", &key);
	/* What a key may not be, as P5 and P6 have it, and "" for the tables. */
	g = glob_parse(&a, buf_str(&key), &e);
	write_policy(state, &policy, buf_str(&key), "deny");
	w->user = buf_str(&policy).p;
	if (!world_plan(w))
		return true;
	/* Slashes at the ends of a whole key are tidied away, which a glob refuses. */
	if (!g)
		return true;
	++*tried;
	for (size_t i = 0; i < TRIES; i++) {
		bool is_denied, matches;

		if (below(state, 2))
			random_text(state, "ab]}[{,/", &path);
		else
			mutate(state, &path, buf_str(&key));
		if (!is_plain_below(buf_str(&path)))
			continue;
		is_denied = access_below(w, buf_str(&path)) == ACCESS_DENY;
		matches = glob_match_deepest(g, buf_str(&path)) >= 0;
		*denied += is_denied;
		if (is_denied != matches)
			return report(matches ? "matches and is not denied"
					      : "is denied and does not match",
				      buf_str(&path), &policy);
	}
	return true;
}

TEST(a_deny_key_denies_what_its_glob_matches)
{
	uint64_t state = test_seed();
	size_t cases = test_cases(40000), tried = 0, denied = 0;
	scoped_world w;

	init(&w);
	for (size_t n = 0; n < cases; n++)
		if (!try_pattern(&state, &w, &tried, &denied))
			return;
	printf("# %zu of %zu patterns taken, %zu paths denied\n", tried, cases, denied);
	CHECK(tried > cases / 4);
	CHECK(denied > cases / 4);
}
