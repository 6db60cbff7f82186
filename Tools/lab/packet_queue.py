"""Delay, jitter and loss for one speaker's packets: what `tc netem` does, for kernels without it.

    packet_queue.py DELAY_MS JITTER_MS LOSS_PERCENT REORDER BURST      runs in the speaker's network

The firewall hands every packet to a queue of nfnetlink_queue (1 inward, 2 outward); each gets its verdict after
DELAY + uniform(0, JITTER), in order unless REORDER is 1. Losses come in runs of BURST packets on average.
"""
import heapq
import random
import select
import socket
import struct
import sys
import time

INWARD, OUTWARD = 1, 2
# linux/netfilter/nfnetlink.h and nfnetlink_queue.h
NETLINK_NETFILTER, SUBSYSTEM_QUEUE = 12, 3
PACKET, VERDICT, CONFIGURE = 0, 1, 2
CONFIGURE_COMMAND, CONFIGURE_PARAMETERS, CONFIGURE_LENGTH = 1, 2, 3
ATTRIBUTE_HEADER, ATTRIBUTE_VERDICT = 1, 2
DROP, ACCEPT = 0, 1
NLM_F_REQUEST = 1
LONGEST = 20_000


class Queues:
    def __init__(self):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self.socket.bind((0, 0))
        for queue in (INWARD, OUTWARD):
            bind = 1
            self._send(CONFIGURE, queue, CONFIGURE_COMMAND, struct.pack(">BBH", bind, 0, 0))
            copy_nothing_but_the_header = 1
            self._send(CONFIGURE, queue, CONFIGURE_PARAMETERS, struct.pack(">IB", 0, copy_nothing_but_the_header))
            self._send(CONFIGURE, queue, CONFIGURE_LENGTH, struct.pack(">I", LONGEST))

    def _send(self, message, queue, attribute, value):
        padded = value + bytes(-len(value) % 4)
        body = struct.pack("=BBHHH", socket.AF_UNSPEC, 0, socket.htons(queue), 4 + len(value), attribute) + padded
        head = struct.pack("=IHHII", 16 + len(body), SUBSYSTEM_QUEUE << 8 | message, NLM_F_REQUEST, 0, 0)
        self.socket.send(head + body)

    def decide(self, queue, packet, verdict):
        self._send(VERDICT, queue, ATTRIBUTE_VERDICT, struct.pack(">II", verdict, packet))

    def arrived(self) -> list:
        """(queue, packet id) of what the kernel has handed over."""
        try:
            data = self.socket.recv(1 << 17)
        except OSError:  # the receive buffer ran over: those packets are lost, as on a real network
            return []
        found, at = [], 0
        while at + 20 <= len(data):
            size, message = struct.unpack_from("=IH", data, at)
            if size < 20:
                break
            if message == SUBSYSTEM_QUEUE << 8 | PACKET:
                queue, = struct.unpack_from(">H", data, at + 18)
                attribute = at + 20
                while attribute + 8 <= min(at + size, len(data)):
                    length, kind = struct.unpack_from("=HH", data, attribute)
                    if kind == ATTRIBUTE_HEADER:
                        found.append((queue, struct.unpack_from(">I", data, attribute + 4)[0]))
                        break
                    attribute += max(4, length + 3 & ~3)
            at += size + 3 & ~3
        return found


class Loss:
    """Which packets of one direction are lost: so large a share of all, in runs of so many on average (Gilbert's channel)."""

    def __init__(self, share: float, run: float = 1.0, chance=random.random):
        self._share, self._run, self._chance, self._losing = share, max(1.0, run), chance, False

    def takes_next(self) -> bool:
        if self._run == 1:
            return self._chance() < self._share
        if self._losing:
            self._losing = self._chance() >= 1 / self._run
        else:
            self._losing = self._chance() < self._share / (self._run * (1 - self._share))
        return self._losing


def main():
    delay, jitter, loss, reorder, burst = map(float, sys.argv[1:6])
    losses = {queue: Loss(min(loss / 100, 0.99), burst) for queue in (INWARD, OUTWARD)}
    queues, waiting, latest, serial = Queues(), [], {INWARD: 0.0, OUTWARD: 0.0}, 0
    print("ready", flush=True)
    while True:
        patience = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        if select.select([queues.socket], [], [], patience)[0]:
            now = time.monotonic()
            for queue, packet in queues.arrived():
                if losses[queue].takes_next():
                    queues.decide(queue, packet, DROP)
                    continue
                due = now + (delay + random.uniform(0, jitter)) / 1000
                if not reorder:
                    due = latest[queue] = max(due, latest[queue])
                serial += 1
                heapq.heappush(waiting, (due, serial, queue, packet))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, queue, packet = heapq.heappop(waiting)
            queues.decide(queue, packet, ACCEPT)


if __name__ == "__main__":
    main()
