/* SPDX-License-Identifier: MIT */
/* `limits` (P23): numbers with or without a unit. */
#include "policy/decode.h"

/* In milliseconds and bytes. Bare k, M, G, T are binary, as ulimit and systemd have them. */
static const struct suffix {
	const char *text;
	enum limit_unit unit;
	uint64_t factor;
} suffixes[] = {
	{ "ms", UNIT_TIME, 1 },
	{ "s", UNIT_TIME, 1000 },
	{ "m", UNIT_TIME, 60 * UINT64_C(1000) },
	{ "h", UNIT_TIME, 3600 * UINT64_C(1000) },
	{ "B", UNIT_BYTES, 1 },
	{ "k", UNIT_BYTES, UINT64_C(1) << 10 },
	{ "K", UNIT_BYTES, UINT64_C(1) << 10 },
	{ "M", UNIT_BYTES, UINT64_C(1) << 20 },
	{ "G", UNIT_BYTES, UINT64_C(1) << 30 },
	{ "T", UNIT_BYTES, UINT64_C(1) << 40 },
	{ "KiB", UNIT_BYTES, UINT64_C(1) << 10 },
	{ "MiB", UNIT_BYTES, UINT64_C(1) << 20 },
	{ "GiB", UNIT_BYTES, UINT64_C(1) << 30 },
	{ "TiB", UNIT_BYTES, UINT64_C(1) << 40 },
	{ "kB", UNIT_BYTES, 1000 },
	{ "KB", UNIT_BYTES, 1000 },
	{ "MB", UNIT_BYTES, 1000 * UINT64_C(1000) },
	{ "GB", UNIT_BYTES, UINT64_C(1000) * 1000 * 1000 },
	{ "TB", UNIT_BYTES, UINT64_C(1000) * 1000 * 1000 * 1000 },
};

/* What a number without a unit counts: seconds, bytes, things. */
static uint64_t plain_factor(const struct key *k)
{
	return k->unit == UNIT_TIME ? 1000 : 1;
}

/* The unit that differs from `text` only in case, as "GB" from "gb"; NULL if there is none. */
static const char *find_unit(struct str text, enum limit_unit unit)
{
	for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
		struct str known = str_of(suffixes[i].text);
		size_t same = 0;

		while (same < known.len && same < text.len &&
		       ascii_lower(known.p[same]) == ascii_lower(text.p[same]))
			same++;
		if (suffixes[i].unit == unit && same == known.len && same == text.len)
			return suffixes[i].text;
	}
	return NULL;
}

static int fail_form(const struct toml *value, const struct key *k, struct err *e)
{
	struct str digits = value->string;
	const char *meant;

	for (digits.len = 0;
	     digits.len < value->string.len && ascii_is_digit(value->string.p[digits.len]);)
		digits.len++;
	meant = find_unit(str_from(value->string, digits.len), k->unit);
	if (meant && digits.len > 0)
		return FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, value->origin,
				     "'limits.%s' can't be \"%s\"; did you mean \"%s%s\"?", k->name,
				     SHOWN(value->string), SHOWN(digits), meant);
	return FAIL_CAUSE_AT(
		e, CAUSE_BAD_VALUE, value->origin,
		"'limits.%s' can't be \"%s\"; write a whole number and a unit, like %s", k->name,
		SHOWN(value->string),
		k->unit == UNIT_TIME ? "\"250ms\", \"90s\", \"5m\" or \"1h\""
				     : "\"64k\", \"512MiB\" or \"2GB\"");
}

static int fail_large(const struct toml *value, const struct key *k, struct err *e)
{
	return FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, value->origin,
			     "'limits.%s' is too large; leave it out for no limit", k->name);
}

/* Splits "512MiB" into `*number` and what its unit counts, `*factor`. */
static int parse_text(const struct toml *value, const struct key *k, uint64_t *number,
		      uint64_t *factor, struct err *e)
{
	struct str text = value->string;
	uint64_t n = 0;
	size_t i = 0;

	for (; i < text.len && ascii_is_digit(text.p[i]); i++) {
		if (n > (uint64_t)INT64_MAX / 10 - 1)
			return fail_large(value, k, e);
		n = n * 10 + (uint64_t)(text.p[i] - '0');
	}
	if (i == 0)
		return fail_form(value, k, e);
	text = str_from(text, i);
	*number = n;
	*factor = plain_factor(k);
	if (text.len == 0)
		return 0;
	for (size_t j = 0; j < COUNT_OF(suffixes); j++) {
		if (suffixes[j].unit != k->unit || !str_is(text, suffixes[j].text))
			continue;
		*factor = suffixes[j].factor;
		return 0;
	}
	return fail_form(value, k, e);
}

int decode_limit(const struct key *k, const struct toml *value, uint64_t *out, struct err *e)
{
	uint64_t factor = plain_factor(k);
	uint64_t number = 0;

	if (value->type == TOML_STRING) {
		int r = parse_text(value, k, &number, &factor, e);

		if (r < 0)
			return r;
	} else if (value->integer > 0) {
		number = (uint64_t)value->integer;
	}
	if (number == 0)
		return FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, value->origin,
				     "'limits.%s' has to be at least 1; leave it out for no limit",
				     k->name);
	if (number > (uint64_t)INT64_MAX / factor)
		return fail_large(value, k, e);
	*out = number * factor;
	return 0;
}

const char *limit_of_processes(const struct limits *limits)
{
	static const enum limit of_processes[] = { LIMIT_FILE_SIZE, LIMIT_OPEN_FILES,
						   LIMIT_CPU_TIME };

	for (size_t i = 0; i < COUNT_OF(of_processes); i++)
		if (limits->value[of_processes[i]])
			return limit_name(of_processes[i]);
	return NULL;
}
