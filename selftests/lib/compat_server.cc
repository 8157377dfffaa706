// SPDX-License-Identifier: LGPL-2.1 OR MIT
// Its pages stay after main() returns, until the client has ended: see compat_client.cc
#include <vector>
#include "sonuma.h"
using namespace std;
int main()
{
	uint8_t *ctx = NULL;
	uint64_t ctx_size = PAGE_SIZE * 64;

	if (kal_reg_ctx(0, &ctx, ctx_size / PAGE_SIZE) < 0)
		return 1;
	for (size_t i = 0; i < ctx_size / PAGE_SIZE; i++)
		((uint32_t *)ctx)[i * PAGE_SIZE / 4] = i + 1;
	return 0;
}
