/* SPDX-License-Identifier: MIT */
/* Which refused accesses to files can be named on this host, and at what cost. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/linux/supervisor.h"
#include "os/child.h"
#include "os/os.h"

/*
 * Before Linux 6.6 the supervisor can't be woken on the caller's processor. A notified call takes
 * about 38 us there instead of 11, which makes unpacking an archive several times slower.
 */
static bool is_cheap(void)
{
	const unsigned long wanted = 6 * 1000 + 6;
	unsigned long numbers[2] = { 0, 0 };
	char room[128];
	struct str release = os_kernel_release(room, sizeof(room));
	size_t which = 0;

	for (size_t i = 0; i < release.len && which < COUNT_OF(numbers); i++) {
		if (ascii_is_digit(release.p[i]))
			numbers[which] = numbers[which] * 10 + (unsigned long)(release.p[i] - '0');
		else
			which++;
	}
	return numbers[0] * 1000 + numbers[1] >= wanted;
}

static void try_listener(void *allow)
{
	struct sock_fprog program = { .len = 1, .filter = allow };

	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
		    &program) < 0)
		_exit(errno == EBUSY);
	_exit(0);
}

/*
 * Whether a supervisor around this process has the only listener that a process can have. Cordon
 * with the host's network can run there, but it is not notified of anything.
 */
static bool is_supervised(void)
{
	struct sock_filter allow = { .code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW };
	int pidfd = -1, status;

	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != SECCOMP_MODE_FILTER)
		return false;
	if (os_fork(0, try_listener, &allow, &pidfd) < 0)
		return true;
	status = os_reap(pidfd);
	(void)close(pidfd);
	return status != 0;
}

static int fail_holding(struct err *e)
{
	(void)FAIL_CAUSE(
		e, CAUSE_INSIDE_SANDBOX,
		"nobody can be asked about refused accesses here: another program supervises "
		"the system calls of this process");
	err_add_line(e, "run without asking, or start cordon outside of that program");
	return err_result(e);
}

int supervisor_choose_naming(const struct supervisor *s, enum naming *out, struct err *e)
{
	const struct supervisor_events *events = &s->in.events;
	enum naming wanted = s->in.naming;

	*out = NAMING_OFF;
	if (!s->in.is_sandboxed)
		return 0;
	/* What is held has to be noticed, at whatever cost. */
	if (s->in.holds && wanted != NAMING_ALL)
		wanted = NAMING_WRITES;
	if (wanted == NAMING_OFF || (wanted == NAMING_AUTO && !is_cheap()))
		return 0;
	if (is_supervised()) {
		if (s->in.holds)
			return fail_holding(e);
		if (wanted != NAMING_AUTO)
			events->warn(events->user,
				     "refused accesses to files are not named: another program "
				     "supervises the system calls of this process");
		return 0;
	}
	*out = wanted == NAMING_AUTO ? NAMING_WRITES : wanted;
	return 0;
}
