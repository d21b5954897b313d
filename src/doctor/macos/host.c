/* SPDX-License-Identifier: MIT */
/* Asks macOS what the backend needs to know about this host. */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "backend/macos/macos.h"
#include "doctor/doctor.h"
#include "os/os.h"

/* Of libSystem; no header declares it. The bits are what is off: 0 is System Integrity Protection as a whole. */
int csr_get_active_config(uint32_t *off);

static int64_t ask_integrity_protection(void)
{
	uint32_t off = 0;

	return csr_get_active_config(&off) != 0 ? FACT_UNKNOWN : off == 0;
}

static int64_t ask_open_files(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur > INT64_MAX
		       ? FACT_UNKNOWN
		       : (int64_t)limit.rlim_cur;
}

static bool is_nested(void)
{
	const char *mark = os_environment_find(os_environment(), "CORDON_SANDBOX");

	return mark && strcmp(mark, "none") != 0 && os_is_filtered();
}

int doctor_look(struct arena *a, struct host_facts *out, struct err *e)
{
	struct host_facts f = { .is_root = geteuid() == 0,
				.is_nested = is_nested(),
				.around = os_outer_sandbox_find(),
				.open_files = ask_open_files(),
				.integrity_protection = ask_integrity_protection(),
				.bare_repository = STR_EMPTY,
				.sandbox_exec = STR_EMPTY };
	struct err why = ERR_INIT;
	struct utsname name;

	if (uname(&name) < 0)
		return FAIL_SYS(e, errno, "can't ask for the kernel's name");
	if (seatbelt_check_tool(&why) < 0 &&
	    arena_copy(a, str_of(why.text), &f.sandbox_exec, e) < 0)
		return err_result(e);
	if (arena_copy(a, str_of(name.release), &f.release, e) < 0 ||
	    arena_copy(a, str_of(name.machine), &f.machine, e) < 0)
		return err_result(e);
	*out = f;
	return 0;
}
