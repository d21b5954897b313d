/* SPDX-License-Identifier: MIT */
/* parse(print(p)) == p, for random profiles. */
#include "../unit/test.h"
#include "gen.h"

enum { TEXT_BYTES = 1 << 16 };

TEST(a_printed_profile_reads_back_equal)
{
	struct gen g = { .state = test_seed() };
	size_t cases = test_cases(5000);
	scoped_buf profile = BUF_INIT(TEXT_BYTES);
	scoped_buf printed = BUF_INIT(TEXT_BYTES);
	scoped_world first;
	scoped_world second;

	gen_world(&first);
	gen_world(&second);
	second.profile = "dev";
	for (size_t n = 0; n < cases; n++) {
		bool is_equal;

		buf_clear(&profile);
		buf_clear(&printed);
		g.b = &profile;
		gen_profile(&g);
		first.user = buf_str(&profile).p;
		REQUIRE(world_policy(&first));
		profile_print(&printed, first.policy->profile);
		second.user = buf_str(&printed).p;
		is_equal = world_policy(&second) &&
			   profile_equal(first.policy->profile, second.policy->profile);
		if (!is_equal) {
			printf("# case %zu: %s\n", n, second.e.text);
			test_print_str("was    ", first.user);
			test_print_str("printed", second.user);
		}
		REQUIRE(is_equal);
	}
}
