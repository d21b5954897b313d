/* SPDX-License-Identifier: MIT */
/* See windows_path.h. */
#include "base/windows_path.h"

#include "base/path.h"
#include "base/upcase_table.h"
#include "base/utf8.h"

/* ---- Names ---------------------------------------------------------------------------------- */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_separator(char c)
{
	return c == '\\' || c == '/';
}

static bool has_drive(struct str text)
{
	return text.len >= 2 && is_letter(text.p[0]) && text.p[1] == ':';
}

static bool is_like(struct str text, const char *capitals)
{
	size_t len = strlen(capitals);

	for (size_t i = 0; i < len && i < text.len; i++)
		if (ascii_lower(text.p[i]) != ascii_lower(capitals[i]))
			return false;
	return text.len == len;
}

/* COM1, LPT9; also with the digits ¹ ² ³ of Latin-1. */
static bool is_port(struct str name)
{
	struct str digit = str_from(name, MIN_OF(name.len, (size_t)3));

	if (!is_like(str_first(name, MIN_OF(name.len, (size_t)3)), "COM") &&
	    !is_like(str_first(name, MIN_OF(name.len, (size_t)3)), "LPT"))
		return false;
	if (digit.len == 1)
		return ascii_is_digit(digit.p[0]);
	return str_is(digit, "\302\271") || str_is(digit, "\302\262") || str_is(digit, "\302\263");
}

/* A device has its name in every directory, and with every ending: NUL.txt. */
static bool is_device(struct str name)
{
	static const char *const devices[] = { "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$" };
	size_t end = str_find(name, '.');
	struct str stem = str_first(name, end);

	while (stem.len && stem.p[stem.len - 1] == ' ')
		stem.len--;
	for (size_t i = 0; i < COUNT_OF(devices); i++)
		if (is_like(stem, devices[i]))
			return true;
	return is_port(stem);
}

const char *windows_bad_name(struct str name)
{
	for (size_t i = 0; i < name.len; i++) {
		if (name.p[i] == ':')
			return "names a stream: an access list belongs to the file, so name that";
		if ((unsigned char)name.p[i] < ' ' || strchr("<>\"|?*\\", name.p[i]))
			return "has a character that no name has on Windows";
	}
	if (str_is(name, ".") || str_is(name, ".."))
		return NULL;
	if (name.len && (name.p[name.len - 1] == '.' || name.p[name.len - 1] == ' '))
		return "ends in a dot or a blank, which most programs drop from a name";
	return is_device(name) ? "is the name of a device" : NULL;
}

bool windows_is_short(struct str name)
{
	size_t dot = str_find(name, '.');
	struct str stem = str_first(name, dot);
	size_t at = stem.len;

	if (stem.len > 8 || (dot < name.len && name.len - dot - 1 > 3) ||
	    str_find(name, ' ') < name.len)
		return false;
	while (at > 0 && ascii_is_digit(stem.p[at - 1]))
		at--;
	return at > 1 && at < stem.len && stem.p[at - 1] == '~';
}

static int fail_name(struct str name, const char *why, struct err *e)
{
	char shown[128];

	return FAIL_CAUSE(e, CAUSE_BAD_PATH, "'%s' %s", utf8_show(name, shown, sizeof(shown)), why);
}

/* ---- Paths ----------------------------------------------------------------------------------- */

/* What a program that opens `*name` reaches: the file of a stream, the name without its end. */
static int drop_unsaid(struct str *name, bool is_last, struct err *e)
{
	struct str whole = *name;
	size_t colon = str_find(whole, ':');

	if (str_is(whole, ".") || str_is(whole, ".."))
		return 0;
	*name = str_first(whole, colon);
	while (is_last && colon == whole.len && name->len &&
	       (name->p[name->len - 1] == '.' || name->p[name->len - 1] == ' '))
		name->len--;
	if (!is_last && name->len > 1 && name->p[name->len - 1] == '.' &&
	    name->p[name->len - 2] != '.')
		name->len--;
	return name->len ? 0 : fail_name(whole, "is no name", e);
}

static bool is_last_name(struct str text, size_t at)
{
	struct str name;

	return !path_next(text, &at, &name);
}

/* The components of `text`, whose separators are '/', each after one. */
static int add_names(struct buf *out, struct str text, enum windows_reading reading, struct err *e)
{
	struct str name;
	size_t at = 0;

	while (path_next(text, &at, &name)) {
		const char *why;

		if (reading == WINDOWS_ASKED && drop_unsaid(&name, is_last_name(text, at), e) < 0)
			return err_result(e);
		why = windows_bad_name(name);
		if (why)
			return fail_name(name, why, e);
		buf_add_char(out, '/');
		buf_add(out, name);
	}
	return 0;
}

/* "\\?\" says that nothing of what follows is changed before it reaches the disk. */
static int strip_verbatim(struct str *text, bool *is_verbatim, struct err *e)
{
	struct str rest = *text;
	struct str name;
	size_t at = 0;

	*is_verbatim = str_has_prefix(rest, STR("\\\\?\\")) || str_has_prefix(rest, STR("\\??\\"));
	if (!*is_verbatim)
		return 0;
	rest = str_from(rest, 4);
	if (!has_drive(rest) || (rest.len > 2 && rest.p[2] != '\\'))
		return fail_name(*text, "is no path of a drive", e);
	if (str_find(rest, '/') < rest.len)
		return fail_name(*text, "has a '/', which is no separator after \\\\?\\", e);
	for (size_t i = 3; i <= rest.len; i++) {
		if (i < rest.len && rest.p[i] != '\\')
			continue;
		name = str_from(str_first(rest, i), MAX_OF(at, (size_t)3));
		if (str_is(name, ".") || str_is(name, ".."))
			return fail_name(*text, "has dots that are not resolved after \\\\?\\", e);
		at = i + 1;
	}
	*text = rest;
	return 0;
}

static int check_kind(struct str text, bool has_base, struct err *e)
{
	if (text.len >= 2 && is_separator(text.p[0]) && is_separator(text.p[1]))
		return fail_name(
			text,
			text.len > 2 && (text.p[2] == '.' || text.p[2] == '?')
				? "is a path of a device, whose files no policy names"
				: "is a path of a network drive, whose access lists Cordon "
				  "does not know",
			e);
	if (has_drive(text) && text.len > 2 && !is_separator(text.p[2]))
		return fail_name(text, "is relative to the directory of a drive", e);
	if (!has_drive(text) && text.len && is_separator(text.p[0]))
		return fail_name(text, "is a path without a drive", e);
	if (!has_drive(text) && !has_base)
		return fail_name(text, "is no absolute path", e);
	return 0;
}

int windows_path(struct arena *a, struct str base, struct str text, enum windows_reading reading,
		 struct str *out, struct err *e)
{
	scoped_buf path = BUF_INIT((size_t)4 * PATH_MAX_BYTES);
	struct str slashes = STR_EMPTY;
	bool is_verbatim;

	if (str_has_nul(text))
		return FAIL(e, ERR_SYNTAX, "a path contains a NUL byte");
	if (strip_verbatim(&text, &is_verbatim, e) < 0 || check_kind(text, base.len > 0, e) < 0)
		return err_result(e);
	if (has_drive(text)) {
		buf_add_char(&path, '/');
		buf_add_char(&path, (char)(text.p[0] & ~0x20));
		buf_add_char(&path, ':');
		text = str_from(text, 2);
	} else {
		buf_add(&path, base);
	}
	if (arena_copy(a, text, &slashes, e) < 0)
		return err_result(e);
	for (char *c = (char *)(uintptr_t)slashes.p; *c; c++)
		if (*c == '\\')
			*c = '/';
	if (add_names(&path, slashes, is_verbatim ? WINDOWS_EXACT : reading, e) < 0 ||
	    buf_check(&path, e) < 0)
		return err_result(e);
	return arena_copy(a, buf_str(&path), out, e);
}

bool windows_is_path(struct str path)
{
	return path.len >= 3 && path.p[0] == '/' && has_drive(str_from(path, 1)) &&
	       (path.len == 3 || path.p[3] == '/');
}

int windows_show(struct arena *a, struct str path, struct str *out, struct err *e)
{
	scoped_buf text = BUF_INIT(path.len + 2);
	const bool is_path = windows_is_path(path);
	bool has_changed = is_path;

	for (size_t i = 0; i < path.len; i++) {
		const bool is_slash = path.p[i] == '/';

		if (is_slash && has_drive(str_from(path, i + 1)))
			has_changed = true;
		else
			buf_add_char(&text, is_slash && is_path ? '\\' : path.p[i]);
	}
	if (path.len == 3 && is_path)
		buf_add_char(&text, '\\');
	*out = path;
	if (!has_changed)
		return 0;
	return buf_check(&text, e) < 0 ? err_result(e) : arena_copy(a, buf_str(&text), out, e);
}

/* ---- The table -------------------------------------------------------------------------------- */

static uint32_t upcase(uint32_t c)
{
	size_t low = 0, high = upcase_run_count;

	if (c < 0x80)
		return c >= 'a' && c <= 'z' ? c - 0x20 : c;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct upcase_run *run = &upcase_runs[middle];

		if (c < run->first)
			high = middle;
		else if (c > run->last)
			low = middle + 1;
		else
			return (c - run->first) % run->step ? c : (uint32_t)((int32_t)c + run->add);
	}
	return c;
}

static void upcase_add(struct buf *out, struct str s)
{
	size_t at = 0;

	while (at < s.len) {
		size_t start = at, len;
		char bytes[4];
		uint32_t c;

		if (utf8_next(s, &at, &c) && utf8_put(upcase(c), bytes, &len)) {
			buf_add(out, (struct str){ bytes, len });
			continue;
		}
		buf_add_char(out, s.p[start]);
		at = start + 1;
	}
}

struct str upcase_in(struct str s, char room[UPCASE_ROOM])
{
	struct buf text = { .p = room, .room = UPCASE_ROOM, .max = UPCASE_ROOM - 1 };

	upcase_add(&text, s);
	return text.failed ? s : buf_str(&text);
}

int upcase_copy(struct arena *a, struct str s, struct str *out, struct err *e)
{
	scoped_buf text = BUF_INIT(s.len * 2 + 1);

	upcase_add(&text, s);
	return buf_check(&text, e) < 0 ? err_result(e) : arena_copy(a, buf_str(&text), out, e);
}
