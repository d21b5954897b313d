/* SPDX-License-Identifier: MIT */
/* Text and paths of Windows as Cordon has them, and back. */
#include <errno.h>

#include "../unit/test.h"

#include "os/windows/text.h"

TEST(any_units_come_back_as_they_were)
{
	uint64_t seed = test_seed();
	size_t wrong = 0, cases = test_cases(20000);

	for (size_t i = 0; i < cases; i++) {
		wchar_t text[16], back[16];
		char narrow[64];
		size_t len = test_random(&seed) % 15;
		int n;

		/* Half of them surrogates, alone and in pairs. */
		for (size_t k = 0; k < len; k++) {
			uint64_t r = test_random(&seed);

			text[k] = (wchar_t)(r & 1 ? 0xD800 + (r >> 8) % 0x800
						  : 1 + (r >> 8) % 0xD7FF);
		}
		n = narrow_text(text, len, narrow, sizeof(narrow));
		wrong += n < 0 ||
			 wide_text((struct str){ narrow, (size_t)n }, back, COUNT_OF(back)) !=
				 (int)len ||
			 wmemcmp(text, back, len) != 0;
	}
	CHECK_INT(wrong, 0);
}

TEST(what_is_not_text_is_refused)
{
	wchar_t out[16];

	CHECK_INT(wide_text(STR("\xff"), out, 16), -1);
	CHECK_INT(errno, EILSEQ);
	/* A pair in the form of two alone would come back as other bytes. */
	CHECK_INT(wide_text(STR("\xed\xa0\xbd\xed\xb8\x80"), out, 16), -1);
	CHECK_INT(wide_text(STR("a\0b"), out, 16), -1);
	CHECK_INT(wide_text(STR("\xf0\x9f\x98\x80"), out, 2), -1);
	CHECK_INT(errno, ENAMETOOLONG);
	CHECK_INT(wide_text(STR("\xf0\x9f\x98\x80"), out, 3), 2);
}

static void check_path(const char *given, const wchar_t *want)
{
	static wchar_t wide[WIDE_PATH];

	CHECK(wide_path(str_of(given), wide) > 0 && wcscmp(wide, want) == 0);
}

TEST(paths_of_cordon_become_exact_ones_of_windows)
{
	wchar_t wide[WIDE_PATH];

	check_path("/C:", L"\\\\?\\C:\\");
	check_path("/C:/a b/c", L"\\\\?\\C:\\a b\\c");
	check_path("C:\\x/y", L"\\\\?\\C:\\x\\y");
	check_path("\\\\?\\D:\\x", L"\\\\?\\D:\\x");
	CHECK_INT(wide_path(STR("/tmp/x"), wide), -1);
	CHECK_INT(wide_path(STR("a"), wide), -1);
	CHECK_INT(wide_path(STR("C:a"), wide), -1);
	CHECK_INT(wide_path(STR("\\\\server\\share"), wide), -1);
}

static void check_narrow(const wchar_t *given, const char *want)
{
	char path[PATH_MAX_BYTES];

	CHECK(narrow_path(given, wcslen(given), path) > 0);
	CHECK_STR(path, want);
}

TEST(paths_of_windows_become_cordons)
{
	char path[PATH_MAX_BYTES];

	check_narrow(L"c:\\", "/C:");
	check_narrow(L"\\\\?\\C:\\a\\b", "/C:/a/b");
	check_narrow(L"C:\\a\\", "/C:/a");
	CHECK_INT(narrow_path(L"\\\\server\\share", 14, path), -1);
	CHECK_INT(errno, EINVAL);
}
