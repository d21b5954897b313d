/* SPDX-License-Identifier: MIT */
/* Reading option structs of callers that are older or newer than this library. */
#include "lib/lib.h"

/* Every member is 8 bytes wide, so no new one can land in old padding. */
_Static_assert(sizeof(void *) == 8, "pointers are members, and members are 8 bytes");
_Static_assert(sizeof(struct cordon_load_options) == 29 * sizeof(uint64_t),
	       "no padding, no narrow member");
_Static_assert(sizeof(struct cordon_run_options) == 23 * sizeof(uint64_t),
	       "no padding, no narrow member");
_Static_assert(sizeof(struct cordon_host_request) == 8 * sizeof(uint64_t),
	       "no padding, no narrow member");
_Static_assert(sizeof(struct cordon_doctor_options) == 6 * sizeof(uint64_t),
	       "no padding, no narrow member");

_Static_assert(sizeof(struct cordon_proxy_options) == 5 * sizeof(uint64_t),
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
				return FAIL(e, ERR_ARGUMENT,
					    "an option is set that libcordon " CORDON_VERSION
					    " does not know; a newer one is needed");
		memcpy(out, in, MIN_OF((size_t)size, out_size));
	}
	size = out_size;
	memcpy(out, &size, sizeof(size));
	return 0;
}

static int check_list(const char *const *list, uint64_t count, const char *name, struct err *e)
{
	if (count > 0 && !list)
		return FAIL(e, ERR_ARGUMENT, "the count of %s is set, the list is not", name);
	if (count > LIST_MAX)
		return FAIL(e, ERR_LIMIT, "%llu %s are too many", (unsigned long long)count, name);
	for (size_t i = 0; i < count; i++)
		if (!list[i])
			return FAIL(e, ERR_ARGUMENT, "one of the %s is NULL", name);
	return 0;
}

int options_read(const struct cordon_load_options *in, struct cordon_load_options *out,
		 struct err *e)
{
	if (read_struct(in, out, sizeof(*out), "cordon_load_options", e) < 0 ||
	    check_list(out->overrides, out->override_count, "overrides", e) < 0 ||
	    check_list(out->add_read, out->add_read_count, "paths to read", e) < 0 ||
	    check_list(out->add_write, out->add_write_count, "paths to write", e) < 0 ||
	    check_list(out->deny, out->deny_count, "paths to deny", e) < 0 ||
	    check_list(out->unprotect, out->unprotect_count, "names to unprotect", e) < 0 ||
	    check_list(out->allow_hosts, out->allow_host_count, "hosts to allow", e) < 0 ||
	    check_list(out->deny_hosts, out->deny_host_count, "hosts to deny", e) < 0 ||
	    check_list(out->allow_sockets, out->allow_socket_count, "sockets to allow", e) < 0)
		return err_result(e);
	if (out->flags & ~(uint64_t)CORDON_LOAD_HOSTS_ONLY)
		return FAIL(e, ERR_ARGUMENT, "an unknown flag is set");
	return 0;
}

int options_read_run(const struct cordon_run_options *in, struct cordon_run_options *out,
		     struct err *e)
{
	return read_struct(in, out, sizeof(*out), "cordon_run_options", e);
}

int options_read_doctor(const struct cordon_doctor_options *in, struct cordon_doctor_options *out,
			struct err *e)
{
	return read_struct(in, out, sizeof(*out), "cordon_doctor_options", e);
}

int options_read_audit(const struct cordon_audit_options *in, struct cordon_audit_options *out,
		       struct err *e)
{
	return read_struct(in, out, sizeof(*out), "cordon_audit_options", e);
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
