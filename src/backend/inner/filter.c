/* SPDX-License-Identifier: MIT */
/* What the system-call filter of a run contains, for every Linux backend; see inner.h. */
#include "backend/inner/inner.h"
#include "plan/net.h"

enum { ABI_TRUNCATE = 3 }; /* Landlock governs truncation from this ABI on (Linux 6.2) */

static bool names_writes(const struct filter_facts *facts)
{
	return facts->naming == NAMING_WRITES || facts->naming == NAMING_ALL;
}

/* What decides about modes, owners, times and attributes of files. */
static enum filter_metadata choose_metadata(const struct filter_facts *facts)
{
	/* Without anything writable the supervisor refuses all of them, and names them. */
	if (facts->has_no_mounts)
		return facts->has_writable || names_writes(facts) ? FILTER_METADATA_ASKED
								  : FILTER_METADATA_REFUSED;
	return facts->streams == STREAM_FREE ? FILTER_METADATA_FREE : FILTER_METADATA_STREAMS;
}

struct filter_options filter_options_for(const struct plan *plan, const struct filter_facts *facts)
{
	const struct profile *profile = plan->policy->profile;
	bool has_network = net_mode(plan->net) == NET_FULL;
	bool has_mounts = !facts->has_no_mounts;
	bool keeps_appending = facts->streams == STREAM_APPENDED;

	return (struct filter_options){
		.arch = filter_this_arch,
		.reaches_host = has_network,
		.asks_connect = !has_network,
		.hears_connect = has_network && names_writes(facts),
		.allows_userns = has_mounts && profile->allows_userns,
		.keeps_mounts = has_mounts && facts->has_writable,
		.keeps_appending = keeps_appending,
		.has_no_network = facts->has_no_mounts && !has_network,
		.refuses_ipc = facts->has_no_mounts && profile->isolates_ipc,
		.metadata = choose_metadata(facts),
		.names_writes = names_writes(facts),
		.names_reads = facts->naming == NAMING_ALL,
		/*
		 * SECURITY: before ABI_TRUNCATE Landlock lets a file be cut by its path, or by
		 * opening it for reading with O_TRUNC. Where mounts don't forbid that, the filter does.
		 */
		.lacks_truncate = facts->landlock_abi < ABI_TRUNCATE &&
				  (facts->has_no_mounts || keeps_appending),
	};
}
