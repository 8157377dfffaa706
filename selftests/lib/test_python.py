#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""The Python package, over the library that RMC_LIBRARY names; one node."""
import os
import re
import sys
import unittest

import rmc


class OneNode(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.team = rmc.Team(8192)
        cls.buffer = cls.team.context.buffer(4096)
        cls.words = cls.team.memory.cast("Q")
        cls.landing = cls.buffer.view.cast("Q")
        cls.nid, cls.at = cls.team.nid(0), cls.team.offset

    @classmethod
    def tearDownClass(cls):
        del cls.words, cls.landing
        cls.team.close()

    def test_version(self):
        header = os.path.join(os.environ["RMC_HEADERS"], "rmc/version.h")
        with open(header, encoding="ascii") as f:
            parts = re.findall(r"#define RMC_VERSION_(?:MAJOR|MINOR|PATCH)\s+(\d+)", f.read())
        self.assertEqual(rmc.version(), ".".join(parts))

    def test_team(self):
        self.assertEqual((self.team.self, len(self.team)), (0, 1))
        self.assertEqual(len(self.team.memory), 8192)
        self.assertEqual(self.team.context.nid, self.nid)
        self.assertEqual(self.team.context.node_state(self.nid), "up")
        self.team.barrier()

    def test_blocking(self):
        self.words[3] = 33
        self.team.qp.read(self.nid, self.at + 24, self.buffer, 8, at=16)
        self.assertEqual(self.landing[2], 33)
        self.landing[5] = 55
        self.team.qp.write(self.nid, self.at + 32, self.buffer, 8, at=40)
        self.assertEqual(self.words[4], 55)
        self.assertEqual(self.team.qp.fetch_and_add(self.nid, self.at + 32, 5), 55)
        self.assertEqual(self.team.qp.compare_and_swap(self.nid, self.at + 32, 60, 7), 60)
        self.assertEqual(self.words[4], 7)

    def test_cookies_and_values(self):
        qp = self.team.context.queue_pair(4)
        self.assertEqual(len(qp), 4)
        self.words[9] = 0
        for i in range(50):
            qp.fetch_and_add_async(self.nid, self.at + 72, 1, cookie=1 << 63 | i)
        done = qp.drain()
        self.assertEqual(sorted(d.cookie for d in done), [1 << 63 | i for i in range(50)])
        self.assertEqual(sorted(d.value for d in done), list(range(50)))
        for i in range(3):
            qp.read_async(self.nid, self.at, self.buffer, 8, cookie=i)
        qp.fence(self.nid)
        self.assertEqual(qp.in_flight, 0)
        qp.quiet()
        self.assertEqual([(d.status, d.value) for d in qp.poll()], [(0, None)] * 3)
        qp.close()

    def test_failures_and_statistics(self):
        qp = self.team.context.queue_pair(8)
        qp.read_async(self.nid, 1 << 39, self.buffer, 8, cookie=11)
        with self.assertRaisesRegex(rmc.Error, "beyond the end") as caught:
            qp.fence(self.nid)
        self.assertEqual(caught.exception.status, 7)
        self.assertEqual(qp.drain(), [(11, 7, None)])
        with self.assertRaisesRegex(rmc.Error, "read: .*beyond the end"):
            qp.read(self.nid, 1 << 39, self.buffer, 8)
        stats = qp.stats()
        self.assertEqual((stats["issued"], stats["completed"], stats["failed"]), (2, 2, 2))
        self.assertEqual(stats["status"], {"out_of_range": 2})
        with self.assertRaises(ValueError):
            qp.read(self.nid, self.at, self.buffer, 8, at=4090)
        with self.assertRaisesRegex(rmc.Error, "no queue size"):
            self.team.context.queue_pair(3)
        qp.close()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + ["-v"])
