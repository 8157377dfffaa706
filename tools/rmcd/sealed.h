/* SPDX-License-Identifier: GPL-2.0 */
/* Memory that the daemon shares with a client: queues, slots of messages. */
#ifndef RMCD_SEALED_H
#define RMCD_SEALED_H

#include <stdbool.h>
#include <stddef.h>

int rmcd_sealed(const char *name, size_t len, bool read_only, void **addr);
void rmcd_sealed_free(int fd, void *addr, size_t len);

#endif
