/* SPDX-License-Identifier: MIT */
/*
 * Processes that share their memory and have no threads of the C library's, and a sanitizer.
 * Its locals may lie on a stack that is found by the thread, to tell when they are used too
 * late. To it such processes are one thread, and get the same place at the same time: a rule
 * of Landlock's was overwritten so by an option of a socket.
 */
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ADDRESS_SANITIZER 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define HAS_ADDRESS_SANITIZER 1
#endif

#ifdef HAS_ADDRESS_SANITIZER
/* NOLINTNEXTLINE(bugprone-reserved-identifier): the runtime's own, which every function asks. */
extern int __asan_option_detect_stack_use_after_return;
#endif

/* For good, in this process and those that come to share its memory. */
static inline void sanitizer_use_own_stacks(void)
{
#ifdef HAS_ADDRESS_SANITIZER
	__asan_option_detect_stack_use_after_return = 0;
#endif
}
