/* SPDX-License-Identifier: MIT */
/*
 * For processes that share their memory without being threads of the C library. AddressSanitizer
 * can put locals on a fake stack, which it finds by the thread, to detect use after return. It
 * takes such processes for one thread, and gives them the same place at the same time: so a socket
 * option once overwrote a Landlock rule.
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
/*
 * NOLINTNEXTLINE(bugprone-reserved-identifier): the runtime's own variable, which every function
 * reads.
 */
extern int __asan_option_detect_stack_use_after_return;
#endif

/* Turns fake stacks off for good, in this process and in those that share its memory later. */
static inline void sanitizer_use_own_stacks(void)
{
#ifdef HAS_ADDRESS_SANITIZER
	__asan_option_detect_stack_use_after_return = 0;
#endif
}
