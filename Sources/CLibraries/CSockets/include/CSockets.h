#pragma once
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Socket calls that Swift cannot use: macros (CMSG_*), variadic functions (ioctl), GNU extensions (ppoll, eventfd,
 * accept4).
 */

/*
 * Non-blocking recvmsg(2) with the kernel's receive timestamp (SO_TIMESTAMPNS, nanoseconds of CLOCK_REALTIME; 0 if
 * there is none). Returns the number of bytes, or -1 with errno set.
 */
ssize_t csock_receive_stamped(int socket, void *buffer, size_t length, struct sockaddr_storage *from, int64_t *stamp_ns);

/*
 * Non-blocking receive of one byte and up to `max` descriptors (SCM_RIGHTS, unix(7)), closed on exec. Further
 * descriptors are closed. Returns the number of descriptors, or -1 if no byte was received.
 */
int csock_receive_descriptors(int socket, uint8_t *code, int *descriptors, int max);

/*
 * accept4(2), closed on exec and non-blocking from the start: another thread may fork at any time. Returns -1 with errno
 * set on failure.
 */
int csock_accept(int listener, struct sockaddr *from, socklen_t *size);

/* Returns the unacknowledged bytes of a TCP socket (SIOCOUTQ, tcp(7)), or -1 with errno set. */
int csock_unacknowledged_bytes(int socket);

/*
 * Returns the minimum round-trip time of a TCP connection in the kernel's window, in microseconds (tcpi_min_rtt of
 * TCP_INFO; 300 s, see tcp_min_rtt_wlen in ip-sysctl). -1 if unavailable.
 */
int64_t csock_shortest_round_trip_us(int socket);

/* eventfd(2), closed on exec and non-blocking; returns -1 with errno set on failure. */
int csock_open_event_counter(void);

/* ppoll(2) without a signal mask; a negative timeout means none. */
int csock_poll(struct pollfd *descriptors, nfds_t count, int64_t timeout_ns);
