/* SPDX-License-Identifier: MIT */
/* Reading option structs of callers that are older or newer than this library. */
#include "lib/command_line.h"
#include "lib/lib.h"

/* Every member is 8 bytes wide, so no new one can land in old padding. */
_Static_assert(sizeof(void *) == 8, "pointers are members, and members are 8 bytes");
_Static_assert(sizeof(struct cordon_host_request) == 8 * sizeof(uint64_t),
	       "no padding, no narrow member");
_Static_assert(sizeof(struct cordon_denial) == 17 * sizeof(uint64_t),
	       "no padding, no narrow member");
_Static_assert(sizeof(struct cordon_ask_request) == 17 * sizeof(uint64_t),
	       "no padding, no narrow member");
_Static_assert(sizeof(struct cordon_grant) == 4 * sizeof(uint64_t), "no padding, no narrow member");
_Static_assert(sizeof(struct cordon_answer) == 6 * sizeof(uint64_t),
	       "no padding, no narrow member");
_Static_assert(sizeof(struct cordon_doctor_options) == 6 * sizeof(uint64_t),
	       "no padding, no narrow member");
_Static_assert(sizeof(struct cordon_import_options) == 6 * sizeof(uint64_t),
	       "no padding, no narrow member");
_Static_assert(sizeof(struct cordon_windows_options) == 6 * sizeof(uint64_t),
	       "no padding, no narrow member");
_Static_assert(sizeof(struct cordon_setup_options) == 6 * sizeof(uint64_t),
	       "no padding, no narrow member");
_Static_assert(sizeof(struct cordon_proxy_options) == 5 * sizeof(uint64_t),
	       "no padding, no narrow member");
_Static_assert(sizeof(struct cordon_mcp_options) == 9 * sizeof(uint64_t),
	       "no padding, no narrow member");
_Static_assert(sizeof(struct cordon_audit_options) == 7 * sizeof(uint64_t),
	       "no padding, no narrow member");

enum {
	STRUCT_MAX_BYTES = 4096,
	LIST_MAX = 65536, /* of words in any list */
};

/* All these structs begin with their size. */
static int read_struct(const void *in, void *out, size_t out_size, const char *name, struct err *e)
{
	const unsigned char *bytes = in;
	uint64_t size;

	memset(out, 0, out_size);
	if (in) {
		memcpy(&size, in, sizeof(size));
		if (size < sizeof(size) || size % 8 != 0 || size > STRUCT_MAX_BYTES)
			return FAIL(e, ERR_ARGUMENT,
				    "options of %llu bytes: size must be sizeof(struct %s)",
				    (unsigned long long)size, name);
		for (size_t i = out_size; i < size; i++)
			if (bytes[i] != 0)
				return FAIL_CAUSE(
					e, CAUSE_LIBRARY_TOO_OLD,
					"the caller sets an option that libcordon " CORDON_VERSION
					" does not have; install a newer one");
		memcpy(out, in, MIN_OF((size_t)size, out_size));
	}
	size = out_size;
	memcpy(out, &size, sizeof(size));
	return 0;
}

static int check_list(const char *const *list, uint64_t count, const char *name, struct err *e)
{
	if (count > 0 && !list)
		return FAIL(e, ERR_ARGUMENT, "the count of '%s' is set, but the list is NULL",
			    name);
	if (count > LIST_MAX)
		return FAIL(e, ERR_LIMIT, "'%s' has %llu items; at most %d are allowed", name,
			    (unsigned long long)count, LIST_MAX);
	for (size_t i = 0; i < count; i++)
		if (!list[i])
			return FAIL(e, ERR_ARGUMENT, "an item of '%s' is NULL", name);
	return 0;
}

int options_read(const struct cordon_load_options *in, struct cordon_load_options *out,
		 struct err *e)
{
	if (read_struct(in, out, sizeof(*out), "cordon_load_options", e) < 0)
		return err_result(e);
	for (size_t i = 0; i < option_member_count; i++) {
		const struct option_value *value = &option_members[i];
		struct option_list list;

		if (value->kind != VALUE_LIST)
			continue;
		memcpy(&list, option_member(value, out, NULL), sizeof(list));
		if (check_list(list.items, list.count, value->member, e) < 0)
			return err_result(e);
	}
	if (out->flags & ~(uint64_t)(CORDON_LOAD_HOSTS_ONLY | CORDON_LOAD_ALWAYS_ONLY))
		return FAIL(e, ERR_ARGUMENT, "cordon_load_options.flags has an unknown flag");
	return 0;
}

int options_read_run(const struct cordon_run_options *in, struct cordon_run_options *out,
		     struct err *e)
{
	return read_struct(in, out, sizeof(*out), "cordon_run_options", e);
}

int options_read_import(const struct cordon_import_options *in, struct cordon_import_options *out,
			struct err *e)
{
	return read_struct(in, out, sizeof(*out), "cordon_import_options", e);
}

int options_read_doctor(const struct cordon_doctor_options *in, struct cordon_doctor_options *out,
			struct err *e)
{
	return read_struct(in, out, sizeof(*out), "cordon_doctor_options", e);
}

int options_read_setup(const struct cordon_setup_options *in, struct cordon_setup_options *out,
		       struct err *e)
{
	return read_struct(in, out, sizeof(*out), "cordon_setup_options", e);
}

int options_read_windows(const struct cordon_windows_options *in,
			 struct cordon_windows_options *out, struct err *e)
{
	return read_struct(in, out, sizeof(*out), "cordon_windows_options", e);
}

int options_read_answer(const struct cordon_answer *in, struct cordon_answer *out, struct err *e)
{
	return read_struct(in, out, sizeof(*out), "cordon_answer", e);
}

int options_read_session(const struct cordon_session_options *in,
			 struct cordon_session_options *out, struct err *e)
{
	return read_struct(in, out, sizeof(*out), "cordon_session_options", e);
}

int options_read_audit(const struct cordon_audit_options *in, struct cordon_audit_options *out,
		       struct err *e)
{
	return read_struct(in, out, sizeof(*out), "cordon_audit_options", e);
}

int options_read_mcp(const struct cordon_mcp_options *in, struct cordon_mcp_options *out,
		     struct err *e)
{
	return read_struct(in, out, sizeof(*out), "cordon_mcp_options", e);
}

int options_read_proxy(const struct cordon_proxy_options *in, struct cordon_proxy_options *out,
		       struct err *e)
{
	return read_struct(in, out, sizeof(*out), "cordon_proxy_options", e);
}

uint32_t cordon_abi_version(void)
{
	return CORDON_ABI_VERSION;
}

const char *cordon_version(void)
{
	return CORDON_VERSION;
}
