#pragma once
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Socket calls whose macros (CMSG_*), variadic form (ioctl) or GNU nature (ppoll, eventfd) hides them from Swift. */

/*
 * recvmsg(2) without waiting, with the kernel's receive time (SO_TIMESTAMPNS, CLOCK_REALTIME nanoseconds; 0 when the
 * kernel gave none). Returns bytes received, or -1 with errno set.
 */
ssize_t csock_receive_stamped(int socket, void *buffer, size_t length, struct sockaddr_in *from, int64_t *stamp_ns);

/*
 * One byte, and up to `most` descriptors that came with it (SCM_RIGHTS, unix(7)), closed on exec; without waiting. More
 * than that are closed. Returns how many there are, or -1 when no byte came.
 */
int csock_receive_descriptors(int socket, uint8_t *code, int *descriptors, int most);

/* Bytes written to a TCP socket that the peer has not acknowledged (SIOCOUTQ, tcp(7)), or -1 with errno set. */
int csock_unacknowledged_bytes(int socket);

/*
 * The shortest round trip of a TCP connection in the kernel's window (tcpi_min_rtt of TCP_INFO; 300 s, see
 * tcp_min_rtt_wlen in ip-sysctl), in microseconds; -1 when the kernel has none.
 */
int64_t csock_shortest_round_trip_us(int socket);

/* eventfd(2), closed on exec and never waiting; -1 with errno set. */
int csock_open_event_counter(void);

/* ppoll(2) without a signal mask; a negative time waits for ever. */
int csock_poll(struct pollfd *descriptors, nfds_t count, int64_t timeout_ns);
