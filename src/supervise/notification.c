/* SPDX-License-Identifier: MIT */
/* See notification.h. */
#include "supervise/notification.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A newer kernel may fill in more than these headers know. */
enum { NOTIFY_MAX_BYTES = 512 };
union request {
	struct seccomp_notif it;
	char room[NOTIFY_MAX_BYTES];
};
union response {
	struct seccomp_notif_resp it;
	char room[NOTIFY_MAX_BYTES];
};

/* The C libraries differ in the type of a request. */
static long listener_call(int listener, unsigned long request, void *argument)
{
	return syscall(SYS_ioctl, listener, request, argument);
}

int notification_fits(void)
{
	struct seccomp_notif_sizes sizes = { .seccomp_notif = 0 };

	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0)
		return -errno;
	if (sizes.seccomp_notif > sizeof(union request) ||
	    sizes.seccomp_notif_resp > sizeof(union response))
		return -EOVERFLOW;
	return 0;
}

int notification_receive(int listener, struct engine_call *out)
{
	union request request = { .room = { 0 } };

	if (listener_call(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0)
		return -errno;
	*out = (struct engine_call){
		.id = request.it.id,
		.pid = (int32_t)request.it.pid,
		.number = request.it.data.nr,
	};
	for (size_t i = 0; i < COUNT_OF(out->args); i++)
		out->args[i] = request.it.data.args[i];
	return 0;
}

static void respond(int listener, uint64_t id, int64_t value, uint32_t flags)
{
	union response response = { .room = { 0 } };

	response.it.id = id;
	response.it.flags = flags;
	if (value < 0)
		response.it.error = (int32_t)value;
	else
		response.it.val = value;
	/* ENOENT: the caller is gone. Nothing else can be wrong with what is sent. */
	(void)listener_call(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

void notification_reply(int listener, uint64_t id, int64_t value)
{
	respond(listener, id, value, 0);
}

void notification_let_go_on(int listener, uint64_t id)
{
	respond(listener, id, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
}

bool notification_is_waiting(int listener, uint64_t id)
{
	return listener_call(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}
