/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Part of test_msg.c: how a receiver handles cells that no correct sender writes. */
/* --- invalid cells: written as node 0 at node 1, in the first lap --- */

static void cell(int i, unsigned int kind, unsigned int credits, size_t length,
		 const void *payload, size_t bytes)
{
	struct rmc_cell *c = (struct rmc_cell *)(void *)(node[1].seg + 64) + i;

	memset(c->payload, 'c', sizeof(c->payload));
	memcpy(c->payload, payload, bytes);
	rmc_store_release(&c->head, rmc_cell_head(1, kind, credits, length));
}

/* Receive one message from node 0, without waiting. */
static int receive(size_t room_for, size_t *len)
{
	static uint8_t in[2 << 20];
	int err;

	memset(in, 0x55, sizeof(in));
	err = rmc_msg_recv(node[1].m, 0, in, room_for, len, NULL, RMC_MSG_DONTWAIT);
	CHECK(in[room_for] == 0x55);
	return err;
}

static void strange_cells(void)
{
	static const struct {
		unsigned int kind;
		size_t length;
		unsigned int next;
		size_t next_length;
	} t[] = {
		{ RMC_CELL_MORE, 10, 0, 0 },		/* continues no message */
		{ 5, 10, 0, 0 }, { 7, 10, 0, 0 },	/* unknown kinds */
		{ RMC_CELL_PUSH, 100, RMC_CELL_PUSH, 40 },
		{ RMC_CELL_PUSH, 100, RMC_CELL_MORE, 39 },
		{ RMC_CELL_PUSH, 100, RMC_CELL_MORE, 41 },
		{ RMC_CELL_PUSH, 100, RMC_CELL_MORE, 60 },
		{ RMC_CELL_PUSH, 100, RMC_CELL_PULL, 40 },
		{ RMC_CELL_PUSH, 200, RMC_CELL_MORE, 59 },
	};
	uint64_t length = RMC_CELL_LENGTH_MAX;
	unsigned int i;
	size_t len;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		begin(2, 1024);
		cell(0, t[i].kind, 0, t[i].length, "", 0);
		if (t[i].next)
			cell(1, t[i].next, 0, t[i].next_length, "", 0);
		CHECK_EQ(receive(1000, &len), RMC_S_PROTOCOL);
		CHECK_EQ(receive(1000, &len), RMC_S_PROTOCOL);
		CHECK_EQ(rmc_msg_send(node[1].m, 0, "x", 1, 0), RMC_S_PROTOCOL);
		end();
	}
	/* a long message of a length that a header can hold */
	begin(2, 1024);
	cell(0, RMC_CELL_LONG, 0, 0, &length, sizeof(length));
	CHECK_EQ(receive(1 << 20, &len), RMC_S_PROTOCOL);
	end();
	begin(2, 1024);
	length++;
	cell(0, RMC_CELL_LONG, 0, 0, &length, sizeof(length));
	CHECK_EQ(receive((1 << 20) - 1, &len), -EMSGSIZE);
	CHECK_EQ(len, 1 << 20);
	end();
	/* a cell of kind 0 has not arrived yet; valid cells are delivered */
	begin(2, 1024);
	cell(0, 0, 0, 10, "", 0);
	CHECK_EQ(receive(1000, &len), -EAGAIN);
	cell(0, RMC_CELL_PUSH, 0, 200, "", 0);
	cell(1, RMC_CELL_MORE, 0, 60, "", 0);
	cell(2, RMC_CELL_MORE, 0, 60, "", 0);
	cell(3, RMC_CELL_MORE, 0, 20, "", 0);
	CHECK_EQ(receive(199, &len), -EMSGSIZE);
	CHECK_EQ(receive(200, &len), 0);
	CHECK_EQ(len, 200);
	end();
	/* credits for cells that were never sent: the message with them is still delivered */
	begin(2, 1024);
	cell(0, RMC_CELL_PUSH, 1, 10, "", 0);
	CHECK_EQ(receive(1000, &len), 0);
	CHECK_EQ(rmc_msg_send(node[1].m, 0, "x", 1, 0), RMC_S_PROTOCOL);
	end();
}

static void strange_pulls(void)
{
	struct rmc_cell_pull pull = { 0, 5000 };
	uint8_t in[5000];
	size_t len;

	/* a pull from outside the sender's segment */
	begin(2, 1024);
	pull.offset = node[0].seg_len - 100;
	cell(0, RMC_CELL_PULL, 0, sizeof(pull), &pull, sizeof(pull));
	CHECK_EQ(receive(5000, &len), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(receive(5000, &len), RMC_S_OUT_OF_RANGE);
	end();
	begin(2, 1024);
	pull.size = 1ULL << 40;
	cell(0, RMC_CELL_PULL, 0, sizeof(pull), &pull, sizeof(pull));
	CHECK_EQ(receive(5000, &len), -EMSGSIZE);
	CHECK_EQ(len, 1ULL << 40);
	end();
	/* an unregistered buffer is the caller's error, not the end of the peer */
	begin(2, 0);
	fill(node[0].data, 5000, 3);
	CHECK_EQ(rmc_msg_send(node[0].m, 1, node[0].data, 5000, RMC_MSG_ASYNC), 0);
	__atomic_store_n(&node[1].refuse_lbuf, 1, __ATOMIC_RELEASE);
	CHECK_EQ(rmc_msg_recv(node[1].m, 0, in, 5000, &len, NULL, RMC_MSG_REGISTERED),
		 RMC_S_BAD_LBUF);
	__atomic_store_n(&node[1].refuse_lbuf, 0, __ATOMIC_RELEASE);
	CHECK_EQ(rmc_msg_pending(node[0].m, 1), 1);
	CHECK_EQ(rmc_msg_recv(node[1].m, 0, in, 5000, &len, NULL, 0), 0);
	CHECK(is_filled(in, 5000, 3));
	CHECK_EQ(rmc_msg_flush(node[0].m, 1), 0);
	end();
}

/* The peer dies after half a message: later cells are never delivered as another one. */
static void half_a_message(void)
{
	uint8_t in[200];
	size_t len;

	begin(2, 1024);
	cell(0, RMC_CELL_PUSH, 0, 100, "", 0);
	__atomic_store_n(&dead_node, 0, __ATOMIC_RELEASE);
	CHECK_EQ(rmc_msg_recv(node[1].m, 0, in, sizeof(in), &len, NULL, 0), RMC_S_NODE_DOWN);
	cell(1, RMC_CELL_MORE, 0, 40, "", 0);
	cell(2, RMC_CELL_PUSH, 0, 10, "", 0);
	CHECK_EQ(rmc_msg_recv(node[1].m, 0, in, sizeof(in), &len, NULL, 0), RMC_S_NODE_DOWN);
	CHECK_EQ(rmc_msg_recv(node[1].m, RMC_MSG_ANY, in, sizeof(in), &len, NULL, 0),
		 RMC_S_NODE_DOWN);
	end();
}
