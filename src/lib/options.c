/* SPDX-License-Identifier: MIT */
/* Reading option structs of callers that are older or newer than this library. */
#include "lib/lib.h"

/* Every member is 8 bytes wide, so no new one can land in old padding. */
_Static_assert(sizeof(void *) == 8, "pointers are members, and members are 8 bytes");
_Static_assert(sizeof(struct cordon_load_options) == 18 * sizeof(uint64_t),
	       "no padding, no narrow member");

int options_read(const struct cordon_load_options *in, struct cordon_load_options *out,
		 struct err *e)
{
	const unsigned char *bytes = (const unsigned char *)in;

	*out = (struct cordon_load_options){ .size = sizeof(*out) };
	if (!in)
		return 0;
	if (in->size < sizeof(in->size) || in->size % 8 != 0 || in->size > 4096)
		return FAIL(
			e, ERR_ARGUMENT,
			"options of %llu bytes: size must be sizeof(struct cordon_load_options)",
			(unsigned long long)in->size);
	for (size_t i = sizeof(*out); i < in->size; i++)
		if (bytes[i] != 0)
			return FAIL(e, ERR_ARGUMENT,
				    "an option is set that libcordon " CORDON_VERSION
				    " does not know; a newer one is needed");
	memcpy(out, in, MIN_OF((size_t)in->size, sizeof(*out)));
	out->size = sizeof(*out);
	if (out->override_count > 0 && !out->overrides)
		return FAIL(e, ERR_ARGUMENT, "override_count is set, overrides is not");
	if (out->override_count > 65536)
		return FAIL(e, ERR_LIMIT, "%llu overrides are too many",
			    (unsigned long long)out->override_count);
	for (size_t i = 0; i < out->override_count; i++)
		if (!out->overrides[i])
			return FAIL(e, ERR_ARGUMENT, "one of the overrides is NULL");
	return 0;
}

uint32_t cordon_abi_version(void)
{
	return CORDON_ABI_VERSION;
}

const char *cordon_version(void)
{
	return CORDON_VERSION;
}
