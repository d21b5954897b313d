/* SPDX-License-Identifier: MIT */
/* Tests of filter_options_for() (backend/inner/filter.c): which backend gets which filter. */
#include "test.h"

#include "backend/inner/inner.h"
#include "plan_lists.h"

#define OFF	"network.enabled = false\n"
#define FULL	"network.enabled = true\n"
#define MANAGED FULL "network.domains = {}\n"

/* Facts of the backends: native and bwrap have mounts, landlock has none. */
#define MOUNTS	  .has_writable = true, .landlock_abi = 7
#define NO_MOUNTS .has_no_mounts = true, MOUNTS

static const struct row {
	const char *what, *profile;
	struct filter_facts facts;
	struct filter_options want;
} rows[] = {
	{ "mounts, network off",
	  WORKSPACE(OFF),
	  { MOUNTS },
	  { .asks_connect = true, .keeps_mounts = true } },
	{ "mounts, nothing writable",
	  WORKSPACE(OFF),
	  { .landlock_abi = 7 },
	  { .asks_connect = true } },
	{ "mounts, whole network",
	  WORKSPACE(FULL),
	  { MOUNTS },
	  { .reaches_host = true, .keeps_mounts = true } },
	{ "mounts, managed network: as if it were off",
	  WORKSPACE(MANAGED),
	  { MOUNTS },
	  { .asks_connect = true, .keeps_mounts = true } },
	{ "mounts, user namespaces",
	  WORKSPACE("isolation.userns = true\n"),
	  { MOUNTS },
	  { .asks_connect = true, .allows_userns = true, .keeps_mounts = true } },
	{ "mounts, a protected stream",
	  WORKSPACE(OFF),
	  { MOUNTS, .streams = STREAM_KEPT },
	  { .asks_connect = true, .keeps_mounts = true, .metadata = FILTER_METADATA_STREAMS } },
	{ "mounts, an appended stream",
	  WORKSPACE(OFF),
	  { MOUNTS, .streams = STREAM_APPENDED },
	  { .asks_connect = true,
	    .keeps_mounts = true,
	    .keeps_appending = true,
	    .metadata = FILTER_METADATA_STREAMS } },
	{ "mounts, old Landlock: mounts forbid truncation",
	  WORKSPACE(OFF),
	  { .has_writable = true, .landlock_abi = 2 },
	  { .asks_connect = true, .keeps_mounts = true } },
	{ "mounts, old Landlock, an appended stream",
	  WORKSPACE(OFF),
	  { .has_writable = true, .landlock_abi = 2, .streams = STREAM_APPENDED },
	  { .asks_connect = true,
	    .keeps_mounts = true,
	    .keeps_appending = true,
	    .metadata = FILTER_METADATA_STREAMS,
	    .lacks_truncate = true } },
	{ "no mounts, network off",
	  WORKSPACE(OFF),
	  { NO_MOUNTS },
	  { .asks_connect = true,
	    .has_no_network = true,
	    .refuses_ipc = true,
	    .metadata = FILTER_METADATA_ASKED } },
	{ "no mounts, nothing writable",
	  WORKSPACE(OFF),
	  { .has_no_mounts = true, .landlock_abi = 7 },
	  { .asks_connect = true,
	    .has_no_network = true,
	    .refuses_ipc = true,
	    .metadata = FILTER_METADATA_REFUSED } },
	{ "no mounts, nothing writable, refused writes are named",
	  WORKSPACE(OFF),
	  { .has_no_mounts = true, .landlock_abi = 7, .naming = NAMING_WRITES },
	  { .asks_connect = true,
	    .has_no_network = true,
	    .refuses_ipc = true,
	    .names_writes = true,
	    .metadata = FILTER_METADATA_ASKED } },
	{ "mounts, all refusals are named",
	  WORKSPACE(OFF),
	  { MOUNTS, .naming = NAMING_ALL },
	  { .asks_connect = true,
	    .keeps_mounts = true,
	    .names_writes = true,
	    .names_reads = true } },
	{ "no mounts, whole network, the host's ipc",
	  WORKSPACE(FULL "isolation.ipc = false\n"),
	  { NO_MOUNTS },
	  { .reaches_host = true, .metadata = FILTER_METADATA_ASKED } },
	{ "no mounts never have user namespaces",
	  WORKSPACE("isolation.userns = true\n"),
	  { NO_MOUNTS },
	  { .asks_connect = true,
	    .has_no_network = true,
	    .refuses_ipc = true,
	    .metadata = FILTER_METADATA_ASKED } },
	{ "no mounts, an appended stream: all metadata stays asked",
	  WORKSPACE(OFF),
	  { NO_MOUNTS, .streams = STREAM_APPENDED },
	  { .asks_connect = true,
	    .has_no_network = true,
	    .refuses_ipc = true,
	    .keeps_appending = true,
	    .metadata = FILTER_METADATA_ASKED } },
	{ "no mounts, old Landlock",
	  WORKSPACE(OFF),
	  { .has_no_mounts = true, .has_writable = true, .landlock_abi = 2 },
	  { .asks_connect = true,
	    .has_no_network = true,
	    .refuses_ipc = true,
	    .metadata = FILTER_METADATA_ASKED,
	    .lacks_truncate = true } },
};

static void check_row(const struct row *row, const struct filter_options *got)
{
	const struct filter_options *want = &row->want;
	bool is_same = true;

	is_same &= CHECK_INT(got->arch, filter_this_arch);
	is_same &= CHECK_INT(got->reaches_host, want->reaches_host);
	is_same &= CHECK_INT(got->asks_connect, want->asks_connect);
	is_same &= CHECK_INT(got->allows_userns, want->allows_userns);
	is_same &= CHECK_INT(got->keeps_mounts, want->keeps_mounts);
	is_same &= CHECK_INT(got->keeps_appending, want->keeps_appending);
	is_same &= CHECK_INT(got->has_no_network, want->has_no_network);
	is_same &= CHECK_INT(got->refuses_ipc, want->refuses_ipc);
	is_same &= CHECK_INT(got->metadata, want->metadata);
	is_same &= CHECK_INT(got->names_writes, want->names_writes);
	is_same &= CHECK_INT(got->names_reads, want->names_reads);
	is_same &= CHECK_INT(got->lacks_truncate, want->lacks_truncate);
	if (!is_same)
		printf("#   in: %s\n", row->what);
}

TEST(each_backend_gets_the_filter_that_its_facts_need)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct filter_options got;
		scoped_world w;

		world_init(&w, "d /repo\n", "/repo");
		w.user = rows[i].profile;
		w.profile = "dev";
		REQUIRE(world_plan(&w));
		got = filter_options_for(w.plan, &rows[i].facts);
		check_row(&rows[i], &got);
	}
}
