/* SPDX-License-Identifier: MIT */
/* The devices of the host that every command may use: the whole of a sandbox's /dev but for terminals. */
#pragma once

#define HOST_DEVICES \
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"
enum { DEVICE_COUNT = 6 };
