/* SPDX-License-Identifier: MIT */
/* See keys.h: the rows as data, and their fields by offset. */
#include "policy/keys.h"

#include "policy/decode.h"
#include "policy/guarantee.h"
#include "policy/print.h"

/* The offset of a field, which has to be of that type: a row of the wrong kind does not compile. */
#define OFFSET(type, of, field) \
	_Generic(&((struct of *)0)->field, type * : offsetof(struct of, field))
#define OFFSET_OF_CHOICE(of, field) \
	_Generic(&((struct of *)0)->field, bool *                                        \
		 : offsetof(struct of, field), unsigned *                                \
		 : offsetof(struct of, field))
#define SIZE(of, field) sizeof(((struct of *)0)->field)

#define TYPE_STRING  (1 << TOML_STRING)
#define TYPE_INTEGER (1 << TOML_INTEGER)
#define TYPE_BOOLEAN (1 << TOML_BOOLEAN)
#define TYPE_ARRAY   (1 << TOML_ARRAY)
#define TYPE_TABLE   (1 << TOML_TABLE)
#define TYPE_ANY     (-1)

#define TYPES_OF_TIME  (TYPE_INTEGER | TYPE_STRING)
#define TYPES_OF_BYTES (TYPE_INTEGER | TYPE_STRING)
#define TYPES_OF_COUNT TYPE_INTEGER

#define WORD_LIST(...)            \
	(const char *const[])     \
	{                         \
		__VA_ARGS__, NULL \
	}

#define ROW_BOOL(of, field_, is_true_)                                                \
	.kind = KIND_BOOL, .types = TYPE_BOOLEAN, .offset = OFFSET(bool, of, field_), \
	.size = SIZE(of, field_), .is_true = (is_true_)
#define ROW_CHOICE(of, field_, ...)                                                        \
	.kind = KIND_CHOICE, .types = TYPE_STRING, .offset = OFFSET_OF_CHOICE(of, field_), \
	.size = SIZE(of, field_), .words = WORD_LIST(__VA_ARGS__)
#define ROW_CHOICE_AT(of, field_, origin_, ...) \
	ROW_CHOICE(of, field_, __VA_ARGS__), .origin = OFFSET(struct origin, of, origin_)
#define ROW_STRING(of, field_)                                                               \
	.kind = KIND_STRING, .types = TYPE_STRING, .offset = OFFSET(struct str, of, field_), \
	.size = SIZE(of, field_)
#define ROW_NAMES(of, field_, check_)                                                 \
	.kind = KIND_NAMES, .types = TYPE_ARRAY, .offset = OFFSET(names, of, field_), \
	.size = SIZE(of, field_), .check = (check_)
#define ROW_WORDS(of, field_, words_)                                                 \
	.kind = KIND_WORDS, .types = TYPE_ARRAY, .offset = OFFSET(names, of, field_), \
	.size = SIZE(of, field_), .words = (words_)
#define ROW_PATTERNS(field_)                        \
	.kind = KIND_PATTERNS, .types = TYPE_ARRAY, \
	.offset = OFFSET(env_patterns, profile, field_), .size = SIZE(profile, field_)
#define ROW_LIMIT(limit_, unit_)                                                             \
	.kind = KIND_LIMIT, .types = TYPES_OF_##unit_, .unit = UNIT_##unit_,                 \
	.offset = OFFSET(uint64_t, profile, limits.value[limit_]), .size = sizeof(uint64_t), \
	.origin = offsetof(struct profile, limits.origin[limit_])
#define ROW_SUBTABLE(table_) .kind = KIND_SUBTABLE, .types = TYPE_TABLE, .subtable = KEYS_##table_
#define ROW_OWN(type_, name_)                                                  \
	.kind = KIND_OWN, .types = TYPE_##type_, .decode = key_decode_##name_, \
	.print = key_print_##name_, .equal = key_equal_##name_
#define ROW_SETTING(type_, name_) \
	.kind = KIND_SETTING, .types = TYPE_##type_, .decode = key_decode_##name_
#define ROW_LOADED(type_)	 .kind = KIND_LOADED, .types = TYPE_##type_
#define ROW_IGNORED(type_, why_) .kind = KIND_IGNORED, .types = TYPE_##type_, .why = (why_)
#define ROW_REFUSED(type_, why_) .kind = KIND_REFUSED, .types = TYPE_##type_, .why = (why_)

const struct key policy_keys[KEY_COUNT] = {
#define ROW(id, table_, name_, kind_, arguments, files_, meet_, meaning_) \
	[KEY_##id] = { .name = (name_),                                   \
		       .meaning = (meaning_),                             \
		       .table = KEYS_##table_,                            \
		       .files = (files_),                                 \
		       .meet = MEET_##meet_,                              \
		       ROW_##kind_ arguments },
	POLICY_KEYS(ROW)
#undef ROW
};

/* SECURITY: a key that a project may set and that nothing narrows would be lost, or would widen. */
#define CHECK_MEET(id, table, name, kind, arguments, files, meet, meaning)                       \
	_Static_assert((((files) & (IN_PROJECT | IN_REQUIREMENTS)) != 0) ==                      \
			       (MEET_##meet != MEET_NEVER),                                      \
		       "the row " #id " has to say how the key narrows, or NEVER if no project " \
		       "and no requirements may hold it");
POLICY_KEYS(CHECK_MEET)
#undef CHECK_MEET

const struct key *key_find(enum key_table table, struct str name)
{
	for (size_t i = 0; i < KEY_COUNT; i++)
		if (policy_keys[i].table == table && str_is(name, policy_keys[i].name))
			return &policy_keys[i];
	return NULL;
}

const char *key_table_prefix(enum key_table table)
{
	static const char *const prefixes[] = {
		[KEYS_TOP] = "",
		[KEYS_LINUX] = "linux.",
		[KEYS_FILES] = "files.",
		[KEYS_PROFILE] = "",
		[KEYS_NETWORK] = "network.",
		[KEYS_ENVIRONMENT] = "environment.",
		[KEYS_LIMITS] = "limits.",
		[KEYS_ISOLATION] = "isolation.",
	};

	return prefixes[table];
}

const void *key_field(const struct key *k, const void *base)
{
	return (const char *)base + k->offset;
}

unsigned key_value(const struct key *k, const void *base)
{
	if (k->size == sizeof(bool))
		return *(const bool *)key_field(k, base);
	return *(const unsigned *)key_field(k, base);
}

void key_set(const struct key *k, void *base, unsigned value)
{
	void *field = (char *)base + k->offset;

	if (k->size == sizeof(bool))
		*(bool *)field = value != 0;
	else
		*(unsigned *)field = value;
}

const char *key_word(const struct key *k, const void *base)
{
	unsigned value = key_value(k, base);

	if (k->kind == KIND_BOOL)
		return value ? "true" : "false";
	return k->words[value];
}

bool key_is_default(const struct key *k, const void *base)
{
	switch (k->kind) {
	case KIND_BOOL:
	case KIND_CHOICE:
		return key_value(k, base) == (unsigned)k->is_true;
	case KIND_STRING:
		return ((const struct str *)key_field(k, base))->len == 0;
	case KIND_NAMES:
	case KIND_WORDS:
		return ((const names *)key_field(k, base))->count == 0;
	case KIND_PATTERNS:
		return ((const env_patterns *)key_field(k, base))->count == 0;
	case KIND_LIMIT:
		return *(const uint64_t *)key_field(k, base) == 0;
	case KIND_SUBTABLE:
	case KIND_OWN:
	case KIND_SETTING:
	case KIND_LOADED:
	case KIND_IGNORED:
	case KIND_REFUSED:
		break;
	}
	return false;
}

bool key_is_setting(const struct key *k)
{
	return k->table == KEYS_TOP || k->table == KEYS_LINUX || k->table == KEYS_FILES;
}

static void init(void *base, bool is_setting)
{
	for (size_t i = 0; i < KEY_COUNT; i++)
		if (policy_keys[i].is_true && key_is_setting(&policy_keys[i]) == is_setting)
			key_set(&policy_keys[i], base, true);
}

void keys_init_profile(struct profile *p)
{
	init(p, false);
}

void keys_init_narrowing(struct profile *p)
{
	for (size_t i = 0; i < KEY_COUNT; i++)
		if (policy_keys[i].meet == MEET_FALSE)
			key_set(&policy_keys[i], p, true);
}

void keys_init_settings(struct settings *s)
{
	init(s, true);
}

const char *limit_name(enum limit limit)
{
	size_t offset = offsetof(struct profile, limits.value) + limit * sizeof(uint64_t);

	for (size_t i = 0; i < KEY_COUNT; i++)
		if (policy_keys[i].kind == KIND_LIMIT && policy_keys[i].offset == offset)
			return policy_keys[i].name;
	return "";
}
